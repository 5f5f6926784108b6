// SPDX-License-Identifier: GPL-2.0
/*
 * client_report.c - pure but for jansson's memory: lines of JSON into a histogram, and its window into a sample.  It opens
 * no file and knows no clock.
 */
#include "client_report.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* A report of more is garbage, and far more windows than are ever merged stay below what a window can count. */
enum { MAX_REQUESTS = 10000000 };
static const double max_us = 1e12;

static bool is_latency(const json_t *value)
{
	return json_is_number(value) && json_number_value(value) >= 0 && json_number_value(value) <= max_us;
}

/* How many requests an element of latencies_us stands for; 0: none, it is garbage. */
static uint64_t count_of(const json_t *element, double *ret_us)
{
	const json_t *value = json_is_array(element) ? json_array_get(element, 0) : element;
	const json_t *count = json_array_get(element, 1);

	if (!is_latency(value))
		return 0;
	*ret_us = json_number_value(value);
	if (!json_is_array(element))
		return 1;
	if (json_array_size(element) != 2 || !json_is_integer(count) || json_integer_value(count) < 1 ||
	    json_integer_value(count) > MAX_REQUESTS)
		return 0;
	return (uint64_t)json_integer_value(count);
}

/* The requests of a list, or -1. */
static int64_t count_requests(const json_t *list)
{
	int64_t sum = 0;

	if (!json_is_array(list))
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++) {
		double latency_us;
		uint64_t nr = count_of(json_array_get(list, i), &latency_us);

		sum += (int64_t)nr;
		if (!nr || sum > MAX_REQUESTS)
			return -1;
	}
	return sum;
}

static void book(struct exchange_cell *cell, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		double latency_us = 0;
		uint64_t nr = count_of(json_array_get(list, i), &latency_us);
		unsigned int bucket = hist_index((uint64_t)llround(latency_us * 1000));

		cell->octaves[EXCHANGE_OWED] |= hist_octave_bit(bucket);
		cell->buckets[bucket / HIST_SUBS][EXCHANGE_OWED][bucket % HIST_SUBS] += (uint32_t)nr;
		cell->nr_booked += nr;
	}
}

/* The client of that name, added when it is new; NULL: no room. */
static struct client_in_flight *client_of(struct client_reports *r, const char *name)
{
	struct client_in_flight *c;

	for (uint32_t i = 0; i < r->nr_clients; i++)
		if (!strcmp(r->clients[i].name, name))
			return &r->clients[i];
	if (r->nr_clients == CLIENT_REPORT_MAX_CLIENTS)
		return NULL;
	c = &r->clients[r->nr_clients++];
	*c = (struct client_in_flight){ 0 };
	strcpy(c->name, name);
	return c;
}

/* An optional whole number; false: it is there and is none. */
static bool take_count(const json_t *report, const char *key, uint64_t *ret)
{
	const json_t *value = json_object_get(report, key);

	if (!value)
		return true;
	if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > MAX_REQUESTS)
		return false;
	*ret = (uint64_t)json_integer_value(value);
	return true;
}

/* The reason why not, or NULL. */
static const char *add(struct client_reports *r, const json_t *report)
{
	const json_t *list = json_object_get(report, "latencies_us"), *oldest = json_object_get(report, "oldest_us");
	const json_t *client = json_object_get(report, "client");
	const char *name = client ? json_string_value(client) : "";
	int64_t nr = count_requests(list);
	uint64_t nr_sent = (uint64_t)nr, nr_in_flight = 0;
	struct client_in_flight *c;

	if (!list)
		return "no object with latencies_us";
	if (nr < 0)
		return "latencies_us is no list of microseconds or [microseconds, count], of at most ten million requests";
	if (!take_count(report, "sent", &nr_sent))
		return "sent is no count";
	if (!take_count(report, "in_flight", &nr_in_flight))
		return "in_flight is no count";
	if (oldest && !is_latency(oldest))
		return "oldest_us is no time";
	if (!name || strlen(name) >= CLIENT_REPORT_NAME_SIZE)
		return "client is no name of at most 31 bytes";
	c = client_of(r, name);
	if (!c)
		return "more than 64 clients in one window";
	c->nr_in_flight = nr_in_flight;
	c->oldest_ns = oldest && nr_in_flight ? (uint64_t)llround(json_number_value(oldest) * 1000) : 0;
	book(&r->cell, list);
	r->nr_sent += nr_sent;
	r->nr_reports++;
	return NULL;
}

int client_reports_add(struct client_reports *r, const char *text, size_t length, double now_s, double limit_s,
		       const char **ret_reason)
{
	json_t *report = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
	const json_t *t = json_object_get(report, "t");
	const char *why = NULL;
	int err = -EINVAL;

	if (!report)
		why = "not JSON";
	else if (t && !json_is_number(t))
		why = "t is no number of seconds since 1970";
	else if (t && fabs(now_s - json_number_value(t)) > limit_s)
		err = -ESTALE, why = json_number_value(t) < now_s ? "it is too old" : "it is from the future: compare the clocks";
	else
		why = add(r, report);
	json_decref(report);
	if (!why)
		return 0;
	*ret_reason = why;
	return err;
}

void client_reports_end(struct client_reports *r, uint32_t percentile_permille, uint64_t target_ns, struct sample *ret)
{
	struct sample s = { .nr_arrived = r->nr_sent, .signal = r->nr_reports ? POLICY_FRESH : POLICY_LOST };
	const struct window *w = &r->window;

	window_advance(&r->window, &r->cell, 1);
	s.nr_completed = window_count(w, EXCHANGE_OWED);
	s.mean_ns = window_mean(w, EXCHANGE_OWED);
	s.p50_ns = window_percentile(w, EXCHANGE_OWED, 500);
	s.p95_ns = window_percentile(w, EXCHANGE_OWED, 950);
	s.p99_ns = window_percentile(w, EXCHANGE_OWED, 990);
	s.steer_ns = window_percentile(w, EXCHANGE_OWED, percentile_permille);
	s.nr_late = target_ns ? window_count_over(w, EXCHANGE_OWED, target_ns) : 0;
	for (uint32_t i = 0; i < r->nr_clients; i++) {
		s.nr_in_flight += r->clients[i].nr_in_flight;
		s.nr_over_target += r->clients[i].oldest_ns > target_ns; /* more are, perhaps */
		if (r->clients[i].oldest_ns > s.oldest_ns)
			s.oldest_ns = r->clients[i].oldest_ns;
	}
	r->nr_reports = r->nr_sent = r->nr_clients = 0;
	*ret = s;
}
