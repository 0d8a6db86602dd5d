/* SPDX-License-Identifier: Apache-2.0 */
/* Access to files that the kernel checks when they are opened (landlock(7)). */
#ifndef CONFINED_LANDLOCK_H
#define CONFINED_LANDLOCK_H

#include <stdbool.h>

/*
 * Permit the calling thread, and threads that it creates later, to open files only for
 * reading, for good: no opening for writing and no change of a directory, whoever owns
 * the file. Open descriptors and attributes of files, such as their modes, are not
 * covered. Sets no_new_privs. False: the kernel lacks Landlock (Linux 5.13).
 */
bool landlock_forbid_writing(void);

#endif
