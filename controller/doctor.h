/* SPDX-License-Identifier: GPL-2.0 */
/*
 * doctor.h - what was found on a machine, and what that means for a run.  Pure: doctor_look.h finds it out.
 */
#ifndef PARTIES_DOCTOR_H
#define PARTIES_DOCTOR_H

#include <stdio.h>

#include "cgroup.h"
#include "clocks.h"
#include "config.h"
#include "ladder.h"
#include "managers.h"
#include "topology.h"

enum { DOCTOR_TEXT_SIZE = 512, DOCTOR_MAX_KNOBS = 22 };

enum doctor_absence {
	DOCTOR_NOT_MOUNTED,
	DOCTOR_DISABLED,      /* on the kernel's command line */
	DOCTOR_NOT_DELEGATED, /* version 2: what is "/" to us is a group that was not given it */
	DOCTOR_ELSEWHERE,     /* in a hierarchy of version 1 that is not mounted here */
	DOCTOR_NOT_BUILT,     /* version 2 is mounted and has not got it */
};

struct doctor_cgroup {
	int version;                /* 0: not found, and `absence` says why */
	enum doctor_absence absence;
	char dir[KNOB_PATH_SIZE];
	bool handed_out;            /* version 1, or the top hands it to the groups below */
	int access_err;             /* -EROFS, or -EACCES; 0: we may write */
};

struct doctor_bpf {
	bool tried;                 /* loaded and attached; false: only looked at */
	int err;                    /* of loading; negative errno */
	bool has_http2;             /* its programs load too */
	bool is_locked;             /* kernel lockdown at confidentiality */
	char features[160], error[DOCTOR_TEXT_SIZE];
	uint64_t memory_bytes;      /* of the maps of `nr_services` */
	uint32_t nr_services;
};

struct doctor_frequency {
	uint32_t nr_cpus, nr_with;  /* of the cores' CPUs: all, and those that have cpufreq */
	uint32_t nr_domains, largest_domain; /* CPUs of the largest */
	struct ladder_ways ways;
	bool read_only;             /* /sys cannot be written */
	char driver[32], governor[32], governors[128];
	char epp[32], epps[128];    /* energy_performance_preference; "" when there is none */
	int boost;                  /* 1 on, 0 off, -1 no switch */
	struct ladder_limits limits;
	enum clocks_source clock;   /* tells how fast CPUs really are */
};

struct doctor_cache {
	bool in_kernel, mounted;    /* resctrl */
	bool l3_flag, mba_flag;     /* of the CPU */
	uint32_t nr_ways, nr_classes; /* 0: not known */
	bool has_mba;
	char why[DOCTOR_TEXT_SIZE]; /* of resctrl_check for the services of the configuration, or one; "": they fit */
};

struct doctor_limits {
	bool memory, io;            /* controllers of version 2 */
	int egress_err;             /* the program that limits it does not load */
	char egress_error[DOCTOR_TEXT_SIZE];
	char links[128];            /* network interfaces and their speeds: "eth0 10Gbit, eth1" */
};

struct doctor_interrupts {
	uint32_t nr, nr_used;       /* device interrupts; those that ever came */
	struct cpulist cpus;        /* where those in use go */
	uint32_t busiest_cpu, busiest_percent;
};

struct doctor_state {
	int lock_err;               /* 0: free; -EBUSY: `holder` has it; -EACCES: we may not look */
	char holder[16];
	bool has_journal;           /* a killed run's, when nobody has the lock */
	int access_err;             /* of the directory that holds it */
};

struct doctor_facts {
	bool is_tree;               /* something else stands in for "/" */
	int topology_err;
	struct topology topology;
	struct cpulist offline;
	char hybrid[64];            /* "8 P cores and 8 E cores" in CPUs; "" where all are alike */
	int allowed_err;            /* -ENOENT: the top does not say; then all are allowed */
	struct cpulist allowed;     /* CPUs that this control group may use */
	struct doctor_cgroup groups[CGROUP_NR_KINDS];
	struct doctor_bpf bpf;
	char rights[DOCTOR_TEXT_SIZE]; /* capabilities that steering needs and we have not */
	struct doctor_frequency frequency;
	struct doctor_cache cache;
	struct doctor_limits limits;
	int energy_err;             /* of RAPL: 0, -ENOENT, -EACCES */
	uint64_t available_bytes;   /* memory; 0: not known */
	struct doctor_interrupts interrupts;
	struct managers managers;
	struct doctor_state state;
	bool has_systemd;
	int subtree_err;            /* of subtree_find, as is `subtree_why` */
	char subtree[KNOB_PATH_SIZE], subtree_why[DOCTOR_TEXT_SIZE]; /* where groups of ours go: "" for the top */
	const struct config *config; /* NULL: none was given */
	char config_error[DOCTOR_TEXT_SIZE]; /* of match_check */
	char pinned[DOCTOR_TEXT_SIZE];       /* services with threads that pinned themselves */
	char units[DOCTOR_TEXT_SIZE];        /* "search in web.service, ...": adopted groups that systemd made */
	char limited[DOCTOR_TEXT_SIZE];      /* the first of these units that limits its CPUs itself */
};

/* Texts are "" when there is nothing to say. */
struct doctor_knob {
	const char *name;
	bool usable;
	char found[DOCTOR_TEXT_SIZE], reason[DOCTOR_TEXT_SIZE], fallback[DOCTOR_TEXT_SIZE], advice[DOCTOR_TEXT_SIZE];
};

struct doctor_report {
	uint32_t nr;
	struct doctor_knob knobs[DOCTOR_MAX_KNOBS];
	bool can_run;
	char because[DOCTOR_TEXT_SIZE]; /* of the first knob that a run cannot do without; "" when it can */
};

void doctor_judge(const struct doctor_facts *facts, struct doctor_report *ret);

#endif
