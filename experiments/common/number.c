// SPDX-License-Identifier: GPL-2.0
/*
 * number.c - numbers of the command line.  Pure: text in, numbers out; prints no message.
 */
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno == ERANGE || value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

/* The digits and the point only: no sign, exponent, hexadecimal, "inf" or "nan". */
static int split_real(const char *text, double *ret, const char **ret_unit)
{
	size_t length = strspn(text, "0123456789.");
	char *end;
	double value;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	value = strtod(text, &end);
	if (end != text + length)
		return -EINVAL;
	*ret = value;
	*ret_unit = end;
	return 0;
}

int number_parse_real(const char *text, double min, double max, double *ret)
{
	const char *unit;
	double value;
	int err = split_real(text, &value, &unit);

	if (err || *unit)
		return -EINVAL;
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

int number_parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		double scale_ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 } };
	const char *unit;
	double value;
	unsigned int i;
	int err = split_real(text, &value, &unit);

	if (err)
		return err;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].name))
			continue;
		value *= units[i].scale_ns;
		if (value < 1 || value > 24 * 3600e9)
			return -ERANGE;
		*ret_ns = (uint64_t)(value + 0.5);
		return 0;
	}
	return -EINVAL;
}
