/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot as a file: everything that is in a struct snapshot, so that another machine
 * makes the same reports of it. FORMAT.md, in this directory, describes the bytes.
 */
#ifndef SNAPSHOT_FILE_H
#define SNAPSHOT_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "snapshot/snapshot.h"
#include "util/error.h"

/*
 * Write `snap`, which must be whole: what is an index has to be one of something that is
 * there. The caller flushes and checks `out`; a failed write of the stream is not
 * reported here. Fails only when memory is out.
 */
struct error *snapshot_write(const struct snapshot *snap, FILE *out)
	__attribute__((warn_unused_result));

/*
 * Read what snapshot_write() wrote, from where `in` stands to its end. Nothing in it is
 * trusted: memory stays below a few hundred times `size_bytes`, which is what `in`
 * has (of real snapshots it is ten times at most), and what is returned is
 * consistent: every index is one of something that is there, numbers are finite.
 * ERROR_MALFORMED (not a snapshot, cut short, damaged), ERROR_UNSUPPORTED (written by a
 * newer memtrace), ERROR_IO; the message goes behind the name of the file.
 */
struct error *snapshot_read(FILE *in, uint64_t size_bytes, struct snapshot **ret)
	__attribute__((warn_unused_result));

#endif
