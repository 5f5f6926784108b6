/* SPDX-License-Identifier: GPL-2.0 */
/*
 * egress.h - what egress.bpf.c and its loader share: units of the rate and how far a sender may run ahead of it.
 */
#ifndef PARTIES_EGRESS_BPF_H
#define PARTIES_EGRESS_BPF_H

enum {
	EGRESS_COST_BITS = 20,       /* a byte's time is in ns / 2^20 */
	EGRESS_BURST_NS = 250000000, /* 200 ms pass before TCP tries again what was refused while nothing was under way */
	EGRESS_HEADER = 52,          /* of each further segment that a large TCP packet becomes: IPv4, TCP, its timestamps */
};

#endif
