// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_observe.c - glue: `parties observe`, one service's latency from the kernel, a line per interval and a summary.
 * Changes nothing on the machine and steers nothing.
 */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <jansson.h>

#include "culprits.h"
#include "ebee.h"
#include "match.h"
#include "options.h"
#include "qos.h"
#include "sensor_ebee.h"
#include "throttle.h"

struct observe {
	struct match match;
	char name[CONFIG_PATH_SIZE + 16];
	uint64_t interval_ns, duration_ns, target_ns;
	enum ebee_lifecycle lifecycle, shown; /* asked for; in use when we said so last */
	bool json, culprits;
	struct ebee *ebee;
	struct observe_window {
		struct ebee_window *window;
		uint64_t throttled_ns, carried_ns; /* not shown yet; of qos_net_delay */
	} interval, whole;
	struct match_pids known;
	uint64_t looked_ns; /* for processes, last */
	struct cgroup_mounts mounts;
	struct throttle throttle;
	struct cgroup_names *names;
	uint64_t start_ns;
};

static int parse_match(const struct option_table *table, const char *pid, const char *port, const char *cgroup,
		       const char *unit, struct observe *o)
{
	const struct {
		const char *text, *name;
		enum match_kind kind;
		uint64_t max;
	} ways[] = {
		{ pid, "pid", MATCH_PID, 4194304 },
		{ port, "port", MATCH_PORT, 65535 },
		{ cgroup, "cgroup", MATCH_CGROUP, 0 },
		{ unit, "unit", MATCH_UNIT, 0 },
	};
	int nr = 0;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		uint64_t number = 0;

		if (!ways[i].text)
			continue;
		if (ways[i].max && (options_parse_u64(ways[i].text, &number) || !number || number > ways[i].max))
			return options_error(table, "--%s %s: a number from 1 to %" PRIu64 " is wanted", ways[i].name, ways[i].text, ways[i].max);
		if (strlen(ways[i].text) >= sizeof(o->match.text))
			return options_error(table, "--%s: too long", ways[i].name);
		o->match.kind = ways[i].kind;
		o->match.number = (uint32_t)number;
		snprintf(o->match.text, sizeof(o->match.text), "%s", ways[i].text);
		snprintf(o->name, sizeof(o->name), "%s:%s", ways[i].name, ways[i].text);
		nr++;
	}
	if (nr != 1)
		return options_error(table, "name the service by exactly one of --pid, --port, --cgroup and --unit");
	return 0;
}

static int parse_lifecycle(const struct option_table *table, const char *text, enum ebee_lifecycle *ret)
{
	for (int i = 0; i < EBEE_LIBRARY; i++) {
		if (!strcmp(text, ebee_lifecycle_name((enum ebee_lifecycle)i))) {
			*ret = (enum ebee_lifecycle)i;
			return 0;
		}
	}
	return options_error(table, "--lifecycle %s: exchange, connection, grpc, http2, read-send, auto or ebee is wanted", text);
}

/* A port's process may listen on others that are not asked for.  But libraries and descriptors are the process's. */
static bool by_port_alone(const struct observe *o)
{
	return o->match.kind == MATCH_PORT && o->lifecycle != EBEE_GRPC && o->lifecycle != EBEE_READ_SEND &&
	       o->lifecycle != EBEE_STUDY;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Whose processes they are is found out by looking through all of the machine's, which takes milliseconds. */
static bool is_due(struct observe *o)
{
	bool followed = by_port_alone(o) || o->match.kind == MATCH_PID; /* by the kernel, from the first ones on */
	uint64_t now = now_ns();

	if (followed && o->looked_ns && (match_all_alive(&o->known) || now - o->looked_ns < 1000000000))
		return false;
	o->looked_ns = now;
	return true;
}

/* Tells libebee about processes that appeared; descendants of known ones are followed in the kernel anyway. */
static int follow(struct observe *o)
{
	struct match_pids pids;
	int err;

	if (!is_due(o))
		return 0;
	err = match_resolve("", &o->match, &pids);
	if (err)
		return by_port_alone(o) ? 0 : err; /* its requests are seen without */
	throttle_follow(&o->throttle, &o->mounts.kinds[CGROUP_CPU], "", &pids);
	if (o->known.nr == pids.nr && !memcmp(o->known.pids, pids.pids, pids.nr * sizeof(pids.pids[0])))
		return 0;
	for (uint32_t i = 0; i < pids.nr; i++) {
		err = by_port_alone(o) ? ebee_add_server(o->ebee, 0, pids.pids[i]) : ebee_add_pid(o->ebee, 0, pids.pids[i]);
		if (err && err != -ESRCH && (err != -ENOTSUP || !by_port_alone(o)))
			return err;
	}
	o->known = pids;
	return by_port_alone(o) ? 0 : ebee_seed(o->ebee);
}

/* What could not be measured, by the names it is printed with. */
static const struct { const char *name; size_t offset; } uncovered[] = {
	{ "aborted", offsetof(struct ebee_coverage, nr_aborted) },
	{ "unmatched", offsetof(struct ebee_coverage, nr_unmatched) },
	{ "no_arrival", offsetof(struct ebee_coverage, nr_no_arrival) },
	{ "unseen_write", offsetof(struct ebee_coverage, nr_unseen_write) },
	{ "unseen_read", offsetof(struct ebee_coverage, nr_unseen_read) },
	{ "buffered", offsetof(struct ebee_coverage, nr_buffered) },
	{ "datagram", offsetof(struct ebee_coverage, nr_datagram) },
	{ "blocked", offsetof(struct ebee_coverage, nr_blocked) },
	{ "amended", offsetof(struct ebee_coverage, nr_amended) },
	{ "long_lived", offsetof(struct ebee_coverage, nr_long_lived) },
	{ "missed", offsetof(struct ebee_coverage, nr_missed) },
	{ "unprobed", offsetof(struct ebee_coverage, nr_unprobed) },
	{ "opaque", offsetof(struct ebee_coverage, nr_opaque) },
	{ "multiplexed", offsetof(struct ebee_coverage, nr_multiplexed) },
	{ "lost", offsetof(struct ebee_coverage, nr_lost) },
	{ "one_way", offsetof(struct ebee_coverage, nr_one_way) },
	{ "tls_unsure", offsetof(struct ebee_coverage, nr_tls_unsure) },
	{ "unmeasured", offsetof(struct ebee_coverage, nr_unmeasured) },
};
enum { NR_UNCOVERED = sizeof(uncovered) / sizeof(uncovered[0]) };

static uint64_t nr_uncovered(const struct ebee_coverage *c, size_t i)
{
	return *(const uint64_t *)((const char *)c + uncovered[i].offset);
}

static json_t *coverage_json(const struct ebee_coverage *c, uint64_t recursion_misses)
{
	json_t *object = json_pack("{s:I}", "recursion_misses", (json_int_t)recursion_misses);

	for (size_t i = 0; object && i < NR_UNCOVERED; i++)
		json_object_set_new(object, uncovered[i].name, json_integer((json_int_t)nr_uncovered(c, i)));
	return object;
}

static double us(uint64_t ns)
{
	return (double)ns / 1e3;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void add_waits(json_t *line, const struct observe *o, const struct sample *s)
{
	json_object_set_new(line, "run_delay_ms", s->has_run_delay ? json_real(ms(s->run_delay_ns)) : json_null());
	json_object_set_new(line, "net_delay_ms", s->has_run_delay ? json_real(ms(s->net_delay_ns)) : json_null());
	json_object_set_new(line, "throttled_ms", o->throttle.nr ? json_real(ms(s->throttled_ns)) : json_null());
	if (s->culprits.known)
		culprits_add_json(line, &s->culprits);
}

static void print_json(const struct observe *o, const struct sample *s, const struct ebee_window_info *info,
		       const char *state, bool summary)
{
	static const char *const latencies[] = { "mean_us", "p50_us", "p95_us", "p99_us", "total_p50_us", "total_p99_us",
						 "residency_p99_us", "service_p99_us" };
	const char *reason = ebee_lifecycle_reason(o->ebee, 0);
	json_t *line = json_pack(
		"{s:f, s:f, s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:f, s:I, s:I, s:I, s:s, s:s, s:o}",
		"t_s", (double)(info->end_ns - o->start_ns) / 1e9, "window_s", (double)info->length_ns / 1e9,
		"service", o->name, "requests", (json_int_t)s->nr_completed, "rps", s->nr_completed * 1e9 / (double)info->length_ns,
		"mean_us", us(s->mean_ns), "p50_us", us(s->p50_ns), "p95_us", us(s->p95_ns), "p99_us", us(s->p99_ns),
		"total_p50_us", us(s->total_p50_ns), "total_p99_us", us(s->total_p99_ns),
		"residency_p99_us", us(s->residency_p99_ns), "service_p99_us", us(s->service_p99_ns),
		"arrivals", (json_int_t)s->nr_arrived, "in_flight", (json_int_t)s->nr_in_flight, "oldest_us", us(s->oldest_ns),
		"over_target", (json_int_t)s->nr_over_target, "listen_drops", (json_int_t)s->nr_listen_drops,
		"connections", (json_int_t)info->nr_connections, "state", state, "lifecycle",
		ebee_lifecycle_name(ebee_lifecycle_in_use(o->ebee, 0)),
		"coverage", coverage_json(&info->coverage, ebee_recursion_misses(o->ebee)));

	for (size_t i = 0; line && !s->nr_completed && i < sizeof(latencies) / sizeof(latencies[0]); i++)
		json_object_set_new(line, latencies[i], json_null()); /* no data is not zero */
	if (line && reason[0])
		json_object_set_new(line, "lifecycle_reason", json_string(reason));
	if (line)
		add_waits(line, o, s);
	if (line && summary)
		json_object_set_new(line, "summary", json_true());
	if (line)
		json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(line);
}

static void print_text(const struct observe *o, const struct sample *s, const struct ebee_window_info *info,
		       const char *state, bool summary)
{
	const uint64_t columns[] = { s->p50_ns, s->p95_ns, s->p99_ns, s->total_p99_ns, s->residency_p99_ns };
	const struct ebee_coverage *c = &info->coverage;
	char when[32];

	snprintf(when, sizeof(when), summary ? "all %.1fs" : "%.1fs", (double)(info->end_ns - o->start_ns) / 1e9);
	printf("%-10s %9" PRIu64 " %10.1f", when, s->nr_completed, s->nr_completed * 1e9 / (double)info->length_ns);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		if (s->nr_completed)
			printf(" %10.1f", us(columns[i]));
		else
			printf(" %10s", "-"); /* no data is not zero */
	}
	printf(" %6" PRIu64 " %-8s", s->nr_in_flight, state);
	for (size_t i = 0; i < NR_UNCOVERED; i++)
		if (nr_uncovered(c, i))
			printf(" %s=%" PRIu64, uncovered[i].name, nr_uncovered(c, i));
	if (s->nr_listen_drops)
		printf(" listen_drops=%" PRIu64, s->nr_listen_drops);
	if (s->net_delay_ns)
		printf(" net_delay_ms=%.1f", ms(s->net_delay_ns));
	if (s->throttled_ns)
		printf(" throttled_ms=%.1f", ms(s->throttled_ns));
	for (uint32_t i = 0; i < s->culprits.nr; i++)
		printf("%s%s:%.1fms", i ? "," : " culprits=", s->culprits.top[i].comm, ms(s->culprits.top[i].wait_ns));
	putchar('\n');
}

/* A line when another lifecycle was chosen; a JSON line has it anyway. */
static void print_change(struct observe *o)
{
	enum ebee_lifecycle now = ebee_lifecycle_in_use(o->ebee, 0);

	if (now != o->shown && !o->json)
		printf("lifecycle %s: %s\n", ebee_lifecycle_name(now), ebee_lifecycle_reason(o->ebee, 0));
	o->shown = now;
}

static int print_window(struct observe *o, struct observe_window *w, bool summary)
{
	struct policy_service judged = { 0 };
	struct ebee_window_info info;
	struct sample sample;
	int err = ebee_window_advance(w->window, &info);

	if (err)
		return err;
	sensor_ebee_fill(w->window, &info, 990, o->target_ns, &sample);
	sample.has_run_delay &= o->known.nr > 0; /* a port whose processes we do not see */
	sample.throttled_ns = w->throttled_ns;
	w->throttled_ns = 0;
	qos_net_delay(&sample, &w->carried_ns);
	if (!summary) /* culprits are those of an interval */
		sensor_ebee_fill_culprits(o->ebee, 0, o->names, &sample.culprits);
	qos_judge_window(&sample, o->target_ns ? o->target_ns : o->interval_ns, false, &judged);
	(o->json ? print_json : print_text)(o, &sample, &info, policy_signal_name(judged.signal), summary);
	fflush(stdout);
	return ferror(stdout) ? -EIO : 0;
}

/* Ends what has settled, and takes in how long the service waited. */
static int sweep(struct observe *o)
{
	uint64_t throttled_ns = throttle_read_ns(&o->throttle);

	o->interval.throttled_ns += throttled_ns;
	o->whole.throttled_ns += throttled_ns;
	return ebee_sweep(o->ebee);
}

static int open_all(struct observe *o, char *error, size_t error_size)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .nr_services = 1, .settle_ns = o->interval_ns };
	int err = ebee_open(&o->ebee, &opts, error, error_size);

	if (err)
		return err;
	err = ebee_set_target(o->ebee, 0, o->target_ns);
	if (!err)
		err = ebee_set_lifecycle(o->ebee, 0, o->lifecycle);
	if (!err && o->match.kind == MATCH_PORT)
		err = ebee_add_port(o->ebee, 0, (uint16_t)o->match.number);
	if (!err)
		err = by_port_alone(o) ? ebee_seed(o->ebee) : 0;
	if (!err)
		err = follow(o);
	if (!err && o->culprits)
		err = ebee_trace_culprits(o->ebee, 1);
	if (!err)
		err = ebee_window_open(&o->interval.window, o->ebee, 0);
	if (!err)
		err = ebee_window_open(&o->whole.window, o->ebee, 0);
	o->shown = ebee_lifecycle_in_use(o->ebee, 0);
	if (err)
		snprintf(error, error_size, "%s: %s", o->name, ebee_error(o->ebee)[0] ? ebee_error(o->ebee) : strerror(-err));
	return err;
}

/* Until the time is up or a signal says so: 0, or negative errno. */
static int watch(struct observe *o, int timer_fd, int signal_fd)
{
	struct pollfd fds[] = { { timer_fd, POLLIN, 0 }, { signal_fd, POLLIN, 0 } };
	uint64_t nr_expired, nr_ticks = 0;
	int err = 0;

	while (!err && (!o->duration_ns || nr_ticks * o->interval_ns < o->duration_ns)) {
		if (poll(fds, 2, -1) < 0)
			return -errno;
		if (fds[1].revents)
			return 0;
		if (read(timer_fd, &nr_expired, sizeof(nr_expired)) != sizeof(nr_expired))
			return -errno;
		nr_ticks += nr_expired;
		err = follow(o);
		if (err == -ENOENT || err == -ENOTSUP)
			err = 0; /* it may come back, or load its library; the line says idle meanwhile */
		if (!err)
			err = sweep(o);
		if (!err)
			err = print_window(o, &o->interval, false);
		print_change(o);
	}
	return err;
}

static int run(struct observe *o)
{
	const struct itimerspec period = {
		.it_interval = { (time_t)(o->interval_ns / 1000000000), (long)(o->interval_ns % 1000000000) },
		.it_value = { (time_t)(o->interval_ns / 1000000000), (long)(o->interval_ns % 1000000000) },
	};
	int timer_fd, signal_fd, err;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	o->start_ns = now_ns();
	if (signal_fd < 0 || timer_fd < 0 || timerfd_settime(timer_fd, 0, &period, NULL)) {
		err = -errno;
	} else {
		fprintf(stderr, "parties observe: watching %s, %s\n", o->name, ebee_features(o->ebee));
		if (!o->json)
			printf("%-10s %9s %10s %10s %10s %10s %10s %10s %6s %s\n", "time", "requests", "req/s", "p50_us", "p95_us",
			       "p99_us", "total_p99", "resid_p99", "flight", "state");
		err = watch(o, timer_fd, signal_fd);
	}
	/* What is answered by now is over, whether or not it had time to settle. */
	ebee_set_settle(o->ebee, 0);
	if (!err)
		err = sweep(o);
	if (!err)
		err = print_window(o, &o->whole, true);
	close(timer_fd);
	close(signal_fd);
	return err;
}

int cmd_observe(int argc, char **argv)
{
	const char *pid = NULL, *port = NULL, *cgroup = NULL, *unit = NULL, *lifecycle = "exchange";
	struct observe o = { .interval_ns = 1000000000 };
	const struct option_spec specs[] = {
		{ "pid", 'p', "N", OPTION_STRING, &pid, "a process and its descendants" },
		{ "port", 0, "N", OPTION_STRING, &port, "whoever listens on this TCP port in our network namespace" },
		{ "cgroup", 0, "PATH", OPTION_STRING, &cgroup, "the processes of a control group" },
		{ "unit", 0, "NAME", OPTION_STRING, &unit, "the processes of a systemd unit" },
		{ "lifecycle", 0, "L", OPTION_STRING, &lifecycle,
		  "what a request is: exchange (default), connection, grpc, http2, read-send, auto or ebee" },
		{ "interval", 'i', "DUR", OPTION_DURATION, &o.interval_ns, "a line this often (default 1s)" },
		{ "for", 0, "DUR", OPTION_DURATION, &o.duration_ns, "stop after this long (default: on Ctrl-C)" },
		{ "target", 0, "DUR", OPTION_DURATION, &o.target_ns, "count requests in flight that are older than this" },
		{ "culprits", 0, NULL, OPTION_FLAG, &o.culprits, "show who runs while the service waits for a CPU" },
		{ "json", 0, NULL, OPTION_FLAG, &o.json, "one JSON object per interval, then a summary" },
	};
	const struct option_table table = {
		"observe", "(--pid N | --port N | --cgroup PATH | --unit NAME) [--lifecycle L] [--interval DUR] [--for DUR] [--culprits] [--json]",
		"Measures a service's request latency from the kernel", specs, sizeof(specs) / sizeof(specs[0]), 0, 0,
	};
	char error[512] = "";
	int err = options_parse(&table, argc, argv);

	if (err >= 0)
		err = parse_match(&table, pid, port, cgroup, unit, &o);
	if (err >= 0)
		err = parse_lifecycle(&table, lifecycle, &o.lifecycle);
	if (err >= 0 && o.interval_ns < 10000000)
		err = options_error(&table, "--interval: at least 10ms");
	if (err < 0)
		return options_exit(err);
	err = match_resolve("", &o.match, &o.known);
	if (err && !(err == -EACCES && by_port_alone(&o))) { /* a port is measured whoever holds it */
		match_explain(&o.match, err, error, sizeof(error));
		fprintf(stderr, "parties observe: %s: %s\n", o.name, error);
		return EXIT_UNABLE;
	}
	o.known.nr = 0; /* nothing told to libebee yet */
	if (cgroup_read_mounts("", &o.mounts))
		o.mounts = (struct cgroup_mounts){ 0 }; /* no control groups, no quotas */
	o.names = cgroup_names_open();
	err = o.names ? open_all(&o, error, sizeof(error)) : -ENOMEM;
	if (err) {
		fprintf(stderr, "parties observe: %s\n", error);
	} else {
		err = run(&o);
		if (err && !ferror(stdout)) /* main.c says that */
			fprintf(stderr, "parties observe: %s: %s\n", o.name, strerror(-err));
		err = err ? -EIO : 0;
	}
	ebee_window_close(o.interval.window);
	ebee_window_close(o.whole.window);
	ebee_close(o.ebee);
	throttle_close(&o.throttle);
	cgroup_names_close(o.names);
	return !err ? EXIT_OK : err == -EIO ? EXIT_FAILED : EXIT_UNABLE;
}
