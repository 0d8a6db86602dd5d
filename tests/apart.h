/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that change their process in a way that cannot be undone: filters, privileges. */
#ifndef TESTS_APART_H
#define TESTS_APART_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* Run the call, such as test(3), in a process of its own. It must check something there,
 * and all its checks must hold. */
#define CHECK_APART(call)                                                                \
	do {                                                                             \
		int status_;                                                             \
		pid_t pid_;                                                              \
                                                                                         \
		fflush(stdout);                                                          \
		pid_ = fork();                                                           \
		REQUIRE(pid_ >= 0);                                                      \
		if (!pid_) {                                                             \
			check_state = (struct check_state){0};                           \
			call;                                                            \
			_exit(check_state.failures || !check_state.checks);              \
		}                                                                        \
		REQUIRE(waitpid(pid_, &status_, 0) == pid_);                             \
		CHECK(WIFEXITED(status_) && !WEXITSTATUS(status_));                      \
	} while (0)

#endif
