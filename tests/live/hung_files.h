/* SPDX-License-Identifier: Apache-2.0 */
/* A file system that does not answer. It is a FUSE file system whose server is this
 * process. */
#ifndef LIVE_HUNG_FILES_H
#define LIVE_HUNG_FILES_H

#include <stdbool.h>

struct hung_files {
	int fd;     /* /dev/fuse; -1: this kernel has no FUSE */
	char *path; /* the mount point, owned */
};

/* Mount such a file system on a new directory. Returns false if this kernel has no
 * FUSE. */
bool hung_files_mount(struct hung_files *ret);

/* Mount it over an existing directory. hung_files_unmount() keeps the directory if it is
 * not empty. */
bool hung_files_mount_on(const char *path, struct hung_files *ret);

/* Read all waiting requests. Returns how many there were. */
unsigned hung_files_take_all(const struct hung_files *files);

/* Wait until a program accesses a file. It gets no answer. Returns false after
 * `timeout_s`. */
bool hung_files_wait(const struct hung_files *files, double timeout_s);

/* Read the request, like a server that hangs while it works on it. From now on the
 * waiting program cannot even be killed: the kernel waits for the answer. */
void hung_files_take(const struct hung_files *files);

/* Unmount: all waiting requests fail. */
void hung_files_unmount(struct hung_files *files);

#endif
