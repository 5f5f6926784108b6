/* SPDX-License-Identifier: GPL-2.0 */
/*
 * scenario.h - the file that describes a simulated machine, the services on it and their loads.  Port over inih.
 *
 *	[plant]                      the machine
 *	cores        = 16
 *	l3           = 8             cores that share an L3; default: all
 *	duration     = 90s           default: the longest profile
 *	seed         = 1             of arrivals and service times
 *	ladder       = steps         1.2 to 2.2 GHz by 100 MHz and 2.8; or states: 1.5, 2.0 and 2.45, the last nominal
 *	delay        = 500ms         until an allocation takes effect; default: 5 ms for cores, 1 ms for speed
 *	noise        = 5             percent by which latencies and CPU times may be read wrong
 *	lost         = 1             percent of windows in which nothing is seen
 *
 *	[controller]                 as in a configuration file, likewise [policy]
 *
 *	[service search]
 *	like         = xapian        every key below except profile as that service of catalogue.h has it;
 *	                             keys given beside it, before or after, override
 *	target       = p99 < 25ms    as in a configuration file, likewise cores
 *	service_time = 4ms           mean, at full speed and undisturbed
 *	distribution = lognormal     or exponential
 *	cv           = 0.5           standard deviation / mean of a lognormal; 0: constant
 *	queue        = shared        or per-thread, or processor-sharing
 *	batch        = 30            requests that come and are served together, in one service_time; 1
 *	disk         = 16 55ms       then each waits for one of 16 disks, for 55 ms (mean; exponential) at any speed
 *	network      = 100us 5us     before: the way takes 100 us, and each holds the line for 5 us (mean; exponential),
 *	                             which its clients see and its kernel does not; without the second, no line
 *	max_load     = 2000          requests per second at 100 %
 *	memory_part  = 0.2           share of the service time that speed does not change
 *	sigma        = 0.5           how much neighbours' memory traffic slows it down
 *	bandwidth    = 0.6           GB/s of its own at 100 %
 *	profile      = at 0s 7%; ramp 30s 100%      or indented lines below, or the path of a file beside this one;
 *	                             no blank before a ';', where a comment would begin
 *
 *	[batch index]                best-effort work; it has no keys
 */
#ifndef PARTIES_SCENARIO_H
#define PARTIES_SCENARIO_H

#include "catalogue.h"
#include "config.h"
#include "experiments/common/profile.h"

struct scenario_service {
	struct catalogue_model model;
	struct profile profile;
};

struct scenario {
	struct config config;
	uint32_t nr_cores, cores_per_l3;
	uint64_t duration_ns, seed;
	enum { SCENARIO_STEPS, SCENARIO_STATES } ladder;
	uint64_t delay_ns; /* 0: the usual */
	double noise_pct, lost_pct;
	struct scenario_service services[POLICY_MAX_SERVICES];
};

/* 0, or negative errno with one line "file:line: key: reason" in `error`; *ret is then undefined. */
int scenario_load(const char *path, struct scenario *ret, char *error, size_t error_size);

#endif
