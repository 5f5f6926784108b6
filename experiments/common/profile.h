/* SPDX-License-Identifier: GPL-2.0 */
/*
 * profile.h - a load over time, as text: "at 0s 7%; ramp 30s 100%; hold 10s; ramp 30s 7%".  Pure.
 *
 *   at DUR PCT%     at the instant DUR after the start the load becomes PCT and stays; instants may not go backwards
 *   ramp DUR PCT%   linear from the present load to PCT within DUR, starting where the previous directive left off
 *   hold DUR        keep the present load for DUR
 *
 * One directive per line, or several separated by ';'.  '#' starts a comment.  Durations are 500ms, 10s, 1.5s, 2m, also
 * us and h.  The load is 0 before the first directive; the profile ends after its last.
 */
#ifndef PARTIES_PROFILE_H
#define PARTIES_PROFILE_H

#include <stdint.h>

enum { PROFILE_MAX_SEGMENTS = 256, PROFILE_FULL_LOAD_PPM = 1000000 };

struct profile_segment {
	uint64_t start_ns, end_ns;
	uint32_t from_ppm, to_ppm;
};

struct profile {
	uint32_t nr_segments;
	struct profile_segment segments[PROFILE_MAX_SEGMENTS]; /* ascending, not overlapping */
};

/*
 * 0, or -EINVAL (-E2BIG: too many directives) with the line, counted from 1, and a static sentence.
 * *ret is written on success only, ret_line and ret_reason on failure only.
 */
int profile_parse(const char *text, struct profile *ret, int *ret_line, const char **ret_reason);

/* Where the last directive ends. */
uint64_t profile_duration_ns(const struct profile *profile);

/* The load t_ns after the start; 1,000,000 is 100 %.  After the end the last load goes on: who drives it stops. */
uint32_t profile_load_ppm(const struct profile *profile, uint64_t t_ns);

#endif
