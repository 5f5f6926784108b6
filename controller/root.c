// SPDX-License-Identifier: GPL-2.0
/*
 * root.c - port: remembers one directory, set once, before any command runs.  It reads nothing below it.
 */
#include "root.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "knob.h"

static char root[KNOB_PATH_SIZE];

const char *root_dir(void)
{
	return root;
}

int root_set(const char *dir)
{
	char *full = realpath(dir, NULL);
	struct stat st;
	int err = 0;

	if (!full || stat(full, &st))
		err = -errno;
	else if (!S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	else if (strlen(full) > sizeof(root) / 2) /* names below it must fit, too */
		err = -ENAMETOOLONG;
	else
		strcpy(root, strcmp(full, "/") ? full : "");
	free(full);
	return err;
}
