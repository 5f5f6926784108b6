/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stamps.h - when did the byte at this TCP position arrive?  The last chunks of a connection, with their times, while
 * they wait unread.  Everything happens under the socket's own lock.
 */
#ifndef EBEE_STAMPS_H
#define EBEE_STAMPS_H

#include "kernel.h"

enum { STAMPS_NR = 64 }; /* arrivals remembered per connection; a power of two */

/* The bytes up to `end` arrived by then. */
struct stamp {
	__u64 ns;
	__u64 end;
};

struct stamps {
	__u32 from, to; /* unread ones; indices grow, the array wraps */
	struct stamp at[STAMPS_NR];
};

#define STAMP(s, index) (&(s)->at[(index) & (STAMPS_NR - 1)])

/* No room: pairs become one, with the later time, so that a wait is never made longer than it was. */
static __always_inline void stamps_merge(struct stamps *s)
{
	__u32 i, from = s->from;

	for (i = 0; i < STAMPS_NR / 2; i++)
		*STAMP(s, from + i) = *STAMP(s, from + 2 * i + 1);
	s->to = from + STAMPS_NR / 2;
}

/* When the byte at `seq` arrived, or 0.  Stamps before it are done with: callers only go forward. */
static __always_inline __u64 stamps_find(struct stamps *s, __u32 seq)
{
	for (__u32 i = 0; i < STAMPS_NR; i++) {
		const struct stamp *at = STAMP(s, s->from);

		if (s->from == s->to)
			return 0;
		if ((__s32)((__u32)at->end - seq) > 0)
			return at->ns;
		s->from++;
	}
	return 0;
}

/* Bytes up to `end` are here; those before `done` are not asked for any more. */
static __always_inline void stamps_add(struct stamps *s, __u32 end, __u32 done, __u64 now)
{
	struct stamp *at;

	if (s->to != s->from && (__u32)STAMP(s, s->to - 1)->end == end)
		return;
	if (s->to - s->from >= STAMPS_NR)
		stamps_find(s, done);
	if (s->to - s->from >= STAMPS_NR)
		stamps_merge(s);
	at = STAMP(s, s->to);
	at->ns = now;
	at->end = end;
	s->to++;
}

/* Arrival of the first byte at or after `seq`, or 0: nothing waits.  Changes nothing, so a sweep may ask. */
static __always_inline __u64 stamps_waiting(const struct stamps *s, __u32 seq)
{
	for (__u32 i = s->from; i != s->to && i - s->from < STAMPS_NR; i++)
		if ((__s32)((__u32)STAMP(s, i)->end - seq) > 0)
			return STAMP(s, i)->ns;
	return 0;
}

#endif
