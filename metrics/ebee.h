/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ebee.h - request latency of services, measured in the kernel, without touching or asking them.
 *
 * The unit is the exchange: a request arrives at a socket that the service accepted, and its answer is completely
 * handed to the kernel.  Latencies come from log-linear histograms: a reported value is the midpoint of its bucket,
 * within 0.8 % of the truth from 1 us to over 100 s.  Percentiles are nearest rank.
 *
 * Errors are negative errno.  A handle and the windows opened on it belong to one thread at a time; different handles
 * are independent.  The functions with a pid (tracing) are the exception: any thread may call them at any time.
 *
 * Needs CAP_BPF and CAP_PERFMON (before Linux 6.4 CAP_SYS_ADMIN; or root) and a kernel with BTF.
 */
#ifndef EBEE_H
#define EBEE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EBEE_MAX_SERVICES = 64 };

enum ebee_latency {
	EBEE_RESIDENCY, /* arrival -> first read: accept backlog and receive queue */
	EBEE_SERVICE,   /* first read -> last write */
	EBEE_TOTAL,     /* arrival -> last write */
	EBEE_OWED,      /* arrival of the request's end -> last write, less the time the peer kept a send waiting */
	EBEE_NR_LATENCIES
};

/* When a request is over, and so what a request is. */
enum ebee_lifecycle {
	EBEE_EXCHANGE,   /* when its answer is: at the next request, at the close, or once no write came for settle_ns */
	EBEE_CONNECTION, /* with its connection: for clients that make one per request, whatever handshakes it has */
	/*
	 * When gRPC's C++ core closes its stream for writing: ebee_library_grpc, see struct ebee_library.  Calls with many
	 * messages are no requests (nr_long_lived).
	 */
	EBEE_GRPC,
	/*
	 * When the last frame of its stream is handed to the kernel: for HTTP/2 without TLS, whatever serves it.  On
	 * connections opened before ebee_set_lifecycle the first requests are missed (nr_multiplexed).  Needs Linux 6.16.
	 */
	EBEE_HTTP2,
	/*
	 * With the first send on its descriptor: from the read that brought bytes.  For comparison; readsend.bpf.c lists what
	 * it gets wrong.  A service known by port needs its pids, too.
	 */
	EBEE_READ_SEND,
	/*
	 * One of EBEE_EXCHANGE, EBEE_HTTP2 and EBEE_GRPC, by what its connections turn out to speak and what this kernel and
	 * its processes have, looked at again with every sweep.  A change forgets what is in flight.
	 */
	EBEE_AUTO,
	/*
	 * What the eBeeMetrics study chooses, for comparison: EBEE_CONNECTION; EBEE_READ_SEND when connections live on after
	 * their answers or close in bulk; EBEE_GRPC when its probes are hit.
	 */
	EBEE_STUDY,
	EBEE_LIBRARY, /* as ebee_set_library said; no value for ebee_set_lifecycle */
	EBEE_NR_LIFECYCLES
};

/*
 * A function of a library, and what its arguments say.  They are numbered from 1 to 6; 0: none does.  Only integers and
 * pointers count.
 */
struct ebee_event {
	const char *symbol;    /* how the function's name begins, mangled in C++ */
	const char *otherwise; /* another, where no name begins so; may be NULL */
	unsigned id;           /* the object that is one request as long as it is in flight: the same in all events */
	unsigned only_if;      /* it happened when this one is not 0 */
	unsigned status;       /* points to a word that is above 1 when the request failed: aborted, no sample */
	unsigned shifts;       /* not 0: some builds have all arguments one further on */
};

/*
 * A library that tells requests apart: one row of a table.  Probes on its functions, in shared objects and in programs
 * that have it inside, as long as symbols are there.  Latencies begin at the arrival of what the thread had just read
 * when the request began; residency ends when it began.
 */
struct ebee_library {
	size_t sz;               /* sizeof(struct ebee_library), for compatibility */
	const char *name;        /* for messages */
	const char *file;        /* part of the name of the file that has it, for messages; may be NULL */
	struct ebee_event begin; /* the request is read */
	struct ebee_event end;   /* its answer is handed over; where only_if says no: its last bytes have been read */
	struct ebee_event write; /* part of the answer, symbol may be NULL: more than max_writes of them are no request */
	unsigned max_writes;
};

extern const struct ebee_library ebee_library_grpc;

struct ebee;
struct ebee_window;

struct ebee_opts {
	size_t sz;            /* sizeof(struct ebee_opts), for compatibility */
	unsigned nr_services; /* services this handle can hold, 1 .. EBEE_MAX_SERVICES; 0: all */
	uint64_t settle_ns;   /* no write for that long: an exchange is over; 0: 500 ms */
	uint64_t long_ns;     /* an answer spread over more than that by its server is a stream; 0: 2 s */
	/* Tracing alone: */
	unsigned ring_size;      /* bytes between kernel and us, a power of two of pages; 0: no tracing on this handle */
	unsigned trace_requests; /* requests remembered per process; 0: 100,000 */
	uint64_t trace_span_ns;  /* and for how long, up to 24 days; 0: 10 s */
	uint64_t rate_span_ns;   /* the time a rate is taken over, up to trace_span_ns; 0: 1 s */
	enum ebee_lifecycle trace_lifecycle; /* of the processes traced; any but EBEE_LIBRARY */
};

enum { EBEE_RING_SIZE = 128 * 1024 }; /* a good ring_size: 8,192 requests between two looks */

/*
 * Loads and attaches what works on this kernel.  opts may be NULL.  On failure one line in `error` (may be NULL) says
 * the cause and the remedy: -EPERM rights or lockdown, -ENOTSUP no BTF or a hook that this kernel lacks.  With
 * EBEE_DEBUG in the environment everything libbpf says while loading goes to stderr.
 */
int ebee_open(struct ebee **ret, const struct ebee_opts *opts, char *error, size_t error_size);
void ebee_close(struct ebee *e); /* NULL is fine; close windows first */

/* One word per hook, "arrival=tp_btf read=tp_btf write=tp_btf"; valid until ebee_close. */
const char *ebee_features(const struct ebee *e);

/* A service is a set of processes (with their descendants, those to come included) and ports.  -ENOSPC: no room. */
int ebee_add_pid(struct ebee *e, unsigned service, pid_t pid);
/* Listeners on `port` in the caller's network namespace, whoever holds them. */
int ebee_add_port(struct ebee *e, unsigned service, uint16_t port);
/*
 * A process of a service that is known by port: its run-queue delay counts, its sockets say nothing.  Not with a ring
 * (-EINVAL); -ENOTSUP: this kernel cannot tell.
 */
int ebee_add_server(struct ebee *e, unsigned service, pid_t pid);
/* Gives up a service: its processes, ports and open connections.  The number may be used again. */
int ebee_remove(struct ebee *e, unsigned service);
/*
 * Finds listeners, children and connections that were there before, and places the probes of libraries.  Call after
 * adding; may be repeated.  -ENOTSUP: a service's processes have not the symbols the probes need.  Everything else works
 * all the same, and the next sweeps look again: a library may be loaded later.
 */
int ebee_seed(struct ebee *e);
/* One line on why ebee_seed or ebee_set_lifecycle failed last, "" when nothing is known beyond the errno. */
const char *ebee_error(const struct ebee *e);
/* Requests in flight that are older than this are counted apart; 0: none are. */
int ebee_set_target(struct ebee *e, unsigned service, uint64_t target_ns);

/*
 * The default is EBEE_EXCHANGE.  Others may load more programs: the errors of ebee_open.  After ebee_add_pid or
 * ebee_add_port it looks for the service's connections again, with the errors of ebee_seed, and what is in flight is
 * forgotten.  -EINVAL on a handle that traces: there trace_lifecycle says it.
 */
int ebee_set_lifecycle(struct ebee *e, unsigned service, enum ebee_lifecycle lifecycle);
/*
 * Requests are what `library` says; it must outlive the handle.  A service known by port needs its pids, too.  Needs
 * CAP_SYS_PTRACE when the processes are another user's, and CAP_SYS_ADMIN before Linux 6.6.  -EINVAL: no good row;
 * -ENOSPC: eight libraries are in use.
 */
int ebee_set_library(struct ebee *e, unsigned service, const struct ebee_library *library);
/* What the service is measured by now: of EBEE_AUTO and EBEE_STUDY, what they have chosen. */
enum ebee_lifecycle ebee_lifecycle_in_use(const struct ebee *e, unsigned service);
/* Why that was chosen, in one line; "" when nothing is chosen.  Valid until the next sweep. */
const char *ebee_lifecycle_reason(const struct ebee *e, unsigned service);
/* "exchange", "connection", "grpc", "http2", "read-send", "auto", "ebee", "library"; NULL: no such lifecycle. */
const char *ebee_lifecycle_name(enum ebee_lifecycle lifecycle);

/*
 * Ends exchanges that have settled and looks for requests in flight, in all services of the handle.  Call it once per
 * interval, before the windows are advanced.  Costs a walk over the machine's tasks, where one is due (run_delay_ns), and
 * nothing else while nothing is pending.
 */
int ebee_sweep(struct ebee *e);

/* Changes settle_ns from the next sweep on.  0 ends every exchange that has an answer: for the last window of a run. */
void ebee_set_settle(struct ebee *e, uint64_t settle_ns);

/* What could not be measured, or not quite; counts within the window. */
struct ebee_coverage {
	uint64_t nr_aborted;      /* connection gone before an answer */
	uint64_t nr_unmatched;    /* answer without a request: open before the attach, or sent unasked */
	uint64_t nr_no_arrival;   /* the first read stood in for the arrival */
	uint64_t nr_unseen_write; /* the answer bypassed the hook: ended when the next request arrived */
	uint64_t nr_unseen_read;  /* the request bypassed the hook (splice, zero copy): residency unknown */
	uint64_t nr_buffered;     /* more than 1 MiB of the answer was handed over and not delivered when it ended */
	uint64_t nr_datagram;     /* read from UDP, where nothing pairs */
	uint64_t nr_blocked;      /* a peer's time was taken off */
	uint64_t nr_amended;      /* had settled when more of the answer came: the sample was moved to its true end */
	uint64_t nr_long_lived;   /* the server spread its answer over more than long_ns, or many messages: in no latency */
	uint64_t nr_missed;       /* connections and calls that could not be followed, since ebee_open */
	uint64_t nr_unprobed;     /* by library: reads, while no probe of the service was ever hit: another serves */
	uint64_t nr_opaque;       /* connections that speak nothing we know, or could not be followed on */
	uint64_t nr_multiplexed;  /* EBEE_HTTP2: connections that were there before: their first requests were missed.
				   * EBEE_EXCHANGE: connections of HTTP/2: not measured */
	uint64_t nr_lost;         /* requests begun whose end will not be seen: no room, or opaque since */
	uint64_t nr_one_way;      /* commands that want no answer: in no latency */
	uint64_t nr_tls_unsure;   /* TLS connections whose handshake was not recognised: their first two requests left out */
	uint64_t nr_unmeasured;   /* arrivals on connections that are not measured: HTTP/2 by EBEE_EXCHANGE, upgraded ones */
};

struct ebee_window_info {
	uint64_t end_ns;     /* CLOCK_MONOTONIC */
	uint64_t length_ns;
	uint64_t nr_arrived;   /* requests */
	uint64_t nr_completed; /* what the percentiles rest on */
	uint64_t nr_connections;
	uint64_t nr_in_flight; /* at the end of the window: read or waiting, not answered */
	uint64_t nr_waiting;   /* of those, not read yet */
	uint64_t nr_over_target;
	uint64_t oldest_ns;    /* age of the oldest in flight */
	uint64_t nr_listen_drops; /* connections turned away because the accept queue was full */
	/*
	 * Time that runnable threads of the service waited for a CPU, added up over threads: schedstat's, throttling by a quota
	 * included.  A wait counts when it ends.  A walk over the machine's tasks takes it in: at most one per sweep, and so
	 * few that they take 0.1 % of a CPU.  So this is the growth between two walks, of which the last was in this window.
	 */
	uint64_t run_delay_ns;
	int has_run_delay; /* 0: no walk in this window; in none on a kernel that cannot, or on a handle with a ring */
	struct ebee_coverage coverage;
};

/* Windows are differences of counters that only grow: any number may be open on one service. */
int ebee_window_open(struct ebee_window **ret, struct ebee *e, unsigned service);
void ebee_window_close(struct ebee_window *w); /* NULL is fine */
/* The window is now the time since the last call (or the opening). */
int ebee_window_advance(struct ebee_window *w, struct ebee_window_info *ret);
/* Of the window that the last advance ended.  permille 1 .. 1000.  -ENODATA: nothing completed in it. */
int ebee_window_percentile(const struct ebee_window *w, enum ebee_latency which, unsigned permille, uint64_t *ret_ns);
int ebee_window_mean(const struct ebee_window *w, enum ebee_latency which, uint64_t *ret_ns);
/* Completions whose latency is over `ns`, counted by bucket midpoints. */
uint64_t ebee_window_count_over(const struct ebee_window *w, enum ebee_latency which, uint64_t ns);

/*
 * Who ran while threads of a service waited for their CPU: hooks on every switch and wake-up of the machine, so only while
 * asked for.  Times are those of waiting threads: two that wait for one burner for 1 ms make 2 ms.
 */
enum { EBEE_MAX_CULPRITS = 5, EBEE_COMM_SIZE = 16 };

struct ebee_culprit {
	char comm[EBEE_COMM_SIZE];
	uint64_t cgroup_id; /* of the cpu controller (version 1) or of version 2: the inode number of the group's directory */
	uint64_t wait_ns;
};

struct ebee_culprits {
	unsigned nr; /* the largest first */
	struct ebee_culprit top[EBEE_MAX_CULPRITS];
	uint64_t others_ns;    /* of all that are not in `top` */
	uint64_t self_ns;      /* other threads of the service ran */
	uint64_t idle_ns;      /* nobody did: a CPU that wakes up */
	uint64_t throttled_ns; /* a quota held the threads back */
	uint64_t lost_ns;      /* waited, but for whom is not known */
};

/* -ENOTSUP: this kernel cannot, ebee_error says why; -EINVAL on a handle with a ring. */
int ebee_trace_culprits(struct ebee *e, int on);
/* Of waits that ended between the last two sweeps.  -EINVAL: not traced. */
int ebee_get_culprits(const struct ebee *e, unsigned service, struct ebee_culprits *ret);

/*
 * Tracing: a process and its descendants, request by request, through a ring buffer that a thread of the library
 * empties.  The handle needs a ring_size.  Values are owed latencies of the last trace_requests requests that are not
 * older than trace_span_ns; -ENODATA when there are none, so numbers do not outlive the load.  -ESRCH: not traced.
 * A process that exits stays traced, without data, until ebee_stop_tracing.
 */
int ebee_start_tracing(struct ebee *e, pid_t pid); /* -EEXIST: traced already; -ENOSPC: nr_services in use */
int ebee_stop_tracing(struct ebee *e, pid_t pid);
/* Requests completed per second over the last rate_span_ns; 0 once the load has stopped for that long. */
int ebee_get_rps(struct ebee *e, pid_t pid, double *ret);
int ebee_get_latest_latency(struct ebee *e, pid_t pid, uint64_t *ret_ns);
int ebee_get_average_latency(struct ebee *e, pid_t pid, uint64_t *ret_ns);
/* 0 < percentile <= 100, in hundredths: 99, 99.9, 99.99. */
int ebee_get_latency_percentile(struct ebee *e, pid_t pid, double percentile, uint64_t *ret_ns);
/* Requests that the ring had no room for; they are missing here and nowhere else. */
int ebee_get_dropped(struct ebee *e, pid_t pid, uint64_t *ret);

/*
 * CPU time of the handle's programs since they were loaded, ns, as far as the kernel counted it: always with sysctl
 * kernel.bpf_stats_enabled, otherwise while ebee_count_cpu is on, which costs some 50 ns per run.  Includes the runs that
 * found a socket of no interest.
 */
uint64_t ebee_cpu_ns(const struct ebee *e);
/* -EPERM needs CAP_SYS_ADMIN.  Off by default, and off again when the handle is closed. */
int ebee_count_cpu(struct ebee *e, int on);

/* Program runs that the kernel skipped because a program was running on that CPU, since ebee_open. */
uint64_t ebee_recursion_misses(const struct ebee *e);

#ifdef __cplusplus
}
#endif

#endif
