// SPDX-License-Identifier: GPL-2.0
/*
 * test_choose.c - which lifecycle is chosen, as a table: what is seen for how many sweeps, and what is in use after.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "choose.h"

enum { MAX_STEPS = 8, FOR_EVER = 3 * CHOOSE_REST };

/* One row: this is seen for so many sweeps; then that is in use. */
struct step {
	unsigned int nr_sweeps;
	struct choose_seen seen;
	enum ebee_lifecycle in_use;
	bool refuse, for_good; /* every change on the way */
};

struct story {
	const char *name;
	enum ebee_lifecycle asked;
	struct step steps[MAX_STEPS]; /* up to one of no sweeps */
};

#define NEW_HTTP2 { .nr_http2 = 2, .nr_connections = 2, .nr_begun = 2 }
#define NEW_TLS { .nr_tls = 2, .nr_connections = 2, .nr_begun = 9 }
#define NEW_HTTP1 { .nr_plain = 3, .nr_connections = 3, .nr_begun = 9 }
#define NEW_UNKNOWN { .nr_unknown = 1, .nr_connections = 1, .nr_begun = 9 }
#define REQUESTS { .nr_connections = 2, .nr_begun = 9, .nr_reads = 9 }
#define READS_ALONE { .nr_connections = 2, .nr_reads = 9 }
#define NOTHING { .nr_connections = 2 }

static const struct story stories[] = {
	{ "nothing speaks for a change", EBEE_AUTO, { { FOR_EVER, REQUESTS, EBEE_EXCHANGE } } },
	{ "HTTP/1 stays", EBEE_AUTO, { { FOR_EVER, NEW_HTTP1, EBEE_EXCHANGE } } },
	{ "HTTP/2 is by stream, after some sweeps", EBEE_AUTO,
	  { { 1, NEW_HTTP2, EBEE_EXCHANGE }, { CHOOSE_VOTES - 2, NOTHING, EBEE_EXCHANGE }, { 1, NOTHING, EBEE_HTTP2 } } },
	{ "a single HTTP/2 connection among HTTP/1 changes nothing", EBEE_AUTO,
	  { { FOR_EVER, { .nr_plain = 3, .nr_http2 = 1 }, EBEE_EXCHANGE } } },
	{ "one sweep of HTTP/2 among sweeps of HTTP/1 changes nothing", EBEE_AUTO,
	  { { 2, NEW_HTTP1, EBEE_EXCHANGE }, { 1, NEW_HTTP2, EBEE_EXCHANGE }, { FOR_EVER, NEW_HTTP1, EBEE_EXCHANGE } } },
	{ "HTTP/2 is by library where the kernel cannot", EBEE_AUTO,
	  { { CHOOSE_VOTES - 1, NEW_HTTP2, EBEE_EXCHANGE }, { 1, NOTHING, EBEE_EXCHANGE, true, true },
	    { CHOOSE_VOTES, NOTHING, EBEE_GRPC }, { FOR_EVER, REQUESTS, EBEE_GRPC } } },
	{ "HTTP/2 stays where neither can", EBEE_AUTO, { { FOR_EVER, NEW_HTTP2, EBEE_EXCHANGE, true, true } } },
	{ "TLS is by library", EBEE_AUTO, { { CHOOSE_VOTES, NEW_TLS, EBEE_GRPC }, { FOR_EVER, REQUESTS, EBEE_GRPC } } },
	{ "TLS without the library stays", EBEE_AUTO, { { FOR_EVER, NEW_TLS, EBEE_EXCHANGE, true } } },
	{ "a library that is never called is given up, and rests", EBEE_AUTO,
	  { { CHOOSE_VOTES, NEW_TLS, EBEE_GRPC }, { CHOOSE_NEVER_HIT - 1, READS_ALONE, EBEE_GRPC },
	    { 1, READS_ALONE, EBEE_EXCHANGE }, { CHOOSE_REST - 1, NEW_TLS, EBEE_EXCHANGE }, { 1, NEW_TLS, EBEE_GRPC } } },
	{ "a library without traffic is kept", EBEE_AUTO,
	  { { CHOOSE_VOTES, NEW_TLS, EBEE_GRPC }, { FOR_EVER, NOTHING, EBEE_GRPC } } },
	{ "unknown bytes may be gRPC's", EBEE_AUTO, { { CHOOSE_VOTES, NEW_UNKNOWN, EBEE_GRPC } } },
	{ "streams that are connections of something else end HTTP/2", EBEE_AUTO,
	  { { CHOOSE_VOTES, NEW_HTTP2, EBEE_HTTP2 }, { 10, REQUESTS, EBEE_HTTP2 },
	    { CHOOSE_VOTES - 1, { .nr_opaque = 2, .nr_connections = 2 }, EBEE_HTTP2 }, { 1, NOTHING, EBEE_EXCHANGE },
	    { FOR_EVER, NEW_HTTP1, EBEE_EXCHANGE } } },
	{ "a stray connection does not end HTTP/2", EBEE_AUTO,
	  { { CHOOSE_VOTES, NEW_HTTP2, EBEE_HTTP2 },
	    { FOR_EVER, { .nr_opaque = 1, .nr_connections = 3, .nr_begun = 1 }, EBEE_HTTP2 } } },
	{ "HTTP/2 that went and came back, its connections older than the change", EBEE_AUTO,
	  { { CHOOSE_VOTES, NEW_HTTP2, EBEE_HTTP2 }, { CHOOSE_VOTES, { .nr_opaque = 2, .nr_connections = 2 }, EBEE_EXCHANGE },
	    { CHOOSE_REST, NEW_HTTP1, EBEE_EXCHANGE }, { CHOOSE_VOTES, NEW_UNKNOWN, EBEE_HTTP2 } } },

	{ "the study begins with connections, where there is no library", EBEE_STUDY,
	  { { FOR_EVER, { .nr_begun = 5, .nr_closed = 5 }, EBEE_CONNECTION, true } } },
	{ "the study takes the library where it is", EBEE_STUDY,
	  { { 1, NOTHING, EBEE_CONNECTION }, { 1, REQUESTS, EBEE_GRPC }, { FOR_EVER, REQUESTS, EBEE_GRPC } } },
	{ "and gives it up when it is never called", EBEE_STUDY,
	  { { 1, REQUESTS, EBEE_GRPC }, { CHOOSE_NEVER_HIT, READS_ALONE, EBEE_CONNECTION } } },
	{ "connections that live on are by read and send", EBEE_STUDY,
	  { { 1, REQUESTS, EBEE_CONNECTION, true }, { CHOOSE_VOTES - 1, { .nr_lingering = 4, .nr_begun = 1 }, EBEE_CONNECTION },
	    { 1, { .nr_lingering = 4 }, EBEE_READ_SEND }, { 50, REQUESTS, EBEE_READ_SEND } } },
	{ "a few of many that live on change nothing", EBEE_STUDY,
	  { { FOR_EVER, { .nr_lingering = 2, .nr_begun = 20 }, EBEE_CONNECTION, true } } },
	{ "connections that close soon again are by connection again, after a rest", EBEE_STUDY,
	  { { 1, REQUESTS, EBEE_CONNECTION, true }, { CHOOSE_VOTES, { .nr_lingering = 4 }, EBEE_READ_SEND },
	    { CHOOSE_REST - 1, { .nr_begun = 20, .nr_closed = 19 }, EBEE_READ_SEND },
	    { CHOOSE_VOTES, { .nr_begun = 20, .nr_closed = 19 }, EBEE_CONNECTION } } },
};

static void play(const struct story *story)
{
	struct choose c;

	choose_init(&c, story->asked);
	for (const struct step *step = story->steps; step < story->steps + MAX_STEPS && step->nr_sweeps; step++) {
		for (unsigned int i = 0; i < step->nr_sweeps; i++) {
			if (choose_step(&c, &step->seen) && step->refuse)
				choose_refused(&c, step->for_good);
		}
		if (c.in_use != step->in_use)
			fail_msg("%s: after step %d %s is in use, not %s", story->name, (int)(step - story->steps) + 1,
				 ebee_lifecycle_name(c.in_use), ebee_lifecycle_name(step->in_use));
	}
}

static void every_story_ends_as_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
		play(&stories[i]);
}

static void what_is_wrong_again_and_again_rests_longer_each_time(void **state)
{
	const struct choose_seen tls = NEW_TLS, reads = READS_ALONE;
	unsigned int waited[3] = { 0 };
	struct choose c;

	(void)state;
	choose_init(&c, EBEE_AUTO);
	for (int i = 0; i < 3; i++) {
		while (c.in_use != EBEE_GRPC && waited[i]++ < 100000)
			choose_step(&c, &tls);
		for (int k = 0; k < CHOOSE_NEVER_HIT; k++)
			choose_step(&c, &reads);
		assert_int_equal(c.in_use, EBEE_EXCHANGE);
	}
	assert_int_equal(waited[0], CHOOSE_VOTES);
	assert_int_equal(waited[1], CHOOSE_REST);
	assert_int_equal(waited[2], 2 * CHOOSE_REST);
}

static void every_choice_has_a_reason(void **state)
{
	const struct choose_seen http2 = NEW_HTTP2;
	struct choose c;

	(void)state;
	choose_init(&c, EBEE_AUTO);
	assert_true(strlen(c.reason) > 0);
	while (!choose_step(&c, &http2))
		;
	assert_non_null(strstr(c.reason, "HTTP/2"));
	choose_refused(&c, true);
	assert_non_null(strstr(c.reason, "cannot be measured"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_story_ends_as_told),
		cmocka_unit_test(what_is_wrong_again_and_again_rests_longer_each_time),
		cmocka_unit_test(every_choice_has_a_reason),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
