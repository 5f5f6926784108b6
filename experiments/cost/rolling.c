// SPDX-License-Identifier: GPL-2.0
/*
 * rolling.c - the library's window of the last 100,000 requests against what one would write first.  Glue.
 *
 * Taking one in: against two multisets (balanced trees) with the percentile between them, from which the oldest value
 * leaves.  Asking for any percentile: against a copy of the values in which the rank is selected.
 *
 * Prints ns of CPU per operation, medians over interleaved rounds.
 */
#include <string.h>

#include "measure.h"
#include "rng.h"
#include "rolling.h"

enum { SIZE = 100000, MAX_ROUNDS = 11, PER_ROUND = 100000, NR_ASKED = 25, PERMYRIAD = 9900 };

/* ---- a multiset: a treap whose nodes are numbers of the ring's places ---------------------------------------------- */

struct node {
	uint64_t value;
	uint32_t priority, left, right; /* number + 1; 0: none */
};

static struct node nodes[SIZE];

static int is_less(uint32_t a, uint32_t b)
{
	return nodes[a - 1].value != nodes[b - 1].value ? nodes[a - 1].value < nodes[b - 1].value : a < b;
}

/* Into what is less than `at` and what is not. */
static void split(uint32_t root, uint32_t at, uint32_t *less, uint32_t *rest)
{
	while (root) {
		struct node *n = &nodes[root - 1];

		if (is_less(root, at)) {
			*less = root;
			less = &n->right;
			root = n->right;
		} else {
			*rest = root;
			rest = &n->left;
			root = n->left;
		}
	}
	*less = *rest = 0;
}

static void insert(uint32_t *root, uint32_t node)
{
	struct node *n = &nodes[node - 1];

	while (*root && nodes[*root - 1].priority >= n->priority)
		root = is_less(node, *root) ? &nodes[*root - 1].left : &nodes[*root - 1].right;
	split(*root, node, &n->left, &n->right);
	*root = node;
}

static void erase(uint32_t *root, uint32_t node)
{
	uint32_t left = nodes[node - 1].left, right = nodes[node - 1].right;

	while (*root != node)
		root = is_less(node, *root) ? &nodes[*root - 1].left : &nodes[*root - 1].right;
	while (left && right) {
		if (nodes[left - 1].priority >= nodes[right - 1].priority) {
			*root = left;
			root = &nodes[left - 1].right;
			left = *root;
		} else {
			*root = right;
			root = &nodes[right - 1].left;
			right = *root;
		}
	}
	*root = left ? left : right;
}

/* ---- two of them --------------------------------------------------------------------------------------------------- */

struct multisets {
	uint32_t low, high, nr_low, nr, head; /* the low one has the values up to the percentile's */
	struct rng rng;
};

static uint32_t greatest(uint32_t root)
{
	while (nodes[root - 1].right)
		root = nodes[root - 1].right;
	return root;
}

static uint32_t least(uint32_t root)
{
	while (nodes[root - 1].left)
		root = nodes[root - 1].left;
	return root;
}

static int belongs_low(const struct multisets *m, uint32_t node)
{
	return m->nr_low && !is_less(greatest(m->low), node);
}

static void move(uint32_t *from, uint32_t *to, uint32_t node)
{
	erase(from, node);
	insert(to, node);
}

static void multisets_add(struct multisets *m, uint64_t value)
{
	uint32_t node = m->head + 1, rank;

	if (m->nr == SIZE) {
		if (belongs_low(m, node)) {
			erase(&m->low, node);
			m->nr_low--;
		} else {
			erase(&m->high, node);
		}
		m->nr--;
	}
	nodes[m->head] = (struct node){ .value = value, .priority = (uint32_t)rng_next(&m->rng) };
	if (belongs_low(m, node)) {
		insert(&m->low, node);
		m->nr_low++;
	} else {
		insert(&m->high, node);
	}
	m->nr++;
	m->head = (m->head + 1) % SIZE;
	rank = (uint32_t)(((uint64_t)m->nr * PERMYRIAD + 9999) / 10000);
	for (; m->nr_low < rank; m->nr_low++)
		move(&m->high, &m->low, least(m->high));
	for (; m->nr_low > rank; m->nr_low--)
		move(&m->low, &m->high, greatest(m->low));
}

/* ---- a scan -------------------------------------------------------------------------------------------------------- */

/* The value of a rank, counted from 1; the order of `v` is lost. */
static uint64_t select_rank(uint64_t *v, uint32_t nr, uint32_t rank)
{
	uint32_t low = 0, high = nr - 1, k = rank - 1;

	while (low < high) {
		uint64_t pivot = v[low + (high - low) / 2], swap;
		uint32_t i = low, j = high;

		while (i <= j) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i > j)
				break;
			swap = v[i];
			v[i++] = v[j];
			v[j] = swap;
			if (!j)
				break;
			j--;
		}
		if (k <= j)
			high = j;
		else if (k >= i)
			low = i;
		else
			break;
	}
	return v[k];
}

static uint64_t scan(const uint64_t *values, uint32_t permyriad)
{
	static uint64_t copy[SIZE];

	memcpy(copy, values, sizeof(copy));
	return select_rank(copy, SIZE, (uint32_t)(((uint64_t)SIZE * permyriad + 9999) / 10000));
}

/* ---- the comparison ------------------------------------------------------------------------------------------------ */

struct bench {
	struct rolling rolling;
	struct multisets multisets;
	struct rng rng;
	uint64_t values[SIZE]; /* the last SIZE */
};

static void add_round(struct bench *b, double *ret_ours, double *ret_theirs)
{
	uint64_t start, middle;

	for (int i = 0; i < PER_ROUND; i++)
		b->values[i] = 50000 + (uint64_t)(500e3 * rng_exponential(&b->rng));
	start = cpu_ns();
	for (int i = 0; i < PER_ROUND; i++)
		rolling_add(&b->rolling, 0, b->values[i]);
	middle = cpu_ns();
	for (int i = 0; i < PER_ROUND; i++)
		multisets_add(&b->multisets, b->values[i]);
	*ret_ours = (double)(middle - start) / PER_ROUND;
	*ret_theirs = (double)(cpu_ns() - middle) / PER_ROUND;
}

/* Percentiles from everywhere.  Returns nonzero when they differ by more than a bucket. */
static int ask_round(struct bench *b, double *ret_ours, double *ret_theirs)
{
	uint64_t ours[NR_ASKED], theirs[NR_ASKED], start = cpu_ns(), middle;
	int bad = hist_index(nodes[greatest(b->multisets.low) - 1].value) !=
		  hist_index(rolling_percentile(&b->rolling, PERMYRIAD));

	start = cpu_ns();
	for (unsigned int i = 0; i < NR_ASKED; i++)
		ours[i] = rolling_percentile(&b->rolling, 10000 * (i + 1) / NR_ASKED);
	middle = cpu_ns();
	for (unsigned int i = 0; i < NR_ASKED; i++)
		theirs[i] = scan(b->values, 10000 * (i + 1) / NR_ASKED);
	*ret_ours = (double)(middle - start) / NR_ASKED;
	*ret_theirs = (double)(cpu_ns() - middle) / NR_ASKED;
	for (unsigned int i = 0; i < NR_ASKED; i++)
		bad |= hist_index(theirs[i]) != hist_index(ours[i]);
	return bad;
}

int main(int argc, char **argv)
{
	unsigned int nr_rounds = measure_rounds(argc, argv, MAX_ROUNDS);
	static struct rolling_entry ring[SIZE];
	static struct bench b;
	double add[2][MAX_ROUNDS], ask[2][MAX_ROUNDS];

	rng_seed(&b.rng, 1);
	rng_seed(&b.multisets.rng, 2);
	rolling_init(&b.rolling, ring, SIZE, UINT32_MAX / 2);
	add_round(&b, &add[0][0], &add[1][0]); /* fills them */
	for (unsigned int i = 0; i < nr_rounds; i++) {
		add_round(&b, &add[0][i], &add[1][i]);
		if (ask_round(&b, &ask[0][i], &ask[1][i])) {
			fprintf(stderr, "rolling: the three ways to a percentile disagree\n");
			return 1;
		}
	}
	report("rolling_add_ns", median(add[0], nr_rounds));
	report("two_multisets_add_ns", median(add[1], nr_rounds));
	report("rolling_percentile_ns", median(ask[0], nr_rounds));
	report("scan_percentile_ns", median(ask[1], nr_rounds));
	return 0;
}
