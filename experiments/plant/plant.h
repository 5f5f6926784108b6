/* SPDX-License-Identifier: GPL-2.0 */
/*
 * plant.h - a simulated machine with services on it, in virtual time and deterministic by seed.  Pure apart from
 * plant_open, which reads a scenario file and allocates.
 *
 * The machine has one CPU per core and either a frequency ladder (1.2 to 2.2 GHz nominal by 100 MHz, and 2.8 GHz boost;
 * or three listed speeds) or, where the scenario asks for it, a bandwidth quota.  Service times refer to the fastest:
 *
 *	((1 - m) f_fastest / f + m) * (1 + sigma * min(1, sum over the others of bandwidth * load / 50 GB/s))
 *
 * times that at boost and alone.  An allocation takes effect late: cores after 5 ms, speed after 1 ms.  A bandwidth
 * quota is not a slow CPU: servers run at full speed until it is used up, and stand still until its period ends.
 *
 * Requests, their work and their connections come from the seed and the loads alone: whatever is decided, it meets the
 * same requests, so that policies can be compared on equal seeds.  Loads and disturbance are constant within 10 ms.
 * Nothing is known before it happens: a latency counts when its request completes.  How a service queues is
 * station.h's.
 *
 * Where it misleads:
 *  - caches are never cold, connections are hashed evenly, cores have no siblings and locks no contention;
 *  - neighbours disturb by their load, not by how many cores they have or how fast these are;
 *  - at a tenth of the load and ten times the service time (memcached of catalogue.h) queues are the same, but a
 *    decision's delays and a window's length are a tenth as long against them;
 *  - disks, the line and the quota's period are unaffected by anyone else;
 *  - processor sharing is perfectly even: a kernel's time slices are not infinitely short, so a real short request
 *    waits;
 *  - clients are an open Poisson process: they do not slow down when answers do, and do not try again when turned away.
 *
 * Energy and best-effort work follow from the allocation and are summed by the tick (totals.h), as they are live.
 */
#ifndef PARTIES_PLANT_H
#define PARTIES_PLANT_H

#include "config.h"
#include "ports.h"

struct plant;
struct station;

/* `seed` 0: the scenario's.  "file:line: key: reason" in `error` on -EINVAL. */
int plant_open(struct plant **ret, const char *scenario, uint64_t seed, char *error, size_t error_size);
void plant_close(struct plant *p);
/* The controller's view of the scenario: services, targets, batches, interval, policy. */
const struct config *plant_config(const struct plant *p);
const struct topology *plant_topology(const struct plant *p);
const struct speed_ladder *plant_ladder(const struct plant *p);
uint64_t plant_duration_ns(const struct plant *p);
/* Load of a service at the present instant, permille of its maximum. */
uint32_t plant_load_permille(const struct plant *p, uint32_t service);
/* Requests per second at 100 %. */
double plant_max_load(const struct plant *p, uint32_t service);
/* Its requests wait for disks, which no core and no speed makes faster. */
bool plant_has_disk(const struct plant *p, uint32_t service);
/* Load as a share, at any instant of the profile. */
double plant_load_at(const struct plant *p, uint32_t service, uint64_t t_ns);
/* Runs virtual time up to now_ns. */
void plant_advance(struct plant *p, uint64_t now_ns);
/*
 * What the servers' kernel sees, and what the clients see, whose requests also wait in the network: latencies (p50,
 * p95, p99, mean, steering), nr_late, nr_arrived and what is in flight are theirs.  A client knows nothing of residency
 * and service time behind a network: 0; the rest is equal.  Each has its own windows, which end at the present instant:
 * one may be read without the other, or both at once.
 */
struct sensor plant_sensor(struct plant *p);
struct sensor plant_client_sensor(struct plant *p);
struct actuator plant_actuator(struct plant *p);
/*
 * For an oracle: one service with this share, while all loads (of their maxima) stay as they are, in a station of the
 * caller's.  -ENOMEM.
 */
int plant_open_alone(const struct plant *p, uint32_t service, const double *loads, uint32_t nr_cores, uint32_t speed,
		     struct station **ret);

#endif
