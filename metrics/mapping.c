// SPDX-License-Identifier: GPL-2.0
/*
 * mapping.c - port: lines of /proc/PID/maps, and the files behind them.  Knows nothing of symbols or probes.
 */
#include "mapping.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool mapping_parse(const char *line, uint32_t pid, struct mapping *ret)
{
	unsigned long start, end;
	char rights[8];
	int at = 0;

	if (sscanf(line, "%lx-%lx %7s %*x %*s %llu %n", &start, &end, rights, &ret->inode, &at) != 4 ||
	    !at || rights[2] != 'x' || !ret->inode)
		return false;
	snprintf(ret->path, sizeof(ret->path), "/proc/%u/map_files/%lx-%lx", pid, start, end);
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)strcspn(line + at, "\n"), line + at);
	return true;
}

/*
 * By the mapping: right when the file was replaced since, but for CAP_CHECKPOINT_RESTORE alone.  Else by name, when
 * what has that name now is what is mapped.
 */
int mapping_locate(struct mapping *m, uint32_t pid, struct stat *ret)
{
	char root[32];

	if (!stat(m->path, ret))
		return 0;
	if (errno != EPERM && errno != EACCES)
		return -errno;
	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	if (stat(root, ret))
		return -EPERM;
	snprintf(m->path, sizeof(m->path), "%s%s", root, m->name);
	if (stat(m->path, ret))
		return errno == EACCES ? -EACCES : -ESTALE;
	return ret->st_ino == m->inode ? 0 : -ESTALE;
}

void mapping_explain(int err, const char *name, uint32_t pid, char text[MAPPING_TEXT_SIZE])
{
	text[0] = '\0';
	if (err == -EPERM)
		snprintf(text, MAPPING_TEXT_SIZE, "process %u is another user's: CAP_SYS_PTRACE is needed to see what it has mapped",
			 pid);
	else if (err == -EACCES)
		snprintf(text, MAPPING_TEXT_SIZE, "%s: its directory is closed to us: CAP_DAC_READ_SEARCH is needed", name);
	else if (err == -ESTALE)
		snprintf(text, MAPPING_TEXT_SIZE, "%s was replaced since process %u mapped it: CAP_CHECKPOINT_RESTORE is needed "
			 "to reach what is mapped", name, pid);
}
