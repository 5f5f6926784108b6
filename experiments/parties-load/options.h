/* SPDX-License-Identifier: GPL-2.0 */
/*
 * options.h - the command line of parties-load as plain values.
 */
#ifndef PARTIES_LOAD_OPTIONS_H
#define PARTIES_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "experiments/common/profile.h"

enum load_protocol { LOAD_MEMCACHED, LOAD_REDIS, LOAD_HTTP, LOAD_GRPC, LOAD_TRUTH, LOAD_NR_PROTOCOLS };

enum { OPTIONS_MAX_CONNECTIONS = 16384, OPTIONS_MAX_VALUE = 65536, OPTIONS_PATH_SIZE = 1024, OPTIONS_HOST_SIZE = 256 };

struct options {
	enum load_protocol protocol;
	struct sockaddr_storage address;
	socklen_t address_size;
	char host[OPTIONS_HOST_SIZE];   /* as given, for the Host header */
	char path[OPTIONS_PATH_SIZE];   /* http */
	uint32_t nr_connections;
	bool close_each;                /* a new connection for every request */
	bool connect_first;             /* before the schedule begins; not grpc */

	bool has_profile;
	struct profile profile;
	double rps;                     /* constant rate, or what 100 % of the profile is */
	bool poisson;
	uint64_t duration_ns;           /* UINT64_MAX: until nr_requests or a signal */
	uint64_t nr_requests;           /* UINT64_MAX: no limit */
	uint64_t interval_ns;
	uint64_t target_ns;             /* 0: none */
	uint64_t seed;
	const char *report_path;        /* NULL: no reports */

	bool calibrate;
	uint64_t step_ns;

	uint32_t get_percent, nr_keys, value_size;      /* memcached, redis */
	uint32_t service_low_us, service_high_us;       /* truth; both the mean when exponential */
	bool service_exponential;
};

/* 0: go on.  Otherwise the exit code plus one; help or the reason has been printed. */
int options_parse(int argc, char **argv, struct options *ret);

#endif
