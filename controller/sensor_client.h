/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sensor_client.h - the files that clients append reports to (client_report.h), as a sensor.  Port.
 *
 * What is in a file at the start is history and is skipped.  A file may come later, be replaced, or be emptied and begun
 * again; a line counts once it has its end.  No report in a window: the service's signal is lost.
 */
#ifndef PARTIES_SENSOR_CLIENT_H
#define PARTIES_SENSOR_CLIENT_H

#include "config.h"
#include "ports.h"

struct sensor_client;

/* *config stays where it is until the close.  -ENOMEM. */
int sensor_client_open(struct sensor_client **ret, const struct config *config);
struct sensor sensor_client_port(struct sensor_client *s);
/* The next line for the log about what the last read found, "event=..."; NULL: that was all. */
const char *sensor_client_news(struct sensor_client *s);
/* What was read of a service's reports so far, for the log; valid until the next call. */
const char *sensor_client_summary(struct sensor_client *s, uint32_t service);
void sensor_client_close(struct sensor_client *s);

#endif
