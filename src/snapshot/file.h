/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot as a file. It contains everything in struct snapshot, so that another
 * machine makes the same reports from it. docs/snapshot-format.md describes the bytes.
 */
#ifndef SNAPSHOT_FILE_H
#define SNAPSHOT_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "snapshot/snapshot.h"
#include "util/error.h"

/*
 * Write `snap`. All its indices must be valid. The caller flushes and checks `out`;
 * failed writes to the stream are not reported here. Fails only when out of memory.
 */
struct error *snapshot_write(const struct snapshot *snap, FILE *out)
	__attribute__((warn_unused_result));

/* The same for snapshot_read_quickly() of this process or its child, in memory: without
 * compression and checksums, and with rows of numbers as they are in memory. Many times
 * faster. */
struct error *snapshot_write_quickly(const struct snapshot *snap, FILE *out)
	__attribute__((warn_unused_result));

/*
 * Read a snapshot from the current position of `in` to its end, `size_bytes` further on.
 * The contents are not trusted. Memory stays below a few hundred times `size_bytes` (ten
 * times for real snapshots). In the result every index is valid, and numbers are finite.
 * ERROR_MALFORMED (no snapshot, cut short, damaged), ERROR_UNSUPPORTED (of a newer
 * memtrace), ERROR_IO; to be printed after the name of the file.
 */
struct error *snapshot_read(FILE *in, uint64_t size_bytes, struct snapshot **ret)
	__attribute__((warn_unused_result));

/* Read what snapshot_write_quickly() has written. Indices are checked as above, but the
 * writer must be trusted: flags are not. */
struct error *snapshot_read_quickly(FILE *in, uint64_t size_bytes, struct snapshot **ret)
	__attribute__((warn_unused_result));

#endif
