// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_restore.c - `parties restore`: glue; puts back what a killed run left behind.  How, is machine.c's.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "commands.h"
#include "restore.h"
#include "options.h"
#include "root.h"

int cmd_restore(int argc, char **argv)
{
	const struct option_table table = {
		"restore", "", "Puts every value back that a killed run left changed; safe to repeat", NULL, 0, 0, 0,
	};
	char error[512] = "";
	bool no_rights;
	int rc = options_parse(&table, argc, argv);

	if (rc < 0)
		return options_exit(rc);
	rc = restore_killed_run(root_dir(), NULL, error, sizeof(error));
	if (rc < 0) {
		no_rights = rc == -EPERM || rc == -EACCES;
		fprintf(stderr, "parties restore: %s%s\n", error, no_rights ? "; run as root" : "");
		return no_rights || rc == -EBUSY ? EXIT_UNABLE : EXIT_FAILED;
	}
	if (rc)
		printf("%d value%s put back\n", rc, rc == 1 ? "" : "s");
	else
		printf("nothing to restore\n");
	if (error[0])
		printf("%s\n", error);
	return EXIT_OK;
}
