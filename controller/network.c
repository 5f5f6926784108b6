// SPDX-License-Identifier: GPL-2.0
/*
 * network.c - pure: rates, and the threshold rule for best effort's.  It measures nothing and holds nobody back.
 */
#include "network.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MBIT UINT64_C(1000000)
static const uint64_t most_bps = 1000000 * MBIT, paper_step_bps = 500 * MBIT;
enum { STEPS_PER_LINK = 20 };

static const struct { const char *name; uint64_t bps; } units[] = {
	{ "Gbit", 1000 * MBIT }, { "Mbit", MBIT }, { "kbit", 1000 },
};
enum { NR_UNITS = sizeof(units) / sizeof(units[0]) };

int network_parse_rate(const char *text, uint64_t *ret_bps)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t value = 0;
	int unit = 0;

	if (!digits || digits > 9)
		return -EINVAL;
	while (unit < NR_UNITS && strcmp(units[unit].name, text + digits))
		unit++;
	if (unit == NR_UNITS)
		return -EINVAL;
	for (size_t i = 0; i < digits; i++)
		value = value * 10 + (uint64_t)(text[i] - '0');
	value *= units[unit].bps;
	if (value < MBIT || value > most_bps)
		return -EINVAL;
	*ret_bps = value;
	return 0;
}

void network_format_rate(uint64_t bps, char *buf, size_t size)
{
	int unit = 0;

	while (unit < NR_UNITS - 1 && bps % units[unit].bps)
		unit++;
	if (bps)
		snprintf(buf, size, "%" PRIu64 "%s", bps / units[unit].bps, units[unit].name);
	else
		buf[0] = '\0';
}

int network_parse_link(const char *text, struct network_link *ret, char reason[NETWORK_TEXT_SIZE])
{
	size_t length = strcspn(text, " \t");
	const char *rate = text + length + strspn(text + length, " \t");
	struct network_link link = { .bps = 0 };

	/* What the kernel takes for a name. */
	if (length >= sizeof(link.name) || memchr(text, '/', length) || memchr(text, ':', length) ||
	    (length == 1 && *text == '.') || (length == 2 && !strncmp(text, "..", 2))) {
		snprintf(reason, NETWORK_TEXT_SIZE, "'%.*s' cannot be the name of a network interface",
			 (int)(length < 60 ? length : 60), text);
		return -EINVAL;
	}
	if (*rate && network_parse_rate(rate, &link.bps)) {
		snprintf(reason, NETWORK_TEXT_SIZE, "'%.60s' is no speed of a link: write for example 10Gbit", rate);
		return -EINVAL;
	}
	memcpy(link.name, text, length);
	*ret = link;
	return 0;
}

void network_format_link(const struct network_link *link, char *buf, size_t size)
{
	char rate[32];

	network_format_rate(link->bps, rate, sizeof(rate));
	snprintf(buf, size, "%s%s%s", link->name, *rate ? " " : "", rate);
}

uint64_t network_step_bps(uint64_t link_bps)
{
	uint64_t share = link_bps / STEPS_PER_LINK;

	return share < paper_step_bps ? share : paper_step_bps;
}

uint64_t network_next_limit(uint64_t link_bps, uint64_t sent_bps, uint64_t limit_bps)
{
	uint64_t step_bps = network_step_bps(link_bps), slack_bps = sent_bps < link_bps ? link_bps - sent_bps : 0;

	if (slack_bps < step_bps)
		return limit_bps > 2 * step_bps ? limit_bps - step_bps : step_bps;
	if (slack_bps <= 2 * step_bps)
		return limit_bps;
	return limit_bps + step_bps < link_bps ? limit_bps + step_bps : link_bps;
}
