// SPDX-License-Identifier: Apache-2.0
#include "files/file_name.h"

#include <inttypes.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/strbuf.h"
#include "util/units.h"

bool file_name_is_valid(const char *pattern)
{
	if (!*pattern)
		return false;
	for (const char *at = pattern; (at = strchr(at, '%')); at += 2) {
		if (!at[1] || !strchr("ptn%", at[1]))
			return false;
	}
	return true;
}

bool file_name_has(const char *pattern, char letter)
{
	for (const char *at = pattern; (at = strchr(at, '%')); at += 2) {
		if (at[1] == letter)
			return true;
	}
	return false;
}

struct error *file_name_expand(const char *pattern, const struct file_name_values *values,
			       char **ret)
{
	_cleanup_(strbuf_deinit) struct strbuf name = {0};

	for (const char *at = pattern; *at; at++) {
		if (*at != '%') {
			strbuf_append_char(&name, *at);
			continue;
		}
		switch (*++at) {
		case 'p':
			strbuf_appendf(&name, "%d", values->pid);
			break;
		case 't':
			strbuf_append(
				&name,
				units_format_time(values->wall_ns, "%Y%m%d-%H%M%S").s);
			break;
		case 'n':
			strbuf_appendf(&name, "%" PRIu64, values->number);
			break;
		default:
			strbuf_append_char(&name, '%');
			break;
		}
	}
	*ret = strbuf_steal(&name);
	return *ret ? NULL : error_no_memory();
}
