// SPDX-License-Identifier: GPL-2.0
/*
 * changes.c - port: what changed since the last tick, as lines of "event=NAME key=value".  It decides nothing.
 */
#include "changes.h"

#include <stdio.h>
#include <string.h>

#include "record.h"

static void log_cores(struct changes *c, const struct tick *tick)
{
	uint32_t nr_offline = allocation_count(&tick->allocation, ALLOCATION_OFFLINE);
	uint32_t nr_cores = tick->allocation.nr_cores;

	if (nr_offline != c->nr_offline)
		fprintf(stderr, "event=cores-offline nr=%u\n", nr_offline);
	if (nr_cores != c->nr_cores && c->nr_cores)
		fprintf(stderr, "event=cores-added nr=%u\n", nr_cores - c->nr_cores);
	c->nr_offline = nr_offline;
	c->nr_cores = nr_cores;
}

static void log_benefit(struct changes *c, const struct tick *tick)
{
	for (uint32_t i = 0; i < tick->config->nr_services; i++) {
		const struct benefit *b = &tick->benefits[i];

		if (b->is_none && !c->no_benefit[i])
			fprintf(stderr, "event=no-benefit service=%s note=\"more than %u cores do nothing: it is late, and uses no more of "
				"them; a pool of threads that was sized at its start? start it again, or with more threads\"\n",
				tick->config->services[i].name, b->full_cores);
		c->no_benefit[i] = b->is_none;
	}
}

static void log_sensors(const struct tick *tick, struct sensor_ebee *sensor, struct sensor_client *clients)
{
	const char *news;

	while (clients && (news = sensor_client_news(clients)))
		fprintf(stderr, "%s\n", news);
	for (uint32_t i = 0; i < tick->config->nr_services && sensor; i++) {
		const char *lifecycle, *reason;

		if (sensor_ebee_changed(sensor, i, &lifecycle, &reason))
			fprintf(stderr, "event=lifecycle service=%s lifecycle=%s reason=\"%s\"\n", tick->config->services[i].name,
				lifecycle, reason);
	}
}

void changes_log(struct changes *c, const struct tick *tick, struct sensor_ebee *sensor, struct sensor_client *clients)
{
	const struct outcome *outcome = &tick->report.outcome;
	bool lost = tick->nr_lost > 0, failed = tick->nr_failed > 0;

	if (lost != c->lost)
		fprintf(stderr, "event=signal-%s\n", lost ? "lost" : "back");
	if (failed && !c->failed)
		fprintf(stderr, "event=apply-failed error=\"%s\" where=\"%s\"\n", strerror(-outcome->error),
			outcome->where);
	else if (!failed && c->failed)
		fprintf(stderr, "event=apply-back\n");
	c->lost = lost;
	c->failed = failed;
	log_cores(c, tick);
	log_benefit(c, tick);
	if (outcome->note[0])
		fprintf(stderr, "event=%s%s note=\"%s\"\n", outcome->speed ? "speed-" : "drift", record_speed_word(outcome->speed),
			outcome->note);
	log_sensors(tick, sensor, clients);
}
