// SPDX-License-Identifier: GPL-2.0
/*
 * record.c - pure but for the machine's name and memory: a run's numbers as JSON objects.  It computes nothing beyond
 * units; where the objects go is not its business.
 */
#include "record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "culprits.h"
#include "feedback.h"
#include "params.h"
#include "qos.h"
#include "tuning.h"

static double seconds(uint64_t ns)
{
	return ns / 1e9;
}

static double us(uint64_t ns)
{
	return ns / 1e3;
}

static const char *kind_name(enum speed_kind kind)
{
	static const char *const names[] = { "none", "cpufreq", "bandwidth" };

	return names[kind];
}

static json_t *ladder_json(const struct speed_ladder *ladder)
{
	json_t *values = json_array();
	uint32_t nr = ladder->kind == SPEED_NONE ? 0 : ladder->nr_steps;

	for (uint32_t i = 0; i < nr; i++)
		json_array_append_new(values, json_integer(ladder->value[i]));
	return json_pack("{s:s, s:s, s:i, s:o}", "kind", kind_name(ladder->kind), "unit",
			 ladder->kind == SPEED_FREQ ? "kHz" : "permille", "nominal", (int)ladder->nominal, "values",
			 values);
}

static bool has_be_units(const struct tick *tick)
{
	return tick->be_units.memory || tick->be_units.disk;
}

static json_t *machine_json(const struct tick *tick, const char *machine)
{
	struct utsname uts = { 0 };
	char cpus[4096] = "";
	json_t *ret;

	uname(&uts);
	cpulist_format(&tick->topology->online, cpus, sizeof(cpus));
	ret = json_pack("{s:s, s:s, s:s, s:i, s:i, s:s, s:o}", "host", uts.nodename, "kernel", uts.release, "cpus",
			cpus, "cores", (int)tick->topology->nr_cores, "assignable_cores",
			(int)tick->report.view.nr_cores, "knobs", machine, "speed", ladder_json(tick->ladder));
	if (tick->ways.nr)
		json_object_set_new(ret, "ways", json_pack("{s:i, s:i}", "nr", (int)tick->ways.nr, "floor",
							   (int)tick->ways.floor));
	if (has_be_units(tick))
		json_object_set_new(ret, "be_units", json_pack("{s:i, s:i}", "memory", (int)tick->be_units.memory, "disk",
							       (int)tick->be_units.disk));
	return ret;
}

/* The configuration in its own format, so that a record can be run again. */
static json_t *config_text(const struct config *config)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	json_t *ret;

	if (!out)
		return NULL;
	config_print(config, out);
	fclose(out);
	ret = json_stringn(text, size);
	free(text);
	return ret;
}

/* Each as the configuration would have it. */
static json_t *options_json(const struct tick *tick)
{
	json_t *ret = json_object();
	char value[CONFIG_NAME_SIZE];

	for (uint32_t i = 0; i < tick->policy->nr_options; i++) {
		struct param param = tuning_param(&tick->policy->options[i]);

		param_format(&param, &tick->report.view.options[i], value, sizeof(value));
		json_object_set_new(ret, param.key, json_string(value));
	}
	return ret;
}

static json_t *config_json(const struct config *config)
{
	json_t *services = json_array(), *batches = json_array();
	char feedback[16];

	param_format(&params[param_find(PARAM_CONTROLLER, "feedback")], config, feedback, sizeof(feedback));
	for (uint32_t i = 0; i < config->nr_services; i++) {
		const struct config_service *s = &config->services[i];

		json_array_append_new(services, json_pack("{s:s, s:f, s:f, s:i, s:i, s:i, s:I}", "name", s->name,
				      "percentile", s->percentile_permille / 10.0, "target_us", us(s->target_ns),
				      "cores_min", (int)s->cores_min, "cores_max", (int)s->cores_max,
				      "percentile_permille", (int)s->percentile_permille, "target_ns",
				      (json_int_t)s->target_ns));
		if (s->storage == CONFIG_STORAGE_DISK)
			json_object_set_new(json_array_get(services, i), "on_disk", json_true());
	}
	for (uint32_t i = 0; i < config->nr_batches; i++)
		json_array_append_new(batches, json_string(config->batches[i].name));
	return json_pack("{s:s, s:f, s:I, s:s, s:o, s:o, s:o*}", "file", config->file, "interval_s",
			 seconds(config->interval_ns), "interval_ns", (json_int_t)config->interval_ns, "feedback",
			 feedback, "services", services, "batches", batches, "text",
			 config_text(config));
}

json_t *record_header_json(const struct tick *tick, const char *mode, const char *machine)
{
	return json_pack("{s:s, s:i, s:s, s:s, s:o, s:I, s:o, s:o}", "record", "parties", "schema_version",
			 RECORD_SCHEMA_VERSION, "mode", mode, "policy", tick->policy->name, "options", options_json(tick),
			 "seed", (json_int_t)tick->config->seed, "machine", machine_json(tick, machine), "config",
			 config_json(tick->config));
}

/* No bucket's midpoint is 0: that is a part of the request nobody looked at. */
static json_t *latency(uint64_t ns, uint64_t count)
{
	return count > 0 && ns > 0 ? json_real(us(ns)) : json_null();
}

/* The first tick has no window behind it. */
static json_t *state_json(const struct tick *tick, const struct policy_service *seen)
{
	return tick->report.view.window_ns ? json_string(policy_signal_name(seen->signal)) : json_null();
}

/* What is in force from this instant on; while observing nobody is confined, so there is nothing to show. */
static void add_share(json_t *object, const struct tick *tick, uint32_t i)
{
	const struct allocation *a = &tick->allocation;
	const struct speed_ladder *ladder = tick->ladder;
	struct cpulist cpus;
	char ids[4096] = "";

	if (!tick->steer || !tick->started)
		return;
	allocation_cpus(a, tick->topology, (int)i, &cpus);
	cpulist_format(&cpus, ids, sizeof(ids));
	json_object_set_new(object, "cores", json_integer(allocation_count(a, (int)i)));
	json_object_set_new(object, "core_ids", json_string(ids));
	if (tick->ways.nr)
		json_object_set_new(object, "ways", json_integer(a->ways[i]));
	if (ladder->kind == SPEED_NONE || tick->speed_is_gone)
		return;
	json_object_set_new(object, "speed", json_integer(a->speed[i]));
	json_object_set_new(object, ladder->kind == SPEED_FREQ ? "khz" : "permille",
			    json_integer(ladder->value[a->speed[i]]));
}

static void add_other(json_t *object, const struct sample_other *other)
{
	json_object_update_new(object, json_pack("{s:o, s:o, s:o, s:o, s:o}", "other_completed",
			       other->known ? json_integer((json_int_t)other->nr_completed) : json_null(), "other_p50_us",
			       latency(other->p50_ns, other->nr_completed), "other_p95_us",
			       latency(other->p95_ns, other->nr_completed), "other_p99_us",
			       latency(other->p99_ns, other->nr_completed), "other_steer_us",
			       latency(other->steer_ns, other->nr_completed)));
}

static json_t *service_json(const struct tick *tick, uint32_t i)
{
	const struct sample *s = &tick->report.samples[i];
	const struct policy_service *seen = &tick->report.view.services[i];
	double window_s = seconds(tick->report.view.window_ns);
	uint64_t n = s->nr_completed;
	json_t *ret;

	ret = json_pack("{s:s, s:I, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			tick->config->services[i].name, "arrivals", (json_int_t)s->nr_arrived, "completed",
			(json_int_t)n, "rps", window_s > 0 ? s->nr_arrived / window_s : 0.0, "mean_us",
			latency(s->mean_ns, n), "p50_us", latency(s->p50_ns, n), "p95_us", latency(s->p95_ns, n),
			"p99_us", latency(s->p99_ns, n), "total_p99_us", latency(s->total_p99_ns, n),
			"residency_p99_us", latency(s->residency_p99_ns, n), "service_p99_us",
			latency(s->service_p99_ns, n), "steer_us", latency(seen->latency_ns, seen->nr_completed));
	json_object_update_new(ret, json_pack("{s:I, s:f, s:I, s:I, s:I, s:o, s:o, s:f, s:f}", "in_flight",
			(json_int_t)s->nr_in_flight, "oldest_us", us(s->oldest_ns), "over_target",
			(json_int_t)s->nr_over_target, "late", (json_int_t)s->nr_late, "listen_drops",
			(json_int_t)s->nr_listen_drops, "state", state_json(tick, seen), "slack",
			qos_has_slack(seen) ? json_integer(tick->report.slack_permille[i]) : json_null(), "cpu_s",
			seconds(s->cpu_ns), "throttled_s", seconds(s->throttled_ns)));
	json_object_update_new(ret, json_pack("{s:I, s:I, s:I}", "steer_ns", (json_int_t)s->steer_ns, "oldest_ns",
			(json_int_t)s->oldest_ns, "cpu_ns", (json_int_t)s->cpu_ns));
	json_object_set_new(ret, "run_delay_s", s->has_run_delay ? json_real(seconds(s->run_delay_ns)) : json_null());
	json_object_set_new(ret, "net_delay_s", s->has_run_delay ? json_real(seconds(s->net_delay_ns)) : json_null());
	if (s->measured_khz)
		json_object_set_new(ret, "measured_khz", json_integer(s->measured_khz));
	if (feedback_has_other(tick->config->feedback))
		add_other(ret, &s->other);
	if (s->culprits.known)
		culprits_add_json(ret, &s->culprits);
	add_share(ret, tick, i);
	return ret;
}

static json_t *subject_json(const struct tick *tick, int32_t service)
{
	if (service == POLICY_BE)
		return json_string("best-effort");
	return service >= 0 ? json_string(tick->config->services[service].name) : json_null();
}

/* The whole allocation decided, also when it was refused, failed, or is never applied. */
static json_t *want_json(const struct tick *tick)
{
	const struct policy_decision *d = &tick->report.decision;
	json_t *cores = json_array(), *speed = json_array(), *ways = json_array(), *ret;

	for (uint32_t i = 0; i < tick->report.view.nr_services; i++) {
		json_array_append_new(cores, json_integer(d->shares[i].cores));
		json_array_append_new(speed, json_integer(d->shares[i].speed));
		json_array_append_new(ways, json_integer(d->shares[i].ways));
	}
	ret = json_pack("{s:o, s:o, s:I, s:I}", "cores", cores, "speed", speed, "be_cores", (json_int_t)d->be_cores,
			"idle_cores", (json_int_t)d->idle_cores);
	if (tick->ways.nr)
		json_object_update_new(ret, json_pack("{s:o, s:I, s:I}", "ways", ways, "be_ways", (json_int_t)d->be_ways,
						      "idle_ways", (json_int_t)d->idle_ways));
	else
		json_decref(ways);
	if (has_be_units(tick))
		json_object_update_new(ret, json_pack("{s:i, s:i}", "be_memory", (int)d->be_memory, "be_disk", (int)d->be_disk));
	return ret;
}

static json_t *action_json(const struct tick *tick)
{
	const struct policy_decision *d = &tick->report.decision;
	json_t *rejected = json_array();

	for (uint32_t i = 0; i < d->nr_rejected; i++) {
		const struct policy_rejected *no = &d->rejected[i];

		json_array_append_new(rejected, json_pack("{s:o, s:s, s:s}", "service", subject_json(tick, no->service),
							  "resource", policy_resource_name(no->resource), "why",
							  policy_refusal_name(no->why)));
	}
	return json_pack("{s:s, s:o, s:o, s:s, s:o, s:b, s:o, s:o}", "reason", policy_reason_name(d->reason), "subject",
			 subject_json(tick, d->subject), "resource", d->direction == POLICY_HOLD ? json_null() :
			 json_string(policy_resource_name(d->resource)), "direction",
			 policy_direction_name(d->direction), "victim", subject_json(tick, d->victim), "infeasible",
			 d->infeasible, "rejected", rejected, "want", want_json(tick));
}

char *record_action_text(const struct tick *tick)
{
	json_t *action = action_json(tick);
	char *ret = json_dumps(action, RECORD_DUMP_FLAGS);

	json_decref(action);
	return ret;
}

const char *record_speed_word(enum outcome_speed speed)
{
	static const char *const words[] = { "", "otherwise", "bandwidth", "gone" };

	return words[speed];
}

/* Of best effort. */
static void add_limits(json_t *line, const struct tick *tick)
{
	const struct outcome_egress *egress = &tick->report.outcome.egress;
	json_t *be = json_object_get(line, "be");

	if (has_be_units(tick))
		json_object_update_new(be, json_pack("{s:i, s:i}", "memory", (int)tick->allocation.be_memory, "disk",
						     (int)tick->allocation.be_disk));
	if (egress->limit_bps)
		json_object_set_new(be, "egress_limit_mbit", json_real(egress->limit_bps / 1e6));
	if (egress->has_be)
		json_object_set_new(be, "egress_mbit", json_real(egress->be_bps / 1e6));
	if (egress->has_link)
		json_object_set_new(be, "link_mbit", json_real(egress->link_bps / 1e6));
}

static void add_knobs(json_t *object, const struct trouble_knobs *knobs)
{
	if (knobs->nr_changed)
		json_object_set_new(object, "changed_by_others", json_integer(knobs->nr_changed));
	if (knobs->left)
		json_object_set_new(object, "left_to_others", json_true());
}

/* Only what there is, so that most ticks have none of it. */
static void add_trouble(json_t *line, json_t *services, const struct tick *tick)
{
	json_t *be = json_object(), *speed = json_object();
	struct trouble trouble;
	char text[4096];

	tick->actuator.trouble(tick->actuator.ctx, &trouble);
	for (uint32_t i = 0; i < tick->report.view.nr_services; i++) {
		json_t *service = json_array_get(services, i);

		add_knobs(service, &trouble.services[i]);
		if (trouble.nr_apart[i])
			json_object_set_new(service, "pinned_threads", json_integer(trouble.nr_apart[i]));
		if (tick->benefits[i].is_none)
			json_object_set_new(service, "no_benefit_above", json_integer(tick->benefits[i].full_cores));
	}
	add_knobs(be, &trouble.batches);
	json_object_update(json_object_get(line, "be"), be);
	json_decref(be);
	add_knobs(speed, &trouble.speed);
	if (trouble.given_up[0])
		json_object_set_new(speed, "given_up", json_string(trouble.given_up));
	if (json_object_size(speed))
		json_object_set(line, "speed", speed);
	json_decref(speed);
	if (!cpulist_empty(&trouble.avoided) && cpulist_format(&trouble.avoided, text, sizeof(text)) > 0)
		json_object_set_new(line, "avoided_cpus", json_string(text));
}

json_t *record_tick_json(const struct tick *tick)
{
	const struct tick_report *report = &tick->report;
	json_t *services = json_array(), *line;

	for (uint32_t i = 0; i < report->view.nr_services; i++)
		json_array_append_new(services, service_json(tick, i));
	line = json_pack("{s:f, s:f, s:I, s:I, s:o, s:o, s:{s:i, s:I, s:s}}", "t_s",
			 seconds(report->now_ns - tick->start_ns), "window_s", seconds(report->view.window_ns),
			 "now_ns", (json_int_t)report->now_ns, "window_ns", (json_int_t)report->view.window_ns,
			 "services", services, "action", action_json(tick), "outcome", "error", report->outcome.error,
			 "writes", (json_int_t)report->outcome.nr_writes, "where", report->outcome.where);
	if (report->outcome.note[0])
		json_object_set_new(json_object_get(line, "outcome"), "note", json_string(report->outcome.note));
	if (report->outcome.speed)
		json_object_set_new(json_object_get(line, "outcome"), "speed",
				    json_string(record_speed_word(report->outcome.speed)));
	if (has_be_units(tick))
		json_object_set_new(line, "memory_slack", json_integer((json_int_t)report->view.memory_slack_bytes));
	if (tick->steer && tick->started) {
		uint32_t be = allocation_count(&tick->allocation, ALLOCATION_BE);
		uint32_t idle = allocation_count(&tick->allocation, ALLOCATION_IDLE);

		json_object_set_new(line, "be", json_pack("{s:i}", "cores", (int)be));
		json_object_set_new(line, "idle_cores", json_integer(idle));
		add_limits(line, tick);
		if (tick->actuator.trouble)
			add_trouble(line, services, tick);
		if (tick->ways.nr) {
			json_object_set_new(json_object_get(line, "be"), "ways", json_integer(tick->allocation.be_ways));
			json_object_set_new(line, "idle_ways", json_integer(tick->allocation.idle_ways));
		}
		if (allocation_count(&tick->allocation, ALLOCATION_OFFLINE))
			json_object_set_new(line, "offline_cores",
					    json_integer(allocation_count(&tick->allocation, ALLOCATION_OFFLINE)));
		if (tick->allocation.nr_cores > tick->nr_first_cores)
			json_object_set_new(line, "added_cores",
					    json_integer(tick->allocation.nr_cores - tick->nr_first_cores));
	}
	return line;
}

static json_t *known(double value, bool is_known)
{
	return is_known ? json_real(value) : json_null();
}

static void add_oracle(json_t *object, const struct record_oracle *o)
{
	json_t *changes = json_array();

	for (uint32_t i = 0; i < o->nr_changes; i++) {
		const struct record_change *c = &o->changes[i];
		bool counts = !c->infeasible;

		json_array_append_new(changes, json_pack("{s:f, s:o, s:o, s:o}", "t_s", c->t_s, "time_to_first_ok_s",
				      known(c->first_ok_s, counts && c->first_ok_s >= 0), "time_to_valid_s",
				      known(c->valid_s, counts && c->valid_s >= 0), "time_to_recover_s",
				      known(c->recover_s, counts)));
	}
	json_object_update_new(object, json_pack("{s:o, s:o, s:f, s:f, s:f, s:f, s:o}", "energy_vs_oracle",
			known(o->energy_ratio, o->energy_ratio >= 0), "be_work_vs_oracle",
			known(o->be_work_ratio, o->be_work_ratio >= 0), "time_in_v_pct", o->in_v_pct,
			"time_to_first_ok_s", o->first_ok_s, "time_to_valid_s", o->valid_s, "time_to_recover_s",
			o->recover_s, "changes", changes));
}

json_t *record_totals_json(const struct record_totals *t)
{
	json_t *services = json_array(), *ret;

	for (uint32_t i = 0; i < t->nr_services; i++)
		json_array_append_new(services, json_pack("{s:s, s:I, s:f, s:f}", "name", t->services[i].name,
				      "requests", (json_int_t)t->services[i].nr_requests, "late_requests_pct",
				      t->services[i].late_requests_pct, "violated_windows_pct",
				      t->services[i].violated_windows_pct));
	ret = json_pack("{s:b, s:f, s:f, s:f, s:I, s:f, s:f, s:s, s:f, s:f}", "totals", 1, "duration_s",
			t->duration_s, "violated_windows_pct", t->violated_windows_pct, "raw_violated_pct",
			t->raw_violated_pct, "raw_windows", (json_int_t)t->nr_raw_windows, "core_seconds",
			t->core_seconds, "energy_j", t->energy_j, "energy_source", t->energy_source, "be_work",
			t->be_work, "be_core_seconds", t->be_core_seconds);
	json_object_update_new(ret, json_pack("{s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:o}", "own_cpu_pct", t->own_cpu_pct,
			"mean_speed", t->mean_speed, "late_requests_pct", t->late_requests_pct, "ticks",
			(json_int_t)t->nr_ticks, "overruns", (json_int_t)t->nr_overruns, "moves",
			(json_int_t)t->nr_moves, "infeasible", (json_int_t)t->nr_infeasible, "services", services));
	if (t->has_package)
		json_object_set_new(ret, "package_j", json_real(t->package_j));
	json_object_set_new(ret, "infeasible_windows", json_integer((json_int_t)t->nr_infeasible_windows));
	if (t->oracle)
		add_oracle(ret, t->oracle);
	return ret;
}

int record_print_totals(const struct record_totals *totals, FILE *out)
{
	json_t *object = record_totals_json(totals);
	int err = object && json_dumpf(object, out, RECORD_DUMP_FLAGS) == 0 && fputc('\n', out) != EOF ? 0 : -EIO;

	json_decref(object);
	return err;
}
