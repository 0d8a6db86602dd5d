/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers to the system calls with a path of a confined process (seccomp_unotify(2)).
 * The process gets descriptors of regular files that are open for reading, O_PATH
 * descriptors, directories of /proc, and what stat(2) and readlink(2) tell. Which files
 * it may have a policy decides. The path is copied once, and the call itself is never
 * executed, so what the process writes meanwhile changes nothing.
 */
#ifndef CONFINED_BROKER_H
#define CONFINED_BROKER_H

#include <stdbool.h>

struct broker_policy {
	/*
	 * Find what `path` leads to: from the directory `dir` (-1: `path` is absolute),
	 * without following a link at its end if `no_follow`. Returns an O_PATH
	 * descriptor, which is the caller's, or -1 with errno set.
	 */
	int (*find)(void *arg, int dir, const char *path, bool no_follow);
	void *arg;
	/* May the process read the regular file `fd`, which find() has found and which is
	 * open for reading? NULL: any. */
	bool (*may_read)(void *arg, int fd);
};

struct broker {
	int listener; /* of the process's filter; owned; -1: it has none */
	int memory;   /* /proc/PID/mem of the process, for reading and writing; owned */
	int process;  /* its pidfd; borrowed */
	int pid;
};

/* Close what it owns. */
void broker_deinit(struct broker *broker);

/* Answer one call. False: there is nobody to answer any more. */
bool broker_answer(const struct broker *broker, const struct broker_policy *policy);

#endif
