/* SPDX-License-Identifier: GPL-2.0 */
/*
 * doctor_look.h - finds out what doctor.h judges.  Port: reads below `root`, writes nothing.  Only our kernel programs
 * are really loaded and attached, for a moment, and only where `root` is "".
 */
#ifndef PARTIES_DOCTOR_LOOK_H
#define PARTIES_DOCTOR_LOOK_H

#include "doctor.h"

/* config: NULL, or whose services are looked at too.  What cannot be found out is a fact as well. */
void doctor_look(const char *root, const struct config *config, struct doctor_facts *ret);

/* Parts of it. */
void doctor_look_cpus(const char *root, struct doctor_facts *ret);
void doctor_look_bpf(const char *root, uint32_t nr_services, struct doctor_bpf *ret);
void doctor_look_limits(const char *root, struct doctor_facts *ret);
void doctor_look_services(const char *root, struct doctor_facts *ret);

/* First line of <root>/<path>, "" when it cannot be read.  Its length or negative errno. */
int doctor_read(const char *root, char *text, size_t size, const char *path_format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
