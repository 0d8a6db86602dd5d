// SPDX-License-Identifier: Apache-2.0
#include "serve/query.h"

#include <stddef.h>
#include <string.h>

#include "util/units.h"

static const char *take_seconds(struct query *query, const char *value)
{
	uint64_t n;

	if (!units_parse_integer(value, 0, QUERY_SECONDS_MAX, &n))
		return "seconds must be a whole number from 0 to 600";
	query->seconds = (unsigned)n;
	return NULL;
}

static const char *take_debug(struct query *query, const char *value)
{
	uint64_t n;

	if (!units_parse_integer(value, 0, UINT32_MAX, &n))
		return "debug must be a whole number";
	query->debug = n != 0;
	return NULL;
}

static const char *take_top(struct query *query, const char *value)
{
	if (!units_parse_integer(value, 1, QUERY_TOP_MAX, &query->top))
		return "top must be a whole number from 1 to 10000";
	query->has_top = true;
	return NULL;
}

/* In Go's servers, "gc" collects garbage first. memtrace has nothing to collect, so the
 * value is ignored. */
static const char *take_gc(struct query *query, const char *value)
{
	(void)query;
	(void)value;
	return NULL;
}

const char *query_take(struct query *query, const char *key, const char *value)
{
	static const struct {
		const char *key;
		const char *(*take)(struct query *query, const char *value);
	} parameters[] = {
		{"seconds", take_seconds},
		{"debug", take_debug},
		{"top", take_top},
		{"gc", take_gc},
	};

	for (size_t i = 0; i < sizeof(parameters) / sizeof(*parameters); i++)
		if (!strcmp(parameters[i].key, key))
			return parameters[i].take(query, value ? value : "");
	return NULL;
}

bool query_equals(const struct query *a, const struct query *b)
{
	return a->seconds == b->seconds && a->debug == b->debug &&
	       a->has_top == b->has_top && a->top == b->top;
}
