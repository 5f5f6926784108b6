// SPDX-License-Identifier: GPL-2.0
/*
 * nearest.c - edit distance with swaps of neighbours (optimal string alignment).  Pure.  It knows no list of names.
 */
#include "nearest.h"

#include <string.h>

enum { NEAREST_MAX_LENGTH = 31 };

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int ab = a < b ? a : b;

	return ab < c ? ab : c;
}

static unsigned int distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned int d[NEAREST_MAX_LENGTH + 1][NEAREST_MAX_LENGTH + 1];

	for (size_t i = 0; i <= na; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= nb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		for (size_t j = 1; j <= nb; j++) {
			d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[na][nb];
}

void nearest_offer(struct nearest *n, const char *candidate)
{
	size_t word_length = strlen(n->word), length = strlen(candidate);
	unsigned int found;

	if (word_length > NEAREST_MAX_LENGTH || length > NEAREST_MAX_LENGTH)
		return;
	found = distance(n->word, word_length, candidate, length);
	/* More than a third of the letters wrong is another word, not a slip. */
	if (found > 1 + length / 3 || found >= length || (n->best && found >= n->distance))
		return;
	n->best = candidate;
	n->distance = found;
}
