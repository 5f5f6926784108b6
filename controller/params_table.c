// SPDX-License-Identifier: GPL-2.0
/*
 * params_table.c - every key of the configuration file, in the order of the manual.  Pure: only data.
 */
#include "params.h"

#include "topology.h"

#define MS(n) ((n) * 1000000ULL)
#define SEC(n) ((n) * 1000000000ULL)

const struct param params[PARAM_COUNT] = {
	{ PARAM_CONTROLLER, "policy", PARAM_POLICY, offsetof(struct config, policy), 0, 0, "parties-paper", "name",
	  "The algorithm that decides." },
	{ PARAM_CONTROLLER, "interval", PARAM_DURATION, offsetof(struct config, interval_ns), MS(10), SEC(10), "auto",
	  "auto | duration", "Length of a window: how often latency is judged and an action may follow.\n"
	  "With auto it is what the policy is made for: 100ms for adaptive and parties-released, 500ms for the others." },
	{ PARAM_CONTROLLER, "feedback", PARAM_CHOICE, offsetof(struct config, feedback), 0, 0, "bpf",
	  "bpf | client | both | client-first",
	  "Where latency comes from: the kernel, by BPF programs; or the clients, by what they report.\n"
	  "With both the kernel steers and what the clients report is recorded beside it.\n"
	  "With client-first it is the other way round: the clients steer, and the kernel is recorded beside them." },
	{ PARAM_CONTROLLER, "speed", PARAM_CHOICE, offsetof(struct config, speed), 0, 0, "auto",
	  "auto | cpufreq | bandwidth | none",
	  "What stands for speed: CPU frequency, CPU bandwidth (a quota), or nothing.\n"
	  "With auto it is frequency where the machine lets us set it, otherwise, or when that turns out to do nothing, "
	  "bandwidth." },
	{ PARAM_CONTROLLER, "affinity", PARAM_CHOICE, offsetof(struct config, affinity), 0, 0, "auto", "auto | yes | no",
	  "Whether threads are pinned to the cores of their service, one by one, in place of cpusets.\n"
	  "With auto they are where there is no cpuset controller that can be written.\n"
	  "Unlike a cpuset that holds nobody who changes its own mask; it is looked at again in every interval.\n"
	  "The masks that were there are put back in the end." },
	{ PARAM_CONTROLLER, "cache", PARAM_CHOICE, offsetof(struct config, cache), 0, 0, "no", "no | auto | resctrl",
	  "Whether ways of the L3 cache are divided among services and best-effort work.\n"
	  "With auto they are where\n.Pa /sys/fs/resctrl\nis mounted and the hardware has classes enough; with resctrl "
	  "that it is not so is an error, which says why.\n"
	  "Nobody but you mounts it: mount -t resctrl resctrl /sys/fs/resctrl." },
	{ PARAM_CONTROLLER, "culprits", PARAM_CHOICE, offsetof(struct config, culprits), 0, 0, "auto",
	  "auto | always | never",
	  "When to find out which programs run while a service waits for a CPU.\n"
	  "It costs a little on every switch of the machine, so with auto it is while the slack of some service is small." },
	{ PARAM_CONTROLLER, "link", PARAM_LINK, offsetof(struct config, link), 0, 0, "", "INTERFACE | INTERFACE RATE",
	  "Where packets of best-effort work leave the machine, for batches with egress = auto: a network interface, and how "
	  "fast it is where that does not say so itself, for example eth0 10Gbit." },
	{ PARAM_CONTROLLER, "subtree", PARAM_SUBTREE, offsetof(struct config, subtree), 0, 0, "auto", "auto | top | unit",
	  "Where parties makes control groups of its own, on version 2: below the unit of systemd of this name, which has to have "
	  "Delegate=yes; or at the top, where systemd may take controllers away.\n"
	  "With auto it is the group that parties runs in where that is delegated, as it is under\n.Pa parties.service ,\n"
	  "otherwise the top." },
	{ PARAM_CONTROLLER, "reserved", PARAM_U32, offsetof(struct config, reserved_cpus), 0, CPULIST_MAX_CPUS - 1, "0",
	  "number", "CPUs left to interrupts and housekeeping, lowest numbers first, as whole cores." },
	{ PARAM_CONTROLLER, "seed", PARAM_U64, offsetof(struct config, seed), 0, UINT64_MAX, "1", "number",
	  "Start of the random generator: the same seed and the same windows give the same decisions." },
	{ PARAM_CONTROLLER, "infeasible_hook", PARAM_PROGRAM, offsetof(struct config, infeasible_hook), 0, 0, "",
	  "path", "Program to start when the targets cannot be met together for a minute.\n"
	  "Empty for none." },
	{ PARAM_SERVICE, "match", PARAM_MATCH, offsetof(struct config_service, match), 0, 0, NULL,
	  "pid:N | port:N | cgroup:PATH | unit:NAME | exe:NAME",
	  "The service's processes; their descendants belong to it.\n"
	  "The path of a cgroup may be a pattern of\n.Xr glob 7\n(containers have names that change): it means all groups that it "
	  "matches, and those below them.\n"
	  "In it ** stands for any number of groups one below the other: /kubepods.slice/**/cri-*.scope.\n"
	  "A unit is a .service, .scope or .slice of systemd, wherever its group is; without an ending it is a .service.\n"
	  "Of units that one user's manager runs, that may be said: user@1000.service/app.service.\n"
	  "If the processes are in one such group, it is adopted; those of several are moved into one of parties' own, and back.\n"
	  "An adopted group that goes away and comes back, under its name or another that the match means, is adopted again." },
	{ PARAM_SERVICE, "target", PARAM_TARGET, 0, 1000, SEC(100), NULL, "percentile < duration",
	  "The tail latency to keep, with a percentile from p50 to p99.9." },
	{ PARAM_SERVICE, "client", PARAM_PATH, offsetof(struct config_service, client), 0, 0, "", "path",
	  "The file that the service's clients append reports to, where feedback is not bpf alone." },
	{ PARAM_SERVICE, "lifecycle", PARAM_CHOICE, offsetof(struct config_service, lifecycle), 0, 0, "exchange",
	  "exchange | connection | grpc | http2 | read-send | auto | ebee",
	  "When a request is over: with its answer, however many share a connection, or with its connection.\n"
	  "The second is for clients that make one connection per request, over HTTP/2 or TLS too.\n"
	  "The third is for servers built on gRPC's C++ core: probes in the library tell calls apart.\n"
	  "The fourth is for HTTP/2 without TLS, gRPC included, whatever serves it: streams are told apart by their frames.\n"
	  "With read-send it is over with the first send after a read on the same descriptor: for comparison.\n"
	  "With auto it is exchange, http2 or grpc, by what the connections carry, looked at again all the time.\n"
	  "With ebee it is connection, read-send or grpc, chosen as the eBeeMetrics study does: for comparison." },
	{ PARAM_SERVICE, "storage", PARAM_CHOICE, offsetof(struct config_service, storage), 0, 0, "memory", "memory | disk",
	  "Where the service keeps what it serves, for the option storage of parties-paper." },
	{ PARAM_SERVICE, "cores", PARAM_CORES, 0, 1, TOPOLOGY_MAX_CORES, "1..", "N | MIN..MAX | MIN..",
	  "Fewest and most physical cores the service may own.\n"
	  "One number fixes them; without a maximum all there are may be its." },
	{ PARAM_BATCH, "match", PARAM_MATCH, offsetof(struct config_batch, match), 0, 0, NULL,
	  "pid:N | port:N | cgroup:PATH | unit:NAME | exe:NAME",
	  "Processes of best-effort work, which gets the cores no service needs." },
	{ PARAM_BATCH, "memory_high", PARAM_MEMORY, offsetof(struct config_batch, limits), 0, 0, "", "SIZE",
	  "Memory above which the work is slowed down and made to give some back (memory.high of control groups, version 2): "
	  "bytes, or a number and K, M or G.\n"
	  "Memory stays where it was taken: unless the control group is adopted, only what is taken from then on counts.\n"
	  "Empty for no limit." },
	{ PARAM_BATCH, "io_max", PARAM_IO, offsetof(struct config_batch, limits), 0, 0, "", "MAJOR:MINOR LIMITS",
	  "The most that the work may read and write on one disk (io.max, version 2): the numbers of the device and one to four "
	  "of rbps, wbps (bytes a second), riops and wiops, for example 259:0 rbps=100M wbps=20M.\n"
	  "Empty for no limit." },
	{ PARAM_BATCH, "memory_bandwidth", PARAM_BANDWIDTH, offsetof(struct config_batch, limits), 0, 0, "", "N% | NGB/s",
	  "The most memory bandwidth that the work may use (MB of resctrl), in the unit of the hardware: percent, or GB/s for each "
	  "L3 domain (AMD).\n"
	  "Hardware knows only steps, and the next above is taken.\n"
	  "Empty for no limit." },
	{ PARAM_BATCH, "egress", PARAM_EGRESS, offsetof(struct config_batch, limits), 0, 0, "", "RATE | auto",
	  "The most that the work may send, on average: a number and kbit, Mbit or Gbit (of IP packets, a second).\n"
	  "A kernel program at its control group (version 2, which need not have any controller) drops what is more; up to a "
	  "quarter of a second's worth goes at once.\n"
	  "Sockets count that were made inside the group; what a process brought along from elsewhere is not held back.\n"
	  "With auto, one limit for all such batches follows the rule of PARTIES: half a second in which the link has less than "
	  "0.5 Gbit/s to spare takes 0.5 Gbit/s from it, one with more than 1 Gbit/s to spare gives it as much (on links below "
	  "10 Gbit/s: a twentieth, a tenth and a twentieth of the link).\n"
	  "It starts with one such step, which it always keeps.\n"
	  "Empty for no limit." },
};
