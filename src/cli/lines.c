// SPDX-License-Identifier: Apache-2.0
#include "cli/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/escape.h"
#include "util/path.h"

/* The directories of --debug-dir, taken apart at ':'. */
static struct error *split_dirs(struct lines *lines, const struct option_list *list)
{
	struct strbuf text = {0};
	size_t count = 0;
	char *save = NULL;

	for (const char *const *value = list->values; *value; value++) {
		strbuf_append(&text, *value);
		strbuf_append_char(&text, ':');
	}
	if (!text.len && !text.failed)
		return NULL;
	lines->dirs_text = strbuf_steal(&text);
	if (!lines->dirs_text)
		return error_no_memory();
	for (const char *at = lines->dirs_text; *at; at++)
		count += *at == ':';
	lines->dirs = calloc(count + 1, sizeof(*lines->dirs));
	if (!lines->dirs)
		return error_no_memory();
	count = 0;
	for (char *dir = strtok_r(lines->dirs_text, ":", &save); dir;
	     dir = strtok_r(NULL, ":", &save))
		lines->dirs[count++] = dir;
	return NULL;
}

struct error *lines_init(struct lines *lines, const struct options *options,
			 const struct proc *proc, struct progress *progress,
			 struct frame_cache *frames)
{
	struct line_options line_options = {
		.debuginfod = options->debuginfod,
		.wait = {progress_is_late, progress},
		.progress = progress_show,
		.progress_arg = progress,
	};
	struct error *err;

	*lines = (struct lines){.finder = NULL};
	if (options->no_demangle)
		frame_cache_keep_mangled(frames);
	if (options->no_lines)
		return NULL;

	const char *urls = getenv("DEBUGINFOD_URLS");

	if (options->debuginfod && (!urls || !*urls) && !options->quiet)
		fprintf(stderr, "memtrace: --debuginfod: DEBUGINFOD_URLS is not set, so "
				"there is no server to ask\n");
	err = split_dirs(lines, &options->debug_dirs);
	line_options.debug_dirs = lines->dirs;
	if (!err)
		err = line_finder_create(proc, &line_options, &lines->finder);
	if (err) {
		lines_deinit(lines);
		return err;
	}
	frame_cache_set_lines(frames, lines->finder);
	return NULL;
}

void lines_deinit(struct lines *lines)
{
	line_finder_destroy(lines->finder);
	free(lines->dirs);
	free(lines->dirs_text);
	*lines = (struct lines){.finder = NULL};
}

/* The package of Debian and Ubuntu that has the debug info of a well-known library. */
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

static void say_missing(const struct line_missing *missing, const char *path)
{
	if (missing->why)
		fprintf(stderr,
			"memtrace: no source lines for %s: %s; %s, --debug-dir or "
			"--debuginfod may have them\n",
			path, missing->why, debug_package(missing->path));
	else
		fprintf(stderr,
			"memtrace: no inlined functions for code of %s: its .dwo files "
			"were not found; %s.dwp or --debug-dir may have them\n",
			path, path);
}

void lines_say_missing(struct lines *lines)
{
	struct line_missing missing;

	if (!lines->finder)
		return;
	while (line_finder_next_missing(lines->finder, &missing)) {
		_cleanup_(freep) char *path = escape_dup(missing.path);

		say_missing(&missing, path ? path : "?");
	}
}
