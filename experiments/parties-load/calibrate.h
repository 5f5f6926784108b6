/* SPDX-License-Identifier: GPL-2.0 */
/*
 * calibrate.h - finds what 100 % load is.
 */
#ifndef PARTIES_LOAD_CALIBRATE_H
#define PARTIES_LOAD_CALIBRATE_H

#include "options.h"

/*
 * The highest constant rate at which at most 0.2 % of requests miss the target, to about 2 %; prints it as JSON on
 * stdout and its progress on stderr.  Returns the exit code.
 */
int calibrate(const struct options *o);

#endif
