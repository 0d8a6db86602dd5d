// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <unistd.h>

#include "cli/wait.h"

/* ECMA-48: erase from the cursor to the end of the line. */
#define ERASE_LINE "\r\033[K"

void progress_init(struct progress *progress, bool quiet)
{
	*progress =
		(struct progress){.out = !quiet && isatty(STDERR_FILENO) ? stderr : NULL};
}

void progress_show(void *arg, const char *phase)
{
	struct progress *progress = arg;

	if (!progress->out)
		return;
	fprintf(progress->out, ERASE_LINE "memtrace: %s ...", phase);
	fflush(progress->out);
	progress->showing = true;
}

uint64_t progress_stopping_ns(void *arg)
{
	const struct progress *progress = arg;

	return progress->waiter ? waiter_stopping_ns(progress->waiter) : 0;
}

void progress_clear(struct progress *progress)
{
	if (!progress->showing)
		return;
	fputs(ERASE_LINE, progress->out);
	fflush(progress->out);
	progress->showing = false;
}
