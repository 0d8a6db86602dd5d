/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that run another one under a seccomp filter: NAME PROGRAM ARG... */
#ifndef TARGETS_FILTERED_H
#define TARGETS_FILTERED_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

/* Install the filter and execute the program. Returns a status for main() on failure. */
static inline int run_filtered(int argc, char *argv[], struct sock_filter filter[],
			       size_t count)
{
	struct sock_fprog program = {(unsigned short)count, filter};

	if (argc < 2)
		return 91;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		execvp(argv[1], argv + 1);
	fprintf(stderr, "%s: %s: %s\n", argv[0], argv[1], strerror(errno));
	return 90;
}

#endif
