// SPDX-License-Identifier: Apache-2.0
#include "render/formats.h"

#include <inttypes.h>
#include <string.h>

#include "render/paths.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

/*
 * flamegraph.pl takes a number at the end of a stack for a first of two values, and all
 * readers cut at spaces from the right: a space stays where it is only if something else
 * than digits and dots follows it.
 */
static bool is_safe_space(const char *text, const char *space)
{
	const char *rest = space + 1;

	return space != text && rest[strspn(rest, "0123456789. ")];
}

static void append_frame(struct strbuf *out, const char *text)
{
	for (const char *at = text; *at; at++) {
		if (*at == ';' || (*at == ' ' && !is_safe_space(text, at)))
			strbuf_appendf(out, "\\x%02x", (unsigned)*at);
		else
			strbuf_append_char(out, *at);
	}
}

static void write_paths(const struct paths *paths, char *const *texts, FILE *out)
{
	vec_foreach (path, &paths->list) {
		for (size_t i = 0; i < path->depth; i++) {
			if (i)
				fputc(';', out);
			fputs(texts[paths->steps.data[path->first + i]], out);
		}
		fprintf(out, " %" PRIu64 "\n", path->size_bytes);
	}
}

static struct error *render_collapsed(const struct report *report, FILE *out)
{
	_cleanup_(paths_deinit) struct paths paths;
	_cleanup_(strbuf_deinit) struct strbuf all = {0};
	struct error *err = paths_init(&paths, report, PATHS_ROOT_FIRST);

	if (err)
		return err;

	/* The texts lie behind each other in `all`; first as offsets, which do not move.
	 */
	size_t count = paths.names.list.len;
	_cleanup_(freep) char **texts = calloc(count, sizeof(*texts));
	_cleanup_(freep) size_t *offsets = calloc(count, sizeof(*offsets));

	if (!texts || !offsets)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		offsets[i] = all.len;
		append_frame(&all, paths.names.list.data[i].text);
		strbuf_append_char(&all, '\0');
	}
	if (all.failed)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		texts[i] = all.data + offsets[i];
	write_paths(&paths, texts, out);
	return NULL;
}

const struct renderer collapsed_renderer = {
	.name = "collapsed",
	.render = render_collapsed,
};
