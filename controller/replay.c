// SPDX-License-Identifier: GPL-2.0
/*
 * replay.c - glue: JSON lines in place of the sensor and the actuator.  It trusts nothing it reads, and compares and
 * prints nothing.
 */
#include "replay.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "params.h"
#include "record.h"
#include "schemata.h"
#include "tuning.h"

static const char *__attribute__((format(printf, 2, 3))) refuse(struct replay *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->why, sizeof(r->why), format, args);
	va_end(args);
	return r->why;
}

static bool take(const json_t *object, const char *key, uint64_t min, uint64_t max, uint64_t *ret)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) < min ||
	    (uint64_t)json_integer_value(value) > max)
		return false;
	*ret = (uint64_t)json_integer_value(value);
	return true;
}

static const char *error_number(struct replay *r, const char *key)
{
	return refuse(r, "%s is missing or out of range; a record of an older version cannot be decided again", key);
}

static const char *take_service(struct replay *r, const json_t *object)
{
	struct config_service *s = &r->config.services[r->config.nr_services++];
	const struct param *target = &params[param_find(PARAM_SERVICE, "target")];
	const char *name = json_string_value(json_object_get(object, "name"));
	uint64_t permille, min, max;

	if (!name || !*name || strlen(name) >= sizeof(s->name))
		return refuse(r, "a service has no name");
	snprintf(s->name, sizeof(s->name), "%s", name);
	if (!take(object, "target_ns", target->min, target->max, &s->target_ns))
		return error_number(r, "target_ns");
	if (!take(object, "percentile_permille", 1, 1000, &permille))
		return error_number(r, "percentile_permille");
	if (!take(object, "cores_min", 1, TOPOLOGY_MAX_CORES, &min))
		return error_number(r, "cores_min");
	if (!take(object, "cores_max", 0, TOPOLOGY_MAX_CORES, &max) || (max && max < min))
		return error_number(r, "cores_max");
	s->storage = json_is_true(json_object_get(object, "on_disk")) ? CONFIG_STORAGE_DISK : CONFIG_STORAGE_MEMORY;
	s->percentile_permille = (uint32_t)permille;
	s->cores_min = (uint32_t)min;
	s->cores_max = (uint32_t)max;
	return NULL;
}

static const char *take_ladder(struct replay *r, const json_t *object)
{
	static const char *const kinds[] = { "none", "cpufreq", "bandwidth" };
	const char *kind = json_string_value(json_object_get(object, "kind"));
	const json_t *values = json_object_get(object, "values");
	size_t nr = json_array_size(values), k = 0;
	uint64_t nominal;

	while (k < 3 && (!kind || strcmp(kind, kinds[k])))
		k++;
	if (k == 3 || nr > SPEED_MAX_STEPS || (k != SPEED_NONE && nr == 0))
		return refuse(r, "the header's speed is no ladder");
	if (!take(object, "nominal", 0, nr ? nr - 1 : UINT32_MAX, &nominal))
		return error_number(r, "nominal");
	r->ladder = (struct speed_ladder){ .kind = (enum speed_kind)k, .nr_steps = (uint32_t)nr,
					   .nominal = (uint32_t)nominal };
	for (size_t i = 0; i < nr; i++)
		r->ladder.value[i] = (uint32_t)json_integer_value(json_array_get(values, i));
	return NULL;
}

/* Where the cache was not divided the header says nothing. */
static const char *take_ways(struct replay *r, const json_t *object)
{
	uint64_t nr, floor;

	if (!object)
		return NULL;
	if (!take(object, "nr", 1, SCHEMATA_MAX_WAYS, &nr) || !take(object, "floor", 1, nr / r->config.nr_services, &floor))
		return refuse(r, "the header's ways of the cache make no sense");
	r->tick.ways = (struct cache_ways){ .nr = (uint32_t)nr, .floor = (uint32_t)floor };
	return NULL;
}

/* Likewise where best effort had no such limit. */
static const char *take_be_units(struct replay *r, const json_t *object)
{
	uint64_t memory, disk;

	if (!object)
		return NULL;
	if (!take(object, "memory", 0, LIMITS_UNITS, &memory) || !take(object, "disk", 0, LIMITS_UNITS, &disk))
		return refuse(r, "the header's units of best effort make no sense");
	r->tick.be_units = (struct be_units){ .memory = (uint32_t)memory, .disk = (uint32_t)disk };
	return NULL;
}

/* An option the record does not know is as it was when it did not exist: by default. */
static const char *take_options(struct replay *r, const json_t *options)
{
	char reason[PARAM_REASON_SIZE];
	const char *key;
	json_t *value;

	policy_default_options(policy_find(r->config.policy), r->config.options);
	json_object_foreach((json_t *)options, key, value)
		if (tuning_set(&r->config, key, json_is_string(value) ? json_string_value(value) : "", reason))
			return refuse(r, "options: %.32s: %.110s", key, reason);
	return NULL;
}

const char *replay_header(struct replay *r, const json_t *line)
{
	const json_t *machine = json_object_get(line, "machine"), *config = json_object_get(line, "config");
	const json_t *services = json_object_get(config, "services"), *seed = json_object_get(line, "seed");
	const char *word = json_string_value(json_object_get(line, "record")), *why = NULL;
	const char *policy = json_string_value(json_object_get(line, "policy"));
	const char *mode = json_string_value(json_object_get(line, "mode"));
	const struct param *interval = &params[param_find(PARAM_CONTROLLER, "interval")];
	uint64_t version, nr_cores;

	if (!word || strcmp(word, "parties"))
		return refuse(r, "not a record: the first line is no header");
	if (!take(line, "schema_version", RECORD_SCHEMA_VERSION, RECORD_SCHEMA_VERSION, &version))
		return refuse(r, "written by another version: schema_version is not %d; use the parties that wrote it",
			      RECORD_SCHEMA_VERSION);
	if (!policy || !policy_find(policy))
		return refuse(r, "no policy of this program has the recorded name '%.32s'", policy ? policy : "");
	if (!mode || !json_is_integer(seed))
		return refuse(r, "the header has no mode or no seed");
	if (!take(config, "interval_ns", interval->min, interval->max, &r->config.interval_ns))
		return error_number(r, "interval_ns");
	if (json_array_size(services) < 1 || json_array_size(services) > POLICY_MAX_SERVICES)
		return refuse(r, "the header names no services, or too many");
	if (!take(machine, "assignable_cores", 1, TOPOLOGY_MAX_CORES, &nr_cores))
		return error_number(r, "assignable_cores");
	for (size_t i = 0; i < json_array_size(services) && !why; i++)
		why = take_service(r, json_array_get(services, i));
	snprintf(r->config.policy, sizeof(r->config.policy), "%s", policy);
	if (!why)
		why = take_options(r, json_object_get(line, "options"));
	r->config.seed = (uint64_t)json_integer_value(seed);
	r->config.nr_batches = json_array_size(json_object_get(config, "batches")) > 0;
	r->topology.nr_cores = (uint32_t)nr_cores;
	r->tick.steer = strcmp(mode, "observe") != 0;
	if (!why)
		why = take_ways(r, json_object_get(machine, "ways"));
	if (!why)
		why = take_be_units(r, json_object_get(machine, "be_units"));
	return why ? why : take_ladder(r, json_object_get(machine, "speed"));
}

static int give_samples(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	const struct replay *r = ctx;

	(void)now_ns;
	memcpy(samples, r->samples, nr_services * sizeof(samples[0]));
	return 0;
}

static int give_outcome(void *ctx, const struct allocation *want, struct outcome *ret)
{
	const struct replay *r = ctx;

	(void)want;
	*ret = r->outcome;
	return r->outcome.error;
}

static int give_memory_slack(void *ctx, uint64_t *ret_bytes)
{
	const struct replay *r = ctx;

	*ret_bytes = r->memory_slack_bytes;
	return 0;
}

const char *replay_start(struct replay *r)
{
	uint32_t floors = 0;

	for (uint32_t i = 0; i < r->config.nr_services; i++)
		floors += r->config.services[i].cores_min;
	if (floors > r->topology.nr_cores)
		return refuse(r, "the services need at least %u cores, the recorded machine gave %u", floors,
			      r->topology.nr_cores);
	r->tick = (struct tick){
		.config = &r->config, .topology = &r->topology, .ladder = &r->ladder, .sensor = { r, give_samples },
		.actuator = { r, give_outcome, NULL, give_memory_slack }, .policy = policy_find(r->config.policy), .steer = r->tick.steer,
		.ways = r->tick.ways, .be_units = r->tick.be_units,
	};
	return tick_init(&r->tick, r->config.nr_batches) ? refuse(r, "%s", strerror(ENOMEM)) : NULL;
}

static const char *take_sample(struct replay *r, uint32_t i, const json_t *object)
{
	static const struct {
		const char *key;
		size_t offset;
	} fields[] = {
		{ "arrivals", offsetof(struct sample, nr_arrived) },
		{ "completed", offsetof(struct sample, nr_completed) },
		{ "late", offsetof(struct sample, nr_late) },
		{ "in_flight", offsetof(struct sample, nr_in_flight) },
		{ "over_target", offsetof(struct sample, nr_over_target) },
		{ "listen_drops", offsetof(struct sample, nr_listen_drops) },
		{ "steer_ns", offsetof(struct sample, steer_ns) },
		{ "oldest_ns", offsetof(struct sample, oldest_ns) },
		{ "cpu_ns", offsetof(struct sample, cpu_ns) },
	};
	const char *name = json_string_value(json_object_get(object, "name"));
	const char *state = json_string_value(json_object_get(object, "state"));
	struct sample *s = &r->samples[i];

	*s = (struct sample){ 0 };
	if (!name || strcmp(name, r->config.services[i].name))
		return refuse(r, "another service than in the header");
	for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
		if (!take(object, fields[f].key, 0, INT64_MAX, (uint64_t *)((char *)s + fields[f].offset)))
			return error_number(r, fields[f].key);
	/* Every other state follows from the numbers. */
	if (state && !strcmp(state, policy_signal_name(POLICY_LOST)))
		s->signal = POLICY_LOST;
	return NULL;
}

const char *replay_tick(struct replay *r, const json_t *line)
{
	const json_t *services = json_object_get(line, "services");
	const json_t *outcome = json_object_get(line, "outcome"), *error = json_object_get(outcome, "error");
	const char *speed = json_string_value(json_object_get(outcome, "speed"));
	const char *why = NULL;
	uint64_t now_ns, window_ns;

	if (!take(line, "now_ns", 0, INT64_MAX, &now_ns))
		return error_number(r, "now_ns");
	if (!take(line, "window_ns", 0, now_ns, &window_ns))
		return error_number(r, "window_ns");
	if (r->tick.totals.nr_ticks && now_ns - window_ns != r->last_ns)
		return refuse(r, "the window does not begin where the one before ended: a line is missing");
	if (json_object_get(line, "offline_cores") || json_object_get(line, "added_cores"))
		return refuse(r, "cores went offline here, or came: whose they were is not recorded, so what follows cannot be decided again");
	if (!json_is_object(json_object_get(line, "action")) || !json_is_integer(error) ||
	    json_integer_value(error) > 0 || json_integer_value(error) < -4095)
		return refuse(r, "a tick without action or outcome");
	if (json_array_size(services) != r->config.nr_services)
		return refuse(r, "another number of services than in the header");
	for (uint32_t i = 0; i < r->config.nr_services && !why; i++)
		why = take_sample(r, i, json_array_get(services, i));
	if (why)
		return why;
	if ((r->tick.be_units.memory || r->tick.be_units.disk) &&
	    !take(line, "memory_slack", 0, INT64_MAX, &r->memory_slack_bytes))
		return error_number(r, "memory_slack");
	r->outcome = (struct outcome){ .error = (int)json_integer_value(error) };
	for (enum outcome_speed s = OUTCOME_SPEED_OTHERWISE; speed && s <= OUTCOME_SPEED_GONE; s++)
		if (!strcmp(speed, record_speed_word(s)))
			r->outcome.speed = s;
	r->last_ns = now_ns;
	/* Says only that the run is lost, after which a record ends by itself. */
	tick_step(&r->tick, now_ns, window_ns);
	return NULL;
}

void replay_end(struct replay *r)
{
	tick_fini(&r->tick);
}
