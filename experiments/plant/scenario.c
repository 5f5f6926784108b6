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

#include "scenario_key.h"
#include "tuning.h"

enum { LINE_SIZE = 1024, PROFILE_SIZE = 32768 };

struct parser {
	FILE *file;
	const char *path;
	int line;
	struct scenario *scenario;
	enum scenario_section section;
	char header[64];
	int section_line, nr_plants, nr_controllers, nr_policies;
	struct tuning tuning; /* [policy] */
	int seen[SCENARIO_NR_KEYS], seen_params[PARAM_COUNT];
	char profile[PROFILE_SIZE]; /* text of the key, line breaks kept so that its lines can be named */
	int profile_end;            /* line the text has reached */
	bool is_like;               /* the service of this section */
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

	for (int i = 0; i < SCENARIO_NR_KEYS; i++)
		if (scenario_keys[i].kind == SCENARIO_PROFILE)
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
	for (int i = 0; i < SCENARIO_NR_KEYS; i++)
		if (scenario_keys[i].section == p->section && scenario_keys[i].required && !p->seen[i] &&
		    (!p->is_like || scenario_keys[i].kind == SCENARIO_PROFILE))
			return fail(p, p->section_line, scenario_keys[i].name, "missing in [%s]", p->header);
	return p->section == SCENARIO_SERVICE ? take_profile(p) : 0;
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
	int *nr_seen;

	if (section_end(p))
		return -EINVAL;
	snprintf(p->header, sizeof(p->header), "%.*s", (int)strcspn(line + 1, "]\n"), line + 1);
	sscanf(p->header, "%15s %63s", word, name);
	memset(p->seen, 0, sizeof(p->seen));
	memset(p->profile, 0, sizeof(p->profile));
	p->profile_end = 0;
	p->is_like = false;
	p->section_line = p->line;
	if (!strcmp(word, "service")) {
		p->section = SCENARIO_SERVICE;
		return service_begin(p, name);
	}
	if (!strcmp(word, "batch")) {
		p->section = SCENARIO_BATCH;
		return batch_begin(p, name);
	}
	p->section = !strcmp(p->header, "plant") ? SCENARIO_PLANT :
		     !strcmp(p->header, "controller") ? SCENARIO_CONTROLLER :
		     !strcmp(p->header, "policy") ? SCENARIO_POLICY : SCENARIO_NOWHERE;
	nr_seen = p->section == SCENARIO_PLANT ? &p->nr_plants :
		  p->section == SCENARIO_CONTROLLER ? &p->nr_controllers : &p->nr_policies;
	if (p->section == SCENARIO_NOWHERE)
		return fail(p, p->line, p->header,
			    "unknown section; write plant, controller, policy, service NAME or batch NAME");
	if ((*nr_seen)++)
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

static int take_param(struct parser *p, const struct param *param, const char *value, void *object)
{
	char reason[PARAM_REASON_SIZE];

	return param_parse(param, value, object, reason) ? fail(p, p->line, param->key, "%s", reason) : 0;
}

/* All of the catalogue's service that the section has not given itself; what comes later overrides it anyway. */
static int take_like(struct parser *p, const char *name)
{
	const struct catalogue_service *known = catalogue_find(name);
	struct config_service *config = &p->scenario->config.services[p->scenario->config.nr_services - 1];
	struct catalogue_model model, *given = &service_of(p)->model;
	char names[128] = "";

	for (unsigned int i = 0; !known && catalogue_at(i); i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? ", " : "",
			 catalogue_at(i)->name);
	if (!known)
		return fail(p, p->line, "like", "'%.60s' is not known: %s", name, names);
	model = known->model;
	for (int i = 0; i < SCENARIO_NR_KEYS; i++)
		if (scenario_keys[i].section == SCENARIO_SERVICE && p->seen[i])
			scenario_key_copy(&scenario_keys[i], given, &model);
	*given = model;
	if (!config->target_ns) {
		config->target_ns = known->model.station.target_ns;
		config->percentile_permille = known->model.station.percentile_permille;
	}
	return 0;
}

static int take_value(struct parser *p, const struct scenario_key *key, int key_line, const char *value)
{
	struct config *config = &p->scenario->config;
	void *object = p->section == SCENARIO_SERVICE ? (void *)&service_of(p)->model : p->scenario;
	char reason[PARAM_REASON_SIZE];

	switch (key->kind) {
	case SCENARIO_CONFIG:
		return take_param(p, &params[param_find(PARAM_SERVICE, key->name)], value,
				  &config->services[config->nr_services - 1]);
	case SCENARIO_LIKE:
		p->is_like = true;
		return take_like(p, value);
	case SCENARIO_PROFILE:
		return append_profile(p, key_line, value);
	default:
		return scenario_key_parse(key, value, object, reason) ? fail(p, p->line, key->name, "%s", reason) : 0;
	}
}

static int take_key(void *ctx, const char *section, const char *name, const char *value)
{
	struct parser *p = ctx;
	int i = 0, param = p->section == SCENARIO_CONTROLLER ? param_find(PARAM_CONTROLLER, name) : -1;
	char reason[PARAM_REASON_SIZE];
	int *seen;

	(void)section;
	if (p->section == SCENARIO_POLICY)
		return tuning_add(&p->tuning, name, value, p->line, reason) ? !fail(p, p->line, name, "%s", reason) : 1;
	while (i < SCENARIO_NR_KEYS && (scenario_keys[i].section != p->section || strcmp(scenario_keys[i].name, name)))
		i++;
	if (i == SCENARIO_NR_KEYS && param < 0)
		return !fail(p, p->line, name, "unknown key in [%s]", p->header);
	seen = param >= 0 ? &p->seen_params[param] : &p->seen[i];
	if (*seen && (param >= 0 || scenario_keys[i].kind != SCENARIO_PROFILE)) /* a profile goes on over several lines */
		return !fail(p, p->line, name, "appears twice in [%s], first on line %d (an indented line continues a key)",
			     p->header, *seen);
	if (!*seen)
		*seen = p->line;
	if (param >= 0)
		return !take_param(p, &params[param], value, &p->scenario->config);
	return !take_value(p, &scenario_keys[i], *seen, value);
}

static int check(struct parser *p)
{
	struct scenario *sc = p->scenario;
	const struct tuning_line *bad;
	char reason[PARAM_REASON_SIZE];
	uint32_t floors = 0;

	if (tuning_apply(&p->tuning, &sc->config, &bad, reason))
		return fail(p, bad->line, bad->key, "%s", reason);
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

		sc->services[i].model.station.target_ns = sc->config.services[i].target_ns;
		sc->services[i].model.station.percentile_permille = sc->config.services[i].percentile_permille;
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
