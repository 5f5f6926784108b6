// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "feedback.h"

#define MS 1000000ull

static struct side {
	struct sample sample;
	int error;
} kernel, client;
static struct feedback feedback;
static struct sample got;

static int read_side(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	const struct side *side = ctx;

	(void)now_ns;
	for (uint32_t i = 0; !side->error && i < nr_services; i++)
		samples[i] = side->sample;
	return side->error;
}

static int set_up(void **state)
{
	(void)state;
	kernel = (struct side){ { .nr_arrived = 310, .nr_completed = 300, .p50_ns = 2 * MS, .p99_ns = 4 * MS, .steer_ns = 4 * MS,
				  .service_p99_ns = 3 * MS, .nr_in_flight = 10, .oldest_ns = 5 * MS, .nr_listen_drops = 1,
				  .signal = POLICY_FRESH }, 0 };
	client = (struct side){ { .nr_arrived = 299, .nr_completed = 290, .p50_ns = 6 * MS, .p99_ns = 8 * MS, .steer_ns = 8 * MS,
				  .nr_late = 3, .nr_in_flight = 12, .signal = POLICY_FRESH }, 0 };
	memset(&got, 0, sizeof(got));
	return 0;
}

static int read_again(void)
{
	struct sensor sensor = feedback_port(&feedback);

	return sensor.read(sensor.ctx, 0, &got, 1);
}

static int read_as(enum config_feedback kind)
{
	feedback = (struct feedback){ .kind = kind, .kernel = { &kernel, read_side }, .client = { &client, read_side } };
	return read_again();
}

static void one_feedback_alone_is_as_it_is(void **state)
{
	(void)state;
	assert_int_equal(read_as(CONFIG_FEEDBACK_BPF), 0);
	assert_memory_equal(&got, &kernel.sample, sizeof(got));
	assert_int_equal(read_as(CONFIG_FEEDBACK_CLIENT), 0);
	assert_memory_equal(&got, &client.sample, sizeof(got));
}

static void with_both_the_kernel_steers_and_the_clients_stand_beside_it(void **state)
{
	(void)state;
	assert_int_equal(read_as(CONFIG_FEEDBACK_BOTH), 0);
	assert_int_equal(got.steer_ns, 4 * MS);
	assert_int_equal(got.nr_completed, 300);
	assert_true(got.other.known);
	assert_int_equal(got.other.steer_ns, 8 * MS);
	assert_int_equal(got.other.nr_completed, 290);
}

static void with_clients_first_they_steer_and_the_kernel_still_counts_arrivals(void **state)
{
	(void)state;
	assert_int_equal(read_as(CONFIG_FEEDBACK_CLIENT_FIRST), 0);
	assert_int_equal(got.steer_ns, 8 * MS);
	assert_int_equal(got.nr_completed, 290);
	assert_int_equal(got.nr_late, 3);
	assert_int_equal(got.nr_arrived, 310);
	assert_int_equal(got.nr_in_flight, 10);
	assert_int_equal(got.nr_listen_drops, 1);
	assert_int_equal(got.service_p99_ns, 3 * MS);
	assert_int_equal(got.other.p99_ns, 4 * MS);
	assert_int_equal(got.other.nr_completed, 300);
}

static void the_window_is_lost_only_with_the_side_that_steers(void **state)
{
	(void)state;
	client.sample = (struct sample){ .signal = POLICY_LOST };
	assert_int_equal(read_as(CONFIG_FEEDBACK_BOTH), 0);
	assert_int_equal(got.signal, POLICY_FRESH);
	assert_false(got.other.known);
	assert_int_equal(read_as(CONFIG_FEEDBACK_CLIENT_FIRST), 0);
	assert_int_equal(got.signal, POLICY_LOST);
	assert_int_equal(got.steer_ns, 0);
	set_up(NULL);
	kernel.sample.signal = POLICY_LOST;
	assert_int_equal(read_as(CONFIG_FEEDBACK_BOTH), 0);
	assert_int_equal(got.signal, POLICY_LOST);
	assert_int_equal(read_as(CONFIG_FEEDBACK_CLIENT_FIRST), 0);
	assert_int_equal(got.signal, POLICY_FRESH);
	assert_int_equal(got.nr_arrived, 299);
	assert_false(got.other.known);
}

static void a_sensor_that_fails_ends_nothing_it_does_not_steer(void **state)
{
	(void)state;
	client.error = -EIO;
	assert_int_equal(read_as(CONFIG_FEEDBACK_BOTH), 0);
	assert_false(got.other.known);
	assert_int_equal(read_as(CONFIG_FEEDBACK_CLIENT_FIRST), -EIO);
	client.error = 0;
	kernel.error = -EIO;
	assert_int_equal(read_as(CONFIG_FEEDBACK_BOTH), -EIO);
	assert_int_equal(read_as(CONFIG_FEEDBACK_CLIENT_FIRST), 0);
	assert_int_equal(got.nr_in_flight, 12);
	/* The kernel's next window holds two: not yet. */
	kernel.error = 0;
	assert_int_equal(read_again(), 0);
	assert_int_equal(got.nr_in_flight, 12);
	assert_int_equal(read_again(), 0);
	assert_int_equal(got.nr_in_flight, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_feedback_alone_is_as_it_is, set_up),
		cmocka_unit_test_setup(with_both_the_kernel_steers_and_the_clients_stand_beside_it, set_up),
		cmocka_unit_test_setup(with_clients_first_they_steer_and_the_kernel_still_counts_arrivals, set_up),
		cmocka_unit_test_setup(the_window_is_lost_only_with_the_side_that_steers, set_up),
		cmocka_unit_test_setup(a_sensor_that_fails_ends_nothing_it_does_not_steer, set_up),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
