/* SPDX-License-Identifier: GPL-2.0 */
/*
 * be_limits.h - what best-effort work may use beside cores and cache, as values and as text.  Pure.
 * Writing them is limit_files.h's and, for memory bandwidth, resctrl.h's; holding packets back is egress.h's.
 */
#ifndef PARTIES_BE_LIMITS_H
#define PARTIES_BE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIMITS_IO_SIZE = 160, LIMITS_TEXT_SIZE = 256 };

/* Policies move memory and disk in tenths of what the configuration gives: never less than one, never more than all. */
enum { LIMITS_UNITS = 10 };

/* What there is to be moved: LIMITS_UNITS, or 0 where no best-effort work has such a limit. */
struct be_units {
	uint32_t memory, disk;
};

struct limits {
	uint64_t memory_high_bytes; /* 0: none */
	char io_max[LIMITS_IO_SIZE]; /* "MAJOR:MINOR rbps=... ...", one blank between words, as io.max takes it; "": none */
	uint32_t bandwidth_percent, bandwidth_gbps; /* of memory; GB/s for each L3 domain.  At most one is not 0 */
	uint64_t egress_bps; /* bits a second that it may send; 0: none, or */
	bool egress_auto;    /* as much as network.h's rule has it */
};

/*
 * Each reads one value; "" is none.  0, or -EINVAL with what is wrong in `reason`; *ret is untouched then.
 *   memory    bytes, or a number with K, M or G: "512M"
 *   io        "259:0 rbps=100M wbps=max riops=1000": a device and one to four limits
 *   bandwidth "50%" or "20GB/s"
 *   egress    "100Mbit" or "auto"
 */
int limits_parse_memory(const char *text, struct limits *ret, char reason[LIMITS_TEXT_SIZE]);
int limits_parse_io(const char *text, struct limits *ret, char reason[LIMITS_TEXT_SIZE]);
int limits_parse_bandwidth(const char *text, struct limits *ret, char reason[LIMITS_TEXT_SIZE]);
int limits_parse_egress(const char *text, struct limits *ret, char reason[LIMITS_TEXT_SIZE]);
/* As they are read. */
void limits_format_memory(const struct limits *limits, char *buf, size_t size);
void limits_format_bandwidth(const struct limits *limits, char *buf, size_t size);
void limits_format_egress(const struct limits *limits, char *buf, size_t size);

/* NULL has none. */
bool limits_have_egress(const struct limits *limits);
/* So many of LIMITS_UNITS of its memory and of its disk; 0: nobody moves it, and it is whole. */
void limits_scale(const struct limits *limits, uint32_t memory_units, uint32_t disk_units, struct limits *ret);

#endif
