/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and lines of processes, found out by a confined child (confined/confined.h): ELF,
 * DWARF and mangled names are bytes that the target may have made. If the child ends,
 * another one is started, a few times. The process that it was at work for has no new
 * names from then on; all others go on.
 */
#ifndef SYMBOL_READER_H
#define SYMBOL_READER_H

#include <stdbool.h>

#include "symbol/names_service.h"
#include "symbol/symbolizer.h"
#include "target/proc.h"
#include "util/error.h"

struct reader;

struct reader_options {
	struct names_options names;
	size_t open_max; /* processes at a time; 0: 256 */
	/* What the child says while it is busy, or NULL. */
	void (*progress)(void *arg, const char *phase);
	void *progress_arg;
	/* True: wait for servers and for files no longer. NULL: never. */
	bool (*is_late)(void *arg);
	void *is_late_arg;
	/* A line for the user, without newline, or NULL. */
	void (*warn)(void *arg, const char *text);
	void *warn_arg;
};

/* Start the child. `options` is copied; what it points to is borrowed. */
struct error *reader_create(const struct reader_options *options, struct reader **ret)
	__attribute__((warn_unused_result));
/* End the child. Symbolizers must be destroyed before. NULL is fine. */
void reader_destroy(struct reader *reader);

/* For the tests: the child's pid. */
int reader_pid(const struct reader *reader);

/* Names and lines for `proc`, which is borrowed, as is the reader. The child opens every
 * file that the process has mapped as code, at once for the first `open_max` processes.
 * Of more the last ones that were asked about are open. */
struct error *reader_symbolizer_create(struct reader *reader, const struct proc *proc,
				       struct symbolizer **ret)
	__attribute__((warn_unused_result));

/* Has the child not opened the files of the process of this symbolizer of a reader? It
 * does so later, if the process is there yet then. */
bool reader_is_unopened(const struct symbolizer *symbolizer);

/* A file that was asked for lines and has none, as of line_finder_next_missing(). */
struct reader_missing {
	char *path;
	char *why; /* NULL: there are lines, but no inlined functions */
};

/* The next such file of a symbolizer of a reader. The strings are the caller's. */
bool reader_next_missing(struct symbolizer *symbolizer, struct reader_missing *ret);
void reader_missing_deinit(struct reader_missing *missing);

#endif
