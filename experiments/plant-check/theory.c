// SPDX-License-Identifier: GPL-2.0
/*
 * theory.c - the simulated queues against what queueing theory says of them, latency by latency and not by bucket. 
 * Glue over the source and the disciplines; the formulas are the textbooks' (Kleinrock, Queueing Systems; Crommelin for
 * M/D/1).
 */
#include "check.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiments/plant/discipline.h"
#include "experiments/plant/source.h"

enum { SERVICE_NS = 100000, WARM_UP_SHARE = 20 };
static const double bound = 0.02;

/* cv below 0: exponential.  p99 is compared where theory has one in closed form. */
struct theory_case {
	const char *name;
	bool sharing;
	uint32_t nr_servers;
	double rho, cv;
	bool has_p99;
};

static const struct theory_case cases[] = {
	{ "M/M/1", false, 1, 0.5, -1, true },
	{ "M/M/1", false, 1, 0.7, -1, true },
	{ "M/M/1", false, 1, 0.8, -1, true },
	{ "M/M/2", false, 2, 0.8, -1, true },
	{ "M/M/8", false, 8, 0.8, -1, true },
	{ "M/M/16", false, 16, 0.9, -1, true },
	{ "M/M/64", false, 64, 0.9, -1, true },
	{ "M/D/1", false, 1, 0.5, 0, true },
	{ "M/D/1", false, 1, 0.8, 0, true },
	{ "M/G/1 cv 0.3", false, 1, 0.8, 0.3, false },
	{ "M/G/1 cv 1.5", false, 1, 0.6, 1.5, false },
	{ "M/M/1 sharing", true, 1, 0.8, -1, false },
	{ "M/G/1 sharing cv 0.3", true, 1, 0.8, 0.3, false },
	{ "M/G/1 sharing cv 1.5", true, 1, 0.6, 1.5, false },
	{ "M/M/8 sharing", true, 8, 0.8, -1, false },
	{ "M/G/8 sharing cv 1.5", true, 8, 0.8, 1.5, false },
};

struct record {
	uint32_t *latencies_ns;
	uint64_t nr, nr_wanted, nr_skip;
};

static void record(void *ctx, const struct request *request, uint64_t finish_ns)
{
	struct record *r = ctx;

	if (r->nr_skip)
		r->nr_skip--;
	else if (r->nr < r->nr_wanted)
		r->latencies_ns[r->nr++] = (uint32_t)(finish_ns - request->arrival_ns);
}

static int play(const struct theory_case *c, struct record *r)
{
	struct source_params params = { .service_ns = SERVICE_NS, .cv = fabs(c->cv), .seed = 42, .room = 1 << 20,
					.shape = c->cv < 0 ? DRAW_EXPONENTIAL : DRAW_LOGNORMAL };
	struct discipline_params servers_params = { .room = 1 << 20, .done = record, .ctx = r };
	const struct discipline_ops *ops = c->sharing ? &sharing_ops : &servers_ops;
	struct source source;
	struct request request;
	void *servers;
	int err = source_open(&source, &params);

	if (!err)
		err = ops->open(&servers, &servers_params);
	if (err)
		return err;
	ops->set_servers(servers, c->nr_servers);
	source_set_rate(&source, c->rho * c->nr_servers / SERVICE_NS, 0);
	while (r->nr < r->nr_wanted && source_take(&source, UINT64_MAX, &request))
		ops->arrive(servers, &request, request.arrival_ns);
	ops->close(servers);
	source_close(&source);
	return 0;
}

/* Probability that a request waits, M/M/k. */
static double erlang_c(uint32_t k, double rho)
{
	double term = 1, sum = 1, a = k * rho;

	for (uint32_t i = 1; i < k; i++) {
		term *= a / i;
		sum += term;
	}
	term *= a / k / (1 - rho);
	return term / (sum + term);
}

/* Mean time in the system, in service times. */
static double theory_mean(const struct theory_case *c)
{
	double cv = c->cv < 0 ? 1 : c->cv;

	if (c->nr_servers > 1) /* M/M/k; sharing does not care for the distribution */
		return 1 + erlang_c(c->nr_servers, c->rho) / (c->nr_servers * (1 - c->rho));
	if (c->sharing)
		return 1 / (1 - c->rho);
	return 1 + c->rho * (1 + cv * cv) / 2 / (1 - c->rho);
}

/* Probability to be in the system for longer than t service times. */
static double tail_m_m_k(const struct theory_case *c, double t)
{
	double wait = erlang_c(c->nr_servers, c->rho), drain = c->nr_servers * (1 - c->rho);
	double both = fabs(drain - 1) < 1e-9 ? (1 + t) * exp(-t) : (drain * exp(-t) - exp(-drain * t)) / (drain - 1);

	return (1 - wait) * exp(-t) + wait * both;
}

static double tail_m_d_1(const struct theory_case *c, double t)
{
	double sum = 0, wait = t - 1;

	if (wait < 0)
		return 1;
	for (int k = 0; k <= (int)wait; k++) {
		double x = c->rho * (k - wait), term = exp(-x);

		for (int i = 1; i <= k; i++)
			term *= x / i;
		sum += term;
	}
	return 1 - (1 - c->rho) * sum;
}

static double theory_p99(const struct theory_case *c)
{
	double (*tail)(const struct theory_case *, double) = c->cv == 0 ? tail_m_d_1 : tail_m_m_k;
	double low = 0, high = 30;

	while (high - low > 1e-6) {
		double middle = (low + high) / 2;

		if (tail(c, middle) > 0.01)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Nearest rank; moves the values about. */
static uint32_t percentile_99(uint32_t *values, uint64_t nr)
{
	uint64_t low = 0, high = nr - 1, rank = (nr * 99 + 99) / 100 - 1;

	while (low < high) {
		uint32_t pivot = values[low + (high - low) / 2];
		uint64_t i = low, j = high;

		while (i <= j) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i <= j) {
				uint32_t swapped = values[i];

				values[i++] = values[j];
				values[j] = swapped;
				if (!j)
					break;
				j--;
			}
		}
		if (rank <= j)
			high = j;
		else if (rank >= i)
			low = i;
		else
			return values[rank];
	}
	return values[rank];
}

static int report(const struct theory_case *c, const char *what, double measured, double theory)
{
	double off = measured / theory - 1;
	bool bad = !(fabs(off) <= bound);

	printf("%-22s %5.2f  %-4s %9.3f %9.3f %+6.2f %%%s\n", c->name, c->rho, what, measured, theory, off * 100,
	       bad ? "  OUT OF BOUNDS" : "");
	return bad;
}

int check_theory(uint64_t nr_requests)
{
	struct record r = { .nr_wanted = nr_requests };
	int nr_bad = 0;

	r.latencies_ns = malloc(nr_requests * sizeof(*r.latencies_ns));
	if (!r.latencies_ns)
		goto failed;
	printf("%-22s %5s  %-4s %9s %9s %8s\n", "queue", "busy", "", "simulated", "theory", "off");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct theory_case *c = &cases[i];
		double sum_ns = 0;

		fprintf(stderr, "\r%50s\rtheory: %s ", "", c->name);
		r.nr = 0;
		r.nr_skip = nr_requests / WARM_UP_SHARE;
		if (play(c, &r))
			goto failed;
		for (uint64_t n = 0; n < r.nr; n++)
			sum_ns += r.latencies_ns[n];
		nr_bad += report(c, "mean", sum_ns / (double)r.nr / SERVICE_NS, theory_mean(c));
		if (c->has_p99)
			nr_bad += report(c, "p99", (double)percentile_99(r.latencies_ns, r.nr) / SERVICE_NS,
					 theory_p99(c));
	}
	fprintf(stderr, "\r%50s\r", "");
	if (nr_bad)
		fprintf(stderr, "plant-check: %d rows of theory are off by more than %.0f %%\n", nr_bad, bound * 100);
	free(r.latencies_ns);
	return nr_bad;
failed:
	fprintf(stderr, "plant-check: not enough memory\n");
	free(r.latencies_ns);
	return -1;
}
