// SPDX-License-Identifier: Apache-2.0
#include "render/json/values.h"

#include "util/cleanup.h"
#include "util/escape.h"

json_int_t json_clamp(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (json_int_t)n;
}

json_t *json_unsigned(uint64_t n)
{
	return json_integer(json_clamp(n));
}

json_t *json_text(const char *text)
{
	_cleanup_(freep) char *escaped = text ? escape_dup(text) : NULL;

	if (!text)
		return json_null();
	return escaped ? json_string(escaped) : NULL;
}
