// SPDX-License-Identifier: GPL-2.0
/*
 * doctor_cpus.c - port: topology, speeds and interrupts as text of sysfs and /proc, since libcpupower knows only "/".
 */
#include "doctor_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG_TEXT_SIZE = 4096 };

/* Intel's two kinds of cores are two devices of perf. */
static void look_hybrid(const char *root, const struct cpulist *online, char *ret, size_t size)
{
	char big[LONG_TEXT_SIZE], small[LONG_TEXT_SIZE];
	struct cpulist p, e;

	if (doctor_read(root, big, sizeof(big), "sys/devices/cpu_core/cpus") <= 0 ||
	    doctor_read(root, small, sizeof(small), "sys/devices/cpu_atom/cpus") <= 0 || cpulist_parse(big, &p) ||
	    cpulist_parse(small, &e))
		return;
	cpulist_and(&p, online);
	cpulist_and(&e, online);
	snprintf(ret, size, "%u CPUs of fast and %u of slow cores", cpulist_count(&p), cpulist_count(&e));
}

static void look_topology(const char *root, struct doctor_facts *ret)
{
	char text[LONG_TEXT_SIZE];

	ret->topology_err = topology_read(root, &ret->topology);
	if (ret->topology_err)
		return;
	if (doctor_read(root, text, sizeof(text), "sys/devices/system/cpu/present") > 0 &&
	    !cpulist_parse(text, &ret->offline))
		cpulist_andnot(&ret->offline, &ret->topology.online);
	look_hybrid(root, &ret->topology.online, ret->hybrid, sizeof(ret->hybrid));
}

/* ---- speed ------------------------------------------------------------------------------------------------------- */

#define CPUFREQ "sys/devices/system/cpu/cpu%d/cpufreq/"

static unsigned long read_khz(const char *root, int cpu, const char *file)
{
	char text[32];

	return doctor_read(root, text, sizeof(text), CPUFREQ "%s", cpu, file) > 0 ? strtoul(text, NULL, 10) : 0;
}

/* CPUs that the hardware clocks together: acpi-cpufreq knows better than the policy. */
static unsigned int domain_size(const char *root, int cpu, struct cpulist *ret)
{
	static const char *const files[] = { "freqdomain_cpus", "related_cpus" };
	char text[LONG_TEXT_SIZE];

	cpulist_clear(ret);
	for (int i = 0; i < 2 && cpulist_empty(ret); i++)
		if (doctor_read(root, text, sizeof(text), CPUFREQ "%s", cpu, files[i]) > 0) {
			/* Blanks between the numbers in some of these files. */
			for (char *at = text; (at = strchr(at, ' ')); at++)
				*at = at[1] ? ',' : '\0';
			if (cpulist_parse(text, ret))
				cpulist_clear(ret);
		}
	cpulist_add(ret, (unsigned int)cpu);
	return cpulist_count(ret);
}

static void list_speeds(char *text, struct ladder_limits *limits)
{
	for (char *save, *word = strtok_r(text, " ", &save); word && limits->nr_listed < SPEED_MAX_STEPS;
	     word = strtok_r(NULL, " ", &save))
		limits->listed_khz[limits->nr_listed++] = (uint32_t)strtoul(word, NULL, 10);
}

static unsigned long best_boost(char *text)
{
	unsigned long best = 0;

	for (char *save, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		best = strtoul(word, NULL, 10) > best ? strtoul(word, NULL, 10) : best;
	return best;
}

/* The switch is the driver's, or intel_pstate's, which says the contrary. */
static int read_boost(const char *root)
{
	char text[8];

	if (doctor_read(root, text, sizeof(text), "sys/devices/system/cpu/cpufreq/boost") > 0)
		return text[0] == '1';
	if (doctor_read(root, text, sizeof(text), "sys/devices/system/cpu/intel_pstate/no_turbo") > 0)
		return text[0] == '0';
	return -1;
}

static void look_first_domain(const char *root, int cpu, struct doctor_frequency *ret)
{
	struct ladder_limits *limits = &ret->limits;
	char text[LONG_TEXT_SIZE], path[KNOB_PATH_SIZE + 64];

	doctor_read(root, ret->driver, sizeof(ret->driver), CPUFREQ "scaling_driver", cpu);
	doctor_read(root, ret->governor, sizeof(ret->governor), CPUFREQ "scaling_governor", cpu);
	doctor_read(root, ret->governors, sizeof(ret->governors), CPUFREQ "scaling_available_governors", cpu);
	doctor_read(root, ret->epp, sizeof(ret->epp), CPUFREQ "energy_performance_preference", cpu);
	doctor_read(root, ret->epps, sizeof(ret->epps), CPUFREQ "energy_performance_available_preferences", cpu);
	ret->boost = read_boost(root);
	limits->min_khz = read_khz(root, cpu, "cpuinfo_min_freq");
	limits->max_khz = read_khz(root, cpu, "cpuinfo_max_freq");
	limits->base_khz = read_khz(root, cpu, "base_frequency");
	if (!limits->base_khz &&
	    doctor_read(root, text, sizeof(text), "sys/devices/system/cpu/cpu%d/acpi_cppc/nominal_freq", cpu) > 0)
		limits->base_khz = strtoul(text, NULL, 10) * 1000;
	if (doctor_read(root, text, sizeof(text), CPUFREQ "scaling_available_frequencies", cpu) > 0)
		list_speeds(text, limits);
	if (doctor_read(root, text, sizeof(text), CPUFREQ "scaling_boost_frequencies", cpu) > 0 && ret->boost == 1)
		limits->boost_khz = best_boost(text);
	snprintf(path, sizeof(path), "%.400s/" CPUFREQ "scaling_max_freq", root, cpu);
	ret->read_only = access(path, W_OK) && errno == EROFS;
}

static void look_ways(const char *root, int cpu, struct ladder_ways *ret)
{
	char text[256], setspeed[64];

	doctor_read(root, text, sizeof(text), CPUFREQ "scaling_available_governors", cpu);
	ret->has_userspace &= ladder_lists(text, "userspace") &&
			      doctor_read(root, setspeed, sizeof(setspeed), CPUFREQ "scaling_setspeed", cpu) >= 0;
	ret->has_cap &= read_khz(root, cpu, "cpuinfo_max_freq") > read_khz(root, cpu, "cpuinfo_min_freq");
	doctor_read(root, text, sizeof(text), CPUFREQ "energy_performance_available_preferences", cpu);
	ret->has_epp &= ladder_has_epp(text);
}

static void look_frequency(const char *root, const struct topology *topo, struct doctor_frequency *ret)
{
	struct cpulist cpus, left, domain;

	ret->ways = (struct ladder_ways){ .has_userspace = true, .has_cap = true, .has_epp = true };
	topology_cpus(topo, &cpus);
	ret->nr_cpus = cpulist_count(&cpus);
	left = cpus;
	for (int cpu = cpulist_next(&cpus, 0); cpu >= 0; cpu = cpulist_next(&cpus, (unsigned int)cpu + 1)) {
		if (!read_khz(root, cpu, "cpuinfo_max_freq"))
			continue;
		if (!ret->nr_with++)
			look_first_domain(root, cpu, ret);
		if (!cpulist_has(&left, (unsigned int)cpu))
			continue;
		ret->nr_domains++;
		look_ways(root, cpu, &ret->ways);
		if (domain_size(root, cpu, &domain) > ret->largest_domain)
			ret->largest_domain = cpulist_count(&domain);
		cpulist_andnot(&left, &domain);
	}
	ret->ways.boost_is_on = ret->boost == 1;
	ret->clock = clocks_find(root, (unsigned int)cpulist_next(&cpus, 0));
}

/* ---- interrupts -------------------------------------------------------------------------------------------------- */

/* Columns of /proc/interrupts: "CPU0 CPU1 ...", only those that are online. */
static uint32_t read_columns(char *line, uint16_t cpus[CPULIST_MAX_CPUS])
{
	uint32_t nr = 0;
	char *save;

	for (char *word = strtok_r(line, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
		unsigned int cpu;

		if (sscanf(word, "CPU%u", &cpu) == 1 && cpu < CPULIST_MAX_CPUS && nr < CPULIST_MAX_CPUS)
			cpus[nr++] = (uint16_t)cpu;
	}
	return nr;
}

/* Adds one interrupt's counts; whether it ever came. */
static bool add_counts(const char *at, const uint16_t *cpus, uint32_t nr, uint64_t *counts)
{
	bool came = false;

	for (uint32_t i = 0; i < nr; i++) {
		char *end;
		unsigned long count = strtoul(at, &end, 10);

		if (end == at)
			break;
		at = end;
		counts[cpus[i]] += count;
		came = came || count;
	}
	return came;
}

/* effective_affinity_list is where it really goes, since 4.15 and not for every chip. */
static void add_target(const char *root, unsigned long irq, struct cpulist *ret)
{
	static const char *const files[] = { "effective_affinity_list", "smp_affinity_list" };
	char text[LONG_TEXT_SIZE];
	struct cpulist cpus;

	for (int i = 0; i < 2; i++) {
		if (doctor_read(root, text, sizeof(text), "proc/irq/%lu/%s", irq, files[i]) <= 0 ||
		    cpulist_parse(text, &cpus) || cpulist_empty(&cpus))
			continue;
		cpulist_or(ret, &cpus);
		return;
	}
}

static void find_busiest(const uint64_t counts[CPULIST_MAX_CPUS], struct doctor_interrupts *ret)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < CPULIST_MAX_CPUS; cpu++) {
		sum += counts[cpu];
		if (counts[cpu] > counts[ret->busiest_cpu])
			ret->busiest_cpu = cpu;
	}
	ret->busiest_percent = sum ? (uint32_t)(counts[ret->busiest_cpu] * 100 / sum) : 0;
}

static void look_interrupts(const char *root, struct doctor_interrupts *ret)
{
	uint64_t counts[CPULIST_MAX_CPUS] = { 0 };
	char path[KNOB_PATH_SIZE], *line = NULL;
	uint16_t cpus[CPULIST_MAX_CPUS];
	uint32_t nr = 0;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%.480s/proc/interrupts", root);
	file = fopen(path, "re");
	if (file && getline(&line, &size, file) > 0)
		nr = read_columns(line, cpus);
	while (file && getline(&line, &size, file) > 0) {
		char *end;
		unsigned long irq = strtoul(line, &end, 10);

		if (*end != ':' || end == line)
			continue; /* not a device's: timers and what CPUs send each other are everywhere */
		ret->nr++;
		if (!add_counts(end + 1, cpus, nr, counts))
			continue;
		ret->nr_used++;
		add_target(root, irq, &ret->cpus);
	}
	free(line);
	if (file)
		fclose(file);
	find_busiest(counts, ret);
}

void doctor_look_cpus(const char *root, struct doctor_facts *ret)
{
	look_topology(root, ret);
	if (!ret->topology_err)
		look_frequency(root, &ret->topology, &ret->frequency);
	look_interrupts(root, &ret->interrupts);
}
