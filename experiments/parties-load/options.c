// SPDX-License-Identifier: GPL-2.0
/*
 * options.c - the command line of parties-load.  Glue: prints help and reasons, reads a profile file, resolves the
 * host.
 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/number.h"

static const char usage[] =
	"usage: parties-load --protocol PROTOCOL (--to HOST:PORT | --url URL) LOAD [options]\n"
	"An open loop: requests leave when the schedule says so, and latency counts from that instant.\n"
	"Prints a JSON object per interval and a last one with \"summary\": true.\n"
	"\n"
	"  --protocol P         memcached, redis, http, grpc (hotel-search) or truth (truth-server)\n"
	"  --to HOST:PORT       where the service listens\n"
	"  --url URL            the same for http: http://HOST[:PORT]/path\n"
	"  --connections N      keep-alive connections, or with --close most at once (default 16, --close 1024)\n"
	"  --close              one connection per request\n"
	"  --connect-first      open all keep-alive connections before the first request; not for grpc\n"
	"\n"
	"Load:\n"
	"  --rate RPS           constant rate\n"
	"  --profile TEXT       'at 0s 7%; ramp 30s 100%; hold 5s; ramp 30s 7%', or @FILE with the same; needs --max\n"
	"  --max RPS            what 100 % is\n"
	"  --for DUR            how long (default: the profile's length, or until --requests are sent)\n"
	"  --requests N         exactly N requests\n"
	"  --spacing S          poisson (default) or fixed\n"
	"  --calibrate          find 100 %: the highest rate at which at most 0.2 % of requests miss --target\n"
	"  --step DUR           length of a calibration step (default 2.5s)\n"
	"\n"
	"  --target DUR         latency from which a request counts as late\n"
	"  --interval DUR       length of an interval (default 1s)\n"
	"  --report PATH        append what is seen to this file 20 times a second, for a controller (parties.conf: client)\n"
	"  --seed N             of arrivals and contents (default 1)\n"
	"  --get PCT            memcached, redis: share of get, the rest is set (default 90)\n"
	"  --keys N             memcached, redis: different keys (default 10000)\n"
	"  --value BYTES        memcached, redis: size of values (default 100)\n"
	"  --service-us LIST    truth: US, LOW..HIGH (uniform) or exp:MEAN (default 1000..5000)\n"
	"  --help               this text\n"
	"\n"
	"Exit: 0 ok, 1 a request failed, 2 usage.\n";

enum { OPT_PROTOCOL = 1, OPT_TO, OPT_URL, OPT_CONNECTIONS, OPT_CLOSE, OPT_CONNECT_FIRST, OPT_RATE, OPT_PROFILE, OPT_MAX, OPT_FOR,
       OPT_REQUESTS, OPT_SPACING, OPT_CALIBRATE, OPT_STEP, OPT_TARGET, OPT_INTERVAL, OPT_SEED, OPT_GET, OPT_KEYS,
       OPT_VALUE, OPT_SERVICE, OPT_REPORT, OPT_HELP };

static const struct option longs[] = {
	{ "protocol", required_argument, NULL, OPT_PROTOCOL },
	{ "to", required_argument, NULL, OPT_TO },
	{ "url", required_argument, NULL, OPT_URL },
	{ "connections", required_argument, NULL, OPT_CONNECTIONS },
	{ "close", no_argument, NULL, OPT_CLOSE },
	{ "connect-first", no_argument, NULL, OPT_CONNECT_FIRST },
	{ "rate", required_argument, NULL, OPT_RATE },
	{ "profile", required_argument, NULL, OPT_PROFILE },
	{ "max", required_argument, NULL, OPT_MAX },
	{ "for", required_argument, NULL, OPT_FOR },
	{ "requests", required_argument, NULL, OPT_REQUESTS },
	{ "spacing", required_argument, NULL, OPT_SPACING },
	{ "calibrate", no_argument, NULL, OPT_CALIBRATE },
	{ "step", required_argument, NULL, OPT_STEP },
	{ "target", required_argument, NULL, OPT_TARGET },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "get", required_argument, NULL, OPT_GET },
	{ "keys", required_argument, NULL, OPT_KEYS },
	{ "value", required_argument, NULL, OPT_VALUE },
	{ "service-us", required_argument, NULL, OPT_SERVICE },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

static int parse_word(const char *text, const char *const *words, unsigned int *ret)
{
	unsigned int i;

	for (i = 0; words[i]; i++) {
		if (!strcmp(text, words[i])) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* HOST:PORT, [V6]:PORT, or with a default port just the host. */
static int resolve(const char *text, size_t size, const char *default_port, struct options *o)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
	char host[OPTIONS_HOST_SIZE], *name = host, *port;

	if (size >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, size);
	host[size] = '\0';
	memcpy(o->host, host, size + 1);
	port = strrchr(host, ':');
	if (port && strchr(port, ']'))
		port = NULL;
	if (port)
		*port++ = '\0';
	if (!port)
		port = (char *)default_port;
	if (name[0] == '[' && name[strlen(name) - 1] == ']') {
		name[strlen(name) - 1] = '\0';
		name++;
	}
	if (!port || !*port || !*name || getaddrinfo(name, port, &hints, &found))
		return -EINVAL;
	memcpy(&o->address, found->ai_addr, found->ai_addrlen);
	o->address_size = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static int parse_url(const char *url, struct options *o)
{
	static const char scheme[] = "http://";
	size_t host_size;

	if (strncmp(url, scheme, strlen(scheme)))
		return -EINVAL;
	url += strlen(scheme);
	host_size = strcspn(url, "/");
	if (strlen(url + host_size) >= sizeof(o->path))
		return -EINVAL;
	strcpy(o->path, url[host_size] ? url + host_size : "/");
	return resolve(url, host_size, "80", o);
}

static int parse_service(const char *text, struct options *o)
{
	const char *dots = strstr(text, "..");
	char low_text[16];
	uint64_t low, high;

	if (!strncmp(text, "exp:", 4)) {
		o->service_exponential = true;
		text += 4;
	}
	if (!dots) {
		if (number_parse(text, 0, 60000000, &low))
			return -EINVAL;
		high = low;
	} else {
		size_t size = (size_t)(dots - text);

		if (o->service_exponential || size >= sizeof(low_text))
			return -EINVAL;
		memcpy(low_text, text, size);
		low_text[size] = '\0';
		if (number_parse(low_text, 0, 60000000, &low) || number_parse(dots + 2, low, 60000000, &high))
			return -EINVAL;
	}
	o->service_low_us = (uint32_t)low;
	o->service_high_us = (uint32_t)high;
	return 0;
}

/* Prints its own reason. */
static int parse_profile(const char *text, struct options *o)
{
	const char *path = text[0] == '@' ? text + 1 : "--profile", *reason;
	char buf[65536];
	int line;

	if (text[0] == '@') {
		FILE *f = fopen(path, "r");
		size_t n = f ? fread(buf, 1, sizeof(buf) - 1, f) : 0;

		if (!f || ferror(f) || !feof(f)) {
			fprintf(stderr, "parties-load: %s: %s\n", path, f && !ferror(f) ? "too long" : strerror(errno));
			if (f)
				fclose(f);
			return -EINVAL;
		}
		fclose(f);
		buf[n] = '\0';
		text = buf;
	}
	if (profile_parse(text, &o->profile, &line, &reason)) {
		fprintf(stderr, "parties-load: %s:%d: %s\n", path, line, reason);
		return -EINVAL;
	}
	o->has_profile = true;
	return 0;
}

static int parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *ret)
{
	uint64_t number;
	int err = number_parse(text, min, max, &number);

	if (!err)
		*ret = (uint32_t)number;
	return err;
}

/* One option into *o; nonzero when its argument is bad. */
static int take_option(int c, const char *arg, struct options *o)
{
	static const char *const protocols[] = { "memcached", "redis", "http", "grpc", "truth", NULL };
	static const char *const spacings[] = { "fixed", "poisson", NULL };
	unsigned int word;
	int err = 0;

	switch (c) {
	case OPT_PROTOCOL:
		err = parse_word(arg, protocols, &word);
		if (!err)
			o->protocol = word;
		return err;
	case OPT_SPACING:
		err = parse_word(arg, spacings, &word);
		if (!err)
			o->poisson = word;
		return err;
	case OPT_TO:
		return resolve(arg, strlen(arg), NULL, o);
	case OPT_URL:
		return parse_url(arg, o);
	case OPT_CONNECTIONS:
		return parse_u32(arg, 1, OPTIONS_MAX_CONNECTIONS, &o->nr_connections);
	case OPT_CLOSE:
		o->close_each = true;
		return 0;
	case OPT_CONNECT_FIRST:
		o->connect_first = true;
		return 0;
	case OPT_RATE:
	case OPT_MAX:
		return number_parse_real(arg, 0.001, 1e7, &o->rps);
	case OPT_PROFILE:
		return parse_profile(arg, o);
	case OPT_FOR:
		return number_parse_duration(arg, &o->duration_ns);
	case OPT_REQUESTS:
		return number_parse(arg, 1, UINT64_MAX - 1, &o->nr_requests);
	case OPT_CALIBRATE:
		o->calibrate = true;
		return 0;
	case OPT_STEP:
		return number_parse_duration(arg, &o->step_ns);
	case OPT_TARGET:
		return number_parse_duration(arg, &o->target_ns);
	case OPT_INTERVAL:
		return number_parse_duration(arg, &o->interval_ns);
	case OPT_SEED:
		return number_parse(arg, 0, UINT64_MAX, &o->seed);
	case OPT_GET:
		return parse_u32(arg, 0, 100, &o->get_percent);
	case OPT_KEYS:
		return parse_u32(arg, 1, 100000000, &o->nr_keys);
	case OPT_VALUE:
		return parse_u32(arg, 1, OPTIONS_MAX_VALUE, &o->value_size);
	case OPT_REPORT:
		o->report_path = arg;
		return 0;
	case OPT_SERVICE:
		return parse_service(arg, o);
	default:
		return -EINVAL;
	}
}

/* What single options cannot show. */
static const char *missing(const struct options *o)
{
	if (o->protocol == LOAD_NR_PROTOCOLS)
		return "--protocol is missing";
	if (!o->address_size)
		return "--to HOST:PORT (http: --url URL) is missing";
	if ((o->protocol == LOAD_HTTP) != (o->path[0] != '\0'))
		return "--url goes with http, --to with the others";
	if (o->connect_first && (o->close_each || o->protocol == LOAD_GRPC))
		return "--connect-first goes neither with --close nor with grpc";
	if (o->calibrate && !o->target_ns)
		return "--calibrate needs --target";
	if (o->calibrate && o->report_path)
		return "--report goes with a load, not with --calibrate";
	if (o->calibrate)
		return NULL;
	if (o->rps <= 0)
		return "--rate, --profile with --max, or --calibrate is missing";
	if (o->duration_ns == UINT64_MAX && o->nr_requests == UINT64_MAX && !o->has_profile)
		return "a constant rate needs --for or --requests";
	return NULL;
}

int options_parse(int argc, char **argv, struct options *ret)
{
	struct options o = {
		.protocol = LOAD_NR_PROTOCOLS, .poisson = true, .duration_ns = UINT64_MAX, .nr_requests = UINT64_MAX,
		.interval_ns = 1000000000, .seed = 1, .step_ns = 2500000000, .get_percent = 90, .nr_keys = 10000,
		.value_size = 100, .service_low_us = 1000, .service_high_us = 5000,
	};
	const char *reason;
	int c, index;

	while ((c = getopt_long(argc, argv, "", longs, &index)) != -1) {
		if (c == OPT_HELP) {
			fputs(usage, stdout);
			return 1;
		}
		if (c == '?')
			return 3;
		if (take_option(c, optarg, &o)) {
			fprintf(stderr, "parties-load: --%s: bad value: %s\n", longs[index].name, optarg);
			return 3;
		}
	}
	reason = optind < argc ? "unexpected argument" : missing(&o);
	if (reason) {
		fprintf(stderr, "parties-load: %s; see --help\n", reason);
		return 3;
	}
	if (o.has_profile && o.duration_ns > profile_duration_ns(&o.profile))
		o.duration_ns = profile_duration_ns(&o.profile);
	if (!o.nr_connections)
		o.nr_connections = o.close_each ? 1024 : 16;
	*ret = o;
	return 0;
}
