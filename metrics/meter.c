// SPDX-License-Identifier: GPL-2.0
/*
 * meter.c - port: maps that objects of programs share, and walks over them.  Knows none of the objects.
 */
#include "meter.h"

#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

int meter_share(struct bpf_map *map, const struct bpf_map *theirs)
{
	return bpf_map__reuse_fd(map, bpf_map__fd(theirs));
}

int meter_share_ring(struct bpf_map *requests, const struct exchange_bpf *exchange)
{
	return exchange->rodata->ring_wakeup ? meter_share(requests, exchange->maps.requests) :
					       bpf_map__set_autocreate(requests, false);
}

int meter_attach_walk(struct bpf_link **ret, struct bpf_program *program, const struct bpf_map *map)
{
	union bpf_iter_link_info info = { .map.map_fd = (__u32)bpf_map__fd(map) };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));

	bpf_program__set_autoattach(program, false); /* it would not be told the map */
	*ret = bpf_program__attach_iter(program, &opts);
	return *ret ? 0 : -errno;
}

void meter_add_sweep(struct exchange_sweep *swept, const struct exchange_sweep *found)
{
	for (unsigned int i = 0; i < EXCHANGE_MAX_SERVICES; i++) {
		swept[i].nr_open += found[i].nr_open;
		swept[i].nr_waiting += found[i].nr_waiting;
		swept[i].nr_over_target += found[i].nr_over_target;
		if (swept[i].oldest_ns < found[i].oldest_ns)
			swept[i].oldest_ns = found[i].oldest_ns;
	}
}
