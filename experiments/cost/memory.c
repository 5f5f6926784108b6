// SPDX-License-Identifier: GPL-2.0
/*
 * memory.c - what observing eight services takes on a machine of 256 CPUs: this process with the library, its programs
 * loaded and a window open on each service, and all maps and programs in the kernel.  Glue.
 *
 * Measured on the CPUs there are; only the cells depend on their number, and are counted for as many as 256 CPUs share.
 * Cells that this machine has are in the process's memory and in the maps, and are counted twice.
 */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "ebee.h"
#include "exchange.h"
#include "measure.h"

enum { NR_SERVICES = 8 };

static double resident_bytes(void)
{
	unsigned long size, resident = 0;
	FILE *in = fopen("/proc/self/statm", "re");

	if (in && fscanf(in, "%lu %lu", &size, &resident) != 2)
		resident = 0;
	if (in)
		fclose(in);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* Of the maps and programs this process has descriptors of.  *ret_cells: those of the cells. */
static double map_bytes(double *ret_cells)
{
	double sum = 0;
	struct dirent *entry;
	char path[300], line[128];
	DIR *dir = opendir("/proc/self/fdinfo");

	*ret_cells = 0;
	while (dir && (entry = readdir(dir))) {
		unsigned long bytes = 0;
		unsigned int value_size = 0;
		FILE *in;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		in = fopen(path, "re");
		while (in && fgets(line, sizeof(line), in)) {
			sscanf(line, "value_size: %u", &value_size);
			sscanf(line, "memlock: %lu", &bytes);
		}
		if (in)
			fclose(in);
		sum += (double)bytes;
		if (value_size == sizeof(struct exchange_cell))
			*ret_cells = (double)bytes;
	}
	if (dir)
		closedir(dir);
	return sum;
}

int main(void)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .nr_services = NR_SERVICES };
	double resident, maps, cells;
	struct ebee_window *windows[NR_SERVICES];
	char error[256];
	struct ebee *e;

	if (ebee_open(&e, &opts, error, sizeof(error))) {
		fprintf(stderr, "memory: %s\n", error);
		return 3;
	}
	for (unsigned int i = 0; i < NR_SERVICES; i++) {
		if (ebee_window_open(&windows[i], e, i)) {
			fputs("memory: no memory for windows\n", stderr);
			return 1;
		}
	}
	resident = resident_bytes();
	maps = map_bytes(&cells);
	if (!resident || !cells) {
		fputs("memory: /proc/self/statm or the cells in /proc/self/fdinfo cannot be read\n", stderr);
		return 1;
	}
	report("resident_bytes", resident);
	report("maps_and_programs_bytes", maps);
	report("memory_8_services_256_cpus_bytes",
	       resident + maps - cells + (double)NR_SERVICES * EXCHANGE_MAX_SLOTS * sizeof(struct exchange_cell));
	for (unsigned int i = 0; i < NR_SERVICES; i++)
		ebee_window_close(windows[i]);
	ebee_close(e);
	return 0;
}
