/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the mappings of any process of the machine. For other_code.c. */
#ifndef CODE_OTHER_MAPS_H
#define CODE_OTHER_MAPS_H

#include "process/proc.h"

/* How reading the mappings of a process ended. */
enum other_maps {
	OTHER_MAPS_READ,
	OTHER_MAPS_NONE,   /* the process has exited, or is hidden */
	OTHER_MAPS_UNREAD, /* they cannot be read, or are too many */
	OTHER_MAPS_NO_MEMORY,
};

enum other_maps other_maps_read(int pid, struct proc_maps *ret);

#endif
