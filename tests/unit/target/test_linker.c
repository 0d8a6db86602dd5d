// SPDX-License-Identifier: Apache-2.0
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "target/linker.h"

static void auxv_is_what_the_process_sees(void)
{
	struct auxv auxv;

	auxv_read(getpid(), &auxv);
	CHECK(auxv.linker_base != 0);
	CHECK(auxv.linker_base == getauxval(AT_BASE));
	CHECK(auxv.phdr == getauxval(AT_PHDR));
	CHECK(auxv.phnum == getauxval(AT_PHNUM));
}

static void nothing_of_the_dead(void)
{
	struct auxv auxv = {1, 1, 1};
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid)
		_exit(0);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	auxv_read(pid, &auxv);
	CHECK(!auxv.linker_base && !auxv.phdr && !auxv.phnum);
}

/* Where glibc tells of what it maps; other files have no such place. */
static void notice(void)
{
	uint64_t offset = 0;
	struct error *err;

	REQUIRE(!linker_find_notice("/lib64/ld-linux-x86-64.so.2", &offset));
	CHECK(offset != 0);
	REQUIRE(!linker_find_notice("/proc/self/exe", &offset));
	CHECK(!offset);
	err = linker_find_notice("/nonexistent", &offset);
	CHECK(err);
	error_destroy(err);
}

int main(void)
{
	RUN(auxv_is_what_the_process_sees);
	RUN(nothing_of_the_dead);
	RUN(notice);
	return check_done();
}
