/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fields.h - a member of a JSON object that may be anything, or missing.  Pure.
 */
#ifndef PARTIES_FIELDS_H
#define PARTIES_FIELDS_H

#include <jansson.h>
#include <math.h>

/* NAN where it is no number. */
static inline double field_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* "" where it is no string. */
static inline const char *field_text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

#endif
