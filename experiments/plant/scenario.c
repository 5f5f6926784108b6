// SPDX-License-Identifier: GPL-2.0
/*
 * scenario.c - reads scenario files.  Port over inih; keys that a configuration file also has are parsed by its own
 * table (params.h).  It simulates nothing.
 */
#include "scenario.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <ini.h>

#include "params.h"

enum section { NOWHERE, PLANT, CONTROLLER, SERVICE, BATCH };
enum kind { KEY_CONFIG, KEY_U32, KEY_U64, KEY_DURATION, KEY_NUMBER, KEY_SHAPE, KEY_QUEUE, KEY_LADDER, KEY_PROFILE };
enum { LINE_SIZE = 1024, PROFILE_SIZE = 32768 };

struct key {
	enum section section;
	const char *name;
	enum kind kind;
	size_t offset; /* in struct scenario or struct scenario_service */
	double min, max;
	bool required;
};

#define MACHINE(field) offsetof(struct scenario, field)
#define OF(field) offsetof(struct scenario_service, field)

static const struct key keys[] = {
	{ PLANT, "cores", KEY_U32, MACHINE(nr_cores), 1, TOPOLOGY_MAX_CORES, true },
	{ PLANT, "l3", KEY_U32, MACHINE(cores_per_l3), 1, TOPOLOGY_MAX_CORES, false },
	{ PLANT, "duration", KEY_DURATION, MACHINE(duration_ns), 1e6, 86400e9, false },
	{ PLANT, "seed", KEY_U64, MACHINE(seed), 0, 0x1p64, false },
	{ PLANT, "ladder", KEY_LADDER, 0, 0, 0, false },
	{ PLANT, "delay", KEY_DURATION, MACHINE(delay_ns), 1e6, 10e9, false },
	{ PLANT, "noise", KEY_NUMBER, MACHINE(noise_pct), 0, 50, false },
	{ PLANT, "lost", KEY_NUMBER, MACHINE(lost_pct), 0, 100, false },
	{ SERVICE, "target", KEY_CONFIG, 0, 0, 0, true },
	{ SERVICE, "cores", KEY_CONFIG, 0, 0, 0, false },
	{ SERVICE, "service_time", KEY_DURATION, OF(station.service_ns), 1000, 100e9, true },
	{ SERVICE, "distribution", KEY_SHAPE, 0, 0, 0, false },
	{ SERVICE, "cv", KEY_NUMBER, OF(station.cv), 0, 10, false },
	{ SERVICE, "queue", KEY_QUEUE, 0, 0, 0, false },
	{ SERVICE, "max_load", KEY_NUMBER, OF(station.max_load), 0.01, 1e8, true },
	{ SERVICE, "memory_part", KEY_NUMBER, OF(memory_part), 0, 1, false },
	{ SERVICE, "sigma", KEY_NUMBER, OF(sigma), 0, 100, false },
	{ SERVICE, "bandwidth", KEY_NUMBER, OF(bandwidth_gbs), 0, 1000, false },
	{ SERVICE, "profile", KEY_PROFILE, 0, 0, 0, true },
};
enum { NR_KEYS = sizeof(keys) / sizeof(keys[0]) };

struct parser {
	FILE *file;
	const char *path;
	int line;
	struct scenario *scenario;
	enum section section;
	char header[64];
	int section_line, nr_plants, nr_controllers;
	int seen[NR_KEYS], seen_params[PARAM_COUNT];
	char profile[PROFILE_SIZE]; /* text of the key, line breaks kept so that its lines can be named */
	int profile_end;            /* line the text has reached */
	bool failed;                /* only the first error counts */
	char *error;
	size_t error_size;
};

static int fail(struct parser *p, int line, const char *key, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static int fail(struct parser *p, int line, const char *key, const char *format, ...)
{
	char reason[PARAM_REASON_SIZE + 128];
	va_list args;

	if (p->failed)
		return -EINVAL;
	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	snprintf(p->error, p->error_size, "%s:%d: %.60s: %s", p->path, line, key, reason);
	p->failed = true;
	return -EINVAL;
}

static struct scenario_service *service_of(struct parser *p)
{
	return &p->scenario->services[p->scenario->config.nr_services - 1];
}

/* A value that is no directive is the path of a file, beside the scenario unless it is absolute. */
static int read_profile_file(struct parser *p, char *text, char *ret_path, size_t path_size)
{
	const char *slash = strrchr(p->path, '/');
	FILE *file;
	size_t length;
	int err;

	text += strspn(text, "\n");
	snprintf(ret_path, path_size, "%.*s%s", *text == '/' || !slash ? 0 : (int)(slash + 1 - p->path), p->path, text);
	file = fopen(ret_path, "re");
	if (!file)
		return -errno;
	length = fread(p->profile, 1, PROFILE_SIZE - 1, file);
	p->profile[length] = '\0';
	err = ferror(file) ? -errno : length == PROFILE_SIZE - 1 ? -EFBIG : 0;
	fclose(file);
	return err;
}

static bool is_inline(const char *text)
{
	static const char *const directives[] = { "at ", "ramp ", "hold " };

	text += strspn(text, "\n");
	for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
		if (!strncmp(text, directives[i], strlen(directives[i])))
			return true;
	return !*text;
}

static int take_profile(struct parser *p)
{
	int key_line = 0, line = 0, err;
	const char *reason = "";
	char path[2 * CONFIG_PATH_SIZE];

	for (int i = 0; i < NR_KEYS; i++)
		if (keys[i].kind == KEY_PROFILE)
			key_line = p->seen[i];
	if (!is_inline(p->profile)) {
		err = read_profile_file(p, p->profile, path, sizeof(path));
		if (err)
			return fail(p, key_line, "profile", "%s: %s", path, strerror(-err));
		err = profile_parse(p->profile, &service_of(p)->profile, &line, &reason);
		return err ? fail(p, key_line, "profile", "%s:%d: %s", path, line, reason) : 0;
	}
	err = profile_parse(p->profile, &service_of(p)->profile, &line, &reason);
	return err ? fail(p, key_line + line - 1, "profile", "%s", reason) : 0;
}

static int section_end(struct parser *p)
{
	for (int i = 0; i < NR_KEYS; i++)
		if (keys[i].section == p->section && keys[i].required && !p->seen[i])
			return fail(p, p->section_line, keys[i].name, "missing in [%s]", p->header);
	return p->section == SERVICE ? take_profile(p) : 0;
}

static const char *name_fault(const struct config *config, const char *name)
{
	if (!*name || strlen(name) >= CONFIG_NAME_SIZE)
		return "a name of 1 to 31 characters is wanted, for example [service search]";
	if (name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")])
		return "a name has only letters, digits and _ . -";
	for (uint32_t i = 0; i < config->nr_services; i++)
		if (!strcmp(config->services[i].name, name))
			return "a service of that name is there already";
	return NULL;
}

static int service_begin(struct parser *p, const char *name)
{
	struct config *config = &p->scenario->config;
	struct config_service *service = &config->services[config->nr_services];
	const char *fault = name_fault(config, name);
	char reason[PARAM_REASON_SIZE];
	const struct param *cores = &params[param_find(PARAM_SERVICE, "cores")];

	if (config->nr_services == POLICY_MAX_SERVICES)
		fault = "more than 64 services";
	if (fault)
		return fail(p, p->line, p->header, "%s", fault);
	snprintf(service->name, sizeof(service->name), "%s", name);
	service->line = p->line;
	config->nr_services++;
	return param_parse(cores, cores->standard, service, reason);
}

static int batch_begin(struct parser *p, const char *name)
{
	struct config *config = &p->scenario->config;
	const char *fault = name_fault(config, name);

	if (config->nr_batches == CONFIG_MAX_BATCHES)
		fault = "more than 16 batches";
	if (fault)
		return fail(p, p->line, p->header, "%s", fault);
	snprintf(config->batches[config->nr_batches++].name, CONFIG_NAME_SIZE, "%s", name);
	return 0;
}

/* inih calls back for keys only, and a batch has none: headers are found here, before inih sees the line. */
static int section_begin(struct parser *p, const char *line)
{
	char word[16] = "", name[64] = "";

	if (section_end(p))
		return -EINVAL;
	snprintf(p->header, sizeof(p->header), "%.*s", (int)strcspn(line + 1, "]\n"), line + 1);
	sscanf(p->header, "%15s %63s", word, name);
	memset(p->seen, 0, sizeof(p->seen));
	memset(p->profile, 0, sizeof(p->profile));
	p->profile_end = 0;
	p->section_line = p->line;
	if (!strcmp(word, "service")) {
		p->section = SERVICE;
		return service_begin(p, name);
	}
	if (!strcmp(word, "batch")) {
		p->section = BATCH;
		return batch_begin(p, name);
	}
	p->section = !strcmp(p->header, "plant") ? PLANT : !strcmp(p->header, "controller") ? CONTROLLER : NOWHERE;
	if (p->section == NOWHERE)
		return fail(p, p->line, p->header, "unknown section; write plant, controller, service NAME or batch NAME");
	if ((p->section == PLANT ? p->nr_plants++ : p->nr_controllers++))
		return fail(p, p->line, p->header, "appears twice");
	return 0;
}

/* An fgets for inih that counts lines.  NULL at the end and after an error. */
static char *read_line(char *buf, int size, void *ctx)
{
	struct parser *p = ctx;

	if (p->failed)
		return NULL;
	if (!fgets(buf, size, p->file)) {
		if (ferror(p->file))
			fail(p, p->line, "file", "cannot be read: %s", strerror(errno));
		return NULL;
	}
	p->line++;
	if (!strchr(buf, '\n') && !feof(p->file)) {
		fail(p, p->line, "line", "longer than %d bytes", LINE_SIZE - 3);
		return NULL;
	}
	return *buf == '[' && section_begin(p, buf) ? NULL : buf;
}

static int append_profile(struct parser *p, int key_line, const char *value)
{
	size_t length = strlen(p->profile);

	if (!p->profile_end)
		p->profile_end = key_line;
	if (length + strlen(value) + (size_t)(p->line - p->profile_end) >= PROFILE_SIZE)
		return fail(p, p->line, "profile", "longer than %d bytes", PROFILE_SIZE - 1);
	while (p->profile_end < p->line) {
		p->profile[length++] = '\n';
		p->profile_end++;
	}
	snprintf(p->profile + length, PROFILE_SIZE - length, "%s", value);
	return 0;
}

static int take_number(struct parser *p, const struct key *key, const char *value, double *ret)
{
	char *end;
	double number = strtod(value, &end);

	if (end == value || *end || strspn(value, "0123456789.eE+-") != strlen(value))
		return fail(p, p->line, key->name, "'%s' is not a number", value);
	if (!(number >= key->min && number <= key->max))
		return fail(p, p->line, key->name, "%s is out of range: %g to %g", value, key->min, key->max);
	*ret = number;
	return 0;
}

/* 0 or 1: which of the two words. */
static int take_word(struct parser *p, const char *key, const char *value, const char *first, const char *second)
{
	if (strcmp(value, first) && strcmp(value, second))
		return fail(p, p->line, key, "'%s' is not known: write %s or %s", value, first, second);
	return strcmp(value, first) != 0;
}

static int take_param(struct parser *p, const struct param *param, const char *value, void *object)
{
	char reason[PARAM_REASON_SIZE];

	return param_parse(param, value, object, reason) ? fail(p, p->line, param->key, "%s", reason) : 0;
}

static int take_value(struct parser *p, const struct key *key, int key_line, const char *value)
{
	struct config *config = &p->scenario->config;
	struct scenario_service *service = p->section == SERVICE ? service_of(p) : NULL;
	void *object = service ? (void *)service : p->scenario;
	struct param param = { .key = key->name, .offset = key->offset, .min = (uint64_t)key->min };
	int which;

	param.max = key->max < 0x1p64 ? (uint64_t)key->max : UINT64_MAX;
	switch (key->kind) {
	case KEY_CONFIG:
		return take_param(p, &params[param_find(PARAM_SERVICE, key->name)], value,
				  &config->services[config->nr_services - 1]);
	case KEY_NUMBER:
		return take_number(p, key, value, (double *)((char *)object + key->offset));
	case KEY_PROFILE:
		return append_profile(p, key_line, value);
	case KEY_SHAPE:
		which = take_word(p, key->name, value, "lognormal", "exponential");
		service->station.shape = which == 1 ? DRAW_EXPONENTIAL : DRAW_LOGNORMAL;
		return which < 0 ? which : 0;
	case KEY_LADDER:
		which = take_word(p, key->name, value, "steps", "states");
		p->scenario->states = which == 1;
		return which < 0 ? which : 0;
	case KEY_QUEUE:
		which = take_word(p, key->name, value, "shared", "per-thread");
		service->station.queue = which == 1 ? STATION_PER_THREAD : STATION_SHARED;
		return which < 0 ? which : 0;
	default:
		param.type = key->kind == KEY_U32 ? PARAM_U32 : key->kind == KEY_U64 ? PARAM_U64 : PARAM_DURATION;
		return take_param(p, &param, value, object);
	}
}

static int take_key(void *ctx, const char *section, const char *name, const char *value)
{
	struct parser *p = ctx;
	int i = 0, param = p->section == CONTROLLER ? param_find(PARAM_CONTROLLER, name) : -1;
	int *seen;

	(void)section;
	while (i < NR_KEYS && (keys[i].section != p->section || strcmp(keys[i].name, name)))
		i++;
	if (i == NR_KEYS && param < 0)
		return !fail(p, p->line, name, "unknown key in [%s]", p->header);
	seen = param >= 0 ? &p->seen_params[param] : &p->seen[i];
	if (*seen && (param >= 0 || keys[i].kind != KEY_PROFILE)) /* a profile goes on over several lines */
		return !fail(p, p->line, name, "appears twice in [%s], first on line %d (an indented line continues a key)",
			     p->header, *seen);
	if (!*seen)
		*seen = p->line;
	if (param >= 0)
		return !take_param(p, &params[param], value, &p->scenario->config);
	return !take_value(p, &keys[i], *seen, value);
}

static int check(struct parser *p)
{
	struct scenario *sc = p->scenario;
	uint32_t floors = 0;

	if (!p->nr_plants)
		return fail(p, p->line, "[plant]", "missing");
	if (!sc->config.nr_services)
		return fail(p, p->line, "[service]", "no service at all");
	for (uint32_t i = 0; i < sc->config.nr_services; i++)
		floors += sc->config.services[i].cores_min;
	if (floors + sc->config.reserved_cpus > sc->nr_cores)
		return fail(p, sc->config.services[0].line, "cores", "floors and reserved need %u cores, the machine has %u",
			    floors + sc->config.reserved_cpus, sc->nr_cores);
	if (!sc->duration_ns)
		return fail(p, p->line, "duration", "missing in [plant], and no profile says when to stop");
	return 0;
}

static void set_defaults(struct scenario *sc, const char *path)
{
	char reason[PARAM_REASON_SIZE];

	memset(sc, 0, sizeof(*sc));
	sc->seed = 1;
	snprintf(sc->config.file, sizeof(sc->config.file), "%s", path);
	for (int i = 0; i < PARAM_COUNT; i++)
		if (params[i].section == PARAM_CONTROLLER && params[i].standard)
			param_parse(&params[i], params[i].standard, &sc->config, reason);
}

static void complete(struct scenario *sc)
{
	bool given = sc->duration_ns > 0;

	if (!sc->cores_per_l3)
		sc->cores_per_l3 = sc->nr_cores;
	for (uint32_t i = 0; i < sc->config.nr_services; i++) {
		uint64_t profile_ns = profile_duration_ns(&sc->services[i].profile);

		sc->services[i].station.target_ns = sc->config.services[i].target_ns;
		sc->services[i].station.percentile_permille = sc->config.services[i].percentile_permille;
		if (!given && profile_ns > sc->duration_ns)
			sc->duration_ns = profile_ns;
	}
}

int scenario_load(const char *path, struct scenario *ret, char *error, size_t error_size)
{
	struct parser p = { .path = path, .scenario = ret, .error = error, .error_size = error_size };
	int bad_line, err;

	set_defaults(ret, path);
	p.file = fopen(path, "re");
	if (!p.file) {
		err = -errno;
		snprintf(error, error_size, "%s: cannot be read: %s", path, strerror(-err));
		return err;
	}
	ini_max_line = LINE_SIZE;
	ini_use_stack = true;
	ini_allow_multiline = true;
	ini_allow_no_value = false;
	ini_allow_inline_comments = true;
	ini_stop_on_first_error = true;
	bad_line = ini_parse_stream(read_line, &p, take_key, &p);
	fclose(p.file);
	if (bad_line)
		fail(&p, bad_line, "line", "neither 'key = value' nor '[section]'");
	if (!p.failed)
		section_end(&p);
	complete(ret);
	if (!p.failed)
		check(&p);
	return p.failed ? -EINVAL : 0;
}
