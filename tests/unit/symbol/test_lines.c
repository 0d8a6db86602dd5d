// SPDX-License-Identifier: Apache-2.0
/* File, line and inlined functions of addresses all over small programs, for several
 * compilers, DWARF versions and compressions, compared with addr2line. */
#include "unit/dwarf/compare_lines.h"

#define TARGETS TEST_DATA_DIR "/unit/symbol/targets/"

static const struct variant {
	const char *build; /* command that builds the program "x" in the work directory */
	enum oracle oracle;
} variants[] = {
	{"gcc -g -O2 " TARGETS "inlines.c -o x", BINUTILS},
	{"gcc -g -O2 " TARGETS "inlines.c -o x", LLVM},
	{"gcc -g -O0 " TARGETS "inlines.c -o x", BINUTILS},
	{"gcc -gdwarf-4 -O2 " TARGETS "inlines.c -o x", BINUTILS},
	{"gcc -gdwarf-5 -O3 -no-pie " TARGETS "inlines.c -o x", BINUTILS},
	{"gcc -g -O2 -gz " TARGETS "inlines.c -o x", BINUTILS},
	{"gcc -gdwarf-4 -O2 -gz=zlib-gnu " TARGETS "inlines.c -o x", BINUTILS},
	/* Large enough to be mapped instead of read. */
	{"gcc -g -O2 " TARGETS "inlines.c -o x && truncate -s 300M x", BINUTILS},
	{"gcc -g -O2 -flto " TARGETS "inlines.c -o x", LLVM},
	{"gcc -g -O2 -static " TARGETS "inlines.c -o x", BINUTILS},
	{"clang -gdwarf-4 -O2 " TARGETS "inlines.c -o x", BINUTILS},
	{"clang -gdwarf-4 -O2 " TARGETS "inlines.c -o x", LLVM},
	{"clang -gdwarf-5 -O2 " TARGETS "inlines.c -o x", LLVM},
	{"g++ -g -O2 " TARGETS "inlines.cpp -o x", LLVM},
	{"g++ -gdwarf-4 -O1 " TARGETS "inlines.cpp -o x", LLVM},
};

static struct comparison compare(struct line_module *module, enum oracle oracle)
{
	struct line_resources resources = plain_resources();

	return compare_lines(module, &resources, "x", "x", oracle, 20000);
}

static void check_variant(const struct variant *variant)
{
	struct line_module *module;
	struct comparison result;

	SHELL("%s", variant->build);
	module = open_module("x");
	result = compare(module, variant->oracle);
	line_module_destroy(module);
	CHECK_INT(result.differences, 0);
	/* Enough addresses with lines and inlined functions were compared. */
	CHECK(result.with_lines > 20);
	if (!strstr(variant->build, "-static")) {
		CHECK(result.with_lines > result.addresses / 2);
		CHECK(result.inlined > 150);
	}
	CHECK(result.unnamed <= result.with_lines / 8);
	if (result.differences || result.unnamed > result.with_lines / 8)
		fprintf(stderr,
			"%s: %u addresses, %u with lines, %u inlined, %u unnamed\n",
			variant->build, result.addresses, result.with_lines,
			result.inlined, result.unnamed);
}

static void equal_to_addr2line(void)
{
	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++)
		check_variant(&variants[i]);
}

/* C++ names, as printed by binutils. */
static void names_of_cplusplus(void)
{
	struct line_resources resources = plain_resources();
	struct line_module *module;
	struct comparison result;

	SHELL("g++ -gdwarf-4 -O2 -fno-lto " TARGETS "inlines.cpp -o x");
	module = open_module("x");
	result = compare_lines(module, &resources, "x", "x", BINUTILS, 20000);
	line_module_destroy(module);
	CHECK(result.inlined > 1000);
	CHECK_INT(result.differences, 0);
	/* addr2line has no scopes where GCC gives no linkage name. */
	CHECK(result.unnamed <= result.with_lines / 30);
}

/* The names of all functions in the code of "x". */
static char *names_in(const char *name)
{
	struct line_resources resources = plain_resources();
	struct line_module *module = open_module(name);
	struct text_range text = find_text(name);
	struct strbuf names = {0};

	strbuf_append_char(&names, '\n');
	for (uint64_t at = 0; at < text.size_bytes; at++) {
		struct source_frames frames;

		REQUIRE(!line_module_find(module, &resources, text.file_offset + at,
					  &frames));
		vec_foreach (frame, &frames.list) {
			_cleanup_(strbuf_deinit) struct strbuf line = {0};
			_cleanup_(freep) char *plain =
				frame->function ? demangle(frame->function) : NULL;

			strbuf_appendf(&line, "\n%s\n",
				       plain             ? plain
				       : frame->function ? frame->function
							 : "??");
			if (!strstr(names.data, line.data))
				strbuf_append(&names, line.data + 1);
		}
		source_frames_deinit(&frames);
	}
	line_module_destroy(module);
	return strbuf_steal(&names);
}

/* Functions without a linkage name have the scopes of their DIE. */
static void names_without_linkage_names(void)
{
	static const char *const builds[] = {
		"g++ -gdwarf-4 -O2 -fno-lto",
		"g++ -gdwarf-5 -O2 -fno-lto",
		"g++ -g -O2 -fno-lto -fdebug-types-section",
		"g++ -g -O2 -flto",
		"g++ -gdwarf-4 -gsplit-dwarf -O2 -fno-lto",
		"g++ -gdwarf-5 -gsplit-dwarf -O2 -fno-lto",
	};
	static const char *const names[] = {
		"shop::(anonymous namespace)::Cart::fill",
		"shop::(anonymous namespace)::Cart::Line::add",
		"shop::sell",
		"shop::sell::{lambda:33}::operator()",
		"shop::sell::{lambda:33}::operator()::{lambda:34}::operator()",
		"shop::Server::serve()",
		"shop::Server::serve::Reply::operator()",
		"main",
		"main::{lambda:64}::operator()<int>",
		"main::{lambda:65}::operator()",
	};

	for (size_t i = 0; i < sizeof(builds) / sizeof(*builds); i++) {
		_cleanup_(freep) char *got = NULL;

		SHELL("%s " TARGETS "scopes.cpp -o x", builds[i]);
		got = names_in("x");
		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++) {
			char line[128];

			snprintf(line, sizeof(line), "\n%s\n", names[j]);
			if (strstr(got, line))
				continue;
			CHECK_FAIL("a name is missing");
			fprintf(stderr, "%s: no %s in:%s", builds[i], names[j], got);
		}
	}
}

/* The 32 innermost scopes are shown, and none if DIEs are nested deeper than 64. */
static void deeply_nested_scopes(void)
{
	static const struct {
		int levels, shown;
	} cases[] = {{31, 31}, {32, 32}, {40, 32}, {64, 32}, {65, 0}, {250, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(strbuf_deinit) struct strbuf line = {0};
		_cleanup_(freep) char *got = NULL;

		SHELL("{ for i in $(seq %d); do echo 'namespace n {'; done;"
		      " echo 'void *volatile sink; static inline int in(int c)"
		      " { return sink ? c : 3; } int out(int c) { return in(c); }';"
		      " for i in $(seq %d); do echo '}'; done;"
		      " echo 'int main() { return 0; }'; } >deep.cpp &&"
		      " g++ -g -O2 -fno-lto deep.cpp -o x",
		      cases[i].levels, cases[i].levels);
		got = names_in("x");
		strbuf_append_char(&line, '\n');
		for (int n = 0; n < cases[i].shown; n++)
			strbuf_append(&line, "n::");
		strbuf_append(&line, "in\n");
		CHECK(strstr(got, line.data));
	}
}

/* The columns of clang and gcc, and the places of a known call chain. */
static void known_frames(void)
{
	struct line_resources resources = plain_resources();
	struct line_module *module;
	struct text_range text;
	unsigned seen = 0;

	SHELL("gcc -g -O2 " TARGETS "inlines.c -o x");
	module = open_module("x");
	text = find_text("x");
	for (uint64_t at = 0; at < text.size_bytes; at++) {
		struct source_frames frames;

		REQUIRE(!line_module_find(module, &resources, text.file_offset + at,
					  &frames));
		if (frames.list.len == 4 &&
		    !strcmp(frames.list.data[0].function, "make")) {
			static const char *const names[] = {"make", "fill", "push",
							    "outer"};
			static const unsigned lines[] = {0, 31, 41, 51};

			seen++;
			for (size_t i = 0; i < 4; i++) {
				const struct source_frame *frame = &frames.list.data[i];

				CHECK_STR(frame->function, names[i]);
				CHECK_STR(frame->file, TARGETS "inlines.c");
				CHECK_INT(frame->inlined, i < 3);
				CHECK(frame->column > 0);
				if (i)
					CHECK_INT(frame->line, lines[i]);
			}
			CHECK(frames.function_offset < 1000);
		}
		source_frames_deinit(&frames);
	}
	CHECK(seen > 5);
	line_module_destroy(module);
}

/* Offsets outside of the file, and a file without debug info: no answer. */
static void nothing_to_find(void)
{
	static const uint64_t offsets[] = {0, 1, 1 << 20, INT64_MAX, UINT64_MAX};
	struct line_resources resources = plain_resources();
	struct source_frames frames;
	struct line_module *module;

	SHELL("gcc -g -O2 " TARGETS "inlines.c -o x && strip -o bare x");
	module = open_module("x");
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		REQUIRE(!line_module_find(module, &resources, offsets[i], &frames));
		CHECK_INT(frames.list.len, 0);
	}
	CHECK(!line_module_missing(module));
	line_module_destroy(module);

	module = open_module("bare");
	REQUIRE(!line_module_find(module, &resources, find_text("bare").file_offset,
				  &frames));
	CHECK_INT(frames.list.len, 0);
	CHECK_STR(line_module_missing(module), "no debug info");
	line_module_destroy(module);
}

/* When the budget is used up, lookups return no lines, and no errors. */
static void budget_ends(void)
{
	struct line_resources resources = plain_resources();
	struct text_range text;
	struct line_module *module;
	struct source_frames frames;

	SHELL("g++ -g -O2 " TARGETS "inlines.cpp -o x");
	text = find_text("x");
	for (uint64_t steps = 0; steps < 1 << 18; steps = steps * 2 + 1) {
		module = open_module("x");
		resources.budget.steps = steps;
		for (uint64_t at = 0; at < text.size_bytes; at += 97) {
			REQUIRE(!line_module_find(module, &resources,
						  text.file_offset + at, &frames));
			source_frames_deinit(&frames);
		}
		line_module_destroy(module);
	}
	/* Decompression takes memory. */
	SHELL("g++ -g -gz -O2 " TARGETS "inlines.cpp -o x");
	text = find_text("x");
	resources = plain_resources();
	resources.memory_bytes = 1000;
	module = open_module("x");
	REQUIRE(!line_module_find(module, &resources, text.file_offset + 99, &frames));
	CHECK_INT(frames.list.len, 0);
	CHECK_STR(line_module_missing(module), "its debug info cannot be read");
	line_module_destroy(module);
}

int main(void)
{
	make_work_dir();
	RUN(equal_to_addr2line);
	RUN(names_of_cplusplus);
	RUN(names_without_linkage_names);
	RUN(deeply_nested_scopes);
	RUN(known_frames);
	RUN(nothing_to_find);
	RUN(budget_ends);
	remove_work_dir();
	return check_done();
}
