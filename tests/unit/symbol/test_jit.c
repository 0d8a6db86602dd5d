// SPDX-License-Identifier: Apache-2.0
/* Symbols of code without a file: JIT code, from /tmp/perf-PID.map, and the vDSO. */
#include "check.h"

#include <elf.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/perf_map.h"
#include "symbol/symbolizer.h"

static char *code; /* anonymous and executable; the child has it at the same address */
static pid_t child;
static char map_path[64];

static void start_child(void)
{
	code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(code != MAP_FAILED);
	child = fork();
	REQUIRE(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", child);
}

static void end_child(void)
{
	kill(child, SIGKILL);
	REQUIRE(waitpid(child, NULL, 0) == child);
	unlink(map_path);
	munmap(code, 8192);
}

static void add_lines(const char *mode, const char *lines)
{
	FILE *file = fopen(map_path, mode);

	REQUIRE(file && fputs(lines, file) >= 0 && !fclose(file));
}

/* Appends the line "START SIZE NAME" for code at offset `at`. */
static void add_code(unsigned at, unsigned size, const char *name)
{
	char line[256];

	snprintf(line, sizeof(line), "%lx %x %s\n", (unsigned long)(uintptr_t)code + at,
		 size, name);
	add_lines("ae", line);
}

static struct symbolizer *create(void)
{
	struct symbolizer *symbolizer = NULL;
	struct maps_text maps;

	REQUIRE(!symbolizer_bcc_create(child, -1, &symbolizer, &maps));
	free(maps.text);
	return symbolizer;
}

/* `name` NULL: no symbol is expected. */
static void check_name(struct symbolizer *symbolizer, unsigned at, const char *name,
		       uint64_t offset)
{
	struct symbol symbol;

	REQUIRE(!symbolizer->ops->resolve(symbolizer, (uintptr_t)code + at, &symbol));
	if (name) {
		CHECK_STR(symbol.name, name);
		CHECK_STR(symbol.module, "[jit]");
		CHECK_INT(symbol.offset, offset);
	} else {
		CHECK(!symbol.name && !symbol.module);
	}
	symbol_deinit(&symbol);
}

static void names_jitted_code(void)
{
	struct symbolizer *symbolizer;

	start_child();
	symbolizer = create();
	check_name(symbolizer, 0, NULL, 0);
	/* The file is created after the attach, and grows. */
	add_code(0x100, 0x40, "LazyCompile:*tick /srv/app.js:12");
	add_code(0x140, 0x10, "next");
	check_name(symbolizer, 0xff, NULL, 0);
	check_name(symbolizer, 0x100, "LazyCompile:*tick /srv/app.js:12", 0);
	check_name(symbolizer, 0x13f, "LazyCompile:*tick /srv/app.js:12", 0x3f);
	check_name(symbolizer, 0x140, "next", 0);
	check_name(symbolizer, 0x150, NULL, 0);
	CHECK(!symbolizer->ops->mappings_changed(symbolizer));
	/* New code replaces old code: the later line counts. */
	add_code(0xf0, 0x80, "newer");
	CHECK(symbolizer->ops->mappings_changed(symbolizer));
	check_name(symbolizer, 0x100, "newer", 0x10);
	CHECK(!symbolizer->ops->mappings_changed(symbolizer));
	add_code(0x100, 0x10, "newest");
	check_name(symbolizer, 0x100, "newest", 0);
	check_name(symbolizer, 0x110, "newer", 0x20);
	/* Symbols that were read stay available without the file and the process. */
	unlink(map_path);
	kill(child, SIGSTOP);
	check_name(symbolizer, 0x100, "newest", 0);
	symbolizer_destroy(symbolizer);
	end_child();
}

/* The file is read once. Only appended lines are read later; a rewritten file is read
 * again. Between two reports nothing is read. */
static void read_by_parts(void)
{
	struct perf_map *map;
	uint64_t offset, at = (uintptr_t)code;
	char name[32];

	start_child();
	add_code(0, 0x10, "first");
	map = perf_map_create(child);
	REQUIRE(map);
	CHECK_STR(perf_map_find(map, at + 1, &offset), "first");
	for (unsigned i = 1; i < 200; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		add_code(i * 0x10, 0x10, name);
		/* Not read yet. */
		CHECK(!perf_map_find(map, at + i * 0x10, &offset));
		CHECK(perf_map_changed(map));
		CHECK_STR(perf_map_find(map, at + i * 0x10 + 3, &offset), name);
		CHECK_INT(offset, 3);
		CHECK_STR(perf_map_find(map, at + 1, &offset), "first");
	}
	CHECK(!perf_map_changed(map));
	/* A line that is written in two parts. */
	snprintf(name, sizeof(name), "%lx 8 ha", (unsigned long)(at + 0x1f00));
	add_lines("ae", name);
	CHECK(perf_map_changed(map));
	CHECK(!perf_map_find(map, at + 0x1f00, &offset));
	add_lines("ae", "lf\n");
	CHECK(perf_map_changed(map));
	CHECK_STR(perf_map_find(map, at + 0x1f00, &offset), "half");

	/* The same file with other contents, and with more. */
	add_lines("we", "");
	for (unsigned i = 0; i < 400; i++)
		add_code(i * 0x10, 0x10, "rewritten_to_more_than_there_was");
	CHECK(perf_map_changed(map));
	CHECK_STR(perf_map_find(map, at + 0x10, &offset),
		  "rewritten_to_more_than_there_was");
	add_lines("we", "");
	add_code(0, 0x10, "short");
	CHECK(perf_map_changed(map));
	CHECK_STR(perf_map_find(map, at, &offset), "short");
	CHECK(!perf_map_find(map, at + 0x10, &offset));
	CHECK_INT(perf_map_left(map), 0);
	CHECK_INT(perf_map_ignored(map), 0);
	perf_map_destroy(map);
	end_child();
}

/* Each report reads a part of a large file. Lines beyond the limit are counted. */
static void a_large_file(void)
{
	struct perf_map *map;
	uint64_t offset, left;
	FILE *file;
	unsigned shares = 0;

	start_child();
	/* A hole of zeros, which contains no valid line. */
	add_code(0, 0x10, "before");
	file = fopen(map_path, "re+");
	REQUIRE(file && !ftruncate(fileno(file), (off_t)300 << 20) && !fclose(file));
	map = perf_map_create(child);
	REQUIRE(map);
	do {
		CHECK_STR(perf_map_find(map, (uintptr_t)code, &offset), "before");
		left = perf_map_left(map);
		CHECK_INT(left % (64 << 20), 0);
		CHECK_STR(perf_map_find(map, (uintptr_t)code, &offset), "before");
		CHECK_INT(perf_map_left(map), left);
		CHECK_INT(perf_map_changed(map), left > 0);
		shares++;
	} while (left && shares < 10);
	CHECK_INT(shares, 4);
	CHECK_INT(perf_map_ignored(map), (300 - 256) << 20);
	/* Nor is it read when the file grows. */
	add_lines("ae", "\n");
	add_code(0x20, 0x10, "after");
	CHECK(perf_map_changed(map));
	CHECK(!perf_map_find(map, (uintptr_t)code + 0x20, &offset));
	CHECK(perf_map_ignored(map) > (300 - 256) << 20);
	perf_map_destroy(map);
	end_child();
}

static void a_file_with_very_many_names(void)
{
	const unsigned most = 4 << 20;
	struct perf_map *map;
	uint64_t offset;
	FILE *file;

	start_child();
	file = fopen(map_path, "we");
	REQUIRE(file);
	for (unsigned i = 0; i < most + 3; i++)
		REQUIRE(fputs("1 1 x\n", file) >= 0);
	REQUIRE(!fclose(file));
	map = perf_map_create(child);
	REQUIRE(map);
	CHECK_STR(perf_map_find(map, 1, &offset), "x");
	CHECK_INT(perf_map_left(map), 0);
	CHECK_INT(perf_map_ignored(map), 3);
	perf_map_destroy(map);
	end_child();
}

static void damaged_lines(void)
{
	struct symbolizer *symbolizer;

	start_child();
	add_lines("we", "\n \nx\nzz 10 name\n10\n10 \n10 zz name\n"
			"ffffffffffffffff 2 wraps\n0 0 empty\n-1 5 negative\n"
			"fffffffffffffffffffffff 10 large\n");
	add_code(0x10, 0x10, "");
	add_code(0x20, 0x10, "\x1b[31mred");
	add_code(0x30, 0, "of no size");
	add_lines("ae", "10 10 the last line is not finished");
	symbolizer = create();
	check_name(symbolizer, 0x10, NULL, 0);
	check_name(symbolizer, 0x20, "\x1b[31mred", 0);
	check_name(symbolizer, 0x30, NULL, 0);
	symbolizer_destroy(symbolizer);
	end_child();
}

/* Other files that a hostile target may put there. */
static void not_a_file_to_read(void)
{
	struct symbolizer *symbolizer;
	char other[80];

	/* A symbolic link to another file. */
	start_child();
	add_code(0, 0x100, "stolen");
	snprintf(other, sizeof(other), "%s.other", map_path);
	REQUIRE(!rename(map_path, other) && !symlink(other, map_path));
	symbolizer = create();
	check_name(symbolizer, 0x10, NULL, 0);
	symbolizer_destroy(symbolizer);
	unlink(other);
	unlink(map_path);

	/* A directory, and a file of another user. */
	REQUIRE(!mkdir(map_path, 0700));
	symbolizer = create();
	check_name(symbolizer, 0x10, NULL, 0);
	symbolizer_destroy(symbolizer);
	REQUIRE(!rmdir(map_path));
	if (!geteuid()) {
		add_code(0, 0x100, "stolen");
		REQUIRE(!chown(map_path, 12345, 12345));
		symbolizer = create();
		check_name(symbolizer, 0x10, NULL, 0);
		symbolizer_destroy(symbolizer);
		unlink(map_path);
	}

	end_child();
}

#define CALLER 12345 /* who starts a setuid program */
#define OWNER  12346 /* whose program it is */

/* Is a file of `user` read for this program? */
static void check_owner(uid_t user, const char *name)
{
	uint64_t offset;
	struct perf_map *map = perf_map_create(child);
	const char *found;

	REQUIRE(map && !chown(map_path, user, user));
	found = perf_map_find(map, (uintptr_t)code + 0x10, &offset);
	CHECK(name ? found && !strcmp(found, name) : !found);
	perf_map_destroy(map);
}

/* Who starts a setuid program could write such a file, but the program's own file belongs
 * to the program's owner. */
static void a_setuid_program(void)
{
	int status;

	if (geteuid())
		return;
	code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(code != MAP_FAILED);
	child = fork();
	REQUIRE(child >= 0);
	if (!child) {
		REQUIRE(!setresuid(CALLER, OWNER, OWNER));
		raise(SIGSTOP);
		_exit(0);
	}
	REQUIRE(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", child);
	add_code(0, 0x20, "function");
	check_owner(CALLER, NULL);
	check_owner(OWNER, "function");
	check_owner(0, "function");
	/* Only if all may read it. */
	REQUIRE(!chmod(map_path, 0600));
	check_owner(0, NULL);
	check_owner(OWNER, "function");
	end_child();
}

static void names_the_vdso(void)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct symbolizer *symbolizer;
	unsigned named = 0;

	REQUIRE(vdso);
	start_child();
	symbolizer = create();
	for (unsigned at = 0; at < 4096; at += 16) {
		struct symbol symbol;

		REQUIRE(!symbolizer->ops->resolve(symbolizer, (uintptr_t)vdso + at,
						  &symbol));
		CHECK_STR(symbol.module, "[vdso]");
		if (symbol.name) {
			CHECK_CONTAINS(symbol.name, "_");
			CHECK(symbol.offset < 4096);
			named += strstr(symbol.name, "gettimeofday") ||
				 strstr(symbol.name, "clock_gettime");
		} else {
			CHECK_INT(symbol.offset, at);
		}
		symbol_deinit(&symbol);
	}
	CHECK(named > 0);
	symbolizer_destroy(symbolizer);
	end_child();
}

int main(void)
{
	RUN(names_jitted_code);
	RUN(read_by_parts);
	RUN(a_large_file);
	RUN(a_file_with_very_many_names);
	RUN(damaged_lines);
	RUN(not_a_file_to_read);
	RUN(a_setuid_program);
	RUN(names_the_vdso);
	return check_done();
}
