/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hist.h - log-linear histogram arithmetic, one body for the kernel programs and for user space.  Pure.
 *
 * Values are nanoseconds.  Below 2^10 ns buckets are 16 ns wide; from there each octave has 64 equal buckets, so a
 * midpoint is within 1/128 (0.8 %) of every value in its bucket.  Values from 2^37 ns (137 s) on share the last bucket.
 */
#ifndef EBEE_HIST_H
#define EBEE_HIST_H

enum {
	HIST_SUB_BITS = 6,
	HIST_SUBS = 1 << HIST_SUB_BITS,
	HIST_FIRST_OCTAVE = 10,
	HIST_LAST_OCTAVE = 36,
	HIST_NR_OCTAVES = HIST_LAST_OCTAVE - HIST_FIRST_OCTAVE + 2, /* the one below the first included */
	HIST_NR_BUCKETS = HIST_SUBS * HIST_NR_OCTAVES,
};

/* For the kernel: clang 14 cannot compile __builtin_clzll for the BPF target. */
static inline unsigned int hist_log2_by_shifts(unsigned long long v)
{
	unsigned int r, s;

	r = (v > 0xffffffffULL) << 5;
	v >>= r;
	s = (v > 0xffff) << 4;
	v >>= s;
	r |= s;
	s = (v > 0xff) << 3;
	v >>= s;
	r |= s;
	s = (v > 0xf) << 2;
	v >>= s;
	r |= s;
	s = (v > 0x3) << 1;
	v >>= s;
	r |= s;
	return r | (unsigned int)(v >> 1);
}

/* v > 0 */
static inline unsigned int hist_log2(unsigned long long v)
{
#ifdef __bpf__
	return hist_log2_by_shifts(v);
#else
	return 63 - (unsigned int)__builtin_clzll(v);
#endif
}

/* Bucket of a value, 0 .. HIST_NR_BUCKETS - 1. */
static inline unsigned int hist_index(unsigned long long ns)
{
	unsigned int octave;

	if (ns < 1ULL << HIST_FIRST_OCTAVE)
		return (unsigned int)(ns >> (HIST_FIRST_OCTAVE - HIST_SUB_BITS));
	if (ns >= 1ULL << (HIST_LAST_OCTAVE + 1))
		return HIST_NR_BUCKETS - 1;
	octave = hist_log2(ns);
	return (octave - HIST_FIRST_OCTAVE + 1) * HIST_SUBS +
	       ((unsigned int)(ns >> (octave - HIST_SUB_BITS)) & (HIST_SUBS - 1));
}

/* The octave of a bucket, as a bit. */
static inline unsigned int hist_octave_bit(unsigned int index)
{
	return 1U << index / HIST_SUBS;
}

/* Smallest value of a bucket, ns. */
static inline unsigned long long hist_low(unsigned int index)
{
	unsigned int octave = index / HIST_SUBS, sub = index % HIST_SUBS;

	if (!octave)
		return (unsigned long long)sub << (HIST_FIRST_OCTAVE - HIST_SUB_BITS);
	return (unsigned long long)(HIST_SUBS + sub) << (octave - 1 + HIST_FIRST_OCTAVE - HIST_SUB_BITS);
}

/* Width of a bucket, ns. */
static inline unsigned long long hist_width(unsigned int index)
{
	unsigned int octave = index / HIST_SUBS;

	return 1ULL << ((octave ? octave - 1 : 0) + HIST_FIRST_OCTAVE - HIST_SUB_BITS);
}

/* The value a bucket stands for, ns. */
static inline unsigned long long hist_mid(unsigned int index)
{
	return hist_low(index) + hist_width(index) / 2;
}

#endif
