// SPDX-License-Identifier: GPL-2.0
/*
 * snapshot.c - what one look at all services costs: windows over mapped cells against one batch look-up of the same map.
 * Glue.  The cells are filled here, not by programs: requests of 0.1 to some milliseconds after a wait of some 20 us.
 *
 * Prints CPU time in ns, medians over interleaved pairs, in which every service has had requests since the last look; and
 * once more when none has had any.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "measure.h"
#include "rng.h"
#include "window.h"

enum { NR_SERVICES = 64, MAX_PAIRS = 21, NR_HISTORY = 10000, NR_PER_WINDOW = 500 };

struct bench {
	unsigned int nr_slots, nr_cells;
	int map_fd;
	struct exchange_cell *cells, *copy;
	uint32_t *keys;
	struct window *windows;
	struct rng rng;
};

static void add_requests(struct bench *b, unsigned int nr)
{
	for (unsigned int i = 0; i < nr * NR_SERVICES; i++) {
		unsigned int service = i % NR_SERVICES, slot = (unsigned int)rng_below(&b->rng, b->nr_slots);
		struct exchange_cell *cell = &b->cells[service * b->nr_slots + slot];
		uint64_t residency = (uint64_t)(20e3 * rng_exponential(&b->rng));
		uint64_t served = 100000 + (uint64_t)(300e3 * rng_exponential(&b->rng));

		cell->counters[EXCHANGE_BEGUN]++;
		window_book(cell, EXCHANGE_RESIDENCY, residency);
		window_book(cell, EXCHANGE_SERVICE, served);
		window_book(cell, EXCHANGE_TOTAL, residency + served);
		window_book(cell, EXCHANGE_OWED, residency + served);
	}
}

static int open_bench(struct bench *b, unsigned int nr_slots)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	*b = (struct bench){ .nr_slots = nr_slots, .nr_cells = NR_SERVICES * nr_slots };
	rng_seed(&b->rng, 1);
	b->map_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "cells", sizeof(uint32_t), sizeof(*b->cells), b->nr_cells, &opts);
	if (b->map_fd < 0)
		return -errno;
	b->cells = mmap(NULL, b->nr_cells * sizeof(*b->cells), PROT_READ | PROT_WRITE, MAP_SHARED, b->map_fd, 0);
	b->copy = calloc(b->nr_cells, sizeof(*b->copy));
	b->keys = calloc(b->nr_cells, sizeof(*b->keys));
	b->windows = calloc(NR_SERVICES, sizeof(*b->windows));
	if (b->cells == MAP_FAILED || !b->copy || !b->keys || !b->windows)
		return -ENOMEM;
	add_requests(b, NR_HISTORY);
	for (unsigned int i = 0; i < NR_SERVICES; i++)
		window_start(&b->windows[i], &b->cells[i * nr_slots], nr_slots);
	return 0;
}

static int look_up(struct bench *b, double *ret_ns)
{
	uint32_t nr = b->nr_cells, next;
	uint64_t start = cpu_ns();

	if (bpf_map_lookup_batch(b->map_fd, NULL, &next, b->keys, b->copy, &nr, NULL) && errno != ENOENT)
		return -errno;
	*ret_ns = (double)(cpu_ns() - start);
	return nr == b->nr_cells ? 0 : -EIO;
}

/* -EIO: the windows do not hold `nr_per_service` requests each. */
static int advance(struct bench *b, unsigned int nr_per_service, double *ret_ns)
{
	uint64_t start = cpu_ns(), nr = 0;

	for (unsigned int i = 0; i < NR_SERVICES; i++)
		window_advance(&b->windows[i], &b->cells[i * b->nr_slots], b->nr_slots);
	*ret_ns = (double)(cpu_ns() - start);
	for (unsigned int i = 0; i < NR_SERVICES; i++)
		nr += window_count(&b->windows[i], EXCHANGE_OWED);
	return nr == NR_SERVICES * nr_per_service ? 0 : -EIO;
}

static double octaves_per_histogram(const struct bench *b)
{
	double sum = 0;

	for (unsigned int i = 0; i < NR_SERVICES; i++)
		for (unsigned int which = 0; which < EXCHANGE_NR_HISTS; which++)
			sum += __builtin_popcount(b->windows[i].delta.octaves[which]);
	return sum / NR_SERVICES / EXCHANGE_NR_HISTS;
}

static int measure(unsigned int nr_slots, unsigned int nr_pairs)
{
	double looked_up[MAX_PAIRS], advanced[MAX_PAIRS], idle[MAX_PAIRS];
	double octaves = 0;
	struct bench b;
	char name[64];
	int err = open_bench(&b, nr_slots);

	for (unsigned int pair = 0; !err && pair < nr_pairs; pair++) {
		bool first = pair % 2;

		add_requests(&b, NR_PER_WINDOW);
		err = first ? look_up(&b, &looked_up[pair]) : advance(&b, NR_PER_WINDOW, &advanced[pair]);
		if (!err)
			err = first ? advance(&b, NR_PER_WINDOW, &advanced[pair]) : look_up(&b, &looked_up[pair]);
		octaves = octaves_per_histogram(&b);
		if (!err)
			err = advance(&b, 0, &idle[pair]);
	}
	if (err)
		return err;
	snprintf(name, sizeof(name), "snapshot_%u_slots_ns", nr_slots);
	report(name, median(advanced, nr_pairs));
	snprintf(name, sizeof(name), "snapshot_idle_%u_slots_ns", nr_slots);
	report(name, median(idle, nr_pairs));
	snprintf(name, sizeof(name), "batch_look_up_%u_slots_ns", nr_slots);
	report(name, median(looked_up, nr_pairs));
	snprintf(name, sizeof(name), "octaves_per_histogram_%u_slots", nr_slots);
	report(name, octaves);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int nr_pairs = measure_rounds(argc, argv, MAX_PAIRS);
	int err = measure(2, nr_pairs);

	if (!err)
		err = measure(8, nr_pairs);
	if (err)
		fprintf(stderr, "snapshot: %s%s\n", strerror(-err), err == -EPERM ? "; BPF maps need root" : "");
	return err ? 1 : 0;
}
