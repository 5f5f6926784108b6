/* SPDX-License-Identifier: GPL-2.0 */
/*
 * be_limits.h - what best-effort work may use beside cores and cache, fixed for the whole run: as values and as text.  Pure.
 * Writing them is limit_files.h's and, for memory bandwidth, resctrl.h's.
 */
#ifndef PARTIES_BE_LIMITS_H
#define PARTIES_BE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

enum { LIMITS_IO_SIZE = 160, LIMITS_TEXT_SIZE = 256 };

struct limits {
	uint64_t memory_high_bytes; /* 0: none */
	char io_max[LIMITS_IO_SIZE]; /* "MAJOR:MINOR rbps=... ...", one blank between words, as io.max takes it; "": none */
	uint32_t bandwidth_percent, bandwidth_gbps; /* of memory; GB/s for each L3 domain.  At most one is not 0 */
};

/*
 * Each reads one value; "" is none.  0, or -EINVAL with what is wrong in `reason`; *ret is untouched then.
 *   memory    bytes, or a number with K, M or G: "512M"
 *   io        "259:0 rbps=100M wbps=max riops=1000": a device and one to four limits
 *   bandwidth "50%" or "20GB/s"
 */
int limits_parse_memory(const char *text, struct limits *ret, char reason[LIMITS_TEXT_SIZE]);
int limits_parse_io(const char *text, struct limits *ret, char reason[LIMITS_TEXT_SIZE]);
int limits_parse_bandwidth(const char *text, struct limits *ret, char reason[LIMITS_TEXT_SIZE]);
/* As they are read. */
void limits_format_memory(const struct limits *limits, char *buf, size_t size);
void limits_format_bandwidth(const struct limits *limits, char *buf, size_t size);

#endif
