/* SPDX-License-Identifier: GPL-2.0 */
/*
 * scenario_key.h - the keys of a scenario that describe the machine and its services: where each stands, its form and
 * bounds, and how its value is read.  Pure; places in a file and sections are scenario.c's.
 */
#ifndef PARTIES_SCENARIO_KEY_H
#define PARTIES_SCENARIO_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "params.h"

enum scenario_section {
	SCENARIO_NOWHERE, SCENARIO_PLANT, SCENARIO_CONTROLLER, SCENARIO_POLICY, SCENARIO_SERVICE, SCENARIO_BATCH,
};

enum scenario_kind {
	SCENARIO_CONFIG,   /* as params.h has it */
	SCENARIO_LIKE,     /* the name of a service of the catalogue */
	SCENARIO_PROFILE,
	SCENARIO_U32,
	SCENARIO_U64,
	SCENARIO_DURATION, /* uint64_t ns */
	SCENARIO_NUMBER,   /* double */
	SCENARIO_WORD,     /* an enum: the place of the word in `words`, which are separated by '|' */
	SCENARIO_DISK,     /* nr_disks and disk_ns: "16 55ms" */
	SCENARIO_NETWORK,  /* network_delay_ns and network_ns: "100us", or "100us 5us" */
};

struct scenario_key {
	enum scenario_section section;
	const char *name;
	enum scenario_kind kind;
	size_t offset; /* in struct scenario or struct catalogue_model */
	double min, max;
	bool required; /* unless the service is like another, a profile always */
	const char *words;
};

enum { SCENARIO_NR_KEYS = 23 };
extern const struct scenario_key scenario_keys[SCENARIO_NR_KEYS];

/* Of every kind from SCENARIO_U32 on.  -EINVAL with a reason; the object is then unchanged. */
int scenario_key_parse(const struct scenario_key *key, const char *text, void *object, char reason[PARAM_REASON_SIZE]);
/* Copies what a service's key says between two struct catalogue_model; nothing for kinds before SCENARIO_U32. */
void scenario_key_copy(const struct scenario_key *key, const void *from, void *to);

#endif
