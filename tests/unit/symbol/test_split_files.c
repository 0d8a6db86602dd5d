// SPDX-License-Identifier: Apache-2.0
/* Where .dwo files and packages of them are found, and files in their place that are
 * refused: then there are lines, but no functions. */
#include "unit/dwarf/compare_lines.h"

#define TARGETS TEST_DATA_DIR "/unit/symbol/targets/"

struct counts {
	unsigned lines;   /* addresses with a line */
	unsigned inlined; /* addresses in an inlined function */
	unsigned named;   /* addresses in a function */
};

static struct counts ask(struct line_resources *resources, const char *name)
{
	struct line_module *module = open_module(name);
	struct text_range text = find_text(name);
	struct counts counts = {0};

	for (uint64_t at = 0; at < text.size_bytes; at++) {
		struct source_frames frames;

		REQUIRE(!line_module_find(module, resources, text.file_offset + at,
					  &frames));
		counts.lines += frames.list.len && frames.list.data[0].line;
		counts.inlined += frames.list.len > 1;
		counts.named += frames.list.len && frames.list.data[0].function;
		source_frames_deinit(&frames);
	}
	line_module_destroy(module);
	return counts;
}

static void check_found(const struct debug_search *search, const char *name)
{
	struct line_resources resources = plain_resources();
	uint64_t memory_bytes = resources.memory_bytes;
	struct counts counts;

	resources.search = *search;
	counts = ask(&resources, name);
	CHECK(counts.lines > 200);
	CHECK(counts.inlined > 150);
	CHECK(resources.memory_bytes < memory_bytes);
}

static void check_missing(const struct debug_search *search, const char *name)
{
	struct line_resources resources = plain_resources();
	struct counts counts;

	resources.search = *search;
	counts = ask(&resources, name);
	CHECK(counts.lines > 200);
	CHECK_INT(counts.inlined, 0);
	CHECK_INT(counts.named, 0);
}

static const struct debug_search nowhere = {.root_fd = -1};

/* Builds the program bin/x in the directory build, with its x.dwo there. */
static void build(const char *flags)
{
	SHELL("rm -rf * .debug && mkdir bin build && cd build && "
	      "gcc -g -O2 -gsplit-dwarf %s -c " TARGETS "inlines.c -o x.o && "
	      "gcc x.o -o ../bin/x && rm x.o && test -f x.dwo",
	      flags);
}

static void dwo_files_are_found_in_each_place(void)
{
	char dir[512];
	const char *const dirs[] = {"/nonexistent", dir, NULL};
	const struct debug_search in_dir = {.root_fd = -1, .dirs = dirs};

	snprintf(dir, sizeof(dir), "%s/debug", work_dir);
	build("");
	check_found(&nowhere, "bin/x"); /* in the build directory */
	SHELL("mv build/x.dwo .");
	check_missing(&nowhere, "bin/x");
	SHELL("mv x.dwo bin");
	check_found(&nowhere, "bin/x"); /* in the program's directory */
	SHELL("mkdir debug && mv bin/x.dwo debug");
	check_missing(&nowhere, "bin/x");
	check_found(&in_dir, "bin/x");
	SHELL("mkdir -p debug$PWD/build && mv debug/x.dwo debug$PWD/build");
	check_found(&in_dir, "bin/x");

	/* If the debug info is in another file, that file's directory counts, too. */
	SHELL("cd bin && mkdir .debug && objcopy --only-keep-debug x .debug/x.debug && "
	      "strip x && objcopy --add-gnu-debuglink=.debug/x.debug x");
	check_missing(&nowhere, "bin/x");
	SHELL("cp debug$PWD/build/x.dwo bin/.debug");
	check_found(&nowhere, "bin/x");
}

static void check_read_once(void)
{
	struct line_resources once = plain_resources(), twice = plain_resources();

	twice.search.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(twice.search.root_fd >= 0);
	CHECK(ask(&once, "bin/x").inlined > 150);
	CHECK(ask(&twice, "bin/x").inlined > 150);
	CHECK_INT(twice.memory_bytes, once.memory_bytes);
	close(twice.search.root_fd);
}

static void packages(void)
{
	char dir[512];
	const char *const dirs[] = {dir, NULL};
	const struct debug_search in_dir = {.root_fd = -1, .dirs = dirs};

	snprintf(dir, sizeof(dir), "%s/debug", work_dir);
	build("-gdwarf-4");
	SHELL("cd build && llvm-dwp x.dwo -o ../bin/x.dwp && rm x.dwo");
	check_found(&nowhere, "bin/x");
	SHELL("mkdir debug && mv bin/x.dwp debug");
	check_missing(&nowhere, "bin/x");
	check_found(&in_dir, "bin/x");
	SHELL("mkdir -p debug$PWD/bin && mv debug/x.dwp debug$PWD/bin");
	check_found(&in_dir, "bin/x");

	/* A package that is the same file below the target's root and ours is read
	 * once. */
	build("-gdwarf-4");
	SHELL("cd build && llvm-dwp x.dwo -o ../bin/x.dwp && rm x.dwo");
	check_read_once();

	/* A package of other units does not hide the .dwo file. */
	build("-gdwarf-4");
	SHELL("gcc -O1 -gdwarf-4 -gsplit-dwarf -c " TARGETS "inlines.c -o other.o && "
	      "llvm-dwp other.dwo -o bin/x.dwp");
	check_found(&nowhere, "bin/x");
	SHELL("rm build/x.dwo");
	check_missing(&nowhere, "bin/x");
	SHELL("rm bin/x.dwp && mkfifo bin/x.dwp");
	check_missing(&nowhere, "bin/x");
}

static uint32_t u32_at(const unsigned char *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return n;
}

/* Of a package with one unit, the index "index" in the work directory, written anew to
 * "full": with many more slots, all of them taken. The search for the unit finds it after
 * `before` others. */
static void fill_index(uint32_t before)
{
	const uint32_t slots = 1 << 16, row = 1;
	unsigned char old[4096];
	FILE *file = fopen(work_path("index"), "re");
	size_t size = file ? fread(old, 1, sizeof(old), file) : 0, rest;
	uint32_t first = 0, step, own;
	uint64_t id, other;

	REQUIRE(size > 16 && size < sizeof(old) && u32_at(old + 8) == 1);
	rest = 16 + 12 * (size_t)u32_at(old + 12);
	REQUIRE(rest < size);
	while (!u32_at(old + 16 + 8 * u32_at(old + 12) + 4 * first))
		REQUIRE(++first < u32_at(old + 12));
	memcpy(&id, old + 16 + 8 * first, sizeof(id));
	other = ~id;
	step = ((uint32_t)(id >> 32) & (slots - 1)) | 1;
	own = ((uint32_t)id + before * step) & (slots - 1);
	fclose(file);
	file = fopen(work_path("full"), "we");
	REQUIRE(file);
	memcpy(old + 12, &slots, sizeof(slots));
	fwrite(old, 1, 16, file);
	for (uint32_t i = 0; i < slots; i++)
		fwrite(i == own ? &id : &other, sizeof(id), 1, file);
	for (uint32_t i = 0; i < slots; i++)
		fwrite(&row, sizeof(row), 1, file);
	fwrite(old + rest, 1, size - rest, file);
	REQUIRE(!fclose(file));
}

/* The search of an index that is full ends soon. */
static void a_full_index(void)
{
	build("-gdwarf-4");
	SHELL("cd build && llvm-dwp x.dwo -o ../whole && rm x.dwo && "
	      "objcopy --dump-section .debug_cu_index=../index ../whole");
	fill_index(4000);
	SHELL("objcopy --update-section .debug_cu_index=full whole bin/x.dwp");
	check_found(&nowhere, "bin/x");
	fill_index(5000);
	SHELL("objcopy --update-section .debug_cu_index=full whole bin/x.dwp");
	check_missing(&nowhere, "bin/x");
}

/* The target's root directory: links do not lead out of it. */
static void in_another_root(void)
{
	struct debug_search search = {.root_fd = -1};

	build("");
	SHELL("mkdir -p root$PWD/build && mv build/x.dwo root$PWD/build");
	check_missing(&search, "bin/x");
	search.root_fd = open(work_path("root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(search.root_fd >= 0);
	check_found(&search, "bin/x");
	SHELL("mv root$PWD/build/x.dwo outside && "
	      "ln -s $PWD/outside root$PWD/build/x.dwo");
	check_missing(&search, "bin/x");
	SHELL("cp outside root$PWD/outside");
	check_found(&search, "bin/x");
	close(search.root_fd);
}

/* A name may contain "..", but must not lead out of a directory of debug files. */
static void names_that_lead_up(void)
{
	char dir[512];
	const char *const dirs[] = {dir, NULL};
	const struct debug_search in_dir = {.root_fd = -1, .dirs = dirs};

	snprintf(dir, sizeof(dir), "%s/debug", work_dir);
	SHELL("rm -rf * .debug && mkdir bin build && cd build && "
	      "gcc -g -O2 -gsplit-dwarf -c " TARGETS "inlines.c -o ../x.o && "
	      "gcc ../x.o -o ../bin/x");
	check_found(&nowhere, "bin/x");
	/* The directory is missing, but exists below the directory of debug files. */
	SHELL("mkdir -p debug$PWD/build && rmdir build && mv x.dwo debug$PWD");
	check_missing(&in_dir, "bin/x");
	SHELL("mv debug$PWD/x.dwo debug");
	check_found(&in_dir, "bin/x");
}

static void check_bad_files(const char *flags)
{
	build(flags);
	check_found(&nowhere, "bin/x");
	SHELL("cp build/x.dwo whole");

	/* The unit of another compilation. */
	SHELL("cd build && gcc -O1 -gsplit-dwarf %s -c " TARGETS "inlines.c -o x.o",
	      flags);
	check_missing(&nowhere, "bin/x");

	/* Files that are not regular must not block the reader. */
	SHELL("rm build/x.dwo && mkfifo build/x.dwo");
	check_missing(&nowhere, "bin/x");
	SHELL("rm build/x.dwo && ln -s /dev/zero build/x.dwo");
	check_missing(&nowhere, "bin/x");
	SHELL("rm build/x.dwo && mkdir build/x.dwo");
	check_missing(&nowhere, "bin/x");
	SHELL("rmdir build/x.dwo && : > build/x.dwo");
	check_missing(&nowhere, "bin/x");
	SHELL("head -c 100000 /dev/urandom > build/x.dwo");
	check_missing(&nowhere, "bin/x");
	/* An ELF file without split DWARF. */
	SHELL("cp bin/x build/x.dwo");
	check_missing(&nowhere, "bin/x");
	/* Truncated: the section headers are at the end. */
	for (int i = 1; i < 8; i++) {
		SHELL("cp whole build/x.dwo && "
		      "truncate -s $(($(stat -c %%s whole) * %d / 8)) build/x.dwo",
		      i);
		check_missing(&nowhere, "bin/x");
	}
	/* Without the string section, there are frames without names. */
	SHELL("objcopy -R .debug_str.dwo whole build/x.dwo");
	check_found(&nowhere, "bin/x");
	SHELL("objcopy -R .debug_abbrev.dwo whole build/x.dwo");
	check_missing(&nowhere, "bin/x");
	SHELL("mv whole build/x.dwo");
	check_found(&nowhere, "bin/x");
}

static void bad_files(void)
{
	check_bad_files("-gdwarf-5");
	check_bad_files("-gdwarf-4");
}

/* Little memory is enough for lines, but not for .dwo files. */
static void memory_ends(void)
{
	unsigned lines_alone = 0, both = 0;

	build("-gz");
	for (uint64_t bytes = 64; bytes < 1 << 20; bytes += bytes / 4) {
		struct line_resources resources = plain_resources();
		struct counts counts;

		resources.memory_bytes = bytes;
		counts = ask(&resources, "bin/x");
		CHECK(resources.memory_bytes <= bytes);
		lines_alone += counts.lines && !counts.inlined;
		both += counts.inlined != 0;
	}
	CHECK(lines_alone > 0);
	CHECK(both > 0);
}

/* When the budget is used up, lookups find nothing more, and return no errors. */
static void steps_end(void)
{
	unsigned with = 0, without = 0;

	build("");
	for (uint64_t steps = 1; steps < 1 << 22; steps *= 2) {
		struct line_resources resources = plain_resources();
		bool inlined;

		resources.budget.steps = steps;
		inlined = ask(&resources, "bin/x").inlined;
		with += inlined;
		without += !inlined;
	}
	CHECK(with > 0);
	CHECK(without > 10);
}

static void leaves_no_descriptors(void)
{
	int before, after;

	build("");
	before = dup(0);
	close(before);
	check_found(&nowhere, "bin/x");
	after = dup(0);
	CHECK_INT(after, before);
	close(after);
}

int main(void)
{
	make_work_dir();
	RUN(dwo_files_are_found_in_each_place);
	RUN(packages);
	RUN(a_full_index);
	RUN(in_another_root);
	RUN(names_that_lead_up);
	RUN(bad_files);
	RUN(memory_ends);
	RUN(steps_end);
	RUN(leaves_no_descriptors);
	remove_work_dir();
	return check_done();
}
