// SPDX-License-Identifier: GPL-2.0
/*
 * request.c - requests of the text protocols.  Pure: options and random state in, bytes out.
 */
#include "request.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t build_memcached(const struct options *o, unsigned short rng[3], char *buf)
{
	unsigned int key = (unsigned int)(erand48(rng) * o->nr_keys);
	int n;

	if (erand48(rng) * 100 < o->get_percent)
		return (size_t)sprintf(buf, "get key-%u\r\n", key);
	n = sprintf(buf, "set key-%u 0 0 %u\r\n", key, o->value_size);
	memset(buf + n, 'v', o->value_size);
	memcpy(buf + n + o->value_size, "\r\n", 2);
	return (size_t)n + o->value_size + 2;
}

static size_t build_redis(const struct options *o, unsigned short rng[3], char *buf)
{
	char key[32];
	int key_size = sprintf(key, "key-%u", (unsigned int)(erand48(rng) * o->nr_keys)), n;

	if (erand48(rng) * 100 < o->get_percent)
		return (size_t)sprintf(buf, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", key_size, key);
	n = sprintf(buf, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%u\r\n", key_size, key, o->value_size);
	memset(buf + n, 'v', o->value_size);
	memcpy(buf + n + o->value_size, "\r\n", 2);
	return (size_t)n + o->value_size + 2;
}

static size_t build_http(const struct options *o, char *buf)
{
	return (size_t)sprintf(buf, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", o->path, o->host,
			       o->close_each ? "Connection: close\r\n" : "");
}

static size_t build_truth(const struct options *o, unsigned short rng[3], char *buf)
{
	double us = o->service_low_us;

	if (o->service_exponential)
		us *= -log(1 - erand48(rng));
	else
		us += erand48(rng) * (o->service_high_us - o->service_low_us);
	return (size_t)sprintf(buf, "%015llu\n", (unsigned long long)us);
}

size_t request_build(const struct options *o, unsigned short rng[3], char *buf)
{
	if (o->protocol == LOAD_MEMCACHED)
		return build_memcached(o, rng, buf);
	if (o->protocol == LOAD_REDIS)
		return build_redis(o, rng, buf);
	if (o->protocol == LOAD_HTTP)
		return build_http(o, buf);
	return build_truth(o, rng, buf);
}
