/* SPDX-License-Identifier: Apache-2.0 */
/* The process of the screen. Private to screen/. */
#ifndef SCREEN_CHILD_H
#define SCREEN_CHILD_H

#include "options/options.h"
#include "output/report_setup.h"

/* Exit status if the snapshot could not be read or the terminal not be used. */
#define CHILD_FAILED 3

struct child_setup {
	const struct options *options;
	const struct report_setup *setup;
	int socket; /* to the parent (screen/pipe.h) */
	int log_fd; /* messages of the parent; -1: none */
};

/* Run until the user quits or the parent closes the socket. Returns the exit status. */
int child_run(const struct child_setup *setup);

#endif
