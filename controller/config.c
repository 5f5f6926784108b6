// SPDX-License-Identifier: GPL-2.0
/*
 * config.c - the configuration file.  Port over inih: counts lines (Debian's build of it gives handlers none), knows
 * sections, and finds what is double or missing.  What a value may be is params.c's; whether the machine fits is match.h's.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <ini.h>

#include "nearest.h"
#include "params.h"
#include "tuning.h"

enum { CONFIG_MAX_BYTES = 128 * 1024, CONFIG_LINE_SIZE = 1024, CONFIG_NO_SECTION = PARAM_NR_SECTIONS };

struct parser {
	const char *text; /* what is left to read */
	size_t length;
	int line; /* of the line inih holds */

	struct config *config;
	unsigned int section; /* enum param_section, or CONFIG_NO_SECTION before the first */
	char label[80];       /* its header, for messages */
	int section_line, unnamed_line[PARAM_NR_SECTIONS];
	struct tuning tuning;        /* [policy] */
	void *object;                /* where its values go */
	int seen[PARAM_COUNT];       /* line of each key in this section, or 0 */

	bool failed;
	char *error;
	size_t error_size;
};

/* Only the first error counts: later ones are often its consequence. */
static int __attribute__((format(printf, 4, 5)))
fail(struct parser *p, int line, const char *key, const char *format, ...)
{
	char reason[PARAM_REASON_SIZE];
	va_list args;

	if (p->failed)
		return -EINVAL;
	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	snprintf(p->error, p->error_size, "%s:%d: %.60s: %s", p->config->file, line, key, reason);
	p->failed = true;
	return -EINVAL;
}

/* A name becomes the name of a cgroup, beside the files the kernel puts there. */
static const char *name_fault(const char *name)
{
	static const char *const files[] = { "tasks", "notify_on_release", "release_agent" };
	static const char *const controllers[] = { "cgroup.", "cpu.", "cpuset.", "cpuacct.", "freezer.", "memory.",
						   "io." };
	const char *clash = "the name would clash with a file of the cgroup file system";

	if (!*name)
		return "a name is missing: write for example [service search]";
	if (strlen(name) >= CONFIG_NAME_SIZE)
		return "the name is longer than 31 characters";
	if (name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")])
		return "a name has only letters, digits and _ . -";
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return "'.' and '..' cannot be names";
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!strcmp(name, files[i]))
			return clash;
	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++)
		if (!strncmp(name, controllers[i], strlen(controllers[i])))
			return clash;
	return NULL;
}

/* 0, or the line of the service or batch that has this name already: their cgroups lie side by side. */
static int name_taken(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->nr_services; i++)
		if (!strcmp(config->services[i].name, name))
			return config->services[i].line;
	for (uint32_t i = 0; i < config->nr_batches; i++)
		if (!strcmp(config->batches[i].name, name))
			return config->batches[i].line;
	return 0;
}

static void set_defaults(unsigned int section, void *object)
{
	char reason[PARAM_REASON_SIZE];

	for (int i = 0; i < PARAM_COUNT; i++)
		if (params[i].section == section && params[i].standard)
			param_parse(&params[i], params[i].standard, object, reason);
}

static int section_end(struct parser *p)
{
	for (int i = 0; i < PARAM_COUNT; i++)
		if (params[i].section == p->section && !params[i].standard && !p->seen[i])
			return fail(p, p->section_line, params[i].key, "missing in %s: write %s = %s", p->label,
				    params[i].key, params[i].form);
	if (p->section == PARAM_SERVICE)
		((struct config_service *)p->object)->match_line = p->seen[param_find(PARAM_SERVICE, "match")];
	else if (p->section == PARAM_BATCH)
		((struct config_batch *)p->object)->match_line = p->seen[param_find(PARAM_BATCH, "match")];
	return 0;
}

static int service_begin(struct parser *p, const char *name)
{
	struct config *config = p->config;
	struct config_service *service = &config->services[config->nr_services];

	if (config->nr_services == POLICY_MAX_SERVICES)
		return fail(p, p->line, p->label, "too many services: at most %d", POLICY_MAX_SERVICES);
	snprintf(service->name, sizeof(service->name), "%s", name);
	service->line = p->line;
	p->object = service;
	config->nr_services++;
	return 0;
}

static int batch_begin(struct parser *p, const char *name)
{
	struct config *config = p->config;
	struct config_batch *batch = &config->batches[config->nr_batches];

	if (config->nr_batches == CONFIG_MAX_BATCHES)
		return fail(p, p->line, p->label, "too many batches: at most %d", CONFIG_MAX_BATCHES);
	snprintf(batch->name, sizeof(batch->name), "%s", name);
	batch->line = p->line;
	p->object = batch;
	config->nr_batches++;
	return 0;
}

static int unnamed_begin(struct parser *p)
{
	int *line = &p->unnamed_line[p->section];

	if (*line)
		return fail(p, p->line, p->label, "appears twice, first on line %d", *line);
	*line = p->line;
	p->object = p->config;
	return 0;
}

static int named_begin(struct parser *p, const char *name)
{
	const char *fault = name_fault(name);
	int rc, taken = name_taken(p->config, name);

	if (fault)
		return fail(p, p->line, p->label, "%s", fault);
	if (taken)
		return fail(p, p->line, p->label, "the name is taken by the section on line %d", taken);
	rc = p->section == PARAM_SERVICE ? service_begin(p, name) : batch_begin(p, name);
	if (!rc)
		set_defaults(p->section, p->object);
	return rc;
}

static int error_section(struct parser *p, const char *word)
{
	struct nearest nearest = { .word = word };

	for (int i = 0; i < PARAM_NR_SECTIONS; i++)
		nearest_offer(&nearest, param_section_name(i));
	if (nearest.best)
		return fail(p, p->line, p->label, "unknown section, did you mean '%s'?", nearest.best);
	return fail(p, p->line, p->label, "unknown section: write [controller], [policy], [service NAME] or [batch NAME]");
}

/* `header` is what stands between the brackets. */
static int section_begin(struct parser *p, const char *header)
{
	char word[32] = "", name[CONFIG_LINE_SIZE] = "", rest[2] = "";
	unsigned int section = 0;

	if (section_end(p))
		return -EINVAL;
	snprintf(p->label, sizeof(p->label), "[%.60s]", header);
	sscanf(header, "%31s %1023s %1s", word, name, rest);
	while (section < PARAM_NR_SECTIONS && strcmp(param_section_name(section), word))
		section++;
	if (section == PARAM_NR_SECTIONS)
		return error_section(p, word);
	p->section = section;
	p->section_line = p->line;
	memset(p->seen, 0, sizeof(p->seen));
	if (*rest)
		return fail(p, p->line, p->label, "a name is one word");
	if (section == PARAM_SERVICE || section == PARAM_BATCH)
		return named_begin(p, name);
	if (*name)
		return fail(p, p->line, p->label, "the %s has no name: write [%s]", word, word);
	return unnamed_begin(p);
}

/* inih calls back for keys only, so an empty or doubled section would go unseen; a broken header is left to it. */
static int look_for_section(struct parser *p, const char *line)
{
	char header[CONFIG_LINE_SIZE];
	const char *start = line + strspn(line, " \t"), *close = strchr(start, ']'), *after;

	if (*start != '[' || !close)
		return 0;
	after = close + 1 + strspn(close + 1, " \t\r");
	snprintf(header, sizeof(header), "%.*s", (int)(close - start - 1), start + 1);
	if (*after && *after != ';')
		return fail(p, p->line, "section", "something stands after the ']'");
	return section_begin(p, header);
}

static int check_line(struct parser *p, const char *line, size_t length)
{
	if (length > CONFIG_LINE_SIZE - 3) /* inih keeps room for "\r\n" and NUL */
		return fail(p, p->line, "line", "longer than %d bytes", CONFIG_LINE_SIZE - 3);
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = line[i];

		if ((byte < ' ' && byte != '\t' && !(byte == '\r' && i + 1 == length)) || byte == 0x7f)
			return fail(p, p->line, "line", "byte %zu (0x%02x) is not text", i + 1, byte);
	}
	return 0;
}

/* An fgets for inih.  NULL at the end of the text and after an error. */
static char *read_line(char *buf, int size, void *ctx)
{
	struct parser *p = ctx;
	const char *end = memchr(p->text, '\n', p->length);
	size_t length = end ? (size_t)(end - p->text) : p->length;

	if (p->failed || !p->length)
		return NULL;
	p->line++;
	if (check_line(p, p->text, length))
		return NULL;
	snprintf(buf, size, "%.*s", (int)length, p->text);
	p->length -= length + !!end;
	p->text += length + !!end;
	return look_for_section(p, buf) ? NULL : buf;
}

static int error_key(struct parser *p, const char *key)
{
	struct nearest nearest = { .word = key };
	char known[PARAM_REASON_SIZE / 2] = "";
	int length = 0;

	for (int i = 0; i < PARAM_COUNT && length < (int)sizeof(known); i++) {
		if (params[i].section != p->section)
			continue;
		nearest_offer(&nearest, params[i].key);
		length += snprintf(known + length, sizeof(known) - length, "%s%s", length ? ", " : "", params[i].key);
	}
	if (nearest.best)
		return fail(p, p->line, key, "unknown key in %s, did you mean '%s'?", p->label, nearest.best);
	return fail(p, p->line, key, "unknown key in %s; known: %s", p->label, known);
}

static int take_key(void *ctx, const char *section, const char *key, const char *value)
{
	struct parser *p = ctx;
	char reason[PARAM_REASON_SIZE];
	int i;

	(void)section; /* look_for_section knows more */
	if (p->section == CONFIG_NO_SECTION)
		return !fail(p, p->line, key, "stands before any section: write [service NAME], [batch NAME] or [controller] above it");
	if (p->section == PARAM_POLICY_OPTIONS)
		return tuning_add(&p->tuning, key, value, p->line, reason) ? !fail(p, p->line, key, "%s", reason) : 1;
	i = param_find(p->section, key);
	if (i < 0)
		return !error_key(p, key);
	if (p->seen[i])
		return !fail(p, p->line, key, "appears twice in %s, first on line %d", p->label, p->seen[i]);
	if (param_parse(&params[i], value, p->object, reason))
		return !fail(p, p->line, key, "%s", reason);
	if (params[i].type == PARAM_PROGRAM && *value && access(value, X_OK))
		return !fail(p, p->line, key, "'%.60s' cannot be started: %s", value, strerror(errno));
	p->seen[i] = p->line;
	return 1;
}

/* These are inih's, and one for the whole process; set here each time, not assumed. */
static void set_dialect(void)
{
	ini_max_line = CONFIG_LINE_SIZE;
	ini_use_stack = true;
	ini_allow_multiline = false;
	ini_allow_no_value = false;
	ini_allow_inline_comments = true;
	ini_stop_on_first_error = true;
}

/* The policy may stand below its options. */
static int take_options(struct parser *p)
{
	const struct tuning_line *bad;
	char reason[PARAM_REASON_SIZE];

	if (!tuning_apply(&p->tuning, p->config, &bad, reason))
		return 0;
	return fail(p, bad->line, bad->key, "%s", reason);
}

/* Whoever steers or records what clients report must know where, and reports do not say whose they are. */
static void check_clients(struct parser *p)
{
	const struct config_service *services = p->config->services;

	for (uint32_t i = 0; i < p->config->nr_services && p->config->feedback != CONFIG_FEEDBACK_BPF; i++) {
		if (!services[i].client[0])
			fail(p, services[i].line, "client", "missing in [service %s], which feedback asks for: write client = path",
			     services[i].name);
		for (uint32_t j = 0; j < i; j++)
			if (!strcmp(services[i].client, services[j].client))
				fail(p, services[i].line, "client", "the clients of [service %s] report to the same file, and nothing "
				     "tells them apart", services[j].name);
	}
}

static void check_link(struct parser *p)
{
	const struct config_batch *batches = p->config->batches;

	for (uint32_t i = 0; i < p->config->nr_batches && !p->config->link.name[0]; i++)
		if (batches[i].limits.egress_auto)
			fail(p, batches[i].line, "egress", "auto in [batch %s] needs to know the link: write link = eth0, or as your "
			     "network interface is called, in [controller]", batches[i].name);
}

int config_parse(const char *file, const char *text, size_t length, struct config *ret, char *error, size_t error_size)
{
	static const char bom[3] = "\xef\xbb\xbf";
	struct config config = { 0 };
	struct parser p = { .text = text, .length = length, .config = &config, .section = CONFIG_NO_SECTION,
			    .error = error, .error_size = error_size };
	int bad_line;

	if ((size_t)snprintf(config.file, sizeof(config.file), "%s", file) >= sizeof(config.file)) {
		snprintf(error, error_size, "%.60s...: the path is longer than %d bytes", file, CONFIG_PATH_SIZE - 1);
		return -ENAMETOOLONG;
	}
	if (length >= sizeof(bom) && !memcmp(text, bom, sizeof(bom))) {
		p.text += sizeof(bom);
		p.length -= sizeof(bom);
	}
	set_defaults(PARAM_CONTROLLER, &config);
	set_dialect();
	bad_line = ini_parse_stream(read_line, &p, take_key, &p);
	if (bad_line)
		fail(&p, bad_line, *p.label ? p.label : "line", "neither 'key = value' nor '[section]'");
	section_end(&p);
	take_options(&p);
	if (!config.nr_services)
		fail(&p, p.line + !p.line, "[service]",
		     "no service at all: write [service NAME] with match and target");
	check_clients(&p);
	check_link(&p);
	if (p.failed)
		return -EINVAL;
	*ret = config;
	return 0;
}

struct be_units config_be_units(const struct config *config)
{
	struct be_units units = { 0 };

	for (uint32_t i = 0; i < config->nr_batches; i++) {
		units.memory |= config->batches[i].limits.memory_high_bytes ? LIMITS_UNITS : 0;
		units.disk |= config->batches[i].limits.io_max[0] ? LIMITS_UNITS : 0;
	}
	return units;
}

/* Reads until the end or until the buffer is full; the length, or negative errno. */
static ssize_t read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buf + length, size - length);
		if (n > 0)
			length += n;
	} while ((n > 0 && length < size) || (n < 0 && errno == EINTR));
	n = n < 0 ? -errno : (ssize_t)length;
	close(fd);
	return n;
}

int config_load(const char *path, struct config *ret, char *error, size_t error_size)
{
	char text[CONFIG_MAX_BYTES];
	ssize_t length = read_file(path, text, sizeof(text));

	if (length == sizeof(text))
		length = -EFBIG;
	if (length < 0) {
		snprintf(error, error_size, "%s: cannot be read: %s", path, strerror(-length));
		return length;
	}
	return config_parse(path, text, length, ret, error, error_size);
}
