/* SPDX-License-Identifier: GPL-2.0 */
/* test_doctor.c - machines of many shapes and with many troubles: what is found, and whether a run could work. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sys/xattr.h>

#include "doctor_look.h"
#include "fixtures/machines.h"
#include "fixtures/process_tree.h"
#include "machine.h"
#include "subtree.h"

static struct doctor_facts facts;
static struct doctor_report report;
static struct config config;

static int make_root(void **state)
{
	(void)state;
	machines_make_root(root);
	memset(&config, 0, sizeof(config));
	return 0;
}

static const struct doctor_knob *find(const char *name)
{
	for (uint32_t i = 0; i < report.nr; i++)
		if (!strcmp(report.knobs[i].name, name))
			return &report.knobs[i];
	fail_msg("no knob %s", name);
	return NULL;
}

static void examine(const char *what)
{
	tree_remove(root);
	machines_make(root, what);
	doctor_look(root, NULL, &facts);
	doctor_judge(&facts, &report);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part) || (!part[0] && text[0]))
		fail_msg("\"%s\" has no \"%s\"", text, part);
}

/* One of the texts of a knob; a part of "" is no text at all, NULL is not looked at. */
struct expected {
	const char *what, *knob;
	bool usable;
	const char *found, *reason, *fallback, *advice;
};

static void assert_expected(const struct expected *e)
{
	const struct doctor_knob *k = find(e->knob);
	const char *const texts[] = { k->found, k->reason, k->fallback, k->advice };
	const char *const parts[] = { e->found, e->reason, e->fallback, e->advice };

	print_message("# %s: %s: %s; %s\n", e->what, e->knob, k->found, k->reason);
	assert_int_equal(k->usable, e->usable);
	for (int i = 0; i < 4; i++)
		if (parts[i])
			assert_has(texts[i], parts[i]);
}

static void cores_are_counted_as_they_are(void **state)
{
	static const struct expected all[] = {
		{ "epyc-7302", "topology", true, "16 cores of 32 CPUs, 8 L3 domains, 1 socket, 1 NUMA node", "" },
		{ "epyc-7302-nosmt", "topology", true, "16 cores of 16 CPUs, 8 L3", "offline, used once online: CPUs 16-31" },
		{ "ryzen-5950x isolated=30-31", "topology", true, "16 cores of 30 CPUs, 2 L3",
		  "isolated, left alone: CPUs 30-31" },
		{ "xeon-6248-2s cpufreq=none", "topology", true, "40 cores of 80 CPUs, 2 L3 domains, 2 sockets, 2 NUMA",
		  "" },
		{ "i9-12900k", "topology", true, "16 cores of 24 CPUs, 1 L3", "16 CPUs of fast and 8 of slow cores" },
		{ "vm-odd", "topology", true, "4 cores of 4 CPUs, 1 L3",
		  "offline, used once online: CPUs 3; isolated, left alone: CPUs 9" },
		{ "vm-2 isolated=0-1", "topology", false, "no cores", "every CPU is isolated", "", "isolcpus=" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		examine(all[i].what);
		assert_expected(&all[i]);
		assert_int_equal(report.can_run, all[i].usable);
	}
}

static void the_way_to_set_a_speed_is_named(void **state)
{
	static const struct expected all[] = {
		{ "epyc-7302", "frequency", true, "acpi-cpufreq by userspace, 3 steps 1.5..3.0 GHz, 16 domains", "", "",
		  "" },
		{ "epyc-7302 cpufreq=acpi-nouser", "frequency", true, "by cap, 3 steps", "performance schedutil",
		  "scaling_max_freq", "modprobe cpufreq_userspace" },
		{ "epyc-7302 cpufreq=nolist", "frequency", true, "by userspace, 16 steps (no list, so every 100 MHz)",
		  "" },
		{ "epyc-7302 domain=l3", "frequency", true, "8 domains", "up to 4 CPUs are clocked together", "", "" },
		{ "ryzen-5950x", "frequency", true, "amd-pstate-epp by cap, 16 steps", "userspace is not offered",
		  "scaling_max_freq", "amd_pstate=passive" },
		{ "ryzen-5950x", "preference", true, "balance_performance, of: default", "",
		  "only where speeds and caps do nothing", "" },
		{ "epyc-7302", "preference", false, "none", "no energy preference", "", "" },
		{ "i9-12900k", "frequency", true,
		  "intel_pstate by cap, 12 steps (no list, so every 100 MHz) 1.5..3.9 GHz, 24 "
		  "domains, governor powersave, boost on",
		  "userspace is not offered", NULL, "intel_pstate=passive" },
		{ "vm-2", "frequency", false, "no cpufreq", "no driver", "bandwidth: ", "usual in virtual machines" },
		{ "vm-2 cgroup=v2-nocpu", "frequency", false, "no cpufreq", "no driver", "cores alone", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		examine(all[i].what);
		assert_expected(&all[i]);
		assert_true(report.can_run);
	}
	examine("epyc-7302");
	tree_put(root, "", "sys/devices/system/cpu/cpu7/cpufreq/cpuinfo_max_freq");
	doctor_look(root, NULL, &facts);
	doctor_judge(&facts, &report);
	assert_expected(&(struct expected){ "a CPU without", "frequency", false, NULL, "1 of 32 CPUs have no cpufreq",
					    "bandwidth", NULL });
}

static void what_tells_the_truth_about_speed_and_energy_is_named(void **state)
{
	(void)state;
	examine("ryzen-5950x");
	assert_expected(&(struct expected){ "ryzen", "clock", false, "nothing", "aperf and mperf", "asked for", "" });
	assert_expected(&(struct expected){ "ryzen", "energy", false, "no RAPL", "powercap", "modelled, and says so", "" });
	tree_put(root, "3000000\n", "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_avg_freq");
	tree_put(root, "package-0\n", "sys/class/powercap/intel-rapl:0/name");
	tree_put(root, "1\n", "sys/class/powercap/intel-rapl:0/energy_uj");
	doctor_look(root, NULL, &facts);
	doctor_judge(&facts, &report);
	assert_expected(&(struct expected){ "ryzen", "clock", true, "cpuinfo_avg_freq", "", "", "" });
	assert_expected(&(struct expected){ "ryzen", "energy", true, "RAPL", "", "printed beside it", "" });
}

/* What the dry run of the machine says is what a run would say. */
static void assert_agrees_with_a_run(void)
{
	struct machine_opts opts = {
		.root = root, .dry = true, .topology = &facts.topology, .speed = CONFIG_SPEED_AUTO
	};
	struct machine *machine = NULL;
	char error[512];
	int err = machine_open(&machine, &opts, error, sizeof(error));

	print_message("# a run: %s\n", err ? error : machine_describe(machine));
	assert_int_equal(report.can_run, !err);
	machine_close(machine);
}

static void what_control_groups_lack_is_told_with_its_cause(void **state)
{
	static const struct expected all[] = {
		{ "vm-2 cgroup=v1", "cpuset", true, "version 1 at /sys/fs/cgroup/cpuset", "", "", "" },
		{ "vm-2 cgroup=v2", "cpuset", true, "version 2 at /sys/fs/cgroup", "", "", "" },
		{ "vm-2 cgroup=hybrid", "cpuset", true, "version 1", "", "", "" },
		{ "vm-2 cgroup=v2-closed", "cpuset", true, "version 2", "the top does not hand it to groups yet", "",
		  "" },
		{ "vm-2 cgroup=none", "cpuset", false, "no cpuset controller", "no hierarchy of control groups has it",
		  "pinned to the cores of their service one by one", "mount -t cgroup2" },
		{ "vm-2 cgroup=none", "freezer", false, "no freezer", "no hierarchy", "services alone",
		  "mount -t cgroup2" },
		{ "vm-2 cgroup=none", "cpu-time", false, "no cpuacct", "no hierarchy", "schedstat", NULL },
		{ "vm-2 cgroup=v2-nocpuset", "cpuset", false, NULL, "built without", "one by one", "CONFIG_CPUSETS" },
		{ "vm-2 cgroup=v2-nocpu", "bandwidth", false, "no cpu controller", "built without", "cores alone",
		  NULL },
		{ "vm-2 cgroup=v2-container", "cpuset", true, "version 2", "", "", "" },
		{ "vm-2 cgroup=v2-container allowed=0", "cpuset", false, "version 2", "may not use CPUs 1", "",
		  "outside of the container" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		examine(all[i].what);
		assert_expected(&all[i]);
		assert_agrees_with_a_run();
	}
}

static void causes_that_only_other_files_tell_are_told(void **state)
{
	static const struct {
		const char *file, *text;
		struct expected expected;
	} all[] = {
		{ "proc/cgroups",
		  "cpuset\t0\t1\t0\n",
		  { "off", "cpuset", false, NULL, "switched off", NULL, "cgroup_disable=cpuset" } },
		{ "proc/cgroups",
		  "cpuset\t3\t1\t1\n",
		  { "elsewhere", "cpuset", false, NULL, "version 1 has it that is not mounted here", NULL,
		    "-o cpuset none DIR" } },
		{ "sys/fs/cgroup/cgroup.type",
		  "domain\n",
		  { "a container", "cpuset", false, NULL, "was not delegated", NULL, "Delegate=cpuset" } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		tree_remove(root);
		machines_make(root, "vm-2 cgroup=v2-nocpuset");
		tree_put(root, all[i].text, "%s", all[i].file);
		doctor_look(root, NULL, &facts);
		doctor_judge(&facts, &report);
		assert_expected(&all[i].expected);
		assert_true(report.can_run);
	}
}

static void without_cpusets_a_run_can_unless_pinning_is_forbidden(void **state)
{
	static struct config no = { .affinity = CONFIG_AFFINITY_NO };

	(void)state;
	examine("vm-2 cgroup=v2-nocpuset");
	assert_true(report.can_run);
	facts.config = &no;
	doctor_judge(&facts, &report);
	assert_false(report.can_run);
	assert_has(report.because, "cpuset: this kernel was built without it");
	assert_expected(&(struct expected){ "affinity = no", "cpuset", false, NULL, "built without", "observe", NULL });
}

static void a_tree_without_type_information_cannot_run(void **state)
{
	char path[TREE_PATH_SIZE + 32];

	(void)state;
	machines_make(root, "vm-2");
	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", root);
	assert_int_equal(unlink(path), 0);
	doctor_look(root, NULL, &facts);
	doctor_judge(&facts, &report);
	assert_expected(
		&(struct expected){ "no BTF", "bpf", false, NULL, "no type information", "", "CONFIG_DEBUG_INFO_BTF" });
	assert_has(report.because, "bpf: this kernel has no type information");
	facts.config = &config;
	config.feedback = CONFIG_FEEDBACK_CLIENT;
	doctor_judge(&facts, &report);
	assert_true(report.can_run); /* clients measure */
}

static void interrupts_on_service_cores_are_shown_until_they_are_reserved(void **state)
{
	(void)state;
	machines_make(root, "epyc-7302 cpufreq=none irqs=0-1,16");
	doctor_look(root, NULL, &facts);
	doctor_judge(&facts, &report);
	assert_expected(&(struct expected){ "0-1,16", "interrupts", true,
					    "3 device interrupts, 3 in use, on CPUs 0-1,16",
					    "CPUs 0-1,16 are services' too; CPU 0 took 33 %", NULL, "reserved = N" });
	facts.config = &config;
	config.reserved_cpus = 1;
	doctor_judge(&facts, &report);
	assert_has(find("interrupts")->reason, "CPUs 1 are");
	assert_string_equal(find("topology")->reason, "reserved, in no service: CPUs 0,16");
	config.reserved_cpus = 2;
	doctor_judge(&facts, &report);
	assert_string_equal(find("interrupts")->reason, "");
}

static void other_managers_are_named_with_what_stops_them(void **state)
{
	(void)state;
	machines_make(root, "vm-2");
	process(300, 1, "irqbalance", 'S', 0);
	process(301, 1, "power-profiles-", 'S', 0);
	process(302, 1, "tuned", 'S', 0);
	process(303, 1, "auto-cpufreq", 'Z', 0); /* dead */
	process(304, 1, "kubelet", 'S', 0);
	tree_put(root, "", "run/tlp/last_pwr");
	doctor_look(root, NULL, &facts);
	doctor_judge(&facts, &report);
	assert_string_equal(find("managers")->found,
			    "tuned (pid 302), TLP, power-profiles-daemon (pid 301), kubelet (pid 304)");
	assert_expected(&(struct expected){ "all", "managers", false, NULL, "set speeds and change CPU sets on their own", "",
					    "systemctl stop tuned; systemctl disable --now tlp" });
	assert_has(find("interrupts")->advice, "which irqbalance (pid 300) would undo");
	assert_true(report.can_run); /* no speed is set here, so nobody quarrels over it */
	facts.frequency = (struct doctor_frequency){ .nr_cpus = 2, .nr_with = 2, .limits.max_khz = 1000000,
						      .ways.has_cap = true };
	doctor_judge(&facts, &report);
	assert_has(report.because, "managers: set speeds");
	assert_has(find("managers")->fallback, "--force");
	facts.config = &config;
	config.speed = CONFIG_SPEED_BANDWIDTH;
	doctor_judge(&facts, &report);
	assert_true(report.can_run);
}

static void another_run_and_what_a_killed_one_left_are_told(void **state)
{
	(void)state;
	machines_make(root, "vm-2");
	tree_put(root, "parties journal 1\n", "run/parties/journal");
	doctor_look(root, NULL, &facts);
	doctor_judge(&facts, &report);
	assert_expected(&(struct expected){ "killed", "state", true, "what a killed run left", "was killed", "",
					    "parties restore" });
	facts.state = (struct doctor_state){ .lock_err = -EBUSY, .holder = "812" };
	doctor_judge(&facts, &report);
	assert_expected(&(struct expected){ "locked", "state", false, "another instance is running, pid 812", NULL,
					    "dry-run", "kill 812" });
	assert_string_equal(report.because, "state: pid 812 steers this machine already");
	facts.state = (struct doctor_state){ .access_err = -EACCES };
	doctor_judge(&facts, &report);
	assert_expected(&(struct expected){ "no rights", "state", false, "not known", "Permission denied", NULL,
					    "run as root" });
}

/* What only a configuration needs. */
static void what_a_configuration_asks_for_is_needed(void **state)
{
	(void)state;
	machines_make(root, "vm-2 cgroup=none");
	doctor_look(root, NULL, &facts);
	facts.config = &config;
	facts.groups[CGROUP_CPUSET] = (struct doctor_cgroup){ .version = 2, .handed_out = true };
	facts.allowed_err = -ENOENT;
	doctor_judge(&facts, &report);
	assert_true(report.can_run);
	config.nr_batches = 1;
	doctor_judge(&facts, &report);
	assert_has(report.because, "freezer: ");
	config.nr_batches = 0;
	config.speed = CONFIG_SPEED_BANDWIDTH;
	doctor_judge(&facts, &report);
	assert_has(report.because, "bandwidth: ");
	config.speed = CONFIG_SPEED_CPUFREQ;
	doctor_judge(&facts, &report);
	assert_has(report.because, "frequency: ");
	assert_string_equal(find("frequency")->fallback, "");
	config.speed = CONFIG_SPEED_NONE;
	snprintf(facts.pinned, sizeof(facts.pinned), "search: 3 of 8 threads");
	doctor_judge(&facts, &report);
	assert_true(report.can_run);
	assert_has(find("services")->reason, "search: 3 of 8 threads");
	snprintf(facts.config_error, sizeof(facts.config_error),
		 "a.conf:3: match: nobody listens on port 1; start it first");
	doctor_judge(&facts, &report);
	assert_string_equal(report.because, "services: a.conf:3: match: nobody listens on port 1");
	assert_string_equal(find("services")->advice, "start it first");
}

static void read_only_places_and_missing_rights_are_told_apart(void **state)
{
	(void)state;
	machines_make(root, "epyc-7302");
	doctor_look(root, NULL, &facts);
	facts.groups[CGROUP_CPUSET].access_err = -EROFS;
	facts.frequency.read_only = true;
	doctor_judge(&facts, &report);
	assert_expected(&(struct expected){ "ro", "cpuset", false, NULL, "mounted read-only", NULL,
					    "outside of the container" });
	assert_expected(&(struct expected){ "ro", "frequency", false, NULL, "/sys is mounted read-only", "bandwidth",
					    "outside of" });
	assert_string_equal(report.because, "");
	facts.groups[CGROUP_CPUSET].access_err = -EACCES;
	snprintf(facts.rights, sizeof(facts.rights), "CAP_SYS_NICE (to move)");
	facts.is_tree = false;
	doctor_judge(&facts, &report);
	assert_expected(&(struct expected){ "no right", "cpuset", false, NULL, "may not write", NULL, "run as root" });
	assert_string_equal(report.because, "rights: missing CAP_SYS_NICE (to move)");
}

static void what_is_there_and_not_used_is_shown_all_the_same(void **state)
{
	static const struct expected all[] = {
		{ "mounted", "cache", true, "L3: 16 ways, 15 classes", "only where the configuration asks", "", "cache = auto" },
		{ "mounted", "memory-bus", true, "MB in resctrl", "only for a batch that has memory_bandwidth", "", "" },
		{ "RAPL", "energy", true, "RAPL", "", "modelled; what packages use is printed beside it", "" },
		{ "systemd", "units", true, "systemd", "", "", "" },
		{ "memory", "memory", true, "7812 MiB available", "", "", "" },
	};

	(void)state;
	machines_make(root, "vm-2");
	tree_put(root, "flags : fpu cat_l3 mba\n", "proc/cpuinfo");
	tree_put(root, "nodev\tresctrl\n", "proc/filesystems");
	doctor_look(root, NULL, &facts);
	doctor_judge(&facts, &report);
	assert_string_equal(find("cache")->found, "L3 allocation, resctrl is not mounted");
	assert_string_equal(find("memory-bus")->found, "memory bandwidth allocation, resctrl is not mounted");
	assert_expected(&(struct expected){ "not mounted", "cache", false, NULL, "resctrl is not mounted", "L3 domain",
					    "mount -t resctrl" });
	tree_put(root, "L3:0=ffff\n", "sys/fs/resctrl/schemata");
	tree_put(root, "ffff\n", "sys/fs/resctrl/info/L3/cbm_mask");
	tree_put(root, "15\n", "sys/fs/resctrl/info/L3/num_closids");
	tree_put(root, "10\n", "sys/fs/resctrl/info/MB/min_bandwidth");
	tree_put(root, "package-0\n", "sys/class/powercap/intel-rapl:0/name");
	tree_put(root, "12345\n", "sys/class/powercap/intel-rapl:0/energy_uj");
	tree_put(root, "", "run/systemd/system/.keep");
	doctor_look(root, NULL, &facts);
	doctor_judge(&facts, &report);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_expected(&all[i]);
	facts.bpf.memory_bytes = facts.available_bytes + 1;
	facts.bpf.nr_services = 2;
	doctor_judge(&facts, &report);
	assert_has(report.because, "memory: the histograms need more than there is");
}

static void what_belongs_to_systemd_is_told(void **state)
{
	const char *unit = "sys/fs/cgroup/system.slice/web.service";
	struct config_service *web = &config.services[0];
	char path[TREE_PATH_SIZE + 64];

	(void)state;
	machines_make(root, "vm-2 cgroup=v2 groups=system.slice/web.service:71");
	tree_put(root, "71 (web) S 1 71 71 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 0 0\n", "proc/71/stat");
	tree_put(root, "web\n", "proc/71/comm");
	tree_put(root, "0::/system.slice/web.service\n", "proc/self/cgroup");
	config.nr_services = 1;
	web->cores_min = 1;
	strcpy(web->name, "search");
	web->match = (struct match){ .kind = MATCH_UNIT, .text = "web" };
	tree_put(root, "", "run/systemd/system/.keep");
	doctor_look(root, &config, &facts);
	doctor_judge(&facts, &report);
	assert_string_equal(facts.config_error, "");
	assert_expected(&(struct expected){ "systemd's", "units", true, "systemd: search in web.service", "stay systemd's", "",
					    "leave AllowedCPUs=" });
	assert_expected(&(struct expected){ "the top", "subtree", true, "the top", "/system.slice/web.service is not delegated, "
					    "and systemd may", "switched on again", "systemctl start parties" });
	tree_put(root, "0\n", "%s/cpuset.cpus", unit);
	snprintf(path, sizeof(path), "%s/%s", root, unit);
	if (setxattr(path, "user.delegate", "1", 1, 0) && setxattr(path, "trusted.delegate", "1", 1, 0)) {
		print_message("# skip: no extended attributes here\n");
		skip();
	}
	tree_put(root, "cpuset cpu\n", "%s/cgroup.controllers", unit);
	doctor_look(root, &config, &facts);
	doctor_judge(&facts, &report);
	assert_expected(&(struct expected){ "limited", "units", true, NULL, "web.service limits its CPUs itself", "",
					    "systemctl set-property web.service AllowedCPUs=" });
	assert_expected(&(struct expected){ "ours", "subtree", true, "/system.slice/web.service, delegated", "", "", "" });
	tree_put(root, "cpu\n", "%s/cgroup.controllers", unit);
	strcpy(config.subtree, "web.service");
	doctor_look(root, &config, &facts);
	doctor_judge(&facts, &report);
	assert_expected(&(struct expected){ "too little", "subtree", false, "none", "without the controllers cpuset and cpu", "",
					    "Delegate=yes gives all" });
	assert_has(report.because, "subtree: ");
	strcpy(config.subtree, "other");
	doctor_look(root, &config, &facts);
	doctor_judge(&facts, &report);
	assert_expected(&(struct expected){ "no unit", "subtree", false, "none", "unit other has no control group", "",
					    "start it first" });
	strcpy(config.subtree, SUBTREE_TOP);
	doctor_look(root, &config, &facts);
	doctor_judge(&facts, &report);
	assert_expected(&(struct expected){ "asked for", "subtree", true, "the top", "", "", "" });
}

static void a_machine_that_shows_nothing_at_all_is_judged_too(void **state)
{
	(void)state;
	doctor_look(root, NULL, &facts);
	doctor_judge(&facts, &report);
	assert_false(report.can_run);
	for (uint32_t i = 0; i < report.nr; i++)
		assert_true(report.knobs[i].found[0]);
}

int main(void)
{
#define ROOT_TEST(f) cmocka_unit_test_setup_teardown(f, make_root, tear_down)
	const struct CMUnitTest tests[] = {
		ROOT_TEST(cores_are_counted_as_they_are),
		ROOT_TEST(the_way_to_set_a_speed_is_named),
		ROOT_TEST(what_tells_the_truth_about_speed_and_energy_is_named),
		ROOT_TEST(what_control_groups_lack_is_told_with_its_cause),
		ROOT_TEST(causes_that_only_other_files_tell_are_told),
		ROOT_TEST(without_cpusets_a_run_can_unless_pinning_is_forbidden),
		ROOT_TEST(a_tree_without_type_information_cannot_run),
		ROOT_TEST(interrupts_on_service_cores_are_shown_until_they_are_reserved),
		ROOT_TEST(other_managers_are_named_with_what_stops_them),
		ROOT_TEST(another_run_and_what_a_killed_one_left_are_told),
		ROOT_TEST(what_a_configuration_asks_for_is_needed),
		ROOT_TEST(read_only_places_and_missing_rights_are_told_apart),
		ROOT_TEST(what_is_there_and_not_used_is_shown_all_the_same),
		ROOT_TEST(what_belongs_to_systemd_is_told),
		ROOT_TEST(a_machine_that_shows_nothing_at_all_is_judged_too),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
