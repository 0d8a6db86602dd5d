/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of the C library for the children of a test that writes into its code. A tracer
 * of all processes that map the library itself would refuse code that differs in one of
 * them: tests of other processes run at the same time.
 */
#ifndef TESTS_UNIT_PLAN_OWN_LIBC_H
#define TESTS_UNIT_PLAN_OWN_LIBC_H

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "unit/process/child.h"

struct own_libc {
	char path[128];
};

/* The programs that this process starts use the copy until own_libc_end(). */
static inline struct own_libc own_libc_begin(void)
{
	char *directory = child_tmpdir();
	struct own_libc own;
	struct stat st;
	off_t at = 0;
	Dl_info info;

	REQUIRE(dladdr(dlsym(RTLD_NEXT, "getppid"), &info));
	snprintf(own.path, sizeof(own.path), "%s/libc.so.6", directory);

	int from = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	int to = open(own.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

	REQUIRE(from >= 0 && to >= 0 && !fstat(from, &st));
	while (at < st.st_size)
		REQUIRE(sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0);
	close(from);
	close(to);
	REQUIRE(!setenv("LD_LIBRARY_PATH", directory, 1));
	return own;
}

static inline void own_libc_end(const struct own_libc *own)
{
	unlink(own->path);
	rmdir(getenv("LD_LIBRARY_PATH"));
	unsetenv("LD_LIBRARY_PATH");
}

#endif
