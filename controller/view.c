// SPDX-License-Identifier: GPL-2.0
/*
 * view.c - pure: fills struct policy_view.  It judges no window itself (qos.c does) and decides nothing.
 */
#include "view.h"
#include "qos.h"

/* Cores may come.  Those that go have limits again when they are back. */
static void raise_limits(struct policy_view *view, const struct config *config)
{
	for (uint32_t i = 0; i < view->nr_services; i++) {
		const struct config_service *c = &config->services[i];
		uint32_t most = c->cores_max > 0 && c->cores_max < view->nr_cores ? c->cores_max : view->nr_cores;

		if (most > view->services[i].max.cores)
			view->services[i].max.cores = most;
	}
}

void view_init(struct policy_view *view, const struct config *config, const struct allocation *allocation,
	       const struct speed_ladder *ladder, const struct cache_ways *ways,
	       const struct be_units *be_units, bool has_be)
{
	*view = (struct policy_view){
		.nr_services = config->nr_services,
		.nr_cores = allocation_nr_assignable(allocation),
		.nr_ways = ways->nr,
		.has_be = has_be,
		.nr_memory = be_units->memory,
		.nr_disk = be_units->disk,
	};
	for (uint32_t i = 0; i < config->nr_services; i++) {
		const struct config_service *c = &config->services[i];
		struct policy_service *s = &view->services[i];

		s->on_disk = c->storage == CONFIG_STORAGE_DISK;
		s->min.cores = c->cores_min;
		s->min.ways = ways->nr ? ways->floor : 0;
		s->max.ways = ways->nr;
	}
	view_set_ladder(view, ladder);
	raise_limits(view, config);
}

void view_set_ladder(struct policy_view *view, const struct speed_ladder *ladder)
{
	view->nr_speeds = ladder->kind == SPEED_NONE ? 0 : ladder->nr_steps;
	view->nominal_speed = ladder->kind == SPEED_NONE ? 0 : ladder->nominal;
	view->speed_is_quota = ladder->kind == SPEED_BANDWIDTH;
	for (uint32_t i = 0; i < view->nr_services; i++)
		view->services[i].max.speed = view->nr_speeds > 0 ? view->nr_speeds - 1 : 0;
}

void view_update(struct policy_view *view, const struct config *config, const struct allocation *allocation,
		 const struct sample *samples, uint64_t window_ns, bool lost)
{
	view->window_ns = window_ns;
	for (uint32_t i = 0; i < view->nr_services; i++) {
		struct policy_service *s = &view->services[i];

		qos_judge_window(&samples[i], config->services[i].target_ns, lost, s);
		s->late_permille = 1000 - config->services[i].percentile_permille;
		s->have.cores = allocation_count(allocation, (int)i);
		s->have.ways = allocation->ways[i];
		s->have.speed = allocation->speed[i];
	}
	view->nr_cores = allocation_nr_assignable(allocation);
	raise_limits(view, config);
	view->be_cores = allocation_count(allocation, ALLOCATION_BE);
	view->idle_cores = allocation_count(allocation, ALLOCATION_IDLE);
	view->be_ways = allocation->be_ways;
	view->idle_ways = allocation->idle_ways;
	view->be_memory = allocation->be_memory;
	view->be_disk = allocation->be_disk;
}
