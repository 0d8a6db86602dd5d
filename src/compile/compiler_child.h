/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol between memtrace and a child process that compiles. */
#ifndef COMPILE_COMPILER_CHILD_H
#define COMPILE_COMPILER_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Most descriptors in a message: for the maps and for one file. */
#define MESSAGE_MAX_FDS 64

enum message_kind {
	/* From memtrace: compile. Descriptors: a file, and perhaps the mount with the
	 * embedded headers (headers.mount_fd). The file has strings, each with its NUL:
	 * the path of the headers, which the mount replaces; the source; then the
	 * flags. */
	MESSAGE_COMPILE,
	/* From the child: */
	MESSAGE_STARTED, /* `pid` is its process id */
	/* success. Descriptors: the maps by their index in the code, then a file with the
	 * output of code_pack(). */
	MESSAGE_COMPILED,
	MESSAGE_FAILED, /* `text` says why; the log file has details */
};

struct message {
	uint32_t kind;
	int32_t pid;
	char text[256];
};

/* What a child has of memtrace. */
struct compiler_end {
	int socket; /* for messages */
	int log_fd; /* for all its output */
};

/* Send a message with `fd_count` descriptors. Returns 0 or an errno value. */
int message_send(int socket, const struct message *message, const int fds[],
		 size_t fd_count);

/* Receive a message. Its descriptors go to fds[], which has room for MESSAGE_MAX_FDS, and
 * their number to *fd_count. Returns 0, an errno value, or EPIPE if the other side has
 * closed the socket. */
int message_receive(int socket, struct message *message, int fds[], size_t *fd_count);

/* Run the child of `parent`: load libbcc, wait for MESSAGE_COMPILE on the socket of
 * ends[0], and answer it. For each further end, once libbcc is loaded, another child of
 * `parent` does the same and begins with MESSAGE_STARTED. A child is killed when its
 * parent dies, and ends when the other side closes the socket. Does not return. */
_Noreturn void compiler_child_run(pid_t parent, const struct compiler_end ends[],
				  size_t count);

#endif
