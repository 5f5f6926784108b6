// SPDX-License-Identifier: GPL-2.0
/*
 * match_path.c - pure: names and patterns against the path of a control group.  Whose path it is, is match.c's.
 */
#include "match_path.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { COMPONENT_SIZE = 256 };

/* `at` stands on a slash; the next one, or the end. */
static const char *next(const char *at)
{
	return at + 1 + strcspn(at + 1, "/");
}

static bool take_component(const char *at, char component[COMPONENT_SIZE])
{
	return snprintf(component, COMPONENT_SIZE, "%.*s", (int)(next(at) - at - 1), at + 1) < COMPONENT_SIZE;
}

static bool component_fits(const char *pattern, const char *path)
{
	char wanted[COMPONENT_SIZE], have[COMPONENT_SIZE];

	return take_component(pattern, wanted) && take_component(path, have) && !fnmatch(wanted, have, FNM_NOESCAPE);
}

static bool is_any(const char *pattern)
{
	return next(pattern) - pattern == 3 && !strncmp(pattern, "/**", 3);
}

/*
 * The end of the shortest part that fits.  What follows a "**" is tried at one component after the other; once it has fitted,
 * no "**" before it needs to be tried longer.
 */
static const char *end_of_pattern(const char *pattern, const char *path)
{
	const char *after_any = NULL, *again = NULL;

	while (*pattern) {
		if (is_any(pattern)) {
			after_any = pattern = next(pattern);
			again = path;
		} else if (*path && component_fits(pattern, path)) {
			pattern = next(pattern);
			path = next(path);
		} else if (after_any && *again) {
			pattern = after_any;
			path = again = next(again);
		} else {
			return NULL;
		}
	}
	return path;
}

static const char *type_of(const char *name)
{
	static const char *const types[] = { ".service", ".slice", ".scope", ".socket", ".mount", ".swap" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(dot, types[i]))
			return types[i];
	return NULL;
}

/* systemd puts a '_' before the names that would be files of a group ("cpu.service"). */
static const char *without_escape(const char *component)
{
	return component + (*component == '_');
}

static const char *end_of_unit(const char *name, const char *path)
{
	char have[COMPONENT_SIZE];

	for (; *path; path = next(path))
		if (take_component(path, have) && (!strcmp(have, name) || !strcmp(without_escape(have), name)))
			return next(path);
	return NULL;
}

static const char *end_of_units(const char *names, const char *path)
{
	char name[CONFIG_PATH_SIZE + 16];

	for (size_t length; path && *names; names += length + (names[length] == '/')) {
		length = strcspn(names, "/");
		snprintf(name, sizeof(name), "%.*s", (int)length, names);
		if (!type_of(name))
			snprintf(name, sizeof(name), "%.*s.service", (int)length, names);
		path = end_of_unit(name, path);
	}
	return path;
}

size_t match_path_covered(const struct match *match, const char *path)
{
	size_t length = strlen(match->text);
	const char *end;

	if (path[0] != '/' || !path[1])
		return 0;
	if (match->kind == MATCH_UNIT) {
		end = end_of_units(match->text, path);
	} else if (match->kind != MATCH_CGROUP) {
		end = NULL;
	} else if (!strncmp(path, match->text, length) && (!path[length] || path[length] == '/')) {
		end = path + length; /* it may have a bracket in its very name */
	} else {
		end = end_of_pattern(match->text, path);
	}
	return end ? (size_t)(end - path) : 0;
}

const char *match_path_unit(const char *path, char *buf, size_t size)
{
	char have[COMPONENT_SIZE];
	const char *found = NULL;

	for (; *path; path = next(path))
		if (take_component(path, have) && type_of(have))
			found = path;
	if (!found)
		return NULL;
	take_component(found, have);
	snprintf(buf, size, "%s", without_escape(have));
	return buf;
}
