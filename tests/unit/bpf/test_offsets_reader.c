// SPDX-License-Identifier: Apache-2.0
/* The kernel's offsets come from the cache only if they could be read. */
#include "bpf/offsets_reader.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include "check.h"

#define TYPES "/sys/kernel/btf"

static struct kernel_offsets offsets_with(struct cache *cache)
{
	struct kernel_offsets offsets = {0};

	offsets_reader_get(NULL, cache, &offsets);
	return offsets;
}

/* The kernel's types are hidden for one run. The next run must read them. */
static void a_failure_is_not_kept(void)
{
	char directory[] = "/tmp/memtrace-test-XXXXXX", command[64];
	struct kernel_offsets first, second, kept;
	struct cache cache = {.dir = -1};

	if (access(TYPES "/vmlinux", R_OK))
		check_skip("no " TYPES "/vmlinux");
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", TYPES, "tmpfs", 0, NULL))
		check_skip("cannot mount");
	REQUIRE(mkdtemp(directory) && !setenv("MEMTRACE_CACHE", directory, 1));
	REQUIRE(!cache_open(&cache));
	first = offsets_with(&cache);
	CHECK(!first.has_task);
	REQUIRE(!umount(TYPES));
	second = offsets_with(&cache);
	CHECK(second.has_task);
	/* Now they are kept. */
	REQUIRE(!mount("none", TYPES, "tmpfs", 0, NULL));
	kept = offsets_with(&cache);
	CHECK(kept.has_task);
	CHECK_INT(kept.task_pid, second.task_pid);
	REQUIRE(!umount(TYPES));
	cache_close(&cache);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	REQUIRE(!system(command));
}

int main(void)
{
	RUN(a_failure_is_not_kept);
	return check_done();
}
