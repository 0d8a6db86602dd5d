/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that makes moments and writes files, so that the screen answers keys
 * meanwhile. It does one thing at a time. While it writes, it only reads the moment,
 * which stays, because no other moment is made before it has finished.
 */
#ifndef SCREEN_LOADER_H
#define SCREEN_LOADER_H

#include "options/options.h"
#include "output/writer.h"
#include "screen/moment.h"

struct loader;

struct loader_result {
	struct moment *moment; /* owned by the caller; NULL: none was made */
	char *written;         /* the path of the file that was written, owned; or NULL */
	struct error *err;     /* owned; NULL: none */
};

/* Start the thread. `options` and `writer` (NULL: this process creates files) are
 * borrowed; options->files are the names of what loader_write() writes. */
struct error *loader_start(const struct moment_options *how,
			   const struct options *options, struct writer *writer,
			   struct loader **ret) __attribute__((warn_unused_result));
/* Wait until it has finished, and stop it. NULL does nothing. */
void loader_stop(struct loader *loader);

/* Is it at work, or has a result that was not taken? */
bool loader_is_busy(struct loader *loader);
/* Begin; only if it is not busy. Takes ownership of `file`. `with_steps`: the moment will
 * be shown as a call tree (moment_options.with_steps). */
void loader_load(struct loader *loader, struct snapshot_file *file, bool with_steps);
/* Write `moment` to a file of this kind, under the first name that is free. */
void loader_write(struct loader *loader, const struct moment *moment,
		  enum output_kind kind);

/* Readable when there is a result. Borrowed. */
int loader_fd(const struct loader *loader);
/* Take the result. False: not ready. */
bool loader_take(struct loader *loader, struct loader_result *ret);

#endif
