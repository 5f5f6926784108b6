/* SPDX-License-Identifier: GPL-2.0 */
/*
 * config.h - the configuration file (INI through inih) as plain values.
 * One table (name, unit, bounds, default, help) drives parsing, checks, `parties check` output and the manual.
 */
#ifndef PARTIES_CONFIG_H
#define PARTIES_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "be_limits.h"
#include "network.h"
#include "policy.h"

enum { CONFIG_MAX_BATCHES = 16, CONFIG_NAME_SIZE = 32, CONFIG_PATH_SIZE = 256 };

enum match_kind { MATCH_PID, MATCH_PORT, MATCH_CGROUP, MATCH_UNIT, MATCH_EXE };
struct match {
	enum match_kind kind;
	uint32_t number;              /* pid or port */
	char text[CONFIG_PATH_SIZE];  /* cgroup path, unit name or executable */
};

enum config_speed { CONFIG_SPEED_AUTO, CONFIG_SPEED_CPUFREQ, CONFIG_SPEED_BANDWIDTH, CONFIG_SPEED_NONE };

/* Whether threads are pinned to cores in place of cpusets; auto: where there are none. */
enum config_affinity { CONFIG_AFFINITY_AUTO, CONFIG_AFFINITY_YES, CONFIG_AFFINITY_NO };

/* Who divides the last-level cache.  Its masks need hardware (resctrl.h), so it is asked for. */
enum config_cache { CONFIG_CACHE_NO, CONFIG_CACHE_AUTO, CONFIG_CACHE_RESCTRL };

/* Where latency comes from; the last two have both, and steer on the kernel's or on the clients'. */
enum config_feedback { CONFIG_FEEDBACK_BPF, CONFIG_FEEDBACK_CLIENT, CONFIG_FEEDBACK_BOTH, CONFIG_FEEDBACK_CLIENT_FIRST };

/* Where a service's data are (parties-paper, option storage). */
enum config_storage { CONFIG_STORAGE_MEMORY, CONFIG_STORAGE_DISK };

/* When to look who runs while services wait. */
enum config_culprits { CONFIG_CULPRITS_AUTO, CONFIG_CULPRITS_ALWAYS, CONFIG_CULPRITS_NEVER };

/* When a request is over (metrics/ebee.h, enum ebee_lifecycle). */
enum config_lifecycle {
	CONFIG_LIFECYCLE_EXCHANGE,
	CONFIG_LIFECYCLE_CONNECTION,
	CONFIG_LIFECYCLE_GRPC,
	CONFIG_LIFECYCLE_HTTP2,
	CONFIG_LIFECYCLE_READ_SEND,
	CONFIG_LIFECYCLE_AUTO,
	CONFIG_LIFECYCLE_EBEE,
};

struct config_service {
	char name[CONFIG_NAME_SIZE];
	struct match match;
	uint32_t percentile_permille; /* 990 for p99 */
	uint64_t target_ns;
	char client[CONFIG_PATH_SIZE]; /* where its clients report; "" nowhere */
	enum config_lifecycle lifecycle;
	enum config_storage storage;
	uint32_t cores_min, cores_max; /* cores_max 0: as many as there are */
	int line, match_line;          /* of its section header, and of its match, for later messages */
};

struct config_batch {
	char name[CONFIG_NAME_SIZE];
	struct match match;
	struct limits limits;
	int line, match_line;
};

struct config {
	char file[CONFIG_PATH_SIZE];
	char policy[CONFIG_NAME_SIZE];
	uint32_t options[POLICY_MAX_OPTIONS]; /* of that policy, in the order of its table */
	uint64_t interval_ns;
	bool interval_is_policys; /* it is what the policy is made for, and changes with it */
	enum config_feedback feedback;
	enum config_speed speed;
	enum config_affinity affinity;
	enum config_cache cache;
	enum config_culprits culprits;
	struct network_link link;
	char subtree[CONFIG_PATH_SIZE]; /* where groups of ours are made (subtree.h) */
	uint32_t reserved_cpus;
	uint64_t seed;
	char infeasible_hook[CONFIG_PATH_SIZE]; /* program to run on the infeasible event; "" for none */
	uint32_t nr_services, nr_batches;
	struct config_service services[POLICY_MAX_SERVICES];
	struct config_batch batches[CONFIG_MAX_BATCHES];
};

/*
 * Reads `path`.  0, or -EINVAL / -errno with one line "file:line: key: reason" in `error` (key is "[section]" where no
 * key is to blame).  The FIRST bad line is reported.  *ret untouched on failure.
 */
int config_load(const char *path, struct config *ret, char *error, size_t error_size);

/* The same for text that is already in memory; `file` is only its name in messages. */
int config_parse(const char *file, const char *text, size_t length, struct config *ret, char *error, size_t error_size);

struct be_units config_be_units(const struct config *config);

/* Writes the effective configuration, defaults included, in the file's own format: loading it gives the same values. */
void config_print(const struct config *config, FILE *out);

/* The table as manual text (mdoc items), so that the manual cannot drift. */
void config_print_reference(FILE *out);

/* "25ms", "1.5s", "600us", "2m" to ns; a number without unit is -EINVAL, out of range -ERANGE. */
int config_parse_duration(const char *text, uint64_t *ret_ns);

#endif
