// SPDX-License-Identifier: Apache-2.0
#include "output/offline.h"

#include <signal.h>
#include <unistd.h>

#include "output/writer.h"
#include "progress/reading.h"
#include "confined/shed.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/say_error.h"
#include "util/say_note.h"

struct error *offline_shed_for(struct error *(*shed)(void))
{
	struct error *err = shed();

	if (!err || err->code != ERROR_UNSUPPORTED)
		return err;
	say_error("warning: some privileges were kept: ", err, "");
	error_destroy(err);
	return NULL;
}

struct error *offline_shed(void)
{
	return offline_shed_for(shed_for_report);
}

static void warn(void *arg, const char *text)
{
	_cleanup_(freep) char *escaped = escape_dup(text);

	(void)arg;
	say_note("%s", escaped ? escaped : "out of memory");
}

struct error *offline_debug_store(const struct options *options, struct debug_store **ret)
{
	char **dirs;
	struct error *err;

	*ret = NULL;
	if (!options->debug_dirs.values[0])
		return NULL;
	err = reading_split_dirs(&options->debug_dirs, &dirs);
	if (!err)
		err = debug_store_create((const char *const *)dirs, warn, NULL, ret);
	reading_free_dirs(dirs);
	return err;
}

struct error *offline_run(const struct options *options, offline_fn *fn)
{
	_cleanup_(report_setup_deinit) struct report_setup setup;
	struct output output = {.path = NULL};
	struct writer *writer = NULL;
	struct error *err = report_setup_init(
		options, !options->output && isatty(STDOUT_FILENO), &setup);

	/* Make a write beyond RLIMIT_FSIZE fail with an error instead of a signal. */
	signal(SIGXFSZ, SIG_IGN);
	if (!err)
		err = writer_start(options, &writer);
	if (!err)
		err = output_open(options->output, options->force, writer, &output);
	if (!err)
		err = fn(options, &setup, &output);
	output_close(&output);
	writer_stop(writer);
	return err;
}
