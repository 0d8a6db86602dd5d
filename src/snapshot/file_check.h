/* SPDX-License-Identifier: Apache-2.0 */
/* From the tables of a file to a snapshot that can be trusted. Private to snapshot/. */
#ifndef SNAPSHOT_FILE_CHECK_H
#define SNAPSHOT_FILE_CHECK_H

#include "snapshot/file_tables.h"
#include "util/error.h"

/* Check that everything fits together, and move modules, losses and ends to their places
 * in content->snap. ERROR_MALFORMED says what does not. */
struct error *file_check(struct file_content *content)
	__attribute__((warn_unused_result));

#endif
