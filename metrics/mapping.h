/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mapping.h - which files a process executes, and how to reach them.  Port over /proc.  Not installed.
 */
#ifndef EBEE_MAPPING_H
#define EBEE_MAPPING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum { MAPPING_NAME_SIZE = 256, MAPPING_LINE_SIZE = 4096 + 128, MAPPING_TEXT_SIZE = 2 * MAPPING_NAME_SIZE };

/* An executable mapping of a file. */
struct mapping {
	char path[MAPPING_NAME_SIZE + 32]; /* opens the file */
	char name[MAPPING_NAME_SIZE];      /* for people */
	unsigned long long inode;
};

/* One line of /proc/PID/maps; true when it is executable and from a file. */
bool mapping_parse(const char *line, uint32_t pid, struct mapping *ret);
/* What is mapped; may change m->path.  -EPERM: the process is out of reach; -EACCES: the file; -ESTALE: replaced. */
int mapping_locate(struct mapping *m, uint32_t pid, struct stat *ret);
/* The words for what mapping_locate says; "" for what is no matter of rights. */
void mapping_explain(int err, const char *name, uint32_t pid, char text[MAPPING_TEXT_SIZE]);

#endif
