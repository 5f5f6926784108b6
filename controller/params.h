/* SPDX-License-Identifier: GPL-2.0 */
/*
 * params.h - every key of the configuration file: where it stands, its type, bounds, default and help.  Pure.
 * This one table drives parsing, checks, printing and the manual.  Reading files is config.c's.
 */
#ifndef PARTIES_PARAMS_H
#define PARTIES_PARAMS_H

#include "config.h"

/* The keys of [policy] are in no table here: each policy has its own (tuning.h). */
enum param_section { PARAM_CONTROLLER, PARAM_POLICY_OPTIONS, PARAM_SERVICE, PARAM_BATCH, PARAM_NR_SECTIONS };

enum param_type {
	PARAM_POLICY,   /* char[CONFIG_NAME_SIZE]: a name policy_find knows */
	PARAM_DURATION, /* uint64_t ns within bounds */
	PARAM_CHOICE,   /* an enum of config.h: the place of the word in `form`, which has the enum's order */
	PARAM_U32,
	PARAM_U64,
	PARAM_PROGRAM,  /* char[CONFIG_PATH_SIZE]: an absolute path, or "" */
	PARAM_PATH,     /* the same of any file */
	PARAM_SUBTREE,  /* char[CONFIG_PATH_SIZE]: "auto", "top" or the name of a unit */
	PARAM_MATCH,    /* struct match */
	PARAM_TARGET,   /* the whole struct config_service: percentile_permille and target_ns within bounds */
	PARAM_CORES,    /* the whole struct config_service: cores_min, cores_max within bounds */
	PARAM_LINK,     /* struct network_link */
	PARAM_MEMORY,   /* the whole struct limits: memory_high_bytes; be_limits.h reads these four */
	PARAM_IO,       /* likewise: io_max */
	PARAM_BANDWIDTH, /* likewise: bandwidth_percent or bandwidth_gbps */
	PARAM_EGRESS,   /* likewise: egress_bps or egress_auto */
};

struct param {
	enum param_section section;
	const char *key;
	enum param_type type;
	size_t offset;        /* in struct config, config_service or config_batch */
	uint64_t min, max;    /* inclusive */
	const char *standard; /* default, written as in a file; NULL: the key must be given */
	const char *form;     /* for the manual: what stands right of the '=' */
	const char *help;     /* mdoc text, one sentence per line */
};

enum { PARAM_COUNT = 23 };
extern const struct param params[PARAM_COUNT];

enum { PARAM_REASON_SIZE = 256 };

/* "controller", "policy", "service", "batch" */
const char *param_section_name(enum param_section section);
/* Index in params, or -1. */
int param_find(enum param_section section, const char *key);
/* `object` is the struct `offset` counts from.  0, or -EINVAL with a reason; the object is then unchanged. */
int param_parse(const struct param *param, const char *text, void *object, char reason[PARAM_REASON_SIZE]);
/* Writes the value as param_parse reads it. */
void param_format(const struct param *param, const void *object, char *buf, size_t size);

/* "static, adaptive": every name policy_find knows. */
void param_list_policies(char *buf, size_t size);

/* The shortest exact form: "1.5s", "250us". */
void param_format_duration(uint64_t ns, char *buf, size_t size);

#endif
