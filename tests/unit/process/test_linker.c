// SPDX-License-Identifier: Apache-2.0
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "process/linker.h"

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

static void libc(void)
{
	struct proc_mapping list[] = {
		{.start = 0x1000,
		 .end = 0x3000,
		 .inode = 1,
		 .path = (char[]){"/a/libc.so"}},
		{.start = 0x4000,
		 .end = 0x5000,
		 .executable = true,
		 .path = (char[]){"libc.so.6"}},
		{.start = 0x5000,
		 .end = 0x6000,
		 .inode = 2,
		 .executable = true,
		 .path = (char[]){"/a/libc/program"}},
		{.start = 0x6000,
		 .end = 0x7000,
		 .inode = 3,
		 .executable = true,
		 .path = (char[]){"/a/libc.so.6"}},
	};
	struct auxv auxv = {.linker_base = 0x9000, .phdr = 0x2040};
	struct proc_maps maps = {.mappings = {list, 4, 4}};

	CHECK(linker_find_libc(&maps, &auxv) == &list[3]);
	list[3].path = (char[]){"/lib/ld-musl-x86_64.so.1"};
	CHECK(linker_find_libc(&maps, &auxv) == &list[3]);
	list[3].path = (char[]){"/lib/libc-2.31.so"};
	CHECK(linker_find_libc(&maps, &auxv) == &list[3]);
	list[3].path = (char[]){"/lib/libcrypt.so.1"};
	CHECK(!linker_find_libc(&maps, &auxv));
	/* A static program contains the libc. */
	auxv.linker_base = 0;
	CHECK(linker_find_libc(&maps, &auxv) == &list[0]);
	auxv.phdr = 0x3000;
	CHECK(!linker_find_libc(&maps, &auxv));
}

int main(void)
{
	RUN(auxv_is_what_the_process_sees);
	RUN(nothing_of_the_dead);
	RUN(libc);
	return check_done();
}
