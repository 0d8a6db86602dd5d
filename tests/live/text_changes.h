/* SPDX-License-Identifier: Apache-2.0 */
/* For live.places: bytes of a process's text that differ from its files. */
#ifndef TESTS_LIVE_TEXT_CHANGES_H
#define TESTS_LIVE_TEXT_CHANGES_H

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define CHANGES_MAX 256
#define TRAP        0xcc /* int3, the breakpoint of a uprobe on x86 */

/* --- text in memory ----------------------------------------------------------------- */

/* File offsets at which text in memory differs from its file, ascending. */
struct changes {
	uint64_t offset[CHANGES_MAX];
	size_t count;
};

/* A line of /proc/PID/maps. */
struct mapping {
	unsigned long start, end, file_offset;
	char access[8], path[512];
};

/* The next executable mapping of a file with this base name. False: no more. */
static inline bool next_text(FILE *maps, const char *name, struct mapping *ret)
{
	char line[1024];

	while (fgets(line, sizeof(line), maps)) {
		const char *base;

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", &ret->start, &ret->end,
			   ret->access, &ret->file_offset, ret->path) != 5)
			continue;
		base = strrchr(ret->path, '/');
		if (base && !strcmp(base + 1, name) && strchr(ret->access, 'x'))
			return true;
	}
	return false;
}

static inline FILE *open_maps(pid_t pid)
{
	char path[64];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	REQUIRE(maps);
	return maps;
}

static inline void compare_text(int memory, const struct mapping *m, struct changes *ret)
{
	size_t size = m->end - m->start;
	unsigned char *here = malloc(size), *there = malloc(size);
	int file = open(m->path, O_RDONLY | O_CLOEXEC);
	ssize_t in_file;

	REQUIRE(here && there && file >= 0);
	REQUIRE(pread(memory, here, size, (off_t)m->start) == (ssize_t)size);
	in_file = pread(file, there, size, (off_t)m->file_offset);
	REQUIRE(in_file > 0);
	for (size_t i = 0; i < (size_t)in_file; i++) {
		if (here[i] == there[i])
			continue;
		REQUIRE(ret->count < CHANGES_MAX);
		ret->offset[ret->count++] = m->file_offset + i;
#if defined(__x86_64__)
		CHECK_INT(here[i], TRAP);
#endif
	}
	close(file);
	free(here);
	free(there);
}

/* What is changed in the process's file with this base name. */
static inline struct changes find_changes(pid_t pid, const char *name)
{
	struct changes ret = {.count = 0};
	struct mapping m;
	FILE *maps = open_maps(pid);
	char path[64];
	unsigned mapped = 0;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);

	int memory = open(path, O_RDONLY | O_CLOEXEC);

	REQUIRE(memory >= 0);
	for (; next_text(maps, name, &m); mapped++)
		compare_text(memory, &m, &ret);
	REQUIRE(mapped);
	close(memory);
	fclose(maps);
	return ret;
}

/* --- functions of libc -------------------------------------------------------------- */

static const char *const functions[] = {
	"malloc",   "free",   "calloc",        "realloc",        "reallocarray",
	"memalign", "valloc", "aligned_alloc", "posix_memalign", "pvalloc",
	"mmap",     "munmap", "mremap",
};

#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

/* File offsets of the code of a libc function. The test has mapped the same file. */
struct range {
	uint64_t start, end;
};

static inline struct range find_function(const char *name)
{
	uintptr_t at = (uintptr_t)dlsym(RTLD_DEFAULT, name);
	FILE *maps = open_maps(getpid());
	struct range ret = {0, 0};
	ElfW(Sym) * symbol;
	struct mapping m;
	Dl_info info;

	REQUIRE(at);
	REQUIRE(dladdr1((void *)at, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol);
	while (next_text(maps, "libc.so.6", &m))
		if (m.start <= at && at < m.end)
			ret.start = at - m.start + m.file_offset;
	REQUIRE(ret.start);
	ret.end = ret.start + symbol->st_size;
	fclose(maps);
	return ret;
}

static inline unsigned count_in(const struct changes *changes, struct range range)
{
	unsigned n = 0;

	for (size_t i = 0; i < changes->count; i++)
		n += changes->offset[i] >= range.start && changes->offset[i] < range.end;
	return n;
}

static inline void print(const char *what, const struct changes *changes)
{
	fprintf(stderr, "  %s:", what);
	for (size_t i = 0; i < changes->count; i++)
		fprintf(stderr, " %#lx", (unsigned long)changes->offset[i]);
	fputc('\n', stderr);
}

static inline void check_same(const struct changes *now, const struct changes *fresh,
			      const char *when)
{
	bool same = now->count == fresh->count &&
		    !memcmp(now->offset, fresh->offset, now->count * sizeof(uint64_t));

	CHECK(fresh->count > 0);
	CHECK(same);
	if (same)
		return;
	fprintf(stderr, "  %s\n", when);
	print("now", now);
	print("at a fresh attach", fresh);
}

/* check_library() for libc. Compares each function, so that a difference names it. */
static inline void check_libc(pid_t pid, const struct changes *fresh, const char *when)
{
	const struct changes now = find_changes(pid, "libc.so.6");

	for (size_t i = 0; i < FUNCTIONS; i++) {
		struct range range = find_function(functions[i]);

		check_state.checks++;
		if (count_in(&now, range) != count_in(fresh, range))
			CHECK_FAIL("%s: %s has %u probes, %u at a fresh attach", when,
				   functions[i], count_in(&now, range),
				   count_in(fresh, range));
	}
	check_same(&now, fresh, when);
}

static inline void check_library(pid_t pid, const char *path, const struct changes *fresh,
				 const char *when)
{
	const struct changes now = find_changes(pid, strrchr(path, '/') + 1);

	check_same(&now, fresh, when);
}

#endif
