// SPDX-License-Identifier: GPL-2.0
/*
 * test_config.c - lines, sections and keys of a configuration file, and the words of every refusal.
 * `test_config --reference` prints the part of parties.conf.5 that is generated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixtures/config_text.h"
#include "fixtures/tree.h"

static char *printed(const struct config *c)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	config_print(c, out);
	fclose(out);
	return text;
}

static void a_full_file_is_read_into_plain_values(void **state)
{
	(void)state;
	accepts("[controller]\npolicy      = static\ninterval    = 250ms\nfeedback    = bpf            ; the kernel\n"
		"speed       = bandwidth\nculprits    = never\n"
		"reserved    = 1              ; for interrupts\nseed = 18446744073709551615\n"
		"infeasible_hook = /bin/sh\n\n[service search]\nmatch       = port:8082\n"
		"target      = p99 < 25ms\ncores       = 1..6\n\n[batch index]\nmatch       = cgroup:/batch\n"
		"memory_high = 2G\nio_max      = 259:0 rbps=100M\nmemory_bandwidth = 40%\n");
	assert_string_equal(config.file, "t.conf");
	assert_string_equal(config.policy, "static");
	assert_int_equal(config.interval_ns, 250000000);
	assert_int_equal(config.speed, CONFIG_SPEED_BANDWIDTH);
	assert_int_equal(config.reserved_cpus, 1);
	assert_true(config.seed == UINT64_MAX);
	assert_string_equal(config.infeasible_hook, "/bin/sh");
	assert_int_equal(config.culprits, CONFIG_CULPRITS_NEVER);
	assert_int_equal(config.nr_services, 1);
	assert_string_equal(config.services[0].name, "search");
	assert_int_equal(config.services[0].match.kind, MATCH_PORT);
	assert_int_equal(config.services[0].match.number, 8082);
	assert_int_equal(config.services[0].percentile_permille, 990);
	assert_int_equal(config.services[0].target_ns, 25000000);
	assert_int_equal(config.services[0].cores_min, 1);
	assert_int_equal(config.services[0].cores_max, 6);
	assert_int_equal(config.services[0].line, 11);
	assert_int_equal(config.nr_batches, 1);
	assert_string_equal(config.batches[0].name, "index");
	assert_int_equal(config.batches[0].match.kind, MATCH_CGROUP);
	assert_string_equal(config.batches[0].match.text, "/batch");
	assert_int_equal(config.batches[0].line, 16);
	assert_int_equal(config.batches[0].limits.memory_high_bytes, 2ull << 30);
	assert_string_equal(config.batches[0].limits.io_max, "259:0 rbps=104857600");
	assert_int_equal(config.batches[0].limits.bandwidth_percent, 40);
	assert_int_equal(config.cache, CONFIG_CACHE_NO);
}

static void what_is_not_said_has_its_default(void **state)
{
	(void)state;
	accepts(SERVICE);
	assert_string_equal(config.policy, "parties-paper");
	assert_int_equal(config.interval_ns, 500000000);
	assert_true(config.interval_is_policys);
	assert_int_equal(config.speed, CONFIG_SPEED_AUTO);
	assert_int_equal(config.reserved_cpus, 0);
	assert_int_equal(config.seed, 1);
	assert_string_equal(config.infeasible_hook, "");
	assert_int_equal(config.services[0].cores_min, 1);
	assert_int_equal(config.services[0].cores_max, 0);
	assert_int_equal(config.nr_batches, 0);
}

static void printing_and_loading_again_changes_nothing(void **state)
{
	static struct config first;
	char *text, *again;

	(void)state;
	accepts("[batch z]\nmatch = exe:be-job\nmemory_high = 3M\nio_max = 8:0 wbps=max\nmemory_bandwidth = 9GB/s\negress = auto\n[service a]\nmatch = unit:a@1\ntarget = p99.5 < 1234.567us\ncores = "
		"2..2\nlifecycle = connection\nstorage = disk\n"
		"[controller]\ninterval = 1.25s\nspeed = none\ncache = auto\nlink = eth0 25Gbit\n[service b]\nmatch = pid:9\ntarget = p95 < 60s\ncores = "
		"4..\n");
	first = config;
	text = printed(&first);
	accepts(text);
	again = printed(&config);
	assert_string_equal(text, again);
	assert_int_equal(config.interval_ns, first.interval_ns);
	assert_int_equal(config.speed, first.speed);
	assert_int_equal(config.services[0].target_ns, 1234567);
	assert_int_equal(config.services[0].percentile_permille, 995);
	assert_int_equal(config.services[0].lifecycle, CONFIG_LIFECYCLE_CONNECTION);
	assert_int_equal(config.services[1].target_ns, 60000000000);
	assert_int_equal(config.services[1].cores_max, 0);
	assert_string_equal(config.batches[0].match.text, "be-job");
	free(text);
	free(again);
}

static void the_printed_form_is_the_files_own(void **state)
{
	char *text;

	(void)state;
	accepts("[controller]\npolicy = static\n" SERVICE);
	text = printed(&config);
	assert_string_equal(text, "[controller]\npolicy          = static\ninterval        = 500ms\n"
				  "feedback        = bpf\nspeed           = auto\naffinity        = auto\ncache           = no\nculprits        = auto\nlink            =\nsubtree         = auto\nreserved        = 0\n"
				  "seed            = 1\ninfeasible_hook =\n\n[service a]\nmatch           = pid:1\n"
				  "target          = p99 < 25ms\nclient          =\nlifecycle       = exchange\n"
				  "storage         = memory\ncores           = 1..\n");
	free(text);
}

static void sections_must_be_known_and_named(void **state)
{
	(void)state;
	refuses("[serivce a]\n", "t.conf:1: [serivce a]: unknown section, did you mean 'service'?");
	refuses("\n[xyzzy]\n",
		"t.conf:2: [xyzzy]: unknown section: write [controller], [policy], [service NAME] or [batch NAME]");
	refuses("[]\n", "t.conf:1: []: unknown section: write [controller], [policy], [service NAME] or [batch NAME]");
	refuses("[service]\n", "t.conf:1: [service]: a name is missing: write for example [service search]");
	refuses("[service a b]\n", "t.conf:1: [service a b]: a name is one word");
	refuses("[controller x]\n", "t.conf:1: [controller x]: the controller has no name: write [controller]");
	refuses("[policy x]\n", "t.conf:1: [policy x]: the policy has no name: write [policy]");
	refuses("[service a] x\n", "t.conf:1: section: something stands after the ']'");
	refuses("[service a\n", "t.conf:1: line: neither 'key = value' nor '[section]'");
}

static void names_are_fit_for_a_directory(void **state)
{
	(void)state;
	refuses("[service a/b]\n", "t.conf:1: [service a/b]: a name has only letters, digits and _ . -");
	refuses("[service \xc3\xa4]\n", "t.conf:1: [service \xc3\xa4]: a name has only letters, digits and _ . -");
	refuses("[service ..]\n", "t.conf:1: [service ..]: '.' and '..' cannot be names");
	refuses("[batch .]\n", "t.conf:1: [batch .]: '.' and '..' cannot be names");
	refuses("[service tasks]\n",
		"t.conf:1: [service tasks]: the name would clash with a file of the cgroup file system");
	refuses("[batch memory.high]\n",
		"t.conf:1: [batch memory.high]: the name would clash with a file of the cgroup file system");
	refuses("[service cpuset.cpus]\n",
		"t.conf:1: [service cpuset.cpus]: the name would clash with a file of the cgroup file system");
	refuses("[service a123456789012345678901234567890x]\n",
		"t.conf:1: [service a123456789012345678901234567890x]: the name is longer than 31 characters");
	accepts("[service Tasks-1_a.b]\nmatch=pid:1\ntarget=p50<1us\n");
	accepts("[service a123456789012345678901234567890]\nmatch=pid:1\ntarget=p50<1us\n");
}

static void nothing_may_stand_twice(void **state)
{
	(void)state;
	refuses(SERVICE SERVICE, "t.conf:4: [service a]: the name is taken by the section on line 1");
	refuses(SERVICE "[batch a]\nmatch=pid:2\n", "t.conf:4: [batch a]: the name is taken by the section on line 1");
	refuses(SERVICE "match = pid:2\n", "t.conf:4: match: appears twice in [service a], first on line 2");
	refuses("[controller]\n" SERVICE "[controller]\n", "t.conf:5: [controller]: appears twice, first on line 1");
	refuses("[policy]\n" SERVICE "[policy]\n", "t.conf:5: [policy]: appears twice, first on line 1");
}

static void a_limit_that_follows_the_link_needs_to_know_it(void **state)
{
	(void)state;
	refuses(SERVICE "[batch b]\nmatch = pid:2\negress = auto\n", "t.conf:4: egress: auto in [batch b] needs to know the link: "
		"write link = eth0, or as your network interface is called, in [controller]");
	accepts(SERVICE "[batch b]\nmatch = pid:2\negress = auto\n[batch c]\nmatch = pid:3\negress = 300Mbit\nmemory_high = 1G\n"
		"[controller]\nlink = eth0 10Gbit\n");
	assert_true(config.batches[0].limits.egress_auto);
	assert_int_equal(config.batches[1].limits.egress_bps, 300000000);
	assert_int_equal(config.link.bps, 10000000000);
	assert_int_equal(config_be_units(&config).memory, LIMITS_UNITS);
	assert_int_equal(config_be_units(&config).disk, 0);
}

static void keys_must_be_known_where_they_stand(void **state)
{
	(void)state;
	refuses("seed = 1\n" SERVICE, "t.conf:1: seed: stands before any section: write [service NAME], [batch NAME] or [controller] above it");
	refuses(SERVICE "tagret = p99 < 1ms\n", "t.conf:4: tagret: unknown key in [service a], did you mean 'target'?");
	refuses("[batch b]\npolicy = static\n", "t.conf:2: policy: unknown key in [batch b]; known: match, memory_high, "
		"io_max, memory_bandwidth, egress");
	refuses("[batch b]\nMatch = pid:1\n", "t.conf:2: Match: unknown key in [batch b], did you mean 'match'?");
	refuses("[service b]\nxyzzy = 1\n",
		"t.conf:2: xyzzy: unknown key in [service b]; known: match, target, client, lifecycle, storage, cores");
	refuses(SERVICE "cores\n", "t.conf:4: [service a]: neither 'key = value' nor '[section]'");
	refuses(SERVICE "= 4\n", "t.conf:4: : unknown key in [service a]; known: match, target, client, lifecycle, storage, cores");
}

static void required_keys_are_missed_at_their_section(void **state)
{
	(void)state;
	refuses("\n[service a]\ntarget = p99 < 1ms\n", "t.conf:2: match: missing in [service a]: write match = "
						       "pid:N | port:N | cgroup:PATH | unit:NAME | exe:NAME");
	refuses("[service a]\nmatch = pid:1\n[service b]\n",
		"t.conf:1: target: missing in [service a]: write target = percentile < duration");
	refuses(SERVICE "[batch b]\n", "t.conf:4: match: missing in [batch b]: write match = "
				       "pid:N | port:N | cgroup:PATH | unit:NAME | exe:NAME");
	refuses("", "t.conf:1: [service]: no service at all: write [service NAME] with match and target");
	refuses("[controller]\n\n",
		"t.conf:2: [service]: no service at all: write [service NAME] with match and target");
}

static void feedback_from_clients_needs_a_place_where_they_report(void **state)
{
	(void)state;
	accepts("[controller]\nfeedback = client-first\n" SERVICE "client = /run/a.reports\n");
	assert_int_equal(config.feedback, CONFIG_FEEDBACK_CLIENT_FIRST);
	assert_string_equal(config.services[0].client, "/run/a.reports");
	accepts(SERVICE "client = /run/a.reports\n");
	assert_int_equal(config.feedback, CONFIG_FEEDBACK_BPF);
	refuses("[controller]\nfeedback = both\n" SERVICE,
		"t.conf:3: client: missing in [service a], which feedback asks for: write client = path");
	refuses("[controller]\nfeedback = both\n" SERVICE "client =\n",
		"t.conf:3: client: missing in [service a], which feedback asks for: write client = path");
	refuses("[controller]\nfeedback = client\n" SERVICE "client = /r\n[service b]\nmatch = pid:2\ntarget = p99 < 1s\n"
		"client = /r\n", "t.conf:7: client: the clients of [service a] report to the same file, and nothing tells them apart");
	refuses(SERVICE "client = a.reports\n", "t.conf:4: client: 'a.reports' is not an absolute path");
}

static void the_first_bad_line_wins(void **state)
{
	(void)state;
	refuses("[service a]\nmatch = nonsense:1\ntarget = 0\n[what]\n",
		"t.conf:2: match: 'nonsense:1' says no kind: write pid:N, port:N, cgroup:PATH, unit:NAME or exe:NAME");
	refuses("[service a]\nfoo bar\nmatch = nonsense:1\n",
		"t.conf:2: [service a]: neither 'key = value' nor '[section]'");
}

static void there_is_an_end_to_services_and_batches(void **state)
{
	char text[8192] = "";
	size_t length = 0;

	(void)state;
	for (int i = 0; i < POLICY_MAX_SERVICES; i++)
		length += snprintf(text + length, sizeof(text) - length, "[service s%d]\nmatch=pid:1\ntarget=p50<1us\n",
				   i);
	accepts(text);
	assert_int_equal(config.nr_services, POLICY_MAX_SERVICES);
	strcat(text, "[service one-more]\n");
	refuses(text, "t.conf:193: [service one-more]: too many services: at most 64");
	length = snprintf(text, sizeof(text), SERVICE);
	for (int i = 0; i <= CONFIG_MAX_BATCHES; i++)
		length += snprintf(text + length, sizeof(text) - length, "[batch s%d]\nmatch=pid:1\n", i);
	refuses(text, "t.conf:36: [batch s16]: too many batches: at most 16");
}

static void over_long_lines_are_not_cut_silently(void **state)
{
	char text[2048];

	(void)state;
	memset(text, 0, sizeof(text));
	strcpy(text, SERVICE ";");
	memset(text + strlen(text), 'x', 1020);
	accepts(text);
	strcat(text, "\n");
	accepts(text);
	memset(text, 0, sizeof(text));
	strcpy(text, SERVICE ";");
	memset(text + strlen(text), 'x', 1021);
	refuses(text, "t.conf:4: line: longer than 1021 bytes");
}

static void what_is_not_text_is_refused(void **state)
{
	static const char nul[] = "[service a]\nmatch\0 = pid:1\n";

	(void)state;
	assert_int_equal(config_parse("t.conf", nul, sizeof(nul) - 1, &config, error, sizeof(error)), -EINVAL);
	assert_string_equal(error, "t.conf:2: line: byte 6 (0x00) is not text");
	refuses("[service a]\nmatch = exe:\x1b[31m\n", "t.conf:2: line: byte 13 (0x1b) is not text");
	refuses("[service a]\nmatch = exe:\x7f\n", "t.conf:2: line: byte 13 (0x7f) is not text");
	refuses("[service a]\rmatch = pid:1\r", "t.conf:1: line: byte 12 (0x0d) is not text");
}

static void a_byte_order_mark_and_crlf_do_no_harm(void **state)
{
	(void)state;
	accepts("\xef\xbb\xbf[service a]\r\nmatch = pid:1\r\ntarget = p99 < 25ms\r\ncores = 1..2\r\n");
	assert_int_equal(config.services[0].cores_max, 2);
	assert_int_equal(config.services[0].line, 1);
}

static void indentation_and_comments_are_free(void **state)
{
	(void)state;
	accepts("; comment\n# comment\n  [service a] ; here too\n\tmatch = exe:a;b ; a ';' inside a word stays\n"
		"   target : p99 < 25ms\n   cores=1");
	assert_string_equal(config.services[0].match.text, "a;b");
	assert_int_equal(config.services[0].cores_max, 1);
}

static void files_that_cannot_be_read_say_why(void **state)
{
	char root[TREE_PATH_SIZE], path[TREE_PATH_SIZE + 8], long_path[301], expected[512];
	static char big[160 * 1024];
	int rc;

	(void)state;
	assert_int_equal(config_load("/nonexistent/x.conf", &config, error, sizeof(error)), -ENOENT);
	assert_string_equal(error, "/nonexistent/x.conf: cannot be read: No such file or directory");
	assert_int_equal(config_load("/", &config, error, sizeof(error)), -EISDIR);
	assert_string_equal(error, "/: cannot be read: Is a directory");
	memset(big, '\n', sizeof(big) - 1);
	tree_make(root);
	tree_put(root, big, "big");
	snprintf(path, sizeof(path), "%s/big", root);
	rc = config_load(path, &config, error, sizeof(error));
	tree_remove(root);
	assert_int_equal(rc, -EFBIG);
	snprintf(expected, sizeof(expected), "%s: cannot be read: File too large", path);
	assert_string_equal(error, expected);
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[300] = '\0';
	assert_int_equal(config_parse(long_path, SERVICE, strlen(SERVICE), &config, error, sizeof(error)),
			 -ENAMETOOLONG);
}

static void a_file_is_loaded_like_its_text(void **state)
{
	char root[TREE_PATH_SIZE], path[TREE_PATH_SIZE + 8];
	int rc;

	(void)state;
	tree_make(root);
	tree_put(root, SERVICE, "conf");
	snprintf(path, sizeof(path), "%s/conf", root);
	rc = config_load(path, &config, error, sizeof(error));
	tree_remove(root);
	assert_int_equal(rc, 0);
	assert_string_equal(config.file, path);
	assert_string_equal(config.services[0].name, "a");
}

static void the_manual_holds_the_table_as_it_is(void **state)
{
	static char manual[64 * 1024];
	FILE *page = fopen("controller/man/parties.conf.5", "re"), *out;
	char *table = NULL;
	size_t length;

	(void)state;
	if (!page)
		skip(); /* not started in the source tree */
	length = fread(manual, 1, sizeof(manual) - 1, page);
	manual[length] = '\0';
	fclose(page);
	out = open_memstream(&table, &length);
	config_print_reference(out);
	fclose(out);
	if (!strstr(manual, table))
		fail_msg("parties.conf.5 is not what `test_config --reference` prints");
	free(table);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_file_is_read_into_plain_values),
		cmocka_unit_test(what_is_not_said_has_its_default),
		cmocka_unit_test(printing_and_loading_again_changes_nothing),
		cmocka_unit_test(the_printed_form_is_the_files_own),
		cmocka_unit_test(sections_must_be_known_and_named),
		cmocka_unit_test(names_are_fit_for_a_directory),
		cmocka_unit_test(nothing_may_stand_twice),
		cmocka_unit_test(a_limit_that_follows_the_link_needs_to_know_it),
		cmocka_unit_test(keys_must_be_known_where_they_stand),
		cmocka_unit_test(required_keys_are_missed_at_their_section),
		cmocka_unit_test(feedback_from_clients_needs_a_place_where_they_report),
		cmocka_unit_test(the_first_bad_line_wins),
		cmocka_unit_test(there_is_an_end_to_services_and_batches),
		cmocka_unit_test(over_long_lines_are_not_cut_silently),
		cmocka_unit_test(what_is_not_text_is_refused),
		cmocka_unit_test(a_byte_order_mark_and_crlf_do_no_harm),
		cmocka_unit_test(indentation_and_comments_are_free),
		cmocka_unit_test(files_that_cannot_be_read_say_why),
		cmocka_unit_test(a_file_is_loaded_like_its_text),
		cmocka_unit_test(the_manual_holds_the_table_as_it_is),
	};

	if (argc == 2 && !strcmp(argv[1], "--reference")) {
		config_print_reference(stdout);
		return 0;
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
