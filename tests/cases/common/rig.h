/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rig.h - what the programs of the hard cases share: a server in a process of its own, both observers beside it, a
 * client that notes what it saw, and the verdict.
 *
 * Every case runs in a child of the program and prints one row, fields separated by tabs: number, pattern, expected,
 * naive, measured, verdict.  The verdict is "right", "declared: ...", "WRONG: ..." or "skipped: ...".
 */
#ifndef TESTS_CASES_RIG_H
#define TESTS_CASES_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

/* What is to be measured.  The truth of a percentile is between what was asked of the server and what the client saw.
 */
struct rig_expect {
	unsigned int nr;         /* requests, exactly */
	unsigned int nr_least;   /* 0; or as few as that */
	uint64_t us, p99_us;     /* asked of the server, owed latency; p99_us 0: the same */
	uint64_t total_us;       /* asked, from the first byte on; 0: not judged */
	const char *may_declare; /* coverage counters, any of which may stand for requests that are not in the count */
	const char *must_declare; /* coverage counter, or key of the line, that belongs to the right result: */
	unsigned int must_nr;    /* it has this value; 0: any above 0 */
};

struct rig_case {
	const char *number, *pattern;
	bool only_tcp;                 /* means nothing over another family */
	const char *lifecycle;         /* asked of parties observe; NULL: what it does by itself */
	int (*listen)(void);          /* NULL: 127.0.0.1 */
	void (*serve)(int connection); /* in a thread per connection of one process, or */
	void (*server)(int listener);  /* the whole server */
	void (*client)(void);
	struct rig_expect expect;
	/* A case that is not like that: prints its row by rig_judge or rig_row. */
	void (*run)(const struct rig_case *c);
	const void *variant; /* for servers that come in many */
};

/* The case that runs, and what its observers said: one JSON object per line of ours, the last of them the summary. */
struct rig {
	const struct rig_case *current;
	json_t *lines, *summary, *naive;
	uint64_t late_us; /* a sender's call may return that long after its peer has the data */
};
extern struct rig rig;

/* What connections are made of: "tcp", or CASES_FAMILY in the environment: "unix", "mptcp". */
const char *rig_family(void);

/* main of a program of cases.  With arguments: only the cases of these numbers, "17a" or "unix:17a". */
int rig_main(const struct rig_case *cases, size_t nr, char **argv);

/* Number, with the family before it unless that is TCP; valid until the next call. */
const char *rig_name(const struct rig_case *c);

/* A process that ends with ours. */
pid_t rig_fork(void);
/* Runs `serve` in a thread per connection, or `server`, in a process of its own; closes the listener here. */
pid_t rig_serve(int listener, const struct rig_case *c);
/* Both observers on a process (our own on a port instead when it is not 0) until rig_stop.  interval_ms 0: 500. */
void rig_watch(pid_t pid, unsigned int port, unsigned int interval_ms);
void rig_stop(void);

/* Waits until `words` come out of a started program's descriptor: NULL.  When it ends before: the first line it said.
 */
const char *rig_wait_for(int fd, const char *words);
/* Starts a program; its stdout and stderr go to `out`, or nowhere with -1. */
pid_t rig_spawn(const char *const *argv, int out);

/* Path of a program of this build. */
const char *rig_program(const char *name);
/* A directory for this case's files, removed after it. */
const char *rig_scratch(void);

/* A number of a line or of its coverage; -1: there is none of that name. */
double rig_number(const json_t *line, const char *key);

/* What the client saw, for the bounds; the total from the first byte on apart, where it differs. */
enum rig_series { RIG_SEEN, RIG_SEEN_TOTAL, RIG_NR_SERIES };
uint64_t rig_clock_us(void);
void rig_sleep_us(uint64_t us);
void rig_saw(enum rig_series series, uint64_t us); /* any thread */
/* Nearest rank. */
uint64_t rig_seen_us(enum rig_series series, unsigned int percent);

/* Print the row and end the case. */
_Noreturn void rig_judge(const struct rig_case *c);
_Noreturn void rig_row(const char *expected, const char *measured, const char *verdict, ...)
	__attribute__((format(printf, 3, 4)));
_Noreturn void rig_skip(const char *why, ...) __attribute__((format(printf, 1, 2)));
/* The test itself broke: neither right nor the engine's fault, and not to be overlooked. */
_Noreturn void rig_broken(const char *why, ...) __attribute__((format(printf, 1, 2)));

#endif
