// SPDX-License-Identifier: GPL-2.0
/*
 * scenario_key.c - the table of a scenario's keys and the reading of one value.  Pure.
 */
#include "scenario_key.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

#define MACHINE(field) offsetof(struct scenario, field)
#define OF(field) offsetof(struct catalogue_model, field)

const struct scenario_key scenario_keys[SCENARIO_NR_KEYS] = {
	{ SCENARIO_PLANT, "cores", SCENARIO_U32, MACHINE(nr_cores), 1, TOPOLOGY_MAX_CORES, true },
	{ SCENARIO_PLANT, "l3", SCENARIO_U32, MACHINE(cores_per_l3), 1, TOPOLOGY_MAX_CORES },
	{ SCENARIO_PLANT, "duration", SCENARIO_DURATION, MACHINE(duration_ns), 1e6, 86400e9 },
	{ SCENARIO_PLANT, "seed", SCENARIO_U64, MACHINE(seed), 0, 0x1p64 },
	{ SCENARIO_PLANT, "ladder", SCENARIO_WORD, MACHINE(ladder), .words = "steps|states" },
	{ SCENARIO_PLANT, "delay", SCENARIO_DURATION, MACHINE(delay_ns), 1e6, 10e9 },
	{ SCENARIO_PLANT, "noise", SCENARIO_NUMBER, MACHINE(noise_pct), 0, 50 },
	{ SCENARIO_PLANT, "lost", SCENARIO_NUMBER, MACHINE(lost_pct), 0, 100 },
	{ SCENARIO_SERVICE, "like", SCENARIO_LIKE },
	{ SCENARIO_SERVICE, "target", SCENARIO_CONFIG, .required = true },
	{ SCENARIO_SERVICE, "cores", SCENARIO_CONFIG },
	{ SCENARIO_SERVICE, "service_time", SCENARIO_DURATION, OF(station.service_ns), 1000, 100e9, true },
	{ SCENARIO_SERVICE, "distribution", SCENARIO_WORD, OF(station.shape), .words = "lognormal|exponential" },
	{ SCENARIO_SERVICE, "cv", SCENARIO_NUMBER, OF(station.cv), 0, 10 },
	{ SCENARIO_SERVICE, "queue", SCENARIO_WORD, OF(station.queue),
	  .words = "shared|per-thread|processor-sharing" },
	{ SCENARIO_SERVICE, "batch", SCENARIO_U32, OF(station.batch), 1, 1000 },
	{ SCENARIO_SERVICE, "disk", SCENARIO_DISK, 0, 1000, 100e9 },
	{ SCENARIO_SERVICE, "network", SCENARIO_NETWORK, 0, 1, 10e9 },
	{ SCENARIO_SERVICE, "max_load", SCENARIO_NUMBER, OF(station.max_load), 0.01, 1e8, true },
	{ SCENARIO_SERVICE, "memory_part", SCENARIO_NUMBER, OF(memory_part), 0, 1 },
	{ SCENARIO_SERVICE, "sigma", SCENARIO_NUMBER, OF(sigma), 0, 100 },
	{ SCENARIO_SERVICE, "bandwidth", SCENARIO_NUMBER, OF(bandwidth_gbs), 0, 1000 },
	{ SCENARIO_SERVICE, "profile", SCENARIO_PROFILE, .required = true },
};

static int refuse(char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(char *reason, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, PARAM_REASON_SIZE, format, args);
	va_end(args);
	return -EINVAL;
}

static int parse_number(const struct scenario_key *key, const char *text, double *ret, char *reason)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end || strspn(text, "0123456789.eE+-") != strlen(text))
		return refuse(reason, "'%.60s' is not a number", text);
	if (!(number >= key->min && number <= key->max))
		return refuse(reason, "%.60s is out of range: %g to %g", text, key->min, key->max);
	*ret = number;
	return 0;
}

static int parse_word(const char *words, const char *text, unsigned int *ret, char *reason)
{
	unsigned int place = 0;

	for (const char *word = words; word; word = strchr(word, '|')) {
		size_t length = strcspn(word += *word == '|', "|");

		if (length == strlen(text) && !memcmp(word, text, length)) {
			*ret = place;
			return 0;
		}
		place++;
	}
	return refuse(reason, "'%.60s' is not known: write %s", text, words);
}

static int parse_duration(const struct scenario_key *key, const char *text, uint64_t *ret, char *reason)
{
	struct param param = { .type = PARAM_DURATION, .key = key->name, .min = (uint64_t)key->min,
			       .max = (uint64_t)key->max };

	return param_parse(&param, text, ret, reason);
}

/* How many, and for how long on average a request holds one. */
static int parse_disk(const struct scenario_key *key, const char *text, struct station_params *ret, char *reason)
{
	char *end;
	unsigned long nr = strtoul(text, &end, 10);
	uint64_t disk_ns;

	if (*text < '0' || *text > '9' || *end != ' ' || nr < 1 || nr > TOPOLOGY_MAX_CORES)
		return refuse(reason, "'%.60s': how many requests at once, 1 to %d, and for how long, like 16 55ms",
			      text, TOPOLOGY_MAX_CORES);
	if (parse_duration(key, end + strspn(end, " "), &disk_ns, reason))
		return -EINVAL;
	ret->nr_disks = (uint32_t)nr;
	ret->disk_ns = disk_ns;
	return 0;
}

/* How long the way is, and how long a request holds the line. */
static int parse_network(const struct scenario_key *key, const char *text, struct station_params *ret, char *reason)
{
	size_t length = strcspn(text, " ");
	uint64_t delay_ns, hold_ns = 0;
	char first[64];

	snprintf(first, sizeof(first), "%.*s", (int)length, text);
	text += length + strspn(text + length, " ");
	if (parse_duration(key, first, &delay_ns, reason) || (*text && parse_duration(key, text, &hold_ns, reason)))
		return -EINVAL;
	ret->network_delay_ns = delay_ns;
	ret->network_ns = hold_ns;
	return 0;
}

int scenario_key_parse(const struct scenario_key *key, const char *text, void *object, char reason[PARAM_REASON_SIZE])
{
	struct param param = { .key = key->name, .offset = key->offset, .min = (uint64_t)key->min };
	void *field = (char *)object + key->offset;

	param.max = key->max < 0x1p64 ? (uint64_t)key->max : UINT64_MAX;
	switch (key->kind) {
	case SCENARIO_NUMBER:
		return parse_number(key, text, field, reason);
	case SCENARIO_WORD:
		return parse_word(key->words, text, field, reason);
	case SCENARIO_DISK:
		return parse_disk(key, text, &((struct catalogue_model *)object)->station, reason);
	case SCENARIO_NETWORK:
		return parse_network(key, text, &((struct catalogue_model *)object)->station, reason);
	default:
		param.type = key->kind == SCENARIO_U32 ? PARAM_U32 :
			     key->kind == SCENARIO_U64 ? PARAM_U64 : PARAM_DURATION;
		return param_parse(&param, text, object, reason);
	}
}

void scenario_key_copy(const struct scenario_key *key, const void *from, void *to)
{
	const struct station_params *station_from = &((const struct catalogue_model *)from)->station;
	struct station_params *station_to = &((struct catalogue_model *)to)->station;

	switch (key->kind) {
	case SCENARIO_CONFIG:
	case SCENARIO_LIKE:
	case SCENARIO_PROFILE:
		break;
	case SCENARIO_DISK:
		station_to->nr_disks = station_from->nr_disks;
		station_to->disk_ns = station_from->disk_ns;
		break;
	case SCENARIO_NETWORK:
		station_to->network_delay_ns = station_from->network_delay_ns;
		station_to->network_ns = station_from->network_ns;
		break;
	case SCENARIO_U32:
	case SCENARIO_WORD:
		memcpy((char *)to + key->offset, (const char *)from + key->offset, sizeof(uint32_t));
		break;
	default:
		memcpy((char *)to + key->offset, (const char *)from + key->offset, sizeof(uint64_t));
	}
}
