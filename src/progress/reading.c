// SPDX-License-Identifier: Apache-2.0
#include "progress/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/escape.h"
#include "util/path.h"
#include "util/say_note.h"
#include "util/vec.h"

/* Make the path absolute, because the reader process has another working directory. A
 * path that does not exist stays as it is. */
static char *absolute(const char *path)
{
	char *whole = realpath(path, NULL);

	return whole ? whole : strdup(path);
}

struct error *reading_split_dirs(const struct option_list *list, char ***ret)
{
	VEC(char *) dirs = {0};
	bool is_whole = true;

	for (const char *const *value = list->values; is_whole && *value; value++) {
		_cleanup_(freep) char *text = strdup(*value);
		char *save = NULL;

		is_whole = text != NULL;
		for (char *dir = text ? strtok_r(text, ":", &save) : NULL;
		     dir && is_whole; dir = strtok_r(NULL, ":", &save))
			is_whole =
				vec_push(&dirs, absolute(dir)) && dirs.data[dirs.len - 1];
	}
	is_whole = vec_push(&dirs, NULL) && is_whole;
	*ret = dirs.data;
	return is_whole ? NULL : error_no_memory();
}

struct error *reading_check_dirs(const struct option_list *list)
{
	char **dirs;
	struct error *err = reading_split_dirs(list, &dirs);

	for (char **dir = dirs; !err && *dir; dir++) {
		_cleanup_(closep) int fd = open(*dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			err = error_errno(ERROR_USAGE, errno, "--debug-dir %s", *dir);
	}
	reading_free_dirs(dirs);
	return err;
}

/* Escaped, because `phase` may contain text that the target controls. */
static void show(void *arg, const char *phase)
{
	const struct reading *reading = arg;
	_cleanup_(freep) char *text = escape_dup(phase);

	progress_show(reading->progress, text ? text : "reading symbols");
}

void reading_warn(void *progress, const char *text)
{
	_cleanup_(freep) char *escaped = escape_dup(text);

	progress_clear(progress);
	say_note("%s", escaped ? escaped : text);
}

struct error *reading_init(struct reading *reading, const struct options *options,
			   int fetch_cache, struct progress *progress)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct error *err;

	*reading = (struct reading){.progress = progress};
	if (options->debuginfod && (!urls || !*urls) && !options->quiet)
		say_note("--debuginfod: DEBUGINFOD_URLS is not set, so no server can be "
			 "asked");
	err = reading_split_dirs(&options->debug_dirs, &reading->dirs);
	if (err)
		return err;

	const struct reader_options reader_options = {
		.names =
			{
				.keep_mangled = options->no_demangle,
				.no_lines = options->no_lines,
				.debuginfod = options->debuginfod,
				.debug_dirs = (const char *const *)reading->dirs,
			},
		.fetch_cache = fetch_cache,
		.progress = show,
		.progress_arg = reading,
		.stopping_ns = progress_stopping_ns,
		.stopping_arg = progress,
		.warn = reading_warn,
		.warn_arg = progress,
	};

	return reader_create(&reader_options, &reading->reader);
}

void reading_free_dirs(char **dirs)
{
	for (char **dir = dirs; dir && *dir; dir++)
		free(*dir);
	free(dirs);
}

void reading_deinit(struct reading *reading)
{
	reader_destroy(reading->reader);
	reading_free_dirs(reading->dirs);
	*reading = (struct reading){.reader = NULL};
}

void reading_begin_observation(const struct reading *reading)
{
	if (reading->reader)
		reader_begin_observation(reading->reader);
}

void reading_begin_report(const struct reading *reading)
{
	if (reading->reader)
		reader_begin_report(reading->reader);
}

void reading_say_lost(const struct reading *reading)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	const char *why;
	unsigned lost = reading->reader ? reader_lost_files(reading->reader, &why) : 0;

	if (!lost)
		return;
	strbuf_appendf(&text,
		       "--debuginfod: %u debug file%s could not be fetched (%s): code "
		       "of their programs and libraries may lack names and source "
		       "lines",
		       lost, lost == 1 ? "" : "s", why);
	reading_warn(reading->progress, strbuf_text(&text));
}

/* The Debian or Ubuntu package with the debug info of a well-known library. */
static const char *debug_package(const char *path)
{
	static const char *const libc[] = {"libc.so.6", "libm.so.6", "libpthread.so.0",
					   "ld-linux-x86-64.so.2"};

	for (size_t i = 0; i < sizeof(libc) / sizeof(*libc); i++) {
		if (!strcmp(path_base_name(path), libc[i]))
			return "the package libc6-dbg";
	}
	return "its package of debug symbols (NAME-dbgsym, NAME-debuginfo)";
}

static void say_missing(const struct reader_missing *missing)
{
	_cleanup_(freep) char *escaped = escape_dup(missing->path);
	const char *path = escaped ? escaped : "?";

	if (missing->why)
		say_note("no source lines for %s: %s; %s, --debug-dir or --debuginfod "
			 "may have them",
			 path, missing->why, debug_package(missing->path));
	else
		say_note("no inlined functions for code of %s: its .dwo files were not "
			 "found; %s.dwp or --debug-dir may have them",
			 path, path);
}

void reading_say_missing(struct symbolizer *symbolizer)
{
	struct reader_missing missing;

	while (symbolizer && reader_next_missing(symbolizer, &missing)) {
		say_missing(&missing);
		reader_missing_deinit(&missing);
	}
}
