/* SPDX-License-Identifier: Apache-2.0 */
/* Access to files that the kernel checks when they are opened (landlock(7)). */
#ifndef CONFINED_LANDLOCK_H
#define CONFINED_LANDLOCK_H

#include <stdbool.h>

/*
 * Forbid the calling thread, and the threads that it creates later, permanently to open
 * any file for writing and to change any directory. Descriptors that are open stay as
 * they are. Landlock does not cover attributes of files, such as their modes. Sets
 * no_new_privs. Returns false if the kernel lacks Landlock (Linux 5.13).
 */
bool landlock_forbid_writing(void);

#endif
