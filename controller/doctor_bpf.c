// SPDX-License-Identifier: GPL-2.0
/*
 * doctor_bpf.c - port: loads and attaches our kernel programs as a run does, and takes them away at once.  In a tree
 * that stands in for "/" it only looks for what they cannot do without.
 */
#include "doctor_look.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ebee.h"
#include "refusal.h"

static void look_only(const char *root, struct doctor_bpf *ret)
{
	struct refusal_facts facts = { .err = -ENOENT, .has_bpf = true, .lockdown = "", .release = "", .detail = "" };
	char text[8];
	int len = doctor_read(root, text, sizeof(text), "sys/kernel/btf/vmlinux");

	if (len >= 0 || len == -ENOSPC)
		return; /* nothing is known to stand in the way */
	ret->err = refusal_errno(&facts);
	refusal_explain(&facts, ret->error, sizeof(ret->error));
}

/* What our maps take, by the kernel's own account; each may have several descriptors. */
static uint64_t count_memory(void)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	unsigned long seen[256], id, bytes;
	uint64_t sum = 0;
	size_t nr = 0;

	for (struct dirent *e; dir && (e = readdir(dir));) {
		char path[300], line[128];
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", e->d_name);
		file = fopen(path, "re");
		id = bytes = 0;
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "memlock: %lu", &bytes) != 1)
				sscanf(line, "map_id: %lu", &id);
		if (file)
			fclose(file);
		for (size_t i = 0; i < nr && id; i++)
			if (seen[i] == id)
				id = 0;
		if (!id || nr == sizeof(seen) / sizeof(seen[0]))
			continue;
		seen[nr++] = id;
		sum += bytes;
	}
	if (dir)
		closedir(dir);
	return sum;
}

static void try_all(struct doctor_bpf *ret)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .nr_services = ret->nr_services };
	struct ebee *e;

	ret->tried = true;
	ret->err = ebee_open(&e, &opts, ret->error, sizeof(ret->error));
	if (ret->err)
		return;
	snprintf(ret->features, sizeof(ret->features), "%s", ebee_features(e));
	ret->memory_bytes = count_memory();
	ret->has_http2 = !ebee_set_lifecycle(e, 0, EBEE_HTTP2);
	ebee_close(e);
}

void doctor_look_bpf(const char *root, uint32_t nr_services, struct doctor_bpf *ret)
{
	char lockdown[128];

	ret->nr_services = nr_services;
	doctor_read(root, lockdown, sizeof(lockdown), "sys/kernel/security/lockdown");
	ret->is_locked = strstr(lockdown, "[confidentiality]");
	if (root[0])
		look_only(root, ret);
	else
		try_all(ret);
}
