/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that only read snapshot files: no target, no tracing, no root. */
#ifndef OUTPUT_OFFLINE_H
#define OUTPUT_OFFLINE_H

#include "options/options.h"
#include "output/output.h"
#include "output/report_setup.h"
#include "symbol/debug_store.h"

/* One such run, with what its reports are made by and their destination; both are
 * borrowed. */
typedef struct error *offline_fn(const struct options *options,
				 const struct report_setup *setup, struct output *output);

/* Give up root's user id and all privileges: output files are created by a child process
 * (output/writer.h). Called after the snapshots are opened and before they are read. If a
 * sandbox forbids some of it, a warning says so, and the run goes on. */
struct error *offline_shed(void) __attribute__((warn_unused_result));
/* The same by another function of confined/shed.h. */
struct error *offline_shed_for(struct error *(*shed)(void))
	__attribute__((warn_unused_result));

/* With --debug-dir, start the child that reads debug files; else *ret is NULL. Called
 * before offline_shed(). The caller destroys the store. */
struct error *offline_debug_store(const struct options *options, struct debug_store **ret)
	__attribute__((warn_unused_result));

/* Read the filter files, start the child that creates files, open the output and run
 * `fn`, which calls offline_shed(). */
struct error *offline_run(const struct options *options, offline_fn *fn)
	__attribute__((warn_unused_result));

#endif
