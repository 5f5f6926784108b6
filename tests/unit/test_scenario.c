// SPDX-License-Identifier: GPL-2.0
/* test_scenario.c - scenario files: what they say, and how mistakes in them are named. */
#include "unit/scenario_file.h"

#include <errno.h>
#include <stdlib.h>

#include "experiments/plant/scenario.h"

#define SECOND UINT64_C(1000000000)
#define SERVICE "[service a]\ntarget = p99 < 25ms\nservice_time = 5ms\nmax_load = 100\n"
#define PLANT "[plant]\ncores = 4\nduration = 10s\n"

static struct scenario sc; /* too large for a stack */

static int load(const char *text, char *error, size_t size)
{
	struct scenario_file f = scenario_file(text);
	int err = scenario_load(f.path, &sc, error, size);

	close(f.fd);
	return err;
}

static void assert_loads(const char *text)
{
	char error[512] = "";

	if (load(text, error, sizeof(error)))
		fail_msg("%s", error);
}

/* The place is "LINE: key" after the file's name. */
static void assert_refused(const char *text, const char *place, const char *reason)
{
	char error[512] = "";
	const char *colon;

	assert_int_equal(load(text, error, sizeof(error)), -EINVAL);
	colon = strchr(error, ':');
	assert_non_null(colon);
	if (strncmp(colon + 1, place, strlen(place)) || !strstr(error, reason))
		fail_msg("'%s' is not '%s ... %s'", error, place, reason);
	assert_null(strchr(error, '\n'));
}

static void every_key_is_read(void **state)
{
	(void)state;
	assert_loads("; a comment\n[plant]\ncores = 16 ; here too\nl3 = 8\nduration = 90s\nseed = 7\n"
		     "[controller]\npolicy = static\ninterval = 100ms\nspeed = bandwidth\nseed = 9\n"
		     "[service search]\ntarget = p95 < 25ms\ncores = 2..6\nservice_time = 1.5ms\n"
		     "distribution = exponential\ncv = 2\nqueue = per-thread\nmax_load = 2e3\nmemory_part = 0.25\n"
		     "batch = 8\ndisk = 4 2ms\nnetwork = 100us 5us\n"
		     "sigma = 0.5\nbandwidth = 3\nprofile = at 0s 7%; ramp 10s 100%\n[batch index]\n[batch other]\n");
	assert_int_equal(sc.nr_cores, 16);
	assert_int_equal(sc.cores_per_l3, 8);
	assert_int_equal(sc.duration_ns, 90 * SECOND);
	assert_int_equal(sc.seed, 7);
	assert_string_equal(sc.config.policy, "static");
	assert_int_equal(sc.config.interval_ns, SECOND / 10);
	assert_int_equal(sc.config.speed, CONFIG_SPEED_BANDWIDTH);
	assert_int_equal(sc.config.seed, 9);
	assert_int_equal(sc.config.nr_services, 1);
	assert_int_equal(sc.config.nr_batches, 2);
	assert_string_equal(sc.config.batches[1].name, "other");
	assert_string_equal(sc.config.services[0].name, "search");
	assert_int_equal(sc.config.services[0].cores_min, 2);
	assert_int_equal(sc.config.services[0].cores_max, 6);
	assert_int_equal(sc.services[0].model.station.percentile_permille, 950);
	assert_int_equal(sc.services[0].model.station.target_ns, SECOND / 40);
	assert_int_equal(sc.services[0].model.station.service_ns, 1500000);
	assert_int_equal(sc.services[0].model.station.shape, DRAW_EXPONENTIAL);
	assert_int_equal(sc.services[0].model.station.queue, STATION_PER_THREAD);
	assert_int_equal(sc.services[0].model.station.batch, 8);
	assert_int_equal(sc.services[0].model.station.nr_disks, 4);
	assert_int_equal(sc.services[0].model.station.disk_ns, 2000000);
	assert_int_equal(sc.services[0].model.station.network_delay_ns, 100000);
	assert_int_equal(sc.services[0].model.station.network_ns, 5000);
	assert_true(sc.services[0].model.station.cv == 2 && sc.services[0].model.station.max_load == 2000);
	assert_true(sc.services[0].model.memory_part == 0.25 && sc.services[0].model.sigma == 0.5);
	assert_true(sc.services[0].model.bandwidth_gbs == 3);
	assert_int_equal(profile_load_ppm(&sc.services[0].profile, 5 * SECOND), 535000);
}

static void what_is_not_said_has_a_default(void **state)
{
	(void)state;
	assert_loads("[plant]\ncores = 4\n" SERVICE "profile = at 0s 7%; hold 12s\n");
	assert_int_equal(sc.duration_ns, 12 * SECOND); /* the longest profile */
	assert_int_equal(sc.cores_per_l3, 4);
	assert_int_equal(sc.seed, 1);
	assert_string_equal(sc.config.policy, "parties-paper");
	assert_int_equal(sc.config.interval_ns, SECOND / 2);
	assert_int_equal(sc.config.services[0].cores_min, 1);
	assert_int_equal(sc.config.services[0].cores_max, 0);
	assert_int_equal(sc.services[0].model.station.queue, STATION_SHARED);
}

static void a_profile_may_take_several_lines_or_a_file(void **state)
{
	char dir[] = "/tmp/parties-scenario-XXXXXX", path[64], error[512];
	FILE *file;
	int err;

	(void)state;
	assert_loads(PLANT SERVICE "profile = at 0s 7%\n  ramp 10s 100%\n\n  # peak\n  hold 5s\n");
	assert_int_equal(profile_duration_ns(&sc.services[0].profile), 15 * SECOND);
	assert_loads(PLANT SERVICE "profile =\n  at 0s 7%\n  ramp 10s 100%\n");
	assert_int_equal(profile_duration_ns(&sc.services[0].profile), 10 * SECOND);

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/p", dir);
	file = fopen(path, "we");
	fputs("at 0s 50%\nhold 3s\n", file);
	fclose(file);
	snprintf(path, sizeof(path), "%s/s", dir);
	file = fopen(path, "we");
	fputs(PLANT SERVICE "profile = p\n", file);
	fclose(file);
	err = scenario_load(path, &sc, error, sizeof(error));
	unlink(path);
	snprintf(path, sizeof(path), "%s/p", dir);
	unlink(path);
	rmdir(dir);
	assert_int_equal(err, 0);
	assert_int_equal(profile_duration_ns(&sc.services[0].profile), 3 * SECOND);
}

static void mistakes_are_named_with_their_place(void **state)
{
	(void)state;
	assert_refused("", "0: [plant]", "missing");
	assert_refused(PLANT, "3: [service]", "no service");
	assert_refused(SERVICE "profile = at 0s 5%\n", "5: [plant]", "missing");
	assert_refused("[plant]\ncores = 4\n" SERVICE "profile = at 0s 5%\n", "7: duration", "missing");
	assert_refused("[plnt]\n", "1: plnt", "unknown section");
	assert_refused("[controller x]\n", "1: controller x", "unknown section");
	assert_refused(PLANT PLANT, "4: plant", "twice");
	assert_refused("[plant]\ncores = 4\nsped = 3\n", "3: sped", "unknown key in [plant]");
	assert_refused("[plant]\ncores = 4\ncores = 5\n", "3: cores", "first on line 2");
	assert_refused("[plant]\ncores = 0\n", "2: cores", "out of range");
	assert_refused("[plant]\ncores = four\n", "2: cores", "number");
	assert_refused("[plant]\nduration = 10\n", "2: duration", "unit missing");
	assert_refused("[plant]\nl3 = 2\n[service a]\n", "1: cores", "missing in [plant]");
	assert_refused("cores = 4\n", "1: cores", "unknown key");
	assert_refused(PLANT "[controller]\npolicy = magic\n", "5: policy", "known: parties-paper");
	assert_refused(PLANT "[controller]\nmatch = pid:1\n", "5: match", "unknown key");
	assert_refused(PLANT "[service]\n", "4: service", "name");
	assert_refused(PLANT "[service a/b]\n", "4: service a/b", "letters");
	assert_refused(PLANT SERVICE "match = pid:1\n", "8: match", "unknown key");
	assert_refused(PLANT "[service a]\ntarget = 25ms\n", "5: target", "p99 < 25ms");
	assert_refused(PLANT SERVICE "cv = 1x\n", "8: cv", "not a number");
	assert_refused(PLANT SERVICE "cv = nan\n", "8: cv", "not a number");
	assert_refused(PLANT SERVICE "memory_part = 1.5\n", "8: memory_part", "out of range");
	assert_refused(PLANT SERVICE "queue = lifo\n", "8: queue", "shared|per-thread|processor-sharing");
	assert_refused(PLANT SERVICE "distribution = normal\n", "8: distribution", "lognormal|exponential");
	assert_refused(PLANT SERVICE "batch = 0\n", "8: batch", "range");
	assert_refused(PLANT SERVICE "disk = 16\n", "8: disk", "16 55ms");
	assert_refused(PLANT SERVICE "disk = 0 5ms\n", "8: disk", "16 55ms");
	assert_refused(PLANT SERVICE "disk = 16 55\n", "8: disk", "unit missing");
	assert_refused(PLANT SERVICE "network = 5\n", "8: network", "unit missing");
	assert_refused(PLANT SERVICE "network = 5us 6\n", "8: network", "unit missing");
	assert_refused(PLANT SERVICE "network = 5us 6us 7us\n", "8: network", "");
	assert_refused(PLANT SERVICE, "4: profile", "missing in [service a]");
	assert_refused(PLANT SERVICE "profile = at 0s 7%\n [service b]\n", "9: profile", "unknown directive");
	assert_refused(PLANT SERVICE "profile = at 0s 7%\n\n  ramp 10s\n", "10: profile", "number is missing");
	assert_refused(PLANT SERVICE "profile = /nonexistent/p\n", "8: profile", "No such file");
	assert_refused(PLANT SERVICE "profile = at 0s 7%\n" SERVICE, "9: service a", "already");
	assert_refused(PLANT SERVICE "cores = 5..\nprofile = at 0s 7%\n", "4: cores", "need 5 cores");
	assert_refused(PLANT "nonsense\n", "4: ", "neither");
	assert_refused(PLANT "[batch a]\nkey = 1\n", "5: key", "unknown key in [batch a]");
}

static void a_service_like_a_published_one_takes_what_it_does_not_say(void **state)
{
	(void)state;
	assert_loads(PLANT "[service a]\nlike = moses\nprofile = at 0s 7%\n");
	assert_memory_equal(&sc.services[0].model, &catalogue_find("moses")->model, sizeof(struct catalogue_model));
	assert_int_equal(sc.config.services[0].target_ns, 15000000);
	assert_int_equal(sc.config.services[0].percentile_permille, 990);
	assert_loads(PLANT "[service a]\nsigma = 0\nqueue = shared\ntarget = p95 < 30ms\nlike = moses\nmax_load = 9\n"
		     "profile = at 0s 7%\n");
	assert_true(sc.services[0].model.sigma == 0 && sc.services[0].model.station.max_load == 9);
	assert_int_equal(sc.services[0].model.station.queue, STATION_SHARED);
	assert_int_equal(sc.services[0].model.station.target_ns, 30000000);
	assert_int_equal(sc.services[0].model.station.percentile_permille, 950);
	assert_int_equal(sc.services[0].model.station.service_ns, 2800000);
	assert_loads(PLANT "[service a]\ndisk = 2 1ms\nnetwork = 1ms\nbatch = 3\nlike = mongodb\nprofile = at 0s 7%\n");
	assert_int_equal(sc.services[0].model.station.nr_disks, 2);
	assert_int_equal(sc.services[0].model.station.disk_ns, 1000000);
	assert_int_equal(sc.services[0].model.station.network_delay_ns, 1000000);
	assert_int_equal(sc.services[0].model.station.batch, 3);
	assert_int_equal(sc.services[0].model.station.service_ns, 290000);
	assert_refused(PLANT "[service a]\nlike = redis\n", "5: like", "memcached, xapian");
	assert_refused(PLANT "[service a]\nlike = moses\nlike = moses\n", "6: like", "first on line 5");
	assert_refused(PLANT "[service a]\nlike = moses\n", "4: profile", "missing in [service a]");
}

static void an_overlong_line_is_not_cut_silently(void **state)
{
	char text[3000] = PLANT "; ";

	(void)state;
	memset(text + strlen(text), 'x', 2000);
	assert_refused(text, "4: line", "longer than");
	memcpy(text, PLANT, strlen(PLANT));
	text[strlen(PLANT) + 900] = '\n';
	text[strlen(PLANT) + 901] = '\0';
	strcat(text, SERVICE "profile = at 0s 7%\n");
	assert_loads(text);
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
	char error[512];

	(void)state;
	assert_int_equal(scenario_load("/nonexistent/s", &sc, error, sizeof(error)), -ENOENT);
	assert_non_null(strstr(error, "/nonexistent/s: cannot be read"));
	assert_int_equal(scenario_load("/", &sc, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "Is a directory"));
	assert_refused(PLANT SERVICE "profile = /\n", "8: profile", "Is a directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_read),
		cmocka_unit_test(what_is_not_said_has_a_default),
		cmocka_unit_test(a_profile_may_take_several_lines_or_a_file),
		cmocka_unit_test(mistakes_are_named_with_their_place),
		cmocka_unit_test(a_service_like_a_published_one_takes_what_it_does_not_say),
		cmocka_unit_test(an_overlong_line_is_not_cut_silently),
		cmocka_unit_test(a_file_that_cannot_be_read_is_named),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
