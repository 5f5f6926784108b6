// SPDX-License-Identifier: GPL-2.0
/*
 * params.c - how each type of configuration key is read and written.  Pure.
 * It sees one value at a time: sections, line numbers and checks across keys are config.c's.
 */
#include "params.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "topology.h"

#define MS(n) ((n) * 1000000ULL)
#define SEC(n) ((n) * 1000000000ULL)
enum { PID_LIMIT = 4194304, PORT_LIMIT = 65535 };

static const char *const section_names[PARAM_NR_SECTIONS] = { "controller", "policy", "service", "batch" };
static const char *const match_names[] = { "pid", "port", "cgroup", "unit", "exe" };
enum { NR_MATCHES = sizeof(match_names) / sizeof(match_names[0]) };

static const struct { const char *name; uint64_t ns; } duration_units[] = {
	{ "m", SEC(60) }, { "s", SEC(1) }, { "ms", MS(1) }, { "us", 1000 },
};
enum { NR_UNITS = sizeof(duration_units) / sizeof(duration_units[0]) };

const char *param_section_name(enum param_section section)
{
	return section_names[section];
}

int param_find(enum param_section section, const char *key)
{
	for (int i = 0; i < PARAM_COUNT; i++)
		if (params[i].section == section && !strcmp(params[i].key, key))
			return i;
	return -1;
}

static uint64_t unit_find(const char *name)
{
	for (int i = 0; i < NR_UNITS; i++)
		if (!strcmp(duration_units[i].name, name))
			return duration_units[i].ns;
	return 0;
}

/* Whole part, then the fraction digit by digit: exact, where floating point would lose nanoseconds. */
int config_parse_duration(const char *text, uint64_t *ret_ns)
{
	size_t whole = strspn(text, "0123456789"), digits = 0;
	const char *fraction = text + whole, *unit = fraction;
	uint64_t scale, ns = 0, part;

	if (*fraction == '.') {
		digits = strspn(++fraction, "0123456789");
		unit = fraction + digits;
		if (!digits)
			return -EINVAL;
	}
	scale = unit_find(unit);
	if (!whole || !scale)
		return -EINVAL;
	for (size_t i = 0; i < whole; i++)
		if (__builtin_mul_overflow(ns, 10, &ns) || __builtin_add_overflow(ns, (uint64_t)(text[i] - '0'), &ns))
			return -ERANGE;
	if (__builtin_mul_overflow(ns, scale, &ns))
		return -ERANGE;
	for (size_t i = 0; i < digits; i++) {
		part = scale * (fraction[i] - '0');
		if (part % 10 || (fraction[i] != '0' && !scale))
			return -ERANGE; /* finer than a nanosecond */
		scale /= 10;
		if (__builtin_add_overflow(ns, part / 10, &ns))
			return -ERANGE;
	}
	*ret_ns = ns;
	return 0;
}

/* Value and unit such that nothing is lost: the largest unit that divides, else microseconds with a fraction. */
void param_format_duration(uint64_t ns, char *buf, size_t size)
{
	for (int i = 0; i < NR_UNITS; i++) {
		if (ns % duration_units[i].ns == 0) {
			snprintf(buf, size, "%" PRIu64 "%s", ns / duration_units[i].ns, duration_units[i].name);
			return;
		}
	}
	snprintf(buf, size, "%" PRIu64 ".%03uus", ns / 1000, (unsigned int)(ns % 1000));
}

#define REASON(...) (snprintf(reason, PARAM_REASON_SIZE, __VA_ARGS__), -EINVAL)

static int parse_duration(const struct param *param, const char *text, uint64_t *ret, char *reason)
{
	char low[32], high[32];
	uint64_t ns;
	int rc = config_parse_duration(text, &ns);

	if (param->standard && !strcmp(param->standard, "auto") && !strcmp(text, "auto")) {
		*ret = 0;
		return 0;
	}
	param_format_duration(param->min, low, sizeof(low));
	param_format_duration(param->max, high, sizeof(high));
	if (rc == -EINVAL && *text && !text[strspn(text, "0123456789.")])
		return REASON("unit missing: write %.20sms or %.20sus", text, text);
	if (rc == -EINVAL)
		return REASON("'%.60s' is not a duration: write a number and us, ms, s or m, for example 25ms", text);
	if (rc || ns < param->min || ns > param->max)
		return REASON("%.60s is out of range: %s to %s", text, low, high);
	*ret = ns;
	return 0;
}

static int parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret, char *reason)
{
	uint64_t value;
	int rc = options_parse_u64(text, &value);

	if (rc == -EINVAL)
		return REASON("'%.60s' is not a whole number", text);
	if (rc || value < min || value > max)
		return REASON("%.60s is out of range: %" PRIu64 " to %" PRIu64, text, min, max);
	*ret = value;
	return 0;
}

void param_list_policies(char *buf, size_t size)
{
	const char *name;
	size_t length = 0;

	for (unsigned int i = 0; (name = policy_name(i)) && length < size; i++)
		length += snprintf(buf + length, size - length, "%s%s", i ? ", " : "", name);
}

static int parse_policy(const char *text, char *ret, char *reason)
{
	char known[PARAM_REASON_SIZE / 2];

	if (policy_find(text)) {
		snprintf(ret, CONFIG_NAME_SIZE, "%s", text);
		return 0;
	}
	param_list_policies(known, sizeof(known));
	return REASON("unknown policy '%.60s'; known: %s", text, known);
}

static const char choice_separator[] = " | ";

/* The words of `form`, first to last: the place and length of number `index`; NULL after the last. */
static const char *choice_word(const struct param *param, int index, int *ret_length)
{
	const char *word = param->form, *end;

	while (index-- && word) {
		word = strstr(word, choice_separator);
		word = word ? word + strlen(choice_separator) : NULL;
	}
	end = word ? strstr(word, choice_separator) : NULL;
	*ret_length = word ? (int)(end ? end - word : (ptrdiff_t)strlen(word)) : 0;
	return word;
}

static int parse_choice(const struct param *param, const char *text, int *ret, char *reason)
{
	const char *word;
	int length;

	for (int i = 0; (word = choice_word(param, i, &length)); i++) {
		if (strlen(text) == (size_t)length && !strncmp(word, text, length)) {
			*ret = i;
			return 0;
		}
	}
	return REASON("'%.60s' is not known: write %s", text, param->form);
}

static int parse_path(const char *text, char *ret, char *reason)
{
	if (*text && *text != '/')
		return REASON("'%.60s' is not an absolute path", text);
	if (strlen(text) >= CONFIG_PATH_SIZE)
		return REASON("path longer than %d bytes", CONFIG_PATH_SIZE - 1);
	snprintf(ret, CONFIG_PATH_SIZE, "%s", text);
	return 0;
}

/* Only then is a path equal to what the kernel prints.  From its first component on. */
static bool path_is_plain(const char *at)
{
	size_t length;

	do {
		length = strcspn(at, "/");
		if (!length || (length <= 2 && !strncmp(at, "..", length)))
			return false;
		at += length;
	} while (*at++);
	return true;
}

static int parse_subtree(const char *text, char *ret, char *reason)
{
	if (strlen(text) >= CONFIG_PATH_SIZE || !path_is_plain(text))
		return REASON("'%.60s' is neither auto, top nor the name of a unit, for example parties.service", text);
	snprintf(ret, CONFIG_PATH_SIZE, "%s", text);
	return 0;
}

static const char *match_text_fault(enum match_kind kind, const char *text)
{
	if (!*text)
		return "nothing stands after the ':'";
	if (strlen(text) >= CONFIG_PATH_SIZE)
		return "longer than 255 bytes";
	if (kind == MATCH_CGROUP && (*text != '/' || !text[1]))
		return "a cgroup is written from its root and below it, for example cgroup:/batch";
	if (kind == MATCH_CGROUP && !path_is_plain(text + 1))
		return "write the cgroup's path plainly, without '//', '/./', '/../' or '/' at the end";
	if (kind == MATCH_UNIT && !path_is_plain(text))
		return "a '/' stands only between units, for example user@1000.service/app.service";
	return NULL;
}

static int parse_match(const char *text, struct match *ret, char *reason)
{
	const char *colon = strchr(text, ':'), *fault;
	struct match match = { 0 };
	uint64_t number = 0;
	int kind = 0;

	while (kind < NR_MATCHES && colon &&
	       (strlen(match_names[kind]) != (size_t)(colon - text) || strncmp(match_names[kind], text, colon - text)))
		kind++;
	if (!colon || kind == NR_MATCHES)
		return REASON("'%.60s' says no kind: write pid:N, port:N, cgroup:PATH, unit:NAME or exe:NAME", text);
	match.kind = kind;
	if (match.kind == MATCH_PID || match.kind == MATCH_PORT) {
		if (parse_number(colon + 1, 1, match.kind == MATCH_PID ? PID_LIMIT : PORT_LIMIT, &number, reason))
			return -EINVAL;
		match.number = number;
	} else {
		fault = match_text_fault(match.kind, colon + 1);
		if (fault)
			return REASON("%s", fault);
		snprintf(match.text, sizeof(match.text), "%s", colon + 1);
	}
	*ret = match;
	return 0;
}

/* "p99.9" -> 999: the tenths keep it an integer. */
static uint32_t percentile_permille(const char *text, size_t length)
{
	const char *digits = text + 1;
	bool whole = length == 3, tenths = length == 5 && text[3] == '.';

	if ((!whole && !tenths) || *text != 'p' || strspn(digits, "0123456789") < 2)
		return 0;
	if (tenths && strspn(text + 4, "0123456789") < 1)
		return 0;
	return (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (tenths ? text[4] - '0' : 0);
}

static int parse_target(const struct param *param, const char *text, struct config_service *ret, char *reason)
{
	size_t length = strcspn(text, " \t<");
	const char *rest = text + length + strspn(text + length, " \t");
	uint32_t permille = percentile_permille(text, length);
	uint64_t ns;

	if (*rest != '<')
		return REASON("'%.60s' is not a target: write for example p99 < 25ms", text);
	if (permille < 500)
		return REASON("'%.*s' is not a percentile: write p50 to p99.9", (int)(length < 60 ? length : 60), text);
	rest += 1 + strspn(rest + 1, " \t");
	if (!config_parse_duration(rest, &ns) && !ns)
		return REASON("a target of zero can never be met: write the latency to keep, for example p99 < 25ms");
	if (parse_duration(param, rest, &ns, reason))
		return -EINVAL;
	ret->percentile_permille = permille;
	ret->target_ns = ns;
	return 0;
}

static int parse_cores(const struct param *param, const char *text, struct config_service *ret, char *reason)
{
	const char *dots = strstr(text, "..");
	char floor[32];
	uint64_t min, max = 0;

	snprintf(floor, sizeof(floor), "%.*s", (int)(dots ? dots - text : (ptrdiff_t)strlen(text)), text);
	if (parse_number(floor, param->min, param->max, &min, reason))
		return -EINVAL;
	if (!dots)
		max = min;
	else if (dots[2] && parse_number(dots + 2, param->min, param->max, &max, reason))
		return -EINVAL;
	if (max && max < min)
		return REASON("floor %" PRIu64 " is above ceiling %" PRIu64 ": write the smaller number first", min,
			      max);
	ret->cores_min = min;
	ret->cores_max = max;
	return 0;
}

int param_parse(const struct param *param, const char *text, void *object, char reason[PARAM_REASON_SIZE])
{
	void *field = (char *)object + param->offset;
	uint64_t number = 0;
	int rc;

	switch (param->type) {
	case PARAM_POLICY:
		return parse_policy(text, field, reason);
	case PARAM_DURATION:
		return parse_duration(param, text, field, reason);
	case PARAM_CHOICE:
		return parse_choice(param, text, field, reason);
	case PARAM_U32:
		rc = parse_number(text, param->min, param->max, &number, reason);
		if (!rc)
			*(uint32_t *)field = number;
		return rc;
	case PARAM_U64:
		return parse_number(text, param->min, param->max, field, reason);
	case PARAM_PROGRAM:
	case PARAM_PATH:
		return parse_path(text, field, reason);
	case PARAM_SUBTREE:
		return parse_subtree(text, field, reason);
	case PARAM_MATCH:
		return parse_match(text, field, reason);
	case PARAM_TARGET:
		return parse_target(param, text, field, reason);
	case PARAM_CORES:
		return parse_cores(param, text, field, reason);
	case PARAM_LINK:
		return network_parse_link(text, field, reason);
	case PARAM_MEMORY:
		return limits_parse_memory(text, field, reason);
	case PARAM_IO:
		return limits_parse_io(text, field, reason);
	case PARAM_BANDWIDTH:
		return limits_parse_bandwidth(text, field, reason);
	case PARAM_EGRESS:
		return limits_parse_egress(text, field, reason);
	}
	return -EINVAL;
}

static void format_match(const struct match *match, char *buf, size_t size)
{
	if (match->kind == MATCH_PID || match->kind == MATCH_PORT)
		snprintf(buf, size, "%s:%" PRIu32, match_names[match->kind], match->number);
	else
		snprintf(buf, size, "%s:%s", match_names[match->kind], match->text);
}

static void format_target(const struct config_service *service, char *buf, size_t size)
{
	char duration[32], tenths[16] = "";

	param_format_duration(service->target_ns, duration, sizeof(duration));
	if (service->percentile_permille % 10)
		snprintf(tenths, sizeof(tenths), ".%" PRIu32, service->percentile_permille % 10);
	snprintf(buf, size, "p%" PRIu32 "%s < %s", service->percentile_permille / 10, tenths, duration);
}

static void format_cores(const struct config_service *service, char *buf, size_t size)
{
	if (service->cores_max == service->cores_min)
		snprintf(buf, size, "%" PRIu32, service->cores_min);
	else if (service->cores_max)
		snprintf(buf, size, "%" PRIu32 "..%" PRIu32, service->cores_min, service->cores_max);
	else
		snprintf(buf, size, "%" PRIu32 "..", service->cores_min);
}

void param_format(const struct param *param, const void *object, char *buf, size_t size)
{
	const void *field = (const char *)object + param->offset;
	const char *word;
	int length;

	switch (param->type) {
	case PARAM_POLICY:
	case PARAM_PROGRAM:
	case PARAM_PATH:
	case PARAM_SUBTREE:
		snprintf(buf, size, "%s", (const char *)field);
		break;
	case PARAM_DURATION:
		param_format_duration(*(const uint64_t *)field, buf, size);
		break;
	case PARAM_CHOICE:
		word = choice_word(param, *(const int *)field, &length);
		snprintf(buf, size, "%.*s", length, word ? word : "");
		break;
	case PARAM_U32:
		snprintf(buf, size, "%" PRIu32, *(const uint32_t *)field);
		break;
	case PARAM_U64:
		snprintf(buf, size, "%" PRIu64, *(const uint64_t *)field);
		break;
	case PARAM_MATCH:
		format_match(field, buf, size);
		break;
	case PARAM_TARGET:
		format_target(field, buf, size);
		break;
	case PARAM_CORES:
		format_cores(field, buf, size);
		break;
	case PARAM_LINK:
		network_format_link(field, buf, size);
		break;
	case PARAM_MEMORY:
		limits_format_memory(field, buf, size);
		break;
	case PARAM_IO:
		snprintf(buf, size, "%s", ((const struct limits *)field)->io_max);
		break;
	case PARAM_BANDWIDTH:
		limits_format_bandwidth(field, buf, size);
		break;
	case PARAM_EGRESS:
		limits_format_egress(field, buf, size);
		break;
	}
}
