/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the system calls with a path of a confined process (seccomp_unotify(2)). The
 * process gets descriptors of regular files and directories open for reading, and results
 * of stat(2) and readlink(2). A policy decides which
 * files it may open. The path is copied once and the kernel never executes the call
 * itself, so the process cannot change the path after the check.
 */
#ifndef CONFINED_BROKER_H
#define CONFINED_BROKER_H

#include <stdbool.h>

struct broker_policy {
	/*
	 * Find what `path` leads to, from the directory `dir` (-1: `path` is absolute).
	 * With `no_follow` a final symbolic link is not followed. Returns an O_PATH
	 * descriptor, owned by the caller, or -1 with errno set.
	 */
	int (*find)(void *arg, int dir, const char *path, bool no_follow);
	void *arg;
	/* May `place`, an O_PATH descriptor of a regular file or a directory, be opened?
	 * find() found it by `path` (NULL: from a directory). Not asked for files that
	 * the process has open. NULL: every file. */
	bool (*may_open)(void *arg, const char *path, int place);
	/* May the process read the regular file `fd`? It was found by find() and is
	 * open for reading. NULL: every file. */
	bool (*may_read)(void *arg, int fd);
};

struct broker {
	int listener; /* listener of the process's filter; owned; -1: none */
	int memory;   /* /proc/PID/mem of the process, for reading and writing; owned */
	int process;  /* its pidfd; borrowed */
	int pid;
};

/* Close the owned descriptors. */
void broker_deinit(struct broker *broker);

/* Answer one call. False: the process has exited. */
bool broker_answer(const struct broker *broker, const struct broker_policy *policy);

#endif
