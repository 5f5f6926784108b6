// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_run.c - `parties run`: glue that opens everything in order, ticks until told to stop and puts everything back.
 * How a tick works is tick.c's, how the machine is written machine.c's business.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "changes.h"
#include "commands.h"
#include "feedback.h"
#include "hook.h"
#include "live.h"
#include "loop.h"
#include "notify.h"
#include "options.h"
#include "qos.h"
#include "rapl.h"
#include "record_file.h"
#include "restore.h"
#include "rights.h"
#include "root.h"
#include "roster.h"
#include "sensor_client.h"
#include "sensor_wave.h"
#include "status.h"
#include "throttle.h"

enum run_mode { RUN_LIVE, RUN_DRY, RUN_OBSERVE };
static const char *const mode_names[] = { "live", "dry-run", "observe" };

struct run {
	const char *file, *mode_name, *record_path, *web;
	bool quiet, force;
	uint64_t for_ns;
	enum run_mode mode;

	struct config config;
	struct topology topology;
	struct speed_ladder ladder;
	struct record *record;
	struct sensor_ebee *sensor; /* NULL without feedback from the kernel */
	struct sensor_wave wave;     /* in its place on a tree */
	struct sensor_client *clients; /* NULL without feedback from them */
	struct feedback feedback;
	struct machine *machine;
	struct loop loop;
	struct live live;
	struct roster roster;
	struct tick tick;
	struct status status;
	uint64_t last_ns, own_ns, bpf_ns;
	struct rapl rapl; /* none: the machine has no meters */
	uint64_t cpu_ns[POLICY_MAX_SERVICES];
	struct cgroup_mounts mounts;
	struct throttle throttles[POLICY_MAX_SERVICES];
	uint64_t followed_ns[POLICY_MAX_SERVICES]; /* the roster's look that they rest on */
	uint64_t carried_ns[POLICY_MAX_SERVICES];  /* of qos_net_delay */
	struct qos_look look;
	bool looking; /* for culprits */
	struct changes changes;
};

/* One line, then the exit code. */
static int fail(enum exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(enum exit_code code, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "parties run: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return code;
}

/* 0, or what options_exit takes. */
static int parse_options(struct run *run, int argc, char **argv)
{
	const struct option_spec specs[] = {
		{ "config", 'c', "FILE", OPTION_STRING, &run->file, "the configuration (required)" },
		{ "mode", 0, "MODE", OPTION_STRING, &run->mode_name, "live (default), dry-run or observe" },
		{ "for", 0, "DUR", OPTION_DURATION, &run->for_ns, "end after this long" },
		{ "record", 0, "FILE", OPTION_STRING, &run->record_path, "write the run as JSON lines" },
		{ "web", 0, "ADDR", OPTION_STRING, &run->web, "show the run at this port, or address:port, to browsers" },
		{ "quiet", 'q', NULL, OPTION_FLAG, &run->quiet, "no status lines, only the summary" },
		{ "force", 0, NULL, OPTION_FLAG, &run->force, "set speeds although another program does, too" },
	};
	const struct option_table table = {
		"run", "-c FILE [--mode MODE] [--for DUR] [--record FILE] [--web ADDR] [--quiet] [--force]",
		"Steers the services of a configuration until it is interrupted, then puts everything back", specs,
		sizeof(specs) / sizeof(specs[0]), 0, 0,
	};
	int err = options_parse(&table, argc, argv);

	if (err < 0)
		return err;
	if (!run->file)
		return options_error(&table, "-c FILE is missing");
	for (run->mode = RUN_LIVE; run->mode <= RUN_OBSERVE; run->mode++)
		if (!run->mode_name || !strcmp(run->mode_name, mode_names[run->mode]))
			return 0;
	return options_error(&table, "--mode: '%s' is not live, dry-run or observe", run->mode_name);
}

/* What can be wrong with the files named, before the machine is looked at. */
static int read_files(struct run *run)
{
	char error[512];
	int err = config_load(run->file, &run->config, error, sizeof(error));

	if (err) {
		fprintf(stderr, "%s\n", error);
		return EXIT_USAGE;
	}
	err = topology_read(root_dir(), &run->topology);
	if (err)
		return fail(EXIT_UNABLE, "the topology below %s/sys/devices/system/cpu: %s", root_dir(), strerror(-err));
	if (!run->record_path)
		return EXIT_OK;
	err = record_open(&run->record, run->record_path);
	return err ? fail(EXIT_USAGE, "--record: %s: %s", run->record_path, strerror(-err)) : EXIT_OK;
}

static int check_machine(struct run *run)
{
	char error[512];
	unsigned int rights = (feedback_has_kernel(run->config.feedback) ? RIGHTS_MEASURE : 0) |
			      (run->mode == RUN_LIVE ? RIGHTS_STEER : 0);
	int err = root_dir()[0] ? 0 : rights_check(rights, error, sizeof(error));

	if (err)
		return fail(EXIT_UNABLE, "missing %s; run as root, or try `make sim`, which needs no rights", error);
	if (run->mode == RUN_LIVE) {
		err = restore_killed_run(root_dir(), NULL, error, sizeof(error));
		if (err < 0)
			return fail(EXIT_UNABLE, "%s", error);
		if (err > 0)
			fprintf(stderr, "event=restored values=%d reason=\"a run was killed before\"\n", err);
	}
	err = match_check(root_dir(), &run->config, allocation_assignable(&run->topology, run->config.reserved_cpus), error,
			  sizeof(error));
	if (err) {
		fprintf(stderr, "%s\n", error);
		return err == -EPERM ? EXIT_UNABLE : EXIT_USAGE;
	}
	return EXIT_OK;
}

static int open_machine(struct run *run, char *error, size_t error_size)
{
	struct machine_group groups[ROSTER_MAX_GROUPS];
	const struct config *config = &run->config;
	struct machine_opts opts = {
		.root = root_dir(), .topology = &run->topology, .speed = config->speed, .affinity = config->affinity,
		.cache = config->cache, .link = &config->link, .subtree = config->subtree,
		.dry = run->mode == RUN_DRY, .force = run->force,
		.nr_services = config->nr_services, .nr_batches = config->nr_batches, .services = groups,
		.batches = groups + config->nr_services,
	};

	for (uint32_t g = 0; g < config->nr_services + config->nr_batches; g++) {
		bool batch = g >= config->nr_services;
		uint32_t i = batch ? g - config->nr_services : g;
		const struct match *match = batch ? &config->batches[i].match : &config->services[i].match;

		groups[g] = (struct machine_group){
			.name = batch ? config->batches[i].name : config->services[i].name,
			.match = match,
			.target_ns = batch ? 0 : config->services[i].target_ns,
			.pids = &run->roster.pids[g],
			.limits = batch ? &config->batches[i].limits : NULL,
		};
	}
	return machine_open(&run->machine, &opts, error, error_size);
}

static int open_sensors(struct run *run, char *error, size_t error_size)
{
	int err = 0;

	run->feedback.kind = run->config.feedback;
	if (root_dir()[0] && feedback_has_kernel(run->feedback.kind)) {
		run->wave.config = &run->config;
		run->feedback.kernel = sensor_wave_port(&run->wave);
	} else if (feedback_has_kernel(run->feedback.kind)) {
		err = sensor_ebee_open(&run->sensor, &run->config, error, error_size);
		run->feedback.kernel = sensor_ebee_port(run->sensor);
	}
	if (!err && feedback_has_client(run->feedback.kind)) {
		err = sensor_client_open(&run->clients, &run->config);
		snprintf(error, error_size, "%s", strerror(-err));
		run->feedback.client = sensor_client_port(run->clients);
	}
	return err;
}

static int open_ports(struct run *run)
{
	char error[512] = "";
	int err = open_sensors(run, error, sizeof(error));

	if (err)
		return fail(EXIT_UNABLE, "%s", error);
	run->roster.config = &run->config;
	run->roster.sensor = run->sensor;
	roster_resolve(&run->roster, loop_now_ns());
	if (run->mode != RUN_OBSERVE) {
		err = open_machine(run, error, sizeof(error));
		if (err)
			return fail(EXIT_UNABLE, "%s", error);
		run->ladder = *machine_ladder(run->machine);
		run->tick.ways = machine_ways(run->machine);
		run->tick.be_units = config_be_units(&run->config);
		run->roster.machine = run->machine;
	}
	err = roster_hand_over(&run->roster);
	return err ? fail(EXIT_UNABLE, "the services' processes cannot be taken up: %s",
			  roster_explain(&run->roster, err)) : EXIT_OK;
}

/* From the service's group where it has one, otherwise from its processes. */
static int read_cpu(struct run *run, uint32_t service, uint64_t *ret_cpu_ns)
{
	if (run->mode == RUN_LIVE)
		return machine_usage(run->machine, service, ret_cpu_ns);
	*ret_cpu_ns = roster_cpu_ns(&run->roster, service);
	return 0;
}

static uint64_t read_throttled(struct run *run, uint32_t service)
{
	const struct roster *roster = &run->roster;

	if (run->followed_ns[service] != roster->looked_ns[service]) {
		run->followed_ns[service] = roster->looked_ns[service];
		throttle_follow(&run->throttles[service], &run->mounts.kinds[CGROUP_CPU], root_dir(),
				&roster->pids[service]);
	}
	return throttle_read_ns(&run->throttles[service]);
}

/* The windows of the feedback, and beside them what control groups count. */
static int read_samples(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	struct run *run = ctx;
	struct sensor sensor = feedback_port(&run->feedback);
	int err = sensor.read(sensor.ctx, now_ns, samples, nr_services);

	for (uint32_t i = 0; !err && i < nr_services; i++) {
		uint64_t cpu_ns;

		samples[i].throttled_ns = read_throttled(run, i);
		qos_net_delay(&samples[i], &run->carried_ns[i]);
		if (read_cpu(run, i, &cpu_ns) < 0)
			continue;
		samples[i].cpu_ns = cpu_ns > run->cpu_ns[i] ? cpu_ns - run->cpu_ns[i] : 0;
		run->cpu_ns[i] = cpu_ns;
	}
	if (!err && run->machine)
		machine_measure(run->machine, samples);
	return err;
}

/* Starts or ends the search for culprits; one that fails is not tried again. */
static void look_for_culprits(struct run *run)
{
	bool wanted = run->config.culprits == CONFIG_CULPRITS_ALWAYS ||
		      (run->config.culprits == CONFIG_CULPRITS_AUTO && qos_look(&run->look, &run->tick.report.view));
	int err;

	if (wanted == run->looking || !run->sensor)
		return;
	err = sensor_ebee_look(run->sensor, wanted);
	run->looking = wanted;
	if (!err) {
		fprintf(stderr, "event=culprits-%s\n", wanted ? "on" : "off");
		return;
	}
	fprintf(stderr, "event=culprits-failed error=\"%s\" reason=\"%s\"\n", strerror(-err),
		sensor_ebee_error(run->sensor));
	run->config.culprits = CONFIG_CULPRITS_NEVER;
	run->looking = false;
}

static int start_tick(struct run *run)
{
	run->tick = (struct tick){
		.config = &run->config, .topology = run->machine ? machine_topology(run->machine) : &run->topology,
		.ladder = &run->ladder, .ways = run->tick.ways, .be_units = run->tick.be_units,
		.sensor = { run, read_samples }, .policy = policy_find(run->config.policy),
		.steer = run->mode != RUN_OBSERVE,
	};
	if (cgroup_read_mounts(root_dir(), &run->mounts))
		run->mounts = (struct cgroup_mounts){ 0 };
	if (run->machine)
		run->tick.actuator = machine_actuator(run->machine);
	rapl_open(&run->rapl, root_dir());
	for (uint32_t i = 0; i < run->config.nr_services; i++) {
		read_cpu(run, i, &run->cpu_ns[i]);
		read_throttled(run, i);
	}
	return tick_init(&run->tick, run->config.nr_batches);
}

static int step(struct run *run, uint64_t now_ns)
{
	const struct policy_decision *d = &run->tick.report.decision;
	int err = tick_step(&run->tick, now_ns, now_ns - run->last_ns);

	run->last_ns = now_ns;
	changes_log(&run->changes, &run->tick, run->sensor, run->clients);
	look_for_culprits(run);
	rapl_read(&run->rapl);
	if (d->infeasible)
		hook_start(run->config.infeasible_hook, d->subject >= 0 ? run->config.services[d->subject].name : "");
	if (run->record)
		record_tick(run->record, &run->tick);
	status_tick(&run->status, &run->tick);
	live_tick(&run->live);
	return err;
}

static int on_tick(void *ctx, uint64_t now_ns)
{
	struct run *run = ctx;
	int err = step(run, now_ns);

	/* After the step: looking for processes takes milliseconds that no window should contain. */
	roster_refresh(&run->roster, now_ns, run->config.interval_ns);
	return err;
}

static uint64_t own_cpu_ns(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

/* 0 when the run ended as asked, or the negative errno that ended it. */
static int steer(struct run *run)
{
	const char *mode = mode_names[run->mode], *machine = run->machine ? machine_describe(run->machine) : "";
	int err = live_start(&run->live, &run->tick, mode, machine);

	if (err)
		return err;
	if (run->record)
		record_header(run->record, &run->tick, mode, machine);
	fprintf(stderr, "event=start mode=%s policy=%s services=%u cores=%u %s %s\n", mode, run->config.policy,
		run->config.nr_services, run->tick.report.view.nr_cores, machine, run->sensor ? sensor_ebee_features(run->sensor) :
		feedback_has_kernel(run->feedback.kind) ? "sensor=made-up" : "");
	if (run->web)
		fprintf(stderr, "event=web url=%s\n", web_url(run->live.web));
	status_init(&run->status, run->quiet ? -1 : STDOUT_FILENO);
	run->own_ns = own_cpu_ns();
	run->last_ns = loop_now_ns();
	err = step(run, run->last_ns);
	if (!err) {
		notify_manager("READY=1");
		err = loop_run(&run->loop, run->for_ns, on_tick, run);
	}
	notify_manager("STOPPING=1");
	run->own_ns = own_cpu_ns() - run->own_ns;
	run->bpf_ns = run->sensor ? sensor_ebee_bpf_ns(run->sensor) : 0;
	for (uint32_t i = 0; i < run->config.nr_services && run->clients; i++)
		fprintf(stderr, "%s\n", sensor_client_summary(run->clients, i));
	fprintf(stderr, "event=end reason=\"%s\"\n",
		err < 0 ? strerror(-err) : err > 0 ? strsignal(err) : "time is up");
	return err < 0 ? err : 0;
}

/* The machine first: a reader of our output that stands still must not keep it from being put back. */
static int finish(struct run *run, int run_err)
{
	struct record_totals totals;
	int code = run_err ? EXIT_RESTORED : EXIT_OK;
	int err = machine_close(run->machine);

	run->machine = NULL;
	if (err)
		code = fail(EXIT_FAILED, "not everything could be put back: %s; see `parties restore`", strerror(-err));
	tick_totals(&run->tick, &totals);
	totals.nr_overruns = run->loop.nr_missed;
	totals.has_package = run->rapl.nr > 0;
	totals.package_j = run->rapl.joules;
	if (totals.duration_s > 0)
		totals.own_cpu_pct = (run->own_ns + run->bpf_ns) / totals.duration_s / 1e7;
	if (run->record)
		record_totals(run->record, &totals);
	err = record_close(run->record);
	run->record = NULL;
	if (err)
		code = fail(code ? code : EXIT_FAILED, "the record %s is incomplete: %s", run->record_path,
			    strerror(-err));
	status_summary(&run->tick, &totals, stdout);
	if (run->bpf_ns == 0 && run->sensor)
		printf("  (own cost without the kernel programs: counting them needs CAP_SYS_ADMIN and ten windows)\n");
	/* A reader that has gone has seen enough. */
	if (fflush(stdout) && errno != EPIPE)
		code = fail(code ? code : EXIT_FAILED, "the output cannot be written: %s", strerror(errno));
	__fpurge(stdout);
	clearerr(stdout);
	return code;
}

static int run_opened(struct run *run)
{
	char error[512] = "";
	int code = check_machine(run);
	int err;

	if (code)
		return code;
	/* From here on a signal waits until there is a loop to end. */
	err = loop_open(&run->loop, run->config.interval_ns);
	if (err)
		return fail(EXIT_UNABLE, "%s", strerror(-err));
	err = live_open(&run->live, &run->loop, run->web, error, sizeof(error));
	code = err ? fail(err == -EINVAL ? EXIT_USAGE : EXIT_UNABLE, "--web: %s", error) : open_ports(run);
	if (!code) {
		err = start_tick(run);
		code = err ? fail(EXIT_UNABLE, "%s", strerror(-err)) : finish(run, steer(run));
	}
	for (uint32_t i = 0; i < run->config.nr_services; i++)
		throttle_close(&run->throttles[i]);
	tick_fini(&run->tick);
	rapl_close(&run->rapl);
	machine_close(run->machine);
	sensor_ebee_close(run->sensor);
	sensor_client_close(run->clients);
	live_close(&run->live);
	loop_close(&run->loop);
	return code;
}

int cmd_run(int argc, char **argv)
{
	struct run *run = calloc(1, sizeof(*run));
	int code, err;

	if (!run)
		return fail(EXIT_UNABLE, "%s", strerror(ENOMEM));
	err = parse_options(run, argc, argv);
	code = err ? options_exit(err) : read_files(run);
	if (!err && !code)
		code = run_opened(run);
	record_close(run->record);
	free(run);
	return code;
}
