// SPDX-License-Identifier: GPL-2.0
/*
 * openmetrics.c - pure but for the stream: one table of what a service has, one of what the machine has.
 */
#include "openmetrics.h"

#include <math.h>

#include "qos.h"

/* A service of a tick; NAN: its window does not show it. */
struct seen {
	const struct tick *tick;
	const struct record_totals *totals;
	uint32_t i;
};

static const struct policy_service *service_of(const struct seen *seen)
{
	return &seen->tick->report.view.services[seen->i];
}

static double latency(const struct seen *seen, uint64_t ns)
{
	return seen->tick->report.samples[seen->i].nr_completed && ns ? ns / 1e9 : NAN;
}

static double p50(const struct seen *seen)
{
	return latency(seen, seen->tick->report.samples[seen->i].p50_ns);
}

static double p95(const struct seen *seen)
{
	return latency(seen, seen->tick->report.samples[seen->i].p95_ns);
}

static double p99(const struct seen *seen)
{
	return latency(seen, seen->tick->report.samples[seen->i].p99_ns);
}

static double steered(const struct seen *seen)
{
	return latency(seen, service_of(seen)->latency_ns);
}

static double target(const struct seen *seen)
{
	return seen->tick->config->services[seen->i].target_ns / 1e9;
}

static double slack(const struct seen *seen)
{
	return qos_has_slack(service_of(seen)) ? seen->tick->report.slack_permille[seen->i] / 1e3 : NAN;
}

static double requests(const struct seen *seen)
{
	return seen->totals->services[seen->i].nr_requests;
}

static double late(const struct seen *seen)
{
	const struct record_service_totals *s = &seen->totals->services[seen->i];

	return round(s->nr_requests * s->late_requests_pct / 100);
}

static double in_flight(const struct seen *seen)
{
	return service_of(seen)->nr_in_flight;
}

static double cores(const struct seen *seen)
{
	return seen->tick->steer ? allocation_count(&seen->tick->allocation, (int)seen->i) : NAN;
}

static double speed(const struct seen *seen, enum speed_kind kind, double unit)
{
	const struct tick *tick = seen->tick;

	return tick->steer && !tick->speed_is_gone && tick->ladder->kind == kind
		       ? tick->ladder->value[tick->allocation.speed[seen->i]] * unit
		       : NAN;
}

static double hertz(const struct seen *seen)
{
	return speed(seen, SPEED_FREQ, 1e3);
}

static double bandwidth(const struct seen *seen)
{
	return speed(seen, SPEED_BANDWIDTH, 1e-3);
}

static const struct {
	const char *name, *type, *suffix, *label, *help;
	double (*value)(const struct seen *seen);
} families[] = {
	/* Rows of one name stand together. */
	{ "latency_seconds", "gauge", "", ",quantile=\"0.5\"", "Latency of the last window.", p50 },
	{ "latency_seconds", "gauge", "", ",quantile=\"0.95\"", NULL, p95 },
	{ "latency_seconds", "gauge", "", ",quantile=\"0.99\"", NULL, p99 },
	{ "steered_latency_seconds", "gauge", "", "", "Latency of the last window at the target's percentile.",
	  steered },
	{ "target_seconds", "gauge", "", "", "What that latency is to stay below.", target },
	{ "slack_ratio", "gauge", "", "", "How far below, as a share of the target; negative: above.", slack },
	{ "requests", "counter", "_total", "", "Requests that were answered.", requests },
	{ "late_requests", "counter", "_total", "", "Requests over the target.", late },
	{ "requests_in_flight", "gauge", "", "", "Requests that wait for their answer.", in_flight },
	{ "cores", "gauge", "", "", "Physical cores the service has.", cores },
	{ "speed_hertz", "gauge", "", "", "Speed its cores are set to.", hertz },
	{ "bandwidth_ratio", "gauge", "", "", "Share of its cores' time it may use.", bandwidth },
};

static void print_head(const char *name, const char *type, const char *help, FILE *out)
{
	fprintf(out, "# TYPE parties_%s %s\n# HELP parties_%s %s\n", name, type, name, help);
}

static void print_machine(const char *name, const char *type, const char *help, double value, FILE *out)
{
	print_head(name, type, help, out);
	fprintf(out, "parties_%s%s %.10g\n", name, type[0] == 'c' ? "_total" : "", value);
}

static void print_states(const struct tick *tick, FILE *out)
{
	print_head("state", "stateset", "What the last window says: fresh, thin, idle, stalled or lost.", out);
	for (uint32_t i = 0; i < tick->config->nr_services; i++)
		for (int state = POLICY_FRESH; state <= POLICY_LOST; state++)
			fprintf(out, "parties_state{service=\"%s\",parties_state=\"%s\"} %d\n",
				tick->config->services[i].name, policy_signal_name((enum policy_signal)state),
				(int)tick->report.view.services[i].signal == state);
}

void openmetrics_print(const struct tick *tick, const struct record_totals *totals, FILE *out)
{
	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		if (families[f].help)
			print_head(families[f].name, families[f].type, families[f].help, out);
		for (uint32_t i = 0; i < tick->config->nr_services; i++) {
			double value = families[f].value(&(struct seen){ tick, totals, i });

			if (!isnan(value))
				fprintf(out, "parties_%s%s{service=\"%s\"%s} %.10g\n", families[f].name,
					families[f].suffix, tick->config->services[i].name, families[f].label, value);
		}
	}
	print_states(tick, out);
	if (tick->steer) {
		print_machine("best_effort_cores", "gauge", "Physical cores of best-effort work.",
			      allocation_count(&tick->allocation, ALLOCATION_BE), out);
		print_machine("idle_cores", "gauge", "Physical cores that nobody has.",
			      allocation_count(&tick->allocation, ALLOCATION_IDLE), out);
	}
	print_machine("violated_ratio", "gauge", "Share of the judged time in which a service missed its target.",
		      totals->violated_windows_pct / 100, out);
	print_machine("moves", "counter", "Decisions that moved something.", (double)totals->nr_moves, out);
	print_machine("infeasible", "counter", "Times that a target could not be met with all there is.",
		      (double)totals->nr_infeasible, out);
	print_machine("core_seconds", "counter", "Time of the cores that services had.", totals->core_seconds, out);
	print_machine("modelled_energy_joules", "counter", "Energy of those cores, by a model.", totals->energy_j, out);
	print_machine("duration_seconds", "gauge", "How long the run goes on.", totals->duration_s, out);
	fputs("# EOF\n", out);
}
