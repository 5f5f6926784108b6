// SPDX-License-Identifier: GPL-2.0
/*
 * resctrl.c - finds, makes, fills and writes resctrl groups.  Port.
 * The grammar of its files and where ways lie is schemata.c's; how many each gets is decided elsewhere.
 */
#include "resctrl.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemata.h"
#include "tasks.h"

/* Code and data have a line each where the file system is mounted with cdp; they get the same ways. */
static const char *const line_names[] = { "L3", "L3CODE", "L3DATA", "MB" };
enum { NR_LINES = sizeof(line_names) / sizeof(line_names[0]), BANDWIDTH_LINE = NR_LINES - 1 };

/* The lines of `text` that we know, separated by a blank; with these values instead of theirs unless they are 0. */
static int copy_lines(const char *text, uint32_t mask, uint32_t bandwidth, char *ret, size_t size)
{
	struct schemata line;
	int used = 0;

	for (int i = 0; i < NR_LINES; i++) {
		uint32_t value = i == BANDWIDTH_LINE ? bandwidth : mask;
		int len = schemata_find(text, line_names[i], &line);

		if (len == -ENOENT)
			continue;
		if (!len && used + 1 >= (int)size)
			len = -ENOSPC;
		if (!len && value)
			schemata_set(&line, value);
		if (!len && used)
			ret[used++] = ' ';
		if (!len)
			len = schemata_format(&line, ret + used, size - (size_t)used);
		if (len < 0)
			return len;
		used += len;
	}
	return used ? used : -ENODATA;
}

static int read_lines(const struct knob *k, char *text, size_t size)
{
	char all[KNOB_TEXT_SIZE];
	int len = knob_read_all(k, all, sizeof(all));

	return len < 0 ? len : copy_lines(all, 0, 0, text, size);
}

static int write_lines(const struct knob *k, const char *text)
{
	char lines[KNOB_TEXT_SIZE];

	snprintf(lines, sizeof(lines), "%s", text);
	for (char *blank = strchr(lines, ' '); blank; blank = strchr(blank, ' '))
		*blank = '\n';
	/* To the kernel the length means nothing; the plain file of a tree would keep the end of a longer text. */
	return ftruncate(k->fd, 0) ? -errno : knob_write(k, lines);
}

static bool same_lines(const char *have, const char *want)
{
	return !strcmp(have, want);
}

static const struct knob_kind kind_schemata = { .write = write_lines, .same = same_lines, .read = read_lines };

/* ---- what is there ----------------------------------------------------------------------------------------------- */

static int read_file(const struct resctrl *r, const char *file, char *text, size_t size)
{
	char path[KNOB_PATH_SIZE + 64];

	snprintf(path, sizeof(path), "%s/%s", r->mount.dir, file);
	return knob_read_path(path, text, size);
}

static bool is_there(const struct resctrl *r, const char *file)
{
	char path[KNOB_PATH_SIZE + 64];

	snprintf(path, sizeof(path), "%s/%s", r->mount.dir, file);
	return !access(path, F_OK);
}

/* The value in info/, or `otherwise`; older kernels lack some. */
static uint32_t read_number(const struct resctrl *r, const char *file, uint32_t otherwise)
{
	char text[64];

	return read_file(r, file, text, sizeof(text)) > 0 ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static bool kernel_has_it(const char *root)
{
	char path[KNOB_PATH_SIZE], line[128];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%.480s/proc/filesystems", root);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, "\tresctrl\n");
	if (file)
		fclose(file);
	return found;
}

/* The smallest of what the resources have, as the kernel does it; 0: none has any. */
static uint32_t count_classes(const struct resctrl *r)
{
	static const char *const names[] = { "L3", "L3CODE", "L2", "L2CODE", "MB", "SMBA" };
	uint32_t least = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char file[64];
		uint32_t nr;

		snprintf(file, sizeof(file), "info/%s/num_closids", names[i]);
		nr = read_number(r, file, 0);
		if (nr && (!least || nr < least))
			least = nr;
	}
	return least;
}

/* Groups of others: the top, which is always one, included. */
static uint32_t count_others(const struct resctrl *r)
{
	DIR *dir = opendir(r->mount.dir);
	struct dirent *entry;
	uint32_t nr = 1;

	while (dir && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && strcmp(entry->d_name, "info") &&
		    strcmp(entry->d_name, "mon_groups") && strcmp(entry->d_name, "mon_data") &&
		    strncmp(entry->d_name, CGROUP_OWN "-", strlen(CGROUP_OWN "-")))
			nr++;
	if (dir)
		closedir(dir);
	return nr;
}

#define WHY(...) (snprintf(why, size, __VA_ARGS__), -ENOTSUP)

static int find_mount(struct resctrl *r, const char *root, char *why, size_t size)
{
	snprintf(r->mount.dir, sizeof(r->mount.dir), "%.480s/sys/fs/resctrl", root);
	snprintf(r->mount.top, sizeof(r->mount.top), "/");
	snprintf(r->mount.home, sizeof(r->mount.home), "%s", r->mount.dir);
	if (!is_there(r, "info") || !is_there(r, "schemata"))
		return kernel_has_it(root) ? WHY("resctrl is not mounted; mount -t resctrl resctrl /sys/fs/resctrl") :
					     WHY("neither CPU nor kernel offer resctrl; a CPU with L3 allocation (Intel, or AMD since Zen 2)");
	if (access(r->mount.dir, W_OK))
		return WHY("/sys/fs/resctrl: %s; run as root, outside of the container", strerror(errno));
	r->mount.version = CGROUP_RESCTRL;
	return 0;
}

static int check_classes(const struct resctrl *r, uint32_t nr_groups, char *why, size_t size)
{
	uint32_t nr = count_classes(r), others = count_others(r);

	if (others + nr_groups <= nr)
		return 0;
	return WHY("the hardware has %u classes of service, %u are taken, and %u more are needed; remove groups of others, or mount "
		   "without cdp, or configure fewer", nr, others, nr_groups);
}

/* The part of the cache that can be divided. */
static int find_ways(struct resctrl *r, uint32_t nr_services, uint32_t nr_batches, char *why, size_t size)
{
	const char *info = is_there(r, "info/L3") ? "info/L3" : "info/L3CODE";
	uint32_t all = 0, shared = 0, taken = 0, floor;
	char file[64], text[KNOB_TEXT_SIZE];
	int err;

	snprintf(file, sizeof(file), "%s/cbm_mask", info);
	err = read_file(r, file, text, sizeof(text));
	if (err == -ENOENT)
		return WHY("resctrl is mounted, and the L3 cache cannot be divided; a CPU with L3 allocation");
	if (err < 0 || schemata_parse_mask(text, &all))
		return WHY("%s makes no sense: %.32s", file, err < 0 ? strerror(-err) : text);
	snprintf(file, sizeof(file), "%s/shareable_bits", info);
	if (read_file(r, file, text, sizeof(text)) > 0 && schemata_parse_mask(text, &shared))
		return WHY("%s makes no sense: %.32s", file, text);
	snprintf(file, sizeof(file), "%s/bit_usage", info);
	if (read_file(r, file, text, sizeof(text)) > 0 && schemata_parse_usage(text, &taken))
		return WHY("%s makes no sense: %.32s", file, text);
	snprintf(file, sizeof(file), "%s/min_cbm_bits", info);
	floor = read_number(r, file, 1);
	floor = floor ? floor : 1;
	r->nr_ways = schemata_run(all & ~shared & ~taken, &r->first);
	r->nr_reserved = nr_batches ? floor : 0;
	if (r->nr_ways < nr_services * floor + r->nr_reserved)
		return WHY("%u ways of the cache lie side by side and are free, and %u are needed; configure fewer services",
			   r->nr_ways, nr_services * floor + r->nr_reserved);
	r->ways = (struct cache_ways){ .nr = r->nr_ways - r->nr_reserved, .floor = floor };
	return 0;
}

int resctrl_check(struct resctrl *r, const char *root, uint32_t nr_services, uint32_t nr_batches, char *why, size_t size)
{
	int err = find_mount(r, root, why, size);

	if (!err)
		err = find_ways(r, nr_services, nr_batches, why, size);
	if (!err)
		err = check_classes(r, nr_services + nr_batches, why, size);
	if (err)
		r->ways.nr = 0;
	return err;
}

/*
 * MB is percent, in steps and from a least value on that info/ tells; or, which the same file shows as not linear, AMD's
 * eighths of a GB/s, where the share of it all that a number means is not known.
 */
static int find_bandwidth(struct resctrl *r, uint32_t i, const struct limits *limits, char *why, size_t size)
{
	uint32_t least = read_number(r, "info/MB/min_bandwidth", 0), step = read_number(r, "info/MB/bandwidth_gran", 1);
	bool percent = read_number(r, "info/MB/delay_linear", 0);
	uint32_t wanted = percent ? limits->bandwidth_percent : limits->bandwidth_gbps * 8;
	struct schemata line;
	char text[KNOB_TEXT_SIZE];
	struct knob k;
	int err;

	if (!is_there(r, "info/MB"))
		return WHY("memory bandwidth cannot be limited here; a CPU with MBA");
	if (!wanted)
		return WHY("this CPU counts memory bandwidth in %s; write it so", percent ? "percent" : "GB/s");
	err = knob_open(&k, &knob_plain, r->mount.dir, "schemata");
	if (!err) {
		err = knob_read_all(&k, text, sizeof(text));
		knob_close(&k);
	}
	if (err >= 0)
		err = schemata_find(text, "MB", &line);
	if (err)
		return WHY("schemata has no line of MB that makes sense");
	if (percent && line.domains[0].value > 100)
		return WHY("resctrl is mounted with mba_MBps; mount it without");
	wanted = (wanted + step - 1) / (step ? step : 1) * (step ? step : 1);
	r->groups[i].bandwidth = wanted < least ? least : wanted;
	return 0;
}

static bool wants_bandwidth(const struct limits *limits)
{
	return limits && (limits->bandwidth_percent || limits->bandwidth_gbps);
}

/* They need a class each also where the cache is not divided. */
static int find_caps(struct resctrl *r, const struct machine_opts *opts, char *error, size_t error_size)
{
	uint32_t nr = 0;
	char why[256];
	int err = 0;

	for (uint32_t i = 0; i < opts->nr_batches && !err; i++) {
		if (!wants_bandwidth(opts->batches[i].limits))
			continue;
		nr++;
		err = find_mount(r, opts->root, why, sizeof(why));
		if (!err)
			err = find_bandwidth(r, r->nr_services + i, opts->batches[i].limits, why, sizeof(why));
		if (!err)
			err = check_classes(r, r->ways.nr ? r->nr_groups : nr, why, sizeof(why));
		if (err)
			snprintf(error, error_size, "%s: memory_bandwidth: %s", opts->batches[i].name, why);
	}
	return err;
}

int resctrl_find(struct resctrl *r, const struct machine_opts *opts, char *error, size_t error_size)
{
	char why[256];
	int err;

	memset(r, 0, sizeof(*r));
	r->nr_services = opts->nr_services;
	r->nr_groups = opts->nr_services + opts->nr_batches;
	if (opts->cache != CONFIG_CACHE_NO &&
	    resctrl_check(r, opts->root, opts->nr_services, opts->nr_batches, why, sizeof(why)) &&
	    opts->cache == CONFIG_CACHE_RESCTRL) {
		snprintf(error, error_size, "cache = resctrl: %s", why);
		err = -ENOTSUP;
	} else {
		err = find_caps(r, opts, error, error_size);
	}
	for (uint32_t i = 0; i < r->nr_groups; i++) {
		struct resctrl_group *g = &r->groups[i];
		const char *name = i < r->nr_services ? opts->services[i].name : opts->batches[i - r->nr_services].name;

		g->schemata.fd = -1;
		snprintf(g->name, sizeof(g->name), "%s", name);
		if (r->ways.nr || g->bandwidth)
			snprintf(g->dir, sizeof(g->dir), "%.440s/" CGROUP_OWN "-%s", r->mount.dir, name);
	}
	return err;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* The kernel's own words for what it refused. */
static const char *last_status(const struct resctrl *r, char *text, size_t size)
{
	return read_file(r, "info/last_cmd_status", text, size) > 0 && strcmp(text, "ok") ? text : "";
}

static int make_group(const struct resctrl *r, const struct resctrl_group *g, struct journal *j)
{
	struct journal_entry entry = { .kind = JOURNAL_GROUP };
	int err;

	if (!access(g->dir, F_OK))
		return 0;
	snprintf(entry.path, sizeof(entry.path), "%s", g->dir);
	snprintf(entry.text, sizeof(entry.text), "%s", r->mount.dir);
	err = journal_add(j, &entry);
	if (!err)
		err = journal_sync(j);
	if (!err && mkdir(g->dir, 0755))
		err = -errno;
	return err;
}

int resctrl_enter(struct resctrl *r, uint32_t i, const char *root, const struct match_pids *pids, struct journal *j,
		  char *error, size_t error_size)
{
	struct resctrl_group *g = &r->groups[i];
	char status[128];
	int err;

	if (!g->dir[0])
		return 0;
	err = make_group(r, g, j);
	if (!err)
		err = knob_open(&g->schemata, &kind_schemata, g->dir, "schemata");
	if (!err)
		err = tasks_move_in(root, &r->mount, g->dir, pids, j);
	if (err >= 0)
		return 0;
	snprintf(error, error_size, "%s: cannot use %s: %s. %s", g->name, g->dir, strerror(-err),
		 last_status(r, status, sizeof(status)));
	return err;
}

int resctrl_adopt(const struct resctrl *r, uint32_t i, const char *root, const struct match_pids *pids,
		  struct journal *j)
{
	const struct resctrl_group *g = &r->groups[i];

	return g->dir[0] && !access(g->dir, F_OK) ? tasks_move_in(root, &r->mount, g->dir, pids, j) : 0;
}

/* ---- every step -------------------------------------------------------------------------------------------------- */

static int refuse(struct outcome *ret, int err, const char *what, const char *name)
{
	ret->error = err;
	snprintf(ret->where, sizeof(ret->where), "%.70s: %.80s", name, what);
	return err;
}

/* What lies where; best effort is the last. */
static int lay_out(struct resctrl *r, const struct allocation *want, uint32_t *wanted, struct outcome *ret)
{
	uint32_t nr = r->nr_services + !!r->nr_reserved, sum = 0;

	for (uint32_t i = 0; i < nr; i++) {
		wanted[i] = i < r->nr_services ? want->ways[i] : want->be_ways + r->nr_reserved;
		if (wanted[i] < r->ways.floor || wanted[i] > r->nr_ways - sum)
			return refuse(ret, -EINVAL, "no ways of the cache, or more than there are", r->groups[i].name);
		sum += wanted[i];
	}
	schemata_lay_out(r->firsts, wanted, nr, r->nr_ways);
	return 0;
}

static int apply_group(struct resctrl *r, struct resctrl_group *g, uint32_t mask, struct undo *u, struct outcome *ret)
{
	char now[KNOB_TEXT_SIZE], text[KNOB_TEXT_SIZE], status[128];
	int err = knob_read_all(&g->schemata, now, sizeof(now));

	if (err >= 0)
		err = copy_lines(now, mask, g->bandwidth, text, sizeof(text));
	if (err < 0)
		return refuse(ret, err, strerror(-err), g->schemata.path);
	err = knob_change(u, &g->schemata, text, ret);
	if (err && last_status(r, status, sizeof(status))[0])
		refuse(ret, err, status, g->schemata.path);
	return err;
}

int resctrl_apply(struct resctrl *r, const struct allocation *want, uint64_t step, struct undo *u, struct outcome *ret)
{
	uint32_t wanted[POLICY_MAX_SERVICES + 1];
	int err = r->ways.nr ? lay_out(r, want, wanted, ret) : 0;

	for (uint32_t i = 0; i < r->nr_groups && !err; i++) {
		uint32_t owner = i < r->nr_services ? i : r->nr_services;
		struct resctrl_group *g = &r->groups[i];

		if (g->schemata.fd >= 0 && !drift_is_left(&g->drift, step) && !access(g->dir, F_OK))
			err = apply_group(r, g, r->ways.nr ? schemata_mask(r->first + r->firsts[owner], wanted[owner]) : 0, u,
					  ret);
	}
	return err;
}

void resctrl_look_for_drift(struct resctrl *r, uint64_t step, struct outcome *ret)
{
	for (uint32_t i = 0; i < r->nr_groups; i++) {
		if (r->groups[i].schemata.drifted)
			drift_note(&r->groups[i].drift, step, r->groups[i].name, "its cache or memory bandwidth", ret->note, sizeof(ret->note));
		r->groups[i].schemata.drifted = false;
	}
}

void resctrl_close(struct resctrl *r)
{
	for (uint32_t i = 0; i < r->nr_groups; i++)
		knob_close(&r->groups[i].schemata);
}
