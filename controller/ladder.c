// SPDX-License-Identifier: GPL-2.0
/*
 * ladder.c - pure: steps of speed, ways to set them, and the words that drivers take.  It reads and writes no file:
 * frequency.c does, and doctor_cpus.c on trees.
 */
#include "ladder.h"

#include <string.h>

enum { GRID_KHZ = 100000, TURBO_MARK_KHZ = 1000 };

/* Ascending, each once. */
static void add_step(struct speed_ladder *l, unsigned long khz)
{
	uint32_t at = l->nr_steps;

	while (at > 0 && l->value[at - 1] > khz)
		at--;
	if (l->nr_steps == SPEED_MAX_STEPS || (at > 0 && l->value[at - 1] == khz))
		return;
	memmove(&l->value[at + 1], &l->value[at], (l->nr_steps++ - at) * sizeof(l->value[0]));
	l->value[at] = (uint32_t)khz;
}

/* Old drivers mark turbo as the highest plain speed and 1 MHz. */
static void take_listed(struct speed_ladder *l, const struct ladder_limits *limits)
{
	for (uint32_t i = 0; i < limits->nr_listed; i++)
		add_step(l, limits->listed_khz[i]);
	l->nominal = l->nr_steps - 1;
	if (l->nr_steps > 1 && l->value[l->nominal] - l->value[l->nominal - 1] == TURBO_MARK_KHZ)
		l->nominal--;
}

/* Above the base speed is turbo, of which one step is used. */
static void take_grid(struct speed_ladder *l, const struct ladder_limits *limits)
{
	unsigned long base_khz = limits->base_khz;

	if (base_khz < limits->min_khz || base_khz > limits->max_khz)
		base_khz = limits->max_khz;
	for (unsigned long khz = limits->min_khz; khz < base_khz; khz += GRID_KHZ)
		add_step(l, khz);
	add_step(l, base_khz);
	l->nominal = l->nr_steps - 1;
	if (limits->max_khz > base_khz)
		add_step(l, limits->max_khz);
}

void ladder_fill(struct speed_ladder *ladder, const struct ladder_limits *limits)
{
	memset(ladder, 0, sizeof(*ladder));
	ladder->kind = SPEED_FREQ;
	if (limits->nr_listed)
		take_listed(ladder, limits);
	else
		take_grid(ladder, limits);
	if (limits->boost_khz > ladder->value[ladder->nr_steps - 1])
		add_step(ladder, limits->boost_khz);
}

uint32_t ladder_nearest_khz(const struct speed_ladder *machine, const struct speed_ladder *domain, uint32_t khz)
{
	uint32_t last = khz <= machine->value[machine->nominal] ? domain->nominal : domain->nr_steps - 1, step = 0;

	while (step < last && domain->value[step] < khz)
		step++;
	return domain->value[step];
}

enum ladder_way ladder_find_way(const struct ladder_ways *ways, enum ladder_way first)
{
	const bool has[LADDER_NOTHING] = { ways->has_userspace, ways->has_cap, ways->has_epp, ways->boost_is_on };

	while (first < LADDER_NOTHING && !has[first])
		first++;
	return first;
}

const char *ladder_way_name(enum ladder_way way)
{
	static const char *const names[] = { "userspace", "cap", "epp", "boost", "nothing" };

	return names[way];
}

static bool is_end(char c)
{
	return c == '\0' || c == ' ' || c == '\n';
}

bool ladder_lists(const char *list, const char *word)
{
	for (const char *at = list; *at;) {
		size_t same = 0;

		while (word[same] && at[same] == word[same])
			same++;
		if (!word[same] && is_end(at[same]))
			return true;
		while (!is_end(*at))
			at++;
		while (*at && is_end(*at))
			at++;
	}
	return false;
}

static const char *const preferences[] = { "power", "balance_power", "balance_performance", "performance" };
enum { NR_PREFERENCES = sizeof(preferences) / sizeof(preferences[0]) };

bool ladder_has_epp(const char *list)
{
	for (int i = 0; i < NR_PREFERENCES; i++)
		if (!ladder_lists(list, preferences[i]))
			return false;
	return true;
}

const char *ladder_epp(const struct speed_ladder *ladder, uint32_t khz)
{
	uint32_t low = ladder->value[0], top = ladder->value[ladder->nr_steps - 1];

	if (khz >= top)
		return preferences[NR_PREFERENCES - 1];
	return khz <= low ? preferences[0] : preferences[(khz - low) * UINT64_C(3) / (top - low)];
}

/*
 * Under a cap the governor powersave of most drivers would stay at the lowest speed, and userspace at the last that was
 * set; with preferences powersave is another governor, which does what they say.  That one refuses them to performance.
 */
const char *ladder_governor(enum ladder_way way, const char *now, const char *offered, bool has_epp)
{
	const char *want = NULL;

	if (way == LADDER_EPP && !strcmp(now, "performance"))
		want = "powersave";
	else if (!strcmp(now, "userspace") || (!strcmp(now, "powersave") && !has_epp))
		want = "performance";
	return want && ladder_lists(offered, want) ? want : NULL;
}
