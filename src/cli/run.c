// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/diff.h"
#include "options/options.h"
#include "cli/prime.h"
#include "cli/replay.h"
#include "session/service.h"
#include "session/session.h"
#include "util/cleanup.h"
#include "util/heap.h"
#include "util/say_error.h"
#include "util/unread.h"

#define EXIT_USAGE  2
#define EXIT_UNREAD (128 + SIGPIPE)

/* All errors that end a run are printed here. The detail keeps its line breaks. */
static void print_error(struct error *err, unsigned verbose)
{
	/* Some messages have advice already. */
	int refused = strstr(err->message, "ulimit") ? 0 : err->saved_errno;

	say_error("", err,
		  err->detail && !verbose ? " (-v shows more)"
		  : refused == EMFILE     ? "; raise the hard limit (ulimit -Hn)"
		  : refused == ENFILE ? "; raise the machine's limit (sysctl fs.file-max)"
		  : refused == ENOMEM
			  ? "; no memory is left, or a control group limits it"
			  : "");
	if (err->detail && verbose)
		fprintf(stderr, "%s\n", err->detail);
	error_destroy(err);
}

/*
 * Open closed standard descriptors. Otherwise the next opened file would get the number,
 * and reports would be written into it. Standard output becomes a directory, so that
 * writes fail and the loss of reports is noticed.
 */
static void open_standard_descriptors(void)
{
	static const struct {
		const char *path;
		int mode;
	} files[] = {{"/dev/null", O_RDONLY}, {"/", O_RDONLY}, {"/dev/null", O_WRONLY}};

	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open(files[fd].path, files[fd].mode) != fd)
			abort();
	}
}

/* For actions that only print. */
static struct error *flush_stdout(int *status)
{
	errno = fd_write_errno(STDOUT_FILENO);
	if (fflush(stdout) || ferror(stdout))
		return error_errno(ERROR_IO, errno, "cannot write to standard output");
	*status = 0;
	return NULL;
}

/* Did the run end because the reader of standard output has ended, as in `| head`? */
static bool is_of_reader(const struct error *err)
{
	return err->saved_errno == EPIPE && fd_is_unread(STDOUT_FILENO);
}

int cli_run(int argc, char *argv[])
{
	open_standard_descriptors();
	heap_keep_some();

	struct options options;
	struct error *err = options_parse(argc, argv, &options);
	int status = SESSION_FAILED;

	if (err) {
		print_error(err, 0);
		return EXIT_USAGE;
	}
	switch (options.action) {
	case ACTION_HELP:
		options_help(stdout, options.help_topic);
		err = flush_stdout(&status);
		break;
	case ACTION_VERSION:
		puts("memtrace " MEMTRACE_VERSION);
		err = flush_stdout(&status);
		break;
	case ACTION_PRIME_CACHE:
		err = prime_run();
		status = err ? SESSION_FAILED : 0;
		break;
	case ACTION_REPLAY:
		err = replay_run(&options);
		status = err ? SESSION_FAILED : 0;
		break;
	case ACTION_DIFF:
		err = diff_run(&options);
		status = err ? SESSION_FAILED : 0;
		break;
	case ACTION_TRACE:
		err = options.wait_for && !options.dry_run
			      ? service_run(&options, print_error, &status)
			      : session_run(&options, NULL, &status);
		break;
	}
	/* A faulty file named by an option is a usage error too. */
	if (err && err->code == ERROR_USAGE)
		status = EXIT_USAGE;
	/* As by SIGPIPE, if that is not ignored. */
	if (err && is_of_reader(err)) {
		error_destroy(err);
		return EXIT_UNREAD;
	}
	if (err)
		print_error(err, options.verbose);
	return status;
}
