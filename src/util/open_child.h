/* SPDX-License-Identifier: Apache-2.0 */
/* The child process memtrace-open, which makes the calls that a file system may not
 * answer, for open_helper.c; and the calls themselves. */
#ifndef UTIL_OPEN_CHILD_H
#define UTIL_OPEN_CHILD_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* include/uapi/linux/openat2.h, Linux 5.12 */
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

/* Concurrent calls. Each file system that does not answer occupies one of them, and
 * each of our threads makes one call at a time. */
#define OPEN_LANES 7

enum open_kind {
	OPEN_FIND,
	OPEN_REOPEN,
	OPEN_SYSTEM,
	OPEN_READLINK,
};

struct open_request {
	uint32_t kind;
	uint32_t has_fd;
	uint64_t flags, resolve;
	char path[PATH_MAX];
};

struct open_reply {
	int64_t result; /* a length or 0, or a negative errno value */
	uint64_t system;
	char text[PATH_MAX];
};

/* openat2(2) with O_PATH and these flags. Returns a descriptor, or -1 with errno set. */
int open_call_find(int root_fd, const char *path, uint64_t flags, uint64_t resolve);

/* Open for reading what an O_PATH descriptor stands for, without waiting for a lease on
 * it to be given up (F_SETLEASE). Returns as open_call_find(). */
int open_call_reopen(int place, int flags);

/* The type of the file system (f_type of statfs(2)); 0: unknown. */
uint64_t open_call_system(int fd);

/* Do servers answer for files of this file system (f_type of statfs(2))? */
bool open_call_is_of_server(uint64_t system);

/* The child's life: give up privileges by `shed` (NULL: keep them), then answer the
 * requests of each of the OPEN_LANES sockets until the parent, whose process id is given,
 * has closed them. */
_Noreturn void open_child_run(void (*shed)(void), const int lanes[OPEN_LANES],
			      int parent);

#endif
