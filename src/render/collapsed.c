// SPDX-License-Identifier: Apache-2.0
#include "render/formats.h"

#include <inttypes.h>
#include <string.h>

#include "render/diff_formats.h"
#include "render/paths.h"
#include "render/texts.h"
#include "util/cleanup.h"

/*
 * Can a space in a name stay? flamegraph.pl takes a number at the end of a stack for the
 * first of two values, and all readers split at spaces from the right. So a space stays
 * only if something other than digits, dots and spaces follows, and not at the start.
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

static void write_paths(const struct paths *paths, const struct texts *texts,
			bool is_difference, FILE *out)
{
	vec_foreach (path, &paths->list) {
		for (size_t i = 0; i < path->depth; i++) {
			if (i)
				fputc(';', out);
			fputs(texts_get(texts, paths->steps.data[path->first + i]), out);
		}
		if (is_difference)
			fprintf(out, " %" PRIu64 " %" PRIu64 "\n", path->old_bytes,
				path->new_bytes);
		else
			fprintf(out, " %" PRIu64 "\n", path->size_bytes);
	}
}

static struct error *render(const struct report *report, bool is_difference, FILE *out)
{
	_cleanup_(paths_deinit) struct paths paths;
	_cleanup_(texts_deinit) struct texts texts = {0}; /* by id of name */
	struct error *err = paths_init(&paths, report, PATHS_ROOT_FIRST);

	if (err)
		return err;
	vec_foreach (name, &paths.names.list) {
		append_frame(&texts.all, name->text);
		texts_end(&texts);
	}
	if (texts.all.failed)
		return error_no_memory();
	write_paths(&paths, &texts, is_difference, out);
	return NULL;
}

static struct error *render_collapsed(const struct report *report, FILE *out)
{
	return render(report, false, out);
}

static struct error *render_difference(const struct report_diff *diff, FILE *out)
{
	return render(&diff->graph, true, out);
}

const struct diff_renderer diff_collapsed = {
	.name = "collapsed",
	.render = render_difference,
};

const struct renderer collapsed_renderer = {
	.name = "collapsed",
	.render = render_collapsed,
};
