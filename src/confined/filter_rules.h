/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the filters of confined/filter.h (seccomp_rule_add(3)). Functions with an int
 * return 0 or the first error as a negative errno value. */
#ifndef CONFINED_FILTER_RULES_H
#define CONFINED_FILTER_RULES_H

#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* clone(2): new namespaces. Such processes have capabilities of their own, and reach
 * code of the kernel that is for root otherwise. */
#define FILTER_NAMESPACES                                                                \
	{                                                                                \
		CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID,    \
			CLONE_NEWNET, CLONE_NEWCGROUP,                                   \
	}

/* For _cleanup_(). */
void filter_release(scmp_filter_ctx *filter);

/* The error for the result of one of these functions. */
struct error *filter_failed(int result);

/* seccomp_load(3). */
int filter_load(scmp_filter_ctx filter);

/* Calls that this machine lacks are left out. */
int filter_add_calls(scmp_filter_ctx filter, uint32_t action, const int calls[],
		     size_t count);

/* fcntl(2) or ioctl(2) with this command. The kernel ignores the upper half of it. */
int filter_add_command(scmp_filter_ctx filter, uint32_t action, int call,
		       unsigned command);

/*
 * Calls that a filter cannot judge: clone3(2), whose flags are in memory, and those newer
 * than the lists. As if the kernel lacked them, so that the C library makes others.
 */
int filter_refuse_newer(scmp_filter_ctx filter);

/* The filter of filter_load_files() in a sanitized build, whose leak checker traces this
 * process from a new one. */
struct error *filter_load_files_sanitized(void) __attribute__((warn_unused_result));

#endif
