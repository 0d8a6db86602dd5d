// SPDX-License-Identifier: Apache-2.0
/* Notes about processes on stderr. */
#include "tracees/tracees_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "util/cleanup.h"
#include "util/escape.h"
#include "util/file_limit.h"
#include "util/say_note.h"

/* Notes about children only with -v, because there may be thousands of them. */
static bool is_noted(const struct tracees *ts, const struct tracee *t)
{
	return !ts->options->quiet && (t->asked_for || ts->options->verbose);
}

bool tracees_may_list(struct tracees *ts, const struct tracee *t)
{
	if (!is_noted(ts, t))
		return false;
	if (ts->options->verbose || ts->listed < LISTED_MAX) {
		ts->listed++;
		return true;
	}
	if (!ts->unlisted++)
		say_note("processes have loaded %d libraries and programs; further ones "
			 "are not listed (-v lists all)",
			 LISTED_MAX);
	return false;
}

void tracees_say_unlisted(const struct tracees *ts)
{
	if (ts->unlisted)
		say_note("%" PRIu64
			 " more libraries and programs were loaded (-v lists all)",
			 ts->unlisted);
}

void tracees_note(const struct tracees *ts, const struct tracee *t, const char *format,
		  ...)
{
	_cleanup_(freep) char *command = escape_dup(t->command);
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	va_list ap;

	if (!is_noted(ts, t))
		return;
	va_start(ap, format);
	strbuf_appendv(&text, format, ap);
	va_end(ap);
	say_note("pid %d (%s) %s", t->pid, command ? command : "?", strbuf_text(&text));
}

struct error *tracees_pass_over(struct tracees *ts, struct error *err)
{
	if (err->code == ERROR_NO_MEMORY)
		return err;
	ts->left_out += tracees_note_descriptors(ts, err);
	error_destroy(err);
	return NULL;
}

bool tracees_note_descriptors(struct tracees *ts, const struct error *err)
{
	if (!file_limit_is_reached(err))
		return false;
	if (!ts->lacks_descriptors)
		say_note("no file descriptor is left: new processes and files may not be "
			 "traced; raise the hard limit (ulimit -Hn)");
	ts->lacks_descriptors = true;
	return true;
}
