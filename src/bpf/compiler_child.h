/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of the talk between memtrace and its compiling child. */
#ifndef BPF_COMPILER_CHILD_H
#define BPF_COMPILER_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/headers.h"
#include "bpf/source.h"

/* Of descriptors: of the maps and of one file more. */
#define MESSAGE_MAX_FDS 64

enum message_kind {
	MESSAGE_COMPILED, /* done; descriptors of the maps, by their index in the code,
			     and then of a file that has what code_pack() gave */
	MESSAGE_FAILED,   /* `text` says why; the log file has more */
};

/* The only message, from the child. */
struct message {
	uint32_t kind;
	char text[256];
};

/* Send with `fd_count` descriptors; 0 or an errno value. */
int message_send(int socket, const struct message *message, const int fds[],
		 size_t fd_count);

/* Receive; descriptors to fds[] (MESSAGE_MAX_FDS of them), their number to *fd_count.
 * 0, an errno value, or EPIPE when the other side is gone. */
int message_receive(int socket, struct message *message, int fds[], size_t *fd_count);

/* Run the child of `parent`, with which it dies: everything it prints goes to `log_fd`.
 * Does not return. */
_Noreturn void compiler_child_run(pid_t parent, int socket, int log_fd,
				  const struct source *source,
				  const struct headers *headers);

#endif
