// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "overview.h"

static json_t *header;
static struct explain e;
static char *said;

static int set_up(void **state)
{
	char names[256];

	(void)state;
	header = json_loads(
		"{\"config\":{\"services\":["
		"{\"name\":\"search\",\"percentile\":99,\"target_us\":25000,\"cores_min\":1,\"cores_max\":8},"
		"{\"name\":\"mail\",\"percentile\":95,\"target_us\":60000,\"cores_min\":1,\"cores_max\":0}]}}",
		0, NULL);
	return explain_open(&e, header, "search", 3, names) != NULL;
}

static int tear_down(void **state)
{
	(void)state;
	explain_close(&e);
	json_decref(header);
	free(said);
	said = NULL;
	return 0;
}

/* A tick in which search has so many cores after `action`. */
static void take(double t_s, int cores, const char *action)
{
	char text[1024];
	json_t *tick;

	snprintf(text, sizeof(text),
		 "{\"t_s\":%g,\"services\":[{\"name\":\"search\",\"cores\":%d,\"core_ids\":\"0-3\",\"steer_us\":26000,"
		 "\"slack\":-40,\"rps\":100,\"state\":\"fresh\"},{\"name\":\"mail\"}],\"action\":%s,\"outcome\":{"
		 "\"error\":0}}",
		 t_s, cores, action);
	tick = json_loads(text, 0, NULL);
	assert_non_null(tick);
	explain_take(&e, tick, NAN);
	json_decref(tick);
}

static const char *explained(void)
{
	size_t size;
	FILE *out;

	free(said);
	out = open_memstream(&said, &size);
	explain_print(&e, out);
	fclose(out);
	return said;
}

#define ACTION(reason, subject, direction, victim) \
	"{\"reason\":\"" reason "\",\"subject\":" subject ",\"resource\":\"core\"," \
	"\"direction\":\"" direction "\",\"victim\":" victim \
	",\"rejected\":[{\"service\":\"search\",\"resource\":\"speed\"," \
	"\"why\":\"at-limit\"}]}"
#define HOLD ACTION("hold", "null", "hold", "null")

static void decisions_about_it_are_told_the_last_first(void **state)
{
	const char *text;

	(void)state;
	take(0, 2, ACTION("start", "null", "hold", "null"));
	take(1, 2, HOLD);
	take(2, 3, ACTION("upsize", "\"search\"", "up", "\"mail\""));
	take(3, 2, ACTION("upsize", "\"mail\"", "up", "\"search\""));
	text = explained();
	assert_non_null(strstr(text, "search has 2 cores (CPUs 0-3) of 1 to 8, since 3.0 s\n"));
	assert_non_null(strstr(text, "p99 26.00 ms of 25 ms, slack -4 %, 100 requests/s, fresh\n"));
	assert_non_null(strstr(text, "3.0 s  upsize mail core from search: too little slack was left; cores 3 -> 2\n"));
	assert_non_null(strstr(text, "2.0 s  upsize search core from mail: too little slack was left; cores 2 -> 3\n"));
	assert_true(strstr(text, "3.0 s  upsize") < strstr(text, "2.0 s  upsize"));
	assert_non_null(strstr(text, "not: speed of search (at its limit)\n"));
	assert_null(strstr(text, "1.0 s  "));
}

static void a_service_that_is_passed_over_as_a_whole_has_no_resource(void **state)
{
	(void)state;
	take(0, 2, HOLD);
	take(1, 3,
	     "{\"reason\":\"upsize\",\"subject\":\"search\",\"resource\":\"core\",\"direction\":\"up\",\"victim\":null,"
	     "\"rejected\":[{\"service\":\"mail\",\"resource\":\"none\",\"why\":\"locked\"}]}");
	assert_non_null(strstr(explained(), "not: mail (a step down has hurt lately)\n"));
}

static void what_goes_on_is_told_once(void **state)
{
	(void)state;
	take(0, 2, HOLD);
	for (int i = 1; i < 9; i++)
		take(i, 2, ACTION("exhausted", "\"search\"", "hold", "null"));
	assert_int_equal(e.nr, 1);
	assert_non_null(
		strstr(explained(),
		       "1.0 s  exhausted search: more is needed, and nothing can be given; the same until 8.0 s\n"));
}

static void a_change_that_names_nobody_is_about_whom_it_changes(void **state)
{
	(void)state;
	take(0, 2, HOLD);
	take(1, 4, ACTION("upsize", "\"mail\"", "up", "null"));
	assert_int_equal(e.nr, 1);
	assert_non_null(strstr(explained(), "cores 2 -> 4"));
}

static void others_decisions_are_left_out(void **state)
{
	(void)state;
	take(0, 2, HOLD);
	take(1, 2,
	     "{\"reason\":\"upsize\",\"subject\":\"mail\",\"resource\":\"core\",\"direction\":\"up\",\"victim\":null,"
	     "\"rejected\":[]}");
	assert_non_null(strstr(explained(), "nothing was decided about it\n"));
}

static void no_more_are_kept_than_asked_for(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		take(i, 2 + i % 2, ACTION("upsize", "\"search\"", "up", "null"));
	assert_non_null(strstr(explained(), "   17.0 s  "));
	assert_null(strstr(said, "   16.0 s  "));
}

static void a_name_cannot_steer_the_terminal(void **state)
{
	(void)state;
	take(0, 2, HOLD);
	take(1, 2,
	     "{\"reason\":\"upsize\",\"subject\":\"search\",\"resource\":\"co\\u001b[31m\",\"direction\":\"down\","
	     "\"victim\":null,"
	     "\"rejected\":[{\"service\":\"search\",\"resource\":\"\\u001b[2J\",\"why\":\"\\u0007\"}]}");
	assert_null(strchr(explained(), 033));
	assert_null(strchr(said, 7));
}

static void a_tick_without_anything_is_survived(void **state)
{
	json_t *tick = json_loads("{\"t_s\":1,\"services\":[]}", 0, NULL);

	(void)state;
	explain_take(&e, tick, NAN);
	json_decref(tick);
	assert_non_null(strstr(explained(), "search is not confined\n"));
}

/* --- the same ticks as a screen shows them --- */

static char *seen(const struct overview *o, const char *status)
{
	json_t *object = json_loads(status, 0, NULL);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(object);
	overview_print(o, object, out);
	fclose(out);
	json_decref(object);
	return text;
}

static const char status[] =
	"{\"pid\":7,\"header\":{\"mode\":\"live\",\"config\":{\"services\":[{\"percentile\":99,\"target_us\":25000}]}},"
	"\"tick\":{\"t_s\":3,\"services\":[{\"name\":\"se\\u001barch\",\"slack\":-1,\"steer_us\":25001,\"cores\":3,"
	"\"khz\":2400000,"
	"\"measured_khz\":2390000}],\"be\":{\"cores\":1},\"idle_cores\":0},\"decisions\":[{\"tick\":{\"t_s\":1,"
	"\"action\":{\"reason\":\"upsize\",\"subject\":\"search\",\"resource\":\"core\",\"direction\":\"up\","
	"\"victim\":null},"
	"\"outcome\":{\"error\":0}}}]}";

static void a_small_violation_is_below_zero(void **state)
{
	char *text = seen(&(struct overview){ 0 }, status);

	(void)state;
	assert_non_null(strstr(text, "   -1%     25.00  p99 < 25         3  2.40 GHz (2.39) "));
	assert_non_null(strstr(text, "1.0 s  upsize search core from idle\n"));
	assert_non_null(strstr(text, "\nse?arch "));
	assert_null(strchr(text, 033));
	free(text);
}

static void trouble_is_told_where_there_is_some(void **state)
{
	const char none[] = "{\"tick\":{\"services\":[{\"name\":\"a\",\"pinned_threads\":0,\"no_benefit_above\":0,"
			    "\"changed_by_others\":0}],\"speed\":{\"given_up\":\"\"},\"avoided_cpus\":\"\"}}";
	const char some[] = "{\"tick\":{\"services\":[{\"name\":\"a\",\"pinned_threads\":1,\"no_benefit_above\":2,"
			    "\"changed_by_others\":3}],\"speed\":{\"given_up\":\"cap\"},\"avoided_cpus\":\"5\"}}";
	static const char *const words[] = { "pinned", "more than 2", "changed by somebody else", "does nothing",
					     "not for us" };
	char *quiet = seen(&(struct overview){ 0 }, none), *loud = seen(&(struct overview){ 0 }, some);

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_null(strstr(quiet, words[i]));
		assert_non_null(strstr(loud, words[i]));
	}
	free(quiet);
	free(loud);
}

static void what_has_no_room_is_cut(void **state)
{
	char *text = seen(&(struct overview){ .width = 20, .rows = 4 }, status), *at = text;
	int nr = 0;

	(void)state;
	for (char *end; (end = strchr(at, '\n')); at = end + 1, nr++)
		assert_true(end - at <= 20);
	assert_int_equal(nr, 3); /* the cursor needs the last row */
	free(text);
}

static void a_status_without_anything_is_survived(void **state)
{
	(void)state;
	free(seen(&(struct overview){ .color = true, .screen = true }, "{}"));
	free(seen(&(struct overview){ 0 }, "{\"tick\":{\"services\":[1,{}]},\"decisions\":[{},3]}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(decisions_about_it_are_told_the_last_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_service_that_is_passed_over_as_a_whole_has_no_resource, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_goes_on_is_told_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_change_that_names_nobody_is_about_whom_it_changes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(others_decisions_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_more_are_kept_than_asked_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_name_cannot_steer_the_terminal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_tick_without_anything_is_survived, set_up, tear_down),
		cmocka_unit_test(a_small_violation_is_below_zero),
		cmocka_unit_test(trouble_is_told_where_there_is_some),
		cmocka_unit_test(what_has_no_room_is_cut),
		cmocka_unit_test(a_status_without_anything_is_survived),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
