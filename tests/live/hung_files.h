/* SPDX-License-Identifier: Apache-2.0 */
/* A file system that does not answer: FUSE, with this process as its server. */
#ifndef LIVE_HUNG_FILES_H
#define LIVE_HUNG_FILES_H

#include <stdbool.h>

struct hung_files {
	int fd;     /* /dev/fuse; -1: there is none */
	char *path; /* where it is mounted, owned */
};

/* Mount one in a new directory. False: this kernel has no FUSE. */
bool hung_files_mount(struct hung_files *ret);

/* The same over a directory, which stays when it is unmounted. */
bool hung_files_mount_on(const char *path, struct hung_files *ret);

/* Take all requests that wait; how many there were. */
unsigned hung_files_take_all(const struct hung_files *files);

/* Wait until somebody asks for a file; nobody gets an answer. */
bool hung_files_wait(const struct hung_files *files, double timeout_s);

/* Take the request, as a server does that hangs while it works on it. From here on the
 * kernel does not let even a process that was killed go. */
void hung_files_take(const struct hung_files *files);

/* All requests fail from here on. */
void hung_files_unmount(struct hung_files *files);

#endif
