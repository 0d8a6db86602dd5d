// SPDX-License-Identifier: Apache-2.0
/* Lines and inlined functions of programs with split DWARF, for several compilers, DWARF
 * versions and places of the files, compared with addr2line for the same code without
 * split DWARF. */
#include "unit/dwarf/compare_lines.h"

#define TARGETS TEST_DATA_DIR "/unit/symbol/targets/"

/* binutils' tool if installed. It reads only DWARF 4. */
#define DWP "$(command -v dwp || echo llvm-dwp)"

/* All code of a unit in one section: ranges are relative to its start. */
#define ONE_SECTION " -Dcold=noinline"

static const struct variant {
	const char *compiler; /* command with flags */
	const char *source;
	const char *package; /* tool that makes a package */
	enum oracle oracle;
} variants[] = {
	{"gcc -gdwarf-5 -O2", "inlines.c", "llvm-dwp", BINUTILS},
	{"gcc -gdwarf-4 -O2", "inlines.c", DWP, BINUTILS},
	{"gcc -gdwarf-5 -O0", "inlines.c", "llvm-dwp", LLVM},
	{"clang -gdwarf-5 -O2", "inlines.c", "llvm-dwp", LLVM},
	{"clang -gdwarf-4 -O2" ONE_SECTION, "inlines.c", "llvm-dwp", LLVM},
	{"clang -gdwarf-5 -O2 -fsplit-dwarf-inlining", "inlines.c", NULL, LLVM},
	/* llvm-dwp 14 never ends for this one. */
	{"g++ -gdwarf-5 -O2", "inlines.cpp", NULL, LLVM},
	{"gcc -gdwarf-4 -O1 -fno-reorder-functions" ONE_SECTION, "inlines.c", DWP, LLVM},
	{"clang++ -gdwarf-5 -O2", "inlines.cpp", "llvm-dwp", LLVM},
	{"clang -gdwarf-4 -O1 -gz -ffunction-sections", "inlines.c", NULL, LLVM},
	{"clang -gdwarf-5 -O2" ONE_SECTION, "inlines.c", NULL, LLVM},
	{"gcc -gdwarf-5 -O2 -gz -fno-reorder-functions" ONE_SECTION, "inlines.c", NULL,
	 BINUTILS},
};

/* Builds a program of two units, the second one in C: "x" with and "whole" without
 * -gsplit-dwarf. */
static void build(const char *compiler, const char *source)
{
	static const char *const kinds[][2] = {{"x", "-gsplit-dwarf"}, {"whole", ""}};

	SHELL("rm -rf *");
	for (size_t i = 0; i < 2; i++)
		SHELL("%s %s -c " TARGETS "%s -o a.o && "
		      "%s %s -Dmain=main2 -Douter=outer2 -x c -c " TARGETS
		      "inlines.c -o b.o && %s a.o b.o -o %s && rm a.o b.o",
		      compiler, kinds[i][1], source, compiler, kinds[i][1], compiler,
		      kinds[i][0]);
	SHELL("test -f a.dwo && test -f b.dwo");
	/* The code must be the same. */
	SHELL("for i in x whole; do objcopy -O binary -j .text $i $i.text; done && "
	      "cmp x.text whole.text");
}

static struct comparison compare(struct line_resources *resources, enum oracle oracle)
{
	struct line_module *module = open_module("x");
	struct comparison result =
		compare_lines(module, resources, "x", "whole", oracle, 1000);

	line_module_destroy(module);
	return result;
}

static void check_whole(const struct variant *variant, const char *what)
{
	struct line_resources resources = plain_resources();
	struct comparison result = compare(&resources, variant->oracle);

	CHECK_INT(result.differences, 0);
	CHECK(result.with_lines > result.addresses / 2);
	CHECK(result.inlined > 100);
	CHECK(result.unnamed <= result.with_lines / 8);
	if (result.differences || result.inlined <= 100)
		fprintf(stderr,
			"%s, %s: %u addresses, %u with lines, %u inlined, %u unnamed\n",
			variant->compiler, what, result.addresses, result.with_lines,
			result.inlined, result.unnamed);
}

static void equal_to_addr2line(void)
{
	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
		const struct variant *variant = &variants[i];

		build(variant->compiler, variant->source);
		check_whole(variant, "files");
		if (!variant->package)
			continue;
		SHELL("%s -e x -o x.dwp && rm a.dwo b.dwo", variant->package);
		check_whole(variant, "package");
	}
}

int main(void)
{
	make_work_dir();
	RUN(equal_to_addr2line);
	remove_work_dir();
	return check_done();
}
