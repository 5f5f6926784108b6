/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pins.c - pins threads to the cores of their service.  Port.
 * It chooses no core and no process.
 */
#include "pins.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "affinity.h"
#include "tasks.h"

enum { MAX_ANCESTORS = 64, MAX_LOOKS = 20, QUIET_LOOKS = 3 };

static int compare_pins(const void *left, const void *right)
{
	const struct pin *a = left, *b = right;

	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static struct pin *find(const struct pins *p, size_t nr, pid_t tid)
{
	struct pin key = { .tid = tid };

	return nr ? bsearch(&key, p->threads, nr, sizeof(key), compare_pins) : NULL;
}

static bool is_ours(const struct pins *p, const struct cpulist *mask)
{
	for (size_t i = 0; i < p->nr_masks; i++)
		if (cpulist_equal(&p->masks[i], mask))
			return true;
	return false;
}

/*
 * Whose mask it was born with: a thread of its own process before others; what it was left with, before any mask of ours.
 * Once masks are in force one with the mask that others of its process had was born before they were pinned.
 */
static const struct pin *find_parent(const struct pins *p, pid_t pid, const struct cpulist *mask)
{
	const struct pin *found = NULL;
	bool ours = is_ours(p, mask);
	int best = 0;

	for (size_t i = 0; i < p->nr && p->nr_masks; i++) {
		const struct pin *pin = &p->threads[i];
		bool same = pin->pid == pid;
		int rank = cpulist_equal(&pin->set, mask) ? 2 : ours ? 1 : same && cpulist_equal(&pin->original, mask) ? 1 : 0;

		rank += rank && same ? 2 : 0;
		found = rank > best ? pin : found;
		best = rank > best ? rank : best;
	}
	return found;
}

static int journal_pin(const struct pin *pin, struct journal *j)
{
	struct journal_entry entry = { .kind = JOURNAL_PINNED, .tid = pin->tid, .start = pin->start };
	int len = cpulist_format(&pin->original, entry.text, sizeof(entry.text));

	snprintf(entry.path, sizeof(entry.path), "/proc/%d", (int)pin->pid);
	return len < 0 ? len : journal_add(j, &entry);
}

/* Room for one more element of an array that doubles. */
static int make_room(void **array, size_t nr, size_t *size, size_t element)
{
	size_t wanted = *size ? *size * 2 : 64;
	void *new = nr < *size ? *array : realloc(*array, wanted * element);

	if (!new)
		return -ENOMEM;
	*array = new;
	*size = nr < *size ? *size : wanted;
	return 0;
}

static int add(struct pins *p, const struct pin *pin)
{
	int err = make_room((void **)&p->threads, p->nr, &p->size, sizeof(*pin));

	if (!err)
		p->threads[p->nr++] = *pin;
	return err;
}

/* The target is a mask of ours from now on, and a later restore has to know it. */
static int note_target(struct pins *p, struct journal *j)
{
	struct journal_entry entry = { .kind = JOURNAL_PINNED, .path = "/" };
	int err;

	if (is_ours(p, &p->target))
		return 0;
	err = cpulist_format(&p->target, entry.text, sizeof(entry.text));
	if (err >= 0)
		err = journal_add(j, &entry);
	if (!err)
		err = journal_sync(j);
	if (!err)
		err = make_room((void **)&p->masks, p->nr_masks, &p->masks_size, sizeof(*p->masks));
	if (!err)
		p->masks[p->nr_masks++] = p->target;
	return err;
}

/* One pass over all threads. */
struct look {
	struct pins *p;
	size_t nr_known; /* these are sorted */
	struct journal *j;
	bool first;      /* of a step */
	struct outcome *ret; /* NULL: nobody is pinned, masks are only noted */
};

/* Threads that were born with a mask of ours are known by their process and need no line of their own. */
static int take_up(const struct look *l, struct pin *pin)
{
	const struct pin *parent = find_parent(l->p, pin->pid, &pin->now);
	int err;

	pin->original = parent ? parent->original : pin->now;
	pin->set = pin->now;
	if (parent && pin->pid == parent->pid)
		return 0;
	err = journal_pin(pin, l->j);
	return err || !l->ret ? err : journal_sync(l->j);
}

/* Set and read back; a thread that is gone is no failure. */
static int set_one(struct pin *pin, const struct cpulist *want, struct outcome *ret)
{
	struct cpulist now;
	char text[64];
	int err = affinity_set(pin->tid, want);

	if (!err)
		err = affinity_read(pin->tid, &now);
	if (!err && !cpulist_equal(&now, want))
		err = -EIO;
	if (err == -ESRCH)
		return 0;
	pin->changed = true;
	if (err) {
		if (cpulist_format(want, text, sizeof(text)) < 0)
			snprintf(text, sizeof(text), "its cores");
		ret->error = err;
		snprintf(ret->where, sizeof(ret->where), "thread %d of process %d: pinning to CPUs %.40s: %s", (int)pin->tid,
			 (int)pin->pid, text, err == -EIO ? "it may not use them all" : strerror(-err));
		return err;
	}
	pin->set = *want;
	ret->nr_writes++;
	return 0;
}

static int pin_one(const struct look *l, struct pin *pin, bool known)
{
	struct cpulist want = pin->original;

	cpulist_and(&want, &l->p->target);
	if (cpulist_empty(&want))
		want = l->p->target;
	l->p->drifted |= known && l->first && l->p->in_force && !cpulist_equal(&pin->now, &pin->set);
	if (l->first || !pin->changed)
		pin->before = pin->now;
	pin->changed &= !l->first;
	if (!cpulist_equal(&pin->now, &want))
		return set_one(pin, &want, l->ret);
	pin->set = want;
	return 0;
}

/* A number that was given to another thread is a new one. */
static int look_at(const struct look *l, pid_t pid, pid_t tid)
{
	struct pin *known = find(l->p, l->nr_known, tid), new = { .tid = tid, .pid = pid, .seen = true };
	struct tasks_stat stat;
	int err = affinity_read(tid, &new.now);

	if (err)
		return err == -ESRCH ? 0 : err;
	if (!known || !cpulist_equal(&new.now, &known->set)) {
		if (tasks_read_stat("", tid, &stat) || stat.exiting)
			return 0;
		new.start = stat.start;
	}
	if (known && (!new.start || known->start == new.start)) {
		known->now = new.now;
		known->seen = true;
		return l->ret ? pin_one(l, known, true) : 0;
	}
	err = take_up(l, &new);
	if (!err && l->ret)
		err = pin_one(l, &new, false);
	if (known)
		*known = new;
	return err || known ? err : add(l->p, &new);
}

static void sort(struct pins *p)
{
	if (p->nr)
		qsort(p->threads, p->nr, sizeof(*p->threads), compare_pins);
}

static void forget_the_dead(struct pins *p)
{
	size_t nr = 0;

	for (size_t i = 0; i < p->nr; i++)
		if (p->threads[i].seen)
			p->threads[nr++] = p->threads[i];
	p->nr = nr;
}

static DIR *open_threads(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return opendir(path);
}

static int look_at_all(const struct look *l, const struct match_pids *pids)
{
	int err = 0;

	for (size_t i = 0; i < l->p->nr; i++)
		l->p->threads[i].seen = false;
	for (uint32_t i = 0; i < pids->nr && !err; i++) {
		DIR *dir = open_threads(pids->pids[i]);
		struct dirent *entry;

		while (dir && !err && (entry = readdir(dir)))
			if (entry->d_name[0] != '.')
				err = look_at(l, pids->pids[i], atoi(entry->d_name));
		if (dir)
			closedir(dir);
	}
	if (!err)
		forget_the_dead(l->p);
	sort(l->p);
	return err;
}

int pins_note(struct pins *p, const char *root, const struct match_pids *pids, struct journal *j)
{
	struct look look = { .p = p, .nr_known = p->nr, .j = j };
	int err = root[0] ? 0 : look_at_all(&look, pids);

	return err ? err : journal_sync(j);
}

/* Threads are born meanwhile by some that were not pinned yet, so once somebody was pinned until some looks in a row find none. */
int pins_apply(struct pins *p, const char *root, const struct match_pids *pids, struct journal *j, struct outcome *ret)
{
	int err = root[0] ? 0 : note_target(p, j), quiet = QUIET_LOOKS - 1;

	for (int nr = 0; nr < MAX_LOOKS && quiet < QUIET_LOOKS && !root[0] && !err; nr++) {
		struct look look = { .p = p, .nr_known = p->nr, .j = j, .first = !nr, .ret = ret };
		uint32_t nr_writes = ret->nr_writes;

		err = look_at_all(&look, pids);
		quiet = ret->nr_writes == nr_writes ? quiet + 1 : 0;
	}
	if (err && !ret->error) {
		ret->error = err;
		snprintf(ret->where, sizeof(ret->where), "cannot look at threads, or note their masks: %s", strerror(-err));
	}
	p->in_force |= !err;
	return err;
}

void pins_rollback(struct pins *p)
{
	for (size_t i = p->nr; i--;) {
		struct pin *pin = &p->threads[i];

		if (pin->changed)
			affinity_set(pin->tid, &pin->before);
		if (pin->changed)
			pin->set = pin->before;
		pin->changed = false;
	}
}

bool pins_drifted(struct pins *p)
{
	bool drifted = p->drifted;

	p->drifted = false;
	return drifted;
}

void pins_close(struct pins *p)
{
	free(p->threads);
	free(p->masks);
	*p = (struct pins){ 0 };
}

/* ---- afterwards -------------------------------------------------------------------------------------------------- */

struct put_back {
	const struct journal_entry *entries;
	size_t nr;
	int first_err, nr_done;
};

static const struct journal_entry *find_entry(const struct put_back *b, pid_t tid)
{
	for (size_t i = b->nr; i--;)
		if (tid && b->entries[i].kind == JOURNAL_PINNED && b->entries[i].tid == tid &&
		    tasks_is_alive("", tid, b->entries[i].start))
			return &b->entries[i];
	return NULL;
}

static void count(struct put_back *b, int done)
{
	if (done > 0)
		b->nr_done++;
	else if (done < 0 && done != -ESRCH && !b->first_err)
		b->first_err = done;
}

/* Who may run on the most CPUs: nobody is to have less than before. */
static const struct journal_entry *find_process(const struct put_back *b, pid_t pid)
{
	const struct journal_entry *found = NULL;
	unsigned int most = 0;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	for (size_t i = 0; i < b->nr; i++) {
		const struct journal_entry *e = &b->entries[i];
		struct cpulist mask;

		if (e->kind != JOURNAL_PINNED || strcmp(e->path, path) || !tasks_is_alive("", e->tid, e->start) ||
		    cpulist_parse(e->text, &mask) || cpulist_count(&mask) <= most)
			continue;
		most = cpulist_count(&mask);
		found = e;
	}
	return found;
}

static const struct journal_entry *find_ancestor(const struct put_back *b, pid_t pid)
{
	const struct journal_entry *found = NULL;
	struct tasks_stat stat;

	for (int i = 0; !found && pid > 1 && i < MAX_ANCESTORS; i++) {
		found = find_process(b, pid);
		if (tasks_read_stat("", pid, &stat))
			break;
		pid = stat.parent;
	}
	return found;
}

static bool was_ours(const struct put_back *b, const struct cpulist *mask)
{
	struct cpulist target;

	for (size_t i = 0; i < b->nr; i++)
		if (b->entries[i].kind == JOURNAL_PINNED && !b->entries[i].tid && !cpulist_parse(b->entries[i].text, &target) &&
		    cpulist_equal(&target, mask))
			return true;
	return false;
}

/* Threads of a process that have a mask of ours get what the process, or its ancestor, had. */
static void put_back_process(struct put_back *b, pid_t pid)
{
	const struct journal_entry *from = find_ancestor(b, pid);
	struct cpulist mask;
	struct dirent *entry;
	DIR *dir = from ? open_threads(pid) : NULL;

	while (dir && (entry = readdir(dir))) {
		struct journal_entry inherited = *from;

		inherited.tid = atoi(entry->d_name);
		if (inherited.tid && !find_entry(b, inherited.tid) && !affinity_read(inherited.tid, &mask) && was_ours(b, &mask))
			count(b, affinity_put_back(&inherited));
	}
	if (dir)
		closedir(dir);
}

static void put_back_heirs(struct put_back *b)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (atoi(entry->d_name) > 1)
			put_back_process(b, atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

/* Whoever had nothing but our mask before is known by it, so that looking again is no harm. */
int pins_put_back(const struct journal_entry *entries, size_t nr_entries)
{
	struct put_back b = { .entries = entries, .nr = nr_entries };
	bool any = false;
	int quiet = 0;

	for (size_t i = 0; i < nr_entries; i++) {
		any |= entries[i].kind == JOURNAL_PINNED;
		if (find_entry(&b, entries[i].tid) == &entries[i])
			count(&b, affinity_put_back(&entries[i]));
	}
	for (int look = 0; look < MAX_LOOKS && any && quiet < QUIET_LOOKS; look++) {
		int before = b.nr_done;

		put_back_heirs(&b);
		quiet = before == b.nr_done ? quiet + 1 : 0;
	}
	return b.first_err ? b.first_err : b.nr_done;
}
