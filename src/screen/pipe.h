/* SPDX-License-Identifier: Apache-2.0 */
/* What the process of the screen and its parent say to each other over a socket of type
 * SOCK_SEQPACKET. */
#ifndef SCREEN_PIPE_H
#define SCREEN_PIPE_H

#include <stdint.h>

/* The longest sequence that restores a terminal. */
#define PIPE_RESTORE_MAX 256

enum pipe_kind {
	/* From the screen. */
	PIPE_USABLE = 1, /* the terminal can be used; `restore` restores it */
	PIPE_UNUSABLE,   /* it cannot: terminfo does not know it */
	PIPE_NEXT,       /* the last snapshot was read */
	PIPE_INTERVAL,   /* `value`: the user wants a snapshot every so many ns */
	PIPE_SUSPEND,    /* the terminal is restored: stop until the shell resumes us */
	/* From the parent. */
	PIPE_SNAPSHOT, /* with the descriptor of a snapshot file of `value` bytes */
	PIPE_ENDED,    /* the run is over: no snapshots follow */
	PIPE_RESUMED,  /* after PIPE_SUSPEND */
};

struct pipe_message {
	uint32_t kind; /* enum pipe_kind */
	uint32_t restore_len;
	uint64_t value;
	char restore[PIPE_RESTORE_MAX];
};

#endif
