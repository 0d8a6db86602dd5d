/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a valid snapshot from the tables of a file. Private to snapshot/. */
#ifndef SNAPSHOT_FILE_CHECK_H
#define SNAPSHOT_FILE_CHECK_H

#include "snapshot/file_tables.h"
#include "util/error.h"

/* Check the consistency of `content`, and move modules, losses and ends to their places
 * in content->snap. ERROR_MALFORMED names the inconsistency. */
struct error *file_check(struct file_content *content)
	__attribute__((warn_unused_result));

#endif
