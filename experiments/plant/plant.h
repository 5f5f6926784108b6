/* SPDX-License-Identifier: GPL-2.0 */
/*
 * plant.h - a simulated machine with services on it, in virtual time and deterministic by seed.  Pure apart from
 * plant_open, which reads a scenario file and allocates.
 */
#ifndef PARTIES_PLANT_H
#define PARTIES_PLANT_H

#include "config.h"
#include "ports.h"

struct plant;

/* "file:line: key: reason" in `error` on -EINVAL. */
int plant_open(struct plant **ret, const char *scenario, uint64_t seed, char *error, size_t error_size);
void plant_close(struct plant *p);
/* The controller's view of the scenario: services, targets, batches, interval, policy. */
const struct config *plant_config(const struct plant *p);
const struct topology *plant_topology(const struct plant *p);
const struct speed_ladder *plant_ladder(const struct plant *p);
uint64_t plant_duration_ns(const struct plant *p);
/* Load of a service at the present instant, permille of its maximum. */
uint32_t plant_load_permille(const struct plant *p, uint32_t service);
/* Runs virtual time up to now_ns. */
void plant_advance(struct plant *p, uint64_t now_ns);
struct sensor plant_sensor(struct plant *p);
struct actuator plant_actuator(struct plant *p);
/* Totals since the start. */
double plant_energy_j(const struct plant *p);
double plant_be_work(const struct plant *p);

#endif
