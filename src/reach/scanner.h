/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that searches for unreachable blocks (scan.h). Stopping another process and
 * reading its memory needs privileges that memtrace gives up once it traces. So a child
 * does it, which has these and no others (CONFINED_SCANNER). If it is killed, the kernel
 * lets the stopped threads go on.
 */
#ifndef REACH_SCANNER_H
#define REACH_SCANNER_H

#include <stdbool.h>
#include <stdint.h>

#include "reach/scan.h"
#include "util/error.h"

struct reach_scanner;

struct reach_scanner_options {
	struct reach_words words;
	/* Receives what the scanner is doing; may be NULL. */
	void (*progress)(void *arg, const char *phase);
	/* As in struct confined_options. */
	uint64_t (*stopping_ns)(void *arg);
	void *arg; /* of both */
};

/* Start the child. This process must have one thread, and may not have given up its
 * privileges yet. */
struct error *reach_scanner_create(const struct reach_scanner_options *options,
				   struct reach_scanner **ret)
	__attribute__((warn_unused_result));
/* Kill the child. NULL is fine. */
void reach_scanner_destroy(struct reach_scanner *scanner);

/* For tests: the child's pid, or 0. */
int reach_scanner_pid(const struct reach_scanner *scanner);

/* Make room for `count` blocks. *ret is valid until the next call; its contents are not
 * defined. */
struct error *reach_scanner_table(struct reach_scanner *scanner, uint32_t count,
				  struct reach_table *ret)
	__attribute__((warn_unused_result));

/* Keep only the first `count` blocks of the table: their starts and ends. */
void reach_scanner_pack(struct reach_scanner *scanner, uint32_t count,
			struct reach_table *table);

/*
 * reach_scan_first(), reach_scan_stop() and reach_scan_verify() for the process `pid`.
 * `table` is the table that the last reach_scanner_table() or reach_scanner_pack() has
 * set. Several processes may be stopped at the same time. The errors of these functions;
 * and ERROR_GONE if the child has been killed, for example because it took too long.
 */
struct error *reach_scanner_first(struct reach_scanner *scanner, int pid,
				  const struct reach_table *table, uint64_t deadline_ns,
				  struct reach_effort *ret)
	__attribute__((warn_unused_result));
struct error *reach_scanner_stop(struct reach_scanner *scanner, int pid,
				 uint64_t deadline_ns)
	__attribute__((warn_unused_result));
struct error *reach_scanner_verify(struct reach_scanner *scanner, int pid,
				   const struct reach_table *table, uint64_t deadline_ns,
				   struct reach_effort *ret)
	__attribute__((warn_unused_result));

/* Continue all processes that are still stopped, and drop them. */
void reach_scanner_release(struct reach_scanner *scanner);

#endif
