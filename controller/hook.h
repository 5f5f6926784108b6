/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hook.h - starts the operator's program when targets cannot be met together.  Port.
 */
#ifndef PARTIES_HOOK_H
#define PARTIES_HOOK_H

/* `service` is its one argument.  Not waited for: whoever reaps children reaps it.  A failure is logged; "" starts nothing. */
void hook_start(const char *program, const char *service);

#endif
