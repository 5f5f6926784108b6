// SPDX-License-Identifier: GPL-2.0
/*
 * test_match_path.c - which control group a pattern or a unit's name means, on the paths that systemd, docker, podman,
 * containerd, CRI-O and kubelet make, on both versions of control groups.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "match_path.h"

#define POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f1e2d3c_aaaa_bbbb_cccc_0123456789ab.slice"
#define ID "4a5c7b9d1e2f4a5c7b9d1e2f4a5c7b9d1e2f4a5c7b9d1e2f4a5c7b9d1e2f4a5c"

static void covers(enum match_kind kind, const char *text, const char *path, const char *want)
{
	struct match match = { .kind = kind };
	char have[512];

	snprintf(match.text, sizeof(match.text), "%s", text);
	snprintf(have, sizeof(have), "%.*s", (int)match_path_covered(&match, path), path);
	assert_string_equal(have, want);
}

static void a_path_means_itself_and_what_is_below(void **state)
{
	(void)state;
	covers(MATCH_CGROUP, "/batch", "/batch", "/batch");
	covers(MATCH_CGROUP, "/batch", "/batch/deep/er", "/batch");
	covers(MATCH_CGROUP, "/batch", "/batches", "");
	covers(MATCH_CGROUP, "/batch", "/a/batch", "");
	covers(MATCH_CGROUP, "/batch", "/", "");
	covers(MATCH_CGROUP, "/a[1]", "/a[1]/b", "/a[1]");
	covers(MATCH_CGROUP, "/a\\x2db", "/a\\x2db", "/a\\x2db");
}

static void no_star_matches_a_slash_and_two_match_any_number(void **state)
{
	(void)state;
	covers(MATCH_CGROUP, "/a/*", "/a/b/c", "/a/b");
	covers(MATCH_CGROUP, "/a/*", "/a", "");
	covers(MATCH_CGROUP, "/*/c", "/a/b/c", "");
	covers(MATCH_CGROUP, "/**/c", "/a/b/c/d", "/a/b/c");
	covers(MATCH_CGROUP, "/**/c", "/c", "/c");
	covers(MATCH_CGROUP, "/**/c", "/a/b", "");
	covers(MATCH_CGROUP, "/a/**/c*", "/a/x/c1/c2", "/a/x/c1");
	covers(MATCH_CGROUP, "/a/**/x/**/c", "/a/x/b/x/c", "/a/x/b/x/c");
	covers(MATCH_CGROUP, "/a/**/x/y", "/a/x/x/y", "/a/x/x/y");
	covers(MATCH_CGROUP, "/a/**", "/a/b", "/a");
	covers(MATCH_CGROUP, "/a**/c", "/ab/x/c", "");
}

static void patterns_that_could_be_tried_for_ever_are_not(void **state)
{
	char text[CONFIG_PATH_SIZE] = "", path[4096] = "";

	(void)state;
	for (int i = 0; i < 60; i++)
		strcat(text, i % 2 ? "/a" : "/**");
	strcat(text, "/b");
	for (int i = 0; i < 2000; i++)
		strcat(path, "/a");
	covers(MATCH_CGROUP, text, path, "");
}

/* What runtimes write: by systemd (version 2, and 1 with its driver), by cgroupfs, and rootless. */
static void a_container_is_found_under_every_runtimes_shape(void **state)
{
	static const struct {
		const char *text, *path;
	} cases[] = {
		{ "/system.slice/docker-*.scope", "/system.slice/docker-" ID ".scope" },
		{ "/docker/*", "/docker/" ID },
		{ "/machine.slice/libpod-4a5c*.scope", "/machine.slice/libpod-" ID ".scope" },
		{ "/user.slice/**/libpod-*.scope",
		  "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope" },
		{ "/libpod_parent/libpod-*", "/libpod_parent/libpod-" ID },
		{ "/system.slice/containerd-*.scope", "/system.slice/containerd-" ID ".scope" },
		{ "/default/*", "/default/" ID },
		{ "/kubepods.slice/**/cri-containerd-*.scope", POD "/cri-containerd-" ID ".scope" },
		{ "/kubepods.slice/**/cri-*.scope", "/kubepods.slice/kubepods-pod0f1e.slice/cri-containerd-" ID ".scope" },
		{ "/kubepods.slice/**/crio-*.scope", POD "/crio-" ID ".scope" },
		{ "/kubepods.slice/**/docker-*.scope", POD "/docker-" ID ".scope" },
		{ "/kubepods/**/pod*/*", "/kubepods/burstable/pod0f1e2d3c-aaaa/" ID },
		{ "/kubepods/**/pod0f1e*/*", "/kubepods/pod0f1e2d3c-aaaa/" ID },
		{ "/kubelet.slice/**/kubelet-kubepods-*pod*.slice/*.scope",
		  "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod0f1e.slice/cri-containerd-" ID ".scope" },
	};
	char inside[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		covers(MATCH_CGROUP, cases[i].text, cases[i].path, cases[i].path);
		snprintf(inside, sizeof(inside), "%s/init.scope", cases[i].path);
		covers(MATCH_CGROUP, cases[i].text, inside, cases[i].path);
	}
	covers(MATCH_CGROUP, "/kubepods.slice/**/cri-*.scope", POD "/crio-" ID ".scope", "");
}

static void a_unit_is_a_component_wherever_it_is(void **state)
{
	(void)state;
	covers(MATCH_UNIT, "web", "/system.slice/web.service", "/system.slice/web.service");
	covers(MATCH_UNIT, "web.service", "/a.slice/a-b.slice/web.service/x/y", "/a.slice/a-b.slice/web.service");
	covers(MATCH_UNIT, "web", "/system.slice/myweb.service", "");
	covers(MATCH_UNIT, "web", "/system.slice/web.scope", "");
	covers(MATCH_UNIT, "run-r12.scope", "/system.slice/run-r12.scope", "/system.slice/run-r12.scope");
	covers(MATCH_UNIT, "batch.slice", "/batch.slice/batch-a.slice/x.service", "/batch.slice");
	covers(MATCH_UNIT, "batch-a.slice", "/batch.slice/batch-a.slice/x.service", "/batch.slice/batch-a.slice");
	covers(MATCH_UNIT, "web@1", "/system.slice/system-web.slice/web@1.service", "/system.slice/system-web.slice/web@1.service");
	covers(MATCH_UNIT, "web@1", "/system.slice/system-web.slice/web@10.service", "");
	covers(MATCH_UNIT, "web@a\\x2db.service", "/x.slice/web@a\\x2db.service", "/x.slice/web@a\\x2db.service");
	covers(MATCH_UNIT, "org.example.web", "/app.slice/org.example.web.service", "/app.slice/org.example.web.service");
	covers(MATCH_UNIT, "cpu", "/system.slice/_cpu.service", "/system.slice/_cpu.service");
	covers(MATCH_UNIT, "web", "/", "");
}

static void a_users_unit_may_be_told_from_anothers(void **state)
{
	const char *path = "/user.slice/user-1000.slice/user@1000.service/app.slice/web.service";

	(void)state;
	covers(MATCH_UNIT, "web", path, path);
	covers(MATCH_UNIT, "user@1000.service/web.service", path, path);
	covers(MATCH_UNIT, "user@1000/web", path, path);
	covers(MATCH_UNIT, "user@1001.service/web.service", path, "");
	covers(MATCH_UNIT, "web/user@1000", path, "");
	covers(MATCH_UNIT, "user@1000.service", path, "/user.slice/user-1000.slice/user@1000.service");
}

static void what_is_no_group_names_none(void **state)
{
	(void)state;
	covers(MATCH_PID, "", "/a", "");
	covers(MATCH_EXE, "/a", "/a", "");
}

static void the_unit_of_a_path_is_its_last(void **state)
{
	char buf[64];

	(void)state;
	assert_string_equal(match_path_unit("/system.slice/web.service/inner", buf, sizeof(buf)), "web.service");
	assert_string_equal(match_path_unit("/system.slice/_cpu.service", buf, sizeof(buf)), "cpu.service");
	assert_null(match_path_unit("/docker/" ID, buf, sizeof(buf)));
	assert_null(match_path_unit("/", buf, sizeof(buf)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_means_itself_and_what_is_below),
		cmocka_unit_test(no_star_matches_a_slash_and_two_match_any_number),
		cmocka_unit_test(patterns_that_could_be_tried_for_ever_are_not),
		cmocka_unit_test(a_container_is_found_under_every_runtimes_shape),
		cmocka_unit_test(a_unit_is_a_component_wherever_it_is),
		cmocka_unit_test(a_users_unit_may_be_told_from_anothers),
		cmocka_unit_test(what_is_no_group_names_none),
		cmocka_unit_test(the_unit_of_a_path_is_its_last),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("match_path", tests, NULL, NULL);
}
