// SPDX-License-Identifier: GPL-2.0
/*
 * be_limits.c - pure: limits of best-effort work as text.  It knows no file and no machine.
 */
#include "be_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"

static const uint64_t least_memory = 1 << 20;
enum { MAX_GBPS = 255 }; /* the most that eleven bits of eighths can say is below 256 */

#define REASON(...) (snprintf(reason, LIMITS_TEXT_SIZE, __VA_ARGS__), -EINVAL)

/* Moves *at behind the digits and the unit, if there is one. */
static int take_size(const char **at, uint64_t *ret)
{
	static const char units[] = "KMG";
	const char *unit;
	uint64_t value = 0;
	size_t digits = strspn(*at, "0123456789");

	if (!digits)
		return -EINVAL;
	for (; digits; digits--, ++*at)
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(**at - '0'), &value))
			return -EINVAL;
	unit = **at ? strchr(units, **at) : NULL;
	if (unit && __builtin_mul_overflow(value, 1ULL << 10 * (unit - units + 1), &value))
		return -EINVAL;
	*at += unit != NULL;
	*ret = value;
	return 0;
}

int limits_parse_memory(const char *text, struct limits *ret, char reason[LIMITS_TEXT_SIZE])
{
	const char *at = text;
	uint64_t bytes = 0;

	if (*text && (take_size(&at, &bytes) || *at))
		return REASON("'%.60s' is not a size: write bytes, or a number and K, M or G, for example 512M", text);
	if (*text && bytes < least_memory)
		return REASON("%.60s is too little to run in: at least 1M", text);
	ret->memory_high_bytes = bytes;
	return 0;
}

void limits_format_memory(const struct limits *limits, char *buf, size_t size)
{
	static const char *const units[] = { "", "K", "M", "G" };
	uint64_t value = limits->memory_high_bytes;
	int unit = 0;

	for (; value && value % 1024 == 0 && unit < 3; unit++)
		value /= 1024;
	if (value)
		snprintf(buf, size, "%" PRIu64 "%s", value, units[unit]);
	else
		buf[0] = '\0';
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* "rbps=100M": appends " rbps=104857600". */
static int take_io_limit(const char **at, char *ret, bool *given)
{
	static const char *const keys[] = { "rbps", "wbps", "riops", "wiops" };
	size_t length = strcspn(*at, "="), used = strlen(ret);
	uint64_t value;
	int key = 0;

	while (key < 4 && (strlen(keys[key]) != length || strncmp(keys[key], *at, length)))
		key++;
	if (key == 4 || given[key] || (*at)[length] != '=')
		return -EINVAL;
	given[key] = true;
	*at += length + 1;
	if (!strncmp(*at, "max", 3)) {
		snprintf(ret + used, LIMITS_IO_SIZE - used, " %s=max", keys[key]);
		*at += 3;
	} else if (take_size(at, &value) || !value) {
		return -EINVAL;
	} else {
		snprintf(ret + used, LIMITS_IO_SIZE - used, " %s=%" PRIu64, keys[key], value);
	}
	return **at && **at != ' ' && **at != '\t' ? -EINVAL : 0;
}

int limits_parse_io(const char *text, struct limits *ret, char reason[LIMITS_TEXT_SIZE])
{
	size_t major = strspn(text, "0123456789"), minor = strspn(text + major + (text[major] == ':'), "0123456789");
	char io[LIMITS_IO_SIZE] = "";
	bool given[4] = { false };
	const char *at;
	int err = 0;

	if (!*text) {
		ret->io_max[0] = '\0';
		return 0;
	}
	at = text + major + 1 + minor;
	if (!major || text[major] != ':' || !minor || major + minor > 16 || *skip_blanks(at) == '\0' || at == skip_blanks(at))
		err = -EINVAL;
	else
		snprintf(io, sizeof(io), "%.*s", (int)(at - text), text);
	for (at = err ? at : skip_blanks(at); !err && *at; at = skip_blanks(at))
		err = take_io_limit(&at, io, given);
	if (err)
		return REASON("'%.60s' is no limit of a device: write its numbers (lsblk shows them) and one to four of rbps=, wbps=, "
			      "riops=, wiops=, for example 259:0 rbps=100M wbps=20M", text);
	memcpy(ret->io_max, io, sizeof(io));
	return 0;
}

int limits_parse_bandwidth(const char *text, struct limits *ret, char reason[LIMITS_TEXT_SIZE])
{
	const char *unit = text + strspn(text, "0123456789");
	bool percent = !strcmp(unit, "%");
	unsigned long value = strtoul(text, NULL, 10), most = percent ? 100 : MAX_GBPS;

	if (*text && (unit == text || (!percent && strcmp(unit, "GB/s"))))
		return REASON("'%.60s' is no memory bandwidth: write for example 50%%, or where the hardware counts in GB/s (AMD) "
			      "20GB/s", text);
	if (*text && (value < 1 || value > most))
		return REASON("%.60s is out of range: 1 to %lu%s", text, most, unit);
	ret->bandwidth_percent = percent ? (uint32_t)value : 0;
	ret->bandwidth_gbps = percent ? 0 : (uint32_t)value;
	return 0;
}

void limits_format_bandwidth(const struct limits *limits, char *buf, size_t size)
{
	buf[0] = '\0';
	if (limits->bandwidth_percent)
		snprintf(buf, size, "%" PRIu32 "%%", limits->bandwidth_percent);
	else if (limits->bandwidth_gbps)
		snprintf(buf, size, "%" PRIu32 "GB/s", limits->bandwidth_gbps);
}

int limits_parse_egress(const char *text, struct limits *ret, char reason[LIMITS_TEXT_SIZE])
{
	bool automatic = !strcmp(text, "auto");
	uint64_t bps = 0;

	if (*text && !automatic && network_parse_rate(text, &bps))
		return REASON("'%.60s' is no rate to send at: write auto, or from 1Mbit to 1000Gbit, for example 500Mbit", text);
	ret->egress_auto = automatic;
	ret->egress_bps = bps;
	return 0;
}

void limits_format_egress(const struct limits *limits, char *buf, size_t size)
{
	if (limits->egress_auto)
		snprintf(buf, size, "auto");
	else
		network_format_rate(limits->egress_bps, buf, size);
}

bool limits_have_egress(const struct limits *limits)
{
	return limits && (limits->egress_auto || limits->egress_bps);
}

/* Not by multiplying first, which a large value would not survive. */
static uint64_t share_of(uint64_t value, uint32_t units)
{
	uint64_t share = value / LIMITS_UNITS * units + value % LIMITS_UNITS * units / LIMITS_UNITS;

	return units ? share + !share : value;
}

void limits_scale(const struct limits *limits, uint32_t memory_units, uint32_t disk_units, struct limits *ret)
{
	const char *at = limits->io_max;
	size_t used = 0;

	*ret = *limits;
	if (limits->memory_high_bytes)
		ret->memory_high_bytes = share_of(limits->memory_high_bytes, memory_units);
	/* Every number behind a '=': it becomes no longer than it was. */
	while (*at) {
		ret->io_max[used++] = *at++;
		if (at[-1] == '=' && *at != 'm')
			used += (size_t)snprintf(ret->io_max + used, sizeof(ret->io_max) - used, "%" PRIu64,
						 share_of(strtoull(at, (char **)&at, 10), disk_units));
	}
	ret->io_max[used] = '\0';
}
