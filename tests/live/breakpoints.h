/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIVE_BREAKPOINTS_H
#define LIVE_BREAKPOINTS_H

#include <stddef.h>
#include <sys/types.h>

/* How many bytes in the executable mappings of the process's files differ from the files.
 * Each breakpoint of a uprobe changes one byte. */
size_t breakpoints_count(pid_t pid);

#endif
