/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the system calls that may block on a file system in a child process, and fails
 * with ETIMEDOUT if it does not answer in time: docs/mechanisms.md, "Kernel calls that
 * wait". A process has one such child. Any thread may call. Without a child (in a unit
 * test, with --replay, in a confined child) the calls are made in this process and may
 * block.
 */
#ifndef UTIL_OPEN_HELPER_H
#define UTIL_OPEN_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "util/error.h"

struct open_helper_options {
	/* Called in the child before it serves, to give up privileges. NULL: keep
	 * them. */
	void (*shed)(void);
	/* Called when a file system has stopped answering, with the requested path, by
	 * any thread. NULL: not reported. */
	void (*warn)(const char *path);
};

/* Start the child. The process must have one thread. */
struct error *open_helper_start(const struct open_helper_options *options)
	__attribute__((warn_unused_result));

/* Kill the child, if there is one. A child that is blocked on a file system exits when
 * the call returns. It holds no descriptor that another process waits for. */
void open_helper_stop(void);

/* Call this in a forked child: it has no helper. */
void open_helper_remove(void);

/* The run is ending: from now on wait only briefly. */
void open_helper_hurry(void);

/* The number of calls that failed with ETIMEDOUT. */
uint64_t open_helper_given_up(void);

/* openat2(2) with O_PATH and O_CLOEXEC; `root_fd` may be AT_FDCWD. Returns a descriptor
 * owned by the caller, or -1 with errno set. */
int open_helper_find(int root_fd, const char *path, uint64_t flags, uint64_t resolve);

/* Open the file of an O_PATH descriptor for reading: a regular file or, with
 * O_DIRECTORY in `flags`, a directory. Returns a descriptor owned by the caller, or -1
 * with errno set. The beginning of a file on a network is read, so that later reads
 * find it in memory. */
int open_helper_reopen(int place, int flags);

/* f_type of statfs(2), or 0: unknown. */
uint64_t open_helper_system(int fd);

/* May reading the file of an O_PATH descriptor hang: is it on a server, or does its file
 * system not answer? */
bool open_helper_may_hang(int place);

/* readlinkat(2) of the symbolic link of an O_PATH descriptor. */
ssize_t open_helper_readlink(int place, char *ret, size_t size);

/* fstatat(2) of the path, or for "" of the descriptor, without asking a server: size
 * and times are the cached ones. Returns 0, or -1 with errno set. */
int open_helper_stat(int fd, const char *path, struct stat *ret);

#endif
