// SPDX-License-Identifier: Apache-2.0
#include "frames/filter_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "frames/short_name.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/glob.h"
#include "util/path.h"

/* Maximum number of scopes that are left out one after the other. Handwritten names have
 * fewer. */
#define SCOPES_MAX 64

static const struct {
	const char *prefix;
	unsigned places;
} prefixes[] = {
	{"fn:", FILTER_FUNCTION},
	{"mod:", FILTER_MODULE},
	{"src:", FILTER_SOURCE},
};

/* An unknown prefix is a word of lower-case letters and a single colon, as in "file:*".
 * "std::vector*" has no prefix. */
static bool has_unknown_prefix(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz");

	return len && text[len] == ':' && text[len + 1] != ':';
}

struct error *filter_pattern_init(const char *text, struct filter_pattern *ret)
{
	const char *glob = text, *wrong = NULL;

	*ret = (struct filter_pattern){.places = FILTER_FUNCTION | FILTER_MODULE};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t len = strlen(prefixes[i].prefix);

		if (strncmp(text, prefixes[i].prefix, len))
			continue;
		glob = text + len;
		ret->places = prefixes[i].places;
	}
	if (glob == text && has_unknown_prefix(text))
		wrong = "what is before the ':' is not known";
	else
		wrong = glob_check(glob);
	if (wrong) {
		_cleanup_(freep) char *shown = escape_dup(text);

		if (!shown)
			return error_no_memory();
		return error_create(ERROR_USAGE,
				    "expected GLOB, fn:GLOB, mod:GLOB or src:GLOB (such "
				    "as 'parse_*' or 'mod:libxml2*'); got '%s': %s",
				    shown, wrong);
	}
	ret->glob = strdup(glob);
	return ret->glob ? NULL : error_no_memory();
}

struct error *filter_pattern_init_template(const char *text, struct filter_pattern *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf glob = {0};
	const char *at = text;

	if (*at == '^')
		at++;
	else
		strbuf_append_char(&glob, '*');
	for (; *at && *at != '$'; at++) {
		if (strchr("?[\\", *at))
			strbuf_append_char(&glob, '\\');
		strbuf_append_char(&glob, *at);
	}
	if (!*at)
		strbuf_append_char(&glob, '*');
	*ret = (struct filter_pattern){
		.places = FILTER_FUNCTION | FILTER_MODULE | FILTER_SOURCE,
		.glob = strbuf_steal(&glob),
	};
	return ret->glob ? NULL : error_no_memory();
}

void filter_pattern_deinit(struct filter_pattern *pattern)
{
	free(pattern->glob);
	pattern->glob = NULL;
}

static bool matches_path(const char *glob, const char *path)
{
	return path && (glob_match(glob, path) || glob_match(glob, path_base_name(path)));
}

static bool matches_short_name(const char *glob, const char *symbol)
{
	_cleanup_(strbuf_deinit) struct strbuf name = {0};
	const char *at;

	short_name_append(&name, symbol);
	at = strbuf_text(&name);
	for (unsigned scopes = 0; scopes < SCOPES_MAX; scopes++) {
		if (glob_match(glob, at))
			return true;
		at = strstr(at, "::");
		if (!at)
			return false;
		at += strlen("::");
	}
	return false;
}

static bool matches_function(const struct filter_pattern *p, const char *symbol)
{
	return symbol && (glob_match(p->glob, symbol) ||
			  (p->by_short_name && matches_short_name(p->glob, symbol)));
}

bool filter_pattern_matches(const struct filter_pattern *p,
			    const struct report_frame *frame)
{
	return ((p->places & FILTER_FUNCTION) && matches_function(p, frame->symbol)) ||
	       ((p->places & FILTER_MODULE) && matches_path(p->glob, frame->module)) ||
	       ((p->places & FILTER_SOURCE) && matches_path(p->glob, frame->file));
}
