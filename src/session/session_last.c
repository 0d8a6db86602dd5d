// SPDX-License-Identifier: Apache-2.0
/* The report of a run whose main thread is stuck (progress/last_report.h). */
#include "session/session_private.h"

#include <signal.h>

#include "util/fd_table.h"
#include "util/open_helper.h"
#include "util/say_error.h"
#include "util/say_note.h"

static void say(const struct last_report_options *options)
{
	say_note("reading %s takes too long, because a file system does not answer: "
		 "memtrace reports what it knows%s, and ends",
		 options->reading,
		 options->is_named ? "" : ", without further names of functions");
}

/* The helper and the locks of threads belong to the parent. */
static void start_opener(bool is_named)
{
	struct error *err = NULL;

	open_helper_remove();
	fd_table_cut_off();
	if (is_named)
		err = session_start_opener();
	open_helper_hurry();
	/* Without it, opening a file may hang. Then a second child tries no names. */
	error_destroy(err);
}

enum last_report_result session_last_report(void *arg,
					    const struct last_report_options *options)
{
	struct session *s = arg;
	struct error *err;

	if (s->kernel_tracer && !tracer_cut_off(s->kernel_tracer))
		return LAST_REPORT_AGAIN;
	start_opener(options->is_named);
	if (!tracees_cut_off(&s->tracees, options->is_named))
		return LAST_REPORT_AGAIN;
	/* A search for unreachable blocks would read the memory of the processes. */
	s->search = NULL;
	progress_clear(&s->progress);
	say(options);
	err = session_report(s,
			     options->signal == SIGHUP ? REPORT_HANGUP : REPORT_STOPPED);
	if (err)
		say_error("", err, "");
	(void)outputs_say_unwritten(&s->outputs);
	open_helper_stop();
	return err ? LAST_REPORT_FAILED : LAST_REPORT_DONE;
}
