// SPDX-License-Identifier: GPL-2.0
/*
 * sensor_client.c - port: follows files as they grow.  It waits for nobody; what a report says is client_report.c's.
 */
#include "sensor_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client_report.h"

/* The longest line, and how many times as much one window may bring; the rest waits for the next. */
enum { LINE_SIZE = 1 << 20, READS_PER_WINDOW = 8 };

struct source {
	int fd;              /* -1: the file is not there */
	struct stat opened;
	off_t offset;        /* of the first line not read yet */
	uint64_t line;       /* its number, from 1 */
	bool skipping;       /* that line is too long: up to its end nothing counts */
	uint64_t nr_reports, nr_refused, nr_late;
	struct client_reports reports;

	bool heard, was_heard; /* in this window, in the one before */
	int open_error;        /* why the file is not open, or 0 */
	bool said_refused, said_late; /* each is said once */
	/* What is to be said of the last read. */
	bool restarted, refused;
	uint64_t refused_line;
	const char *refused_reason;
};

struct sensor_client {
	const struct config *config;
	uint64_t nr_reads;
	uint32_t news_service;
	char text[CONFIG_PATH_SIZE + 256];
	char buf[LINE_SIZE];
	struct source sources[];
};

static void close_source(struct source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->offset = 0;
	s->line = 1;
	s->skipping = false;
}

/* Lines of another file than before, or of the same begun again, count from 1. */
static void follow(struct source *s, const char *path)
{
	struct stat now;
	/* A FIFO or a device by mistake is not even opened. */
	int err = stat(path, &now) < 0 ? errno : S_ISREG(now.st_mode) ? 0 : EINVAL;

	if (s->fd >= 0 && (err || now.st_dev != s->opened.st_dev || now.st_ino != s->opened.st_ino)) {
		close_source(s);
		s->restarted = !err;
	}
	if (s->fd >= 0 && now.st_size < s->offset) {
		s->offset = 0;
		s->line = 1;
		s->skipping = false;
		s->restarted = true;
	}
	if (s->fd < 0 && !err) {
		s->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		err = s->fd < 0 || fstat(s->fd, &s->opened) < 0 ? errno : 0;
	}
	if (err)
		close_source(s);
	s->open_error = err;
}

static void refuse(struct source *s, int err, const char *reason)
{
	bool *said = err == -ESTALE ? &s->said_late : &s->said_refused;

	s->nr_late += err == -ESTALE;
	s->nr_refused += err != -ESTALE;
	if (*said || s->refused)
		return;
	*said = s->refused = true;
	s->refused_line = s->line;
	s->refused_reason = reason;
}

static void take_line(struct source *s, const char *line, size_t length, double now_s, double limit_s)
{
	const char *reason = "";
	int err = s->skipping ? 0 : client_reports_add(&s->reports, line, length, now_s, limit_s, &reason);

	if (err)
		refuse(s, err, reason);
	else
		s->nr_reports += !s->skipping;
	s->skipping = false;
	s->line++;
}

/* Takes the whole lines of what was read, and leaves the rest for when it is whole; returns the bytes that are done. */
static size_t take_lines(struct source *s, const char *buf, size_t length, double now_s, double limit_s)
{
	size_t done = 0;
	const char *end;

	while ((end = memchr(buf + done, '\n', length - done))) {
		take_line(s, buf + done, (size_t)(end - buf) - done, now_s, limit_s);
		done = (size_t)(end - buf) + 1;
	}
	if (done || length < LINE_SIZE)
		return done;
	if (!s->skipping)
		refuse(s, -EINVAL, "longer than a mebibyte");
	s->skipping = true;
	return length;
}

static void read_source(struct sensor_client *c, struct source *s, double now_s, double limit_s)
{
	uint64_t before = s->nr_reports;

	s->was_heard = s->heard;
	for (int i = 0; i < READS_PER_WINDOW && s->fd >= 0; i++) {
		ssize_t length = pread(s->fd, c->buf, LINE_SIZE, s->offset);

		if (length <= 0)
			break;
		s->offset += (off_t)take_lines(s, c->buf, (size_t)length, now_s, limit_s);
		if (length < LINE_SIZE)
			break;
	}
	/* The first read ends no window. */
	s->heard = s->nr_reports > before || c->nr_reads == 0;
}

/* Counts lines, for messages about later ones; the last may still be without its end. */
static void skip_history(struct sensor_client *c, struct source *s)
{
	ssize_t length;

	for (off_t at = 0; s->fd >= 0 && (length = pread(s->fd, c->buf, LINE_SIZE, at)) > 0; at += length) {
		const char *from = c->buf, *end;

		while ((end = memchr(from, '\n', (size_t)(c->buf + length - from)))) {
			from = end + 1;
			s->line++;
			s->offset = at + (from - c->buf);
		}
	}
	s->restarted = false;
}

static int read_samples(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	static const double late_windows = 2, least_late_s = 1;
	struct sensor_client *c = ctx;
	double limit_s = late_windows * (double)c->config->interval_ns / 1e9;
	struct timespec now;

	(void)now_ns; /* reports carry the wall clock's time, if any */
	clock_gettime(CLOCK_REALTIME, &now);
	for (uint32_t i = 0; i < nr_services; i++) {
		const struct config_service *service = &c->config->services[i];
		struct source *s = &c->sources[i];

		follow(s, service->client);
		read_source(c, s, (double)now.tv_sec + (double)now.tv_nsec / 1e9, limit_s > least_late_s ? limit_s : least_late_s);
		client_reports_end(&s->reports, service->percentile_permille, service->target_ns, &samples[i]);
	}
	c->nr_reads++;
	c->news_service = 0;
	return 0;
}

static const char *missing_reason(const struct source *s)
{
	return s->open_error == EINVAL ? "it is no file" : s->open_error ? strerror(s->open_error) :
	       "no report in a whole window";
}

/* What is new about one service, one thing at a time. */
static bool tell(struct sensor_client *c, uint32_t i)
{
	const struct config_service *service = &c->config->services[i];
	struct source *s = &c->sources[i];

	if (s->restarted) {
		s->restarted = false;
		snprintf(c->text, sizeof(c->text), "event=reports-restarted service=%s file=\"%s\"", service->name, service->client);
	} else if (s->refused) {
		s->refused = false;
		snprintf(c->text, sizeof(c->text), "event=report-ignored service=%s place=\"%s:%llu\" reason=\"%s\"", service->name,
			 service->client, (unsigned long long)s->refused_line, s->refused_reason);
	} else if (s->heard != s->was_heard && s->heard) {
		s->was_heard = true;
		snprintf(c->text, sizeof(c->text), "event=reports-come service=%s file=\"%s\"", service->name, service->client);
	} else if (s->heard != s->was_heard) {
		s->was_heard = false;
		snprintf(c->text, sizeof(c->text), "event=reports-missing service=%s file=\"%s\" reason=\"%s\"", service->name,
			 service->client, missing_reason(s));
	} else {
		return false;
	}
	return true;
}

const char *sensor_client_news(struct sensor_client *c)
{
	for (; c->news_service < c->config->nr_services; c->news_service++)
		if (tell(c, c->news_service))
			return c->text;
	return NULL;
}

const char *sensor_client_summary(struct sensor_client *c, uint32_t service)
{
	const struct source *s = &c->sources[service];

	snprintf(c->text, sizeof(c->text), "event=reports service=%s taken=%llu ignored=%llu late=%llu",
		 c->config->services[service].name, (unsigned long long)s->nr_reports, (unsigned long long)s->nr_refused,
		 (unsigned long long)s->nr_late);
	return c->text;
}

int sensor_client_open(struct sensor_client **ret, const struct config *config)
{
	struct sensor_client *c = calloc(1, sizeof(*c) + config->nr_services * sizeof(c->sources[0]));

	if (!c)
		return -ENOMEM;
	c->config = config;
	for (uint32_t i = 0; i < config->nr_services; i++) {
		c->sources[i].fd = -1;
		c->sources[i].heard = c->sources[i].was_heard = true;
		close_source(&c->sources[i]);
		follow(&c->sources[i], config->services[i].client);
		skip_history(c, &c->sources[i]);
	}
	*ret = c;
	return 0;
}

struct sensor sensor_client_port(struct sensor_client *c)
{
	return (struct sensor){ .ctx = c, .read = read_samples };
}

void sensor_client_close(struct sensor_client *c)
{
	for (uint32_t i = 0; c && i < c->config->nr_services; i++)
		close_source(&c->sources[i]);
	free(c);
}
