/* SPDX-License-Identifier: GPL-2.0 */
/*
 * network.h - how much of a link best-effort work may send: rates as text, and PARTIES' threshold rule.  Pure.
 *
 * The rule (PARTIES, ASPLOS 2019): slack is what the link can carry less what everybody sends over it.  Less than
 * 0.5 Gb/s of slack takes 0.5 Gb/s from best effort, more than 1 Gb/s gives it 0.5.  The paper's link had 10 Gb/s; on a slower
 * one both thresholds and the step shrink with it (to a twentieth, a tenth and a twentieth).  Best effort starts with one
 * step, is never given less, and never more than the link.
 */
#ifndef PARTIES_NETWORK_H
#define PARTIES_NETWORK_H

#include <stddef.h>
#include <stdint.h>

enum { NETWORK_NAME_SIZE = 16, NETWORK_TEXT_SIZE = 256 };

/* Where best effort's packets leave the machine. */
struct network_link {
	char name[NETWORK_NAME_SIZE]; /* of the interface; "": not given */
	uint64_t bps;                 /* bits a second; 0: what /sys says */
};

/*
 * "500kbit", "100Mbit", "10Gbit": from 1Mbit to 1000Gbit.  -EINVAL.
 * "eth0" or "eth0 10Gbit"; "" is none.  -EINVAL with what is wrong in `reason`; *ret is untouched then.
 */
int network_parse_rate(const char *text, uint64_t *ret_bps);
int network_parse_link(const char *text, struct network_link *ret, char reason[NETWORK_TEXT_SIZE]);
/* As they are read. */
void network_format_rate(uint64_t bps, char *buf, size_t size);
void network_format_link(const struct network_link *link, char *buf, size_t size);

/* The step of the rule on a link, which is where a limit starts. */
uint64_t network_step_bps(uint64_t link_bps);
/* The next limit, after a window in which everybody together sent `sent_bps`. */
uint64_t network_next_limit(uint64_t link_bps, uint64_t sent_bps, uint64_t limit_bps);

#endif
