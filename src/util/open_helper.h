/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that wait for a file system: looking up a path, opening a file,
 * statfs(2) and readlink(2). A server that does not answer holds whoever makes such a
 * call, and no signal ends the wait. So a child process makes them. If it does not answer
 * in time the call fails here with ETIMEDOUT, and this process goes on.
 *
 * What the kernel can answer at once does not go through the child. A file system that
 * keeps one call waiting gets no other one until it has answered, so that a thousand
 * files on it cost no more time than one.
 *
 * There is one such child in a process. Any thread may call. Where there is no child (a
 * unit test, --replay, a confined child) the calls are made here, and wait.
 */
#ifndef UTIL_OPEN_HELPER_H
#define UTIL_OPEN_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "util/error.h"

struct open_helper_options {
	/* In the child, before it serves: give up privileges. NULL: keep them. */
	void (*shed)(void);
	/* A file system has begun not to answer; `path` is what was asked for. Called by
	 * any thread. NULL: nobody listens. */
	void (*warn)(const char *path);
};

/* Start the child. To be called while the process has one thread. */
struct error *open_helper_start(const struct open_helper_options *options)
	__attribute__((warn_unused_result));

/* End the child, if there is one. One that waits for a file system is left behind: it is
 * killed, has no descriptor that others wait for, and is gone when the wait is over. */
void open_helper_stop(void);

/* In a child of this process: it has no such helper. */
void open_helper_forget(void);

/* The run is to end: do not wait for long any more. */
void open_helper_hurry(void);

/* The calls that have failed with ETIMEDOUT. */
uint64_t open_helper_given_up(void);

/* openat2(2) with O_PATH and O_CLOEXEC; `root_fd` may be AT_FDCWD. Returns a descriptor,
 * which is the caller's, or -1 with errno set. */
int open_helper_find(int root_fd, const char *path, uint64_t flags, uint64_t resolve);

/* Open for reading what an O_PATH descriptor stands for, which is a regular file or with
 * O_DIRECTORY in `flags` a directory. The result is as above. Of a file that comes over a
 * network the beginning is read, so that later reads find it in memory. */
int open_helper_reopen(int place, int flags);

/* f_type of statfs(2), or 0: unknown. */
uint64_t open_helper_system(int fd);

/* readlinkat(2) of the symbolic link that an O_PATH descriptor stands for. */
ssize_t open_helper_readlink(int place, char *ret, size_t size);

/* fstatat(2) of the path, or for "" of the descriptor itself, but with the size and times
 * that the kernel knows: no server is asked. 0, or -1 with errno set. */
int open_helper_stat(int fd, const char *path, struct stat *ret);

#endif
