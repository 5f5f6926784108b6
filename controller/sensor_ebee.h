/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sensor_ebee.h - libebee as a sensor: windows of every configured service from the kernel.  Port.
 */
#ifndef PARTIES_SENSOR_EBEE_H
#define PARTIES_SENSOR_EBEE_H

#include "config.h"
#include "match.h"
#include "ports.h"

struct cgroup_names;
struct ebee;
struct ebee_window;
struct ebee_window_info;
struct sensor_ebee;

/*
 * What a window of libebee says, as a sample: everything but what control groups count (CPU time, throttling) and culprits.
 * Latencies 0 without data.
 */
void sensor_ebee_fill(const struct ebee_window *w, const struct ebee_window_info *info, uint32_t percentile_permille,
		      uint64_t target_ns, struct sample *ret);

/* Who ran while the service waited; not known while nobody looks. */
void sensor_ebee_fill_culprits(const struct ebee *e, uint32_t service, struct cgroup_names *names, struct culprits *ret);

/* Loads and attaches; -EPERM, -ENOSYS, ... with the cause and the remedy in `error`. */
int sensor_ebee_open(struct sensor_ebee **ret, const struct config *config, char *error, size_t error_size);
/* A service's processes changed.  -ENOTSUP: a library that should be probed is not there, or not yet. */
int sensor_ebee_adopt(struct sensor_ebee *s, uint32_t service, const struct match_pids *pids);
/* Why it failed last: a line, or "" when there is nothing to say beyond the errno. */
const char *sensor_ebee_error(const struct sensor_ebee *s);
/* True once for every change of the lifecycle in use: its name and why, valid until the next read. */
bool sensor_ebee_changed(struct sensor_ebee *s, uint32_t service, const char **ret_lifecycle, const char **ret_reason);
/* Whether culprits are looked for, from the next window on.  -ENOTSUP with a line in sensor_ebee_error. */
int sensor_ebee_look(struct sensor_ebee *s, bool on);
struct sensor sensor_ebee_port(struct sensor_ebee *s);
/* One word per kernel hook. */
const char *sensor_ebee_features(const struct sensor_ebee *s);
/* CPU time of our BPF programs so far, ns: counted in one window of ten and scaled, for counting costs, too.  0 without
 * the right to count (CAP_SYS_ADMIN). */
uint64_t sensor_ebee_bpf_ns(const struct sensor_ebee *s);
void sensor_ebee_close(struct sensor_ebee *s);

#endif
