// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - hotel-search: a latency-critical service that does real work per request.  Glue: options and signals.
 * After the search service of DeathStarBench's hotel reservation: hotels near a position, rates for the dates, ranked.
 */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "server.h"
#include "experiments/common/number.h"

enum { MAX_THREADS = 1024 };

static const char usage[] =
	"usage: hotel-search --port PORT [options]\n"
	"Serves " HOTEL_METHOD " by gRPC on 127.0.0.1; prints `ready` when it listens, ends on SIGTERM or SIGINT.\n"
	"\n"
	"  --port PORT     TCP port\n"
	"  --threads N     threads that serve (default 2)\n"
	"  --weight N      work per request, 1..100: 100 hotels looked at for each (default 30)\n"
	"  --hotels N      hotels in the city (default 20000)\n"
	"  --seed N        of the city (default 1)\n"
	"  --help          this text\n";

struct options {
	uint64_t port, nr_threads, weight, nr_hotels, seed;
};

/* Returns 0 to go on, or the exit code + 1. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "port", required_argument, NULL, 'p' },   { "threads", required_argument, NULL, 't' },
		{ "weight", required_argument, NULL, 'w' }, { "hotels", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },   { "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, bad = 0;

	while (!bad && (c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'p')
			bad = number_parse(optarg, 1, 65535, &o->port);
		else if (c == 't')
			bad = number_parse(optarg, 1, MAX_THREADS, &o->nr_threads);
		else if (c == 'w')
			bad = number_parse(optarg, 1, SEARCH_MAX_WEIGHT, &o->weight);
		else if (c == 'n')
			bad = number_parse(optarg, 1, 10000000, &o->nr_hotels);
		else if (c == 's')
			bad = number_parse(optarg, 0, UINT64_MAX, &o->seed);
		else if (c == 'h') {
			fputs(usage, stdout);
			return 1;
		} else
			bad = 1;
	}
	if (bad || !o->port || optind < argc) {
		fprintf(stderr, "hotel-search: bad or missing option; --port PORT is needed\n%s", usage);
		return 3;
	}
	return 0;
}

static int serve(const struct options *o, const struct city *city)
{
	struct server_settings settings = { city, (uint32_t)o->weight, (uint32_t)o->nr_threads, (uint16_t)o->port };
	struct server *server;
	sigset_t set;
	int err, signal_number;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL); /* before threads exist: they inherit it */
	err = server_start(&server, &settings);
	if (err)
		return err;
	puts("ready");
	fflush(stdout);
	sigwait(&set, &signal_number);
	server_stop(server);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .nr_threads = 2, .weight = 30, .nr_hotels = 20000, .seed = 1 };
	struct city *city;
	int err = parse_options(argc, argv, &o);

	if (err)
		return err - 1;
	err = city_make(&city, (uint32_t)o.nr_hotels, o.seed);
	if (!err) {
		err = serve(&o, city);
		city_free(city);
	}
	if (err)
		fprintf(stderr, "hotel-search: port %u: %s\n", (unsigned int)o.port, strerror(-err));
	return err ? 1 : 0;
}
