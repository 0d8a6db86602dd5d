// SPDX-License-Identifier: Apache-2.0
/* Lines, inlined functions and names of a Rust program in both mangling schemes, compared
 * with addr2line. */
#include "unit/dwarf/compare_lines.h"

#define SOURCE TEST_DATA_DIR "/unit/symbol/targets/inlines.rs"

/* Checks the program x. */
static struct comparison check_lines(enum oracle oracle)
{
	struct line_resources resources = plain_resources();
	struct line_module *module = open_module("x");
	struct comparison result =
		compare_lines(module, &resources, "x", "x", oracle, 20000);

	line_module_destroy(module);
	CHECK_INT(result.differences, 0);
	CHECK(result.with_lines > result.addresses / 2);
	CHECK(result.inlined > result.with_lines / 2);
	return result;
}

static void check_scheme(const char *scheme)
{
	struct comparison result;

	SHELL("rustc %s -g -C opt-level=2 " SOURCE " -o x", scheme);
	result = check_lines(BINUTILS);
	CHECK(result.unnamed <= result.with_lines / 50);
}

/* Debug info in .dwo files, and in a package of them. rustc before 1.65 calls that
 * unstable. By default it puts inlined functions into the skeletons, and then libdw finds
 * no lines. */
static void check_split(const char *kind)
{
	SHELL("rm -rf * && RUSTC_BOOTSTRAP=1 rustc -g -C opt-level=2 "
	      "-C split-debuginfo=%s -Z unstable-options "
	      "-Z split-dwarf-inlining=no " SOURCE " -o x && ls *.dw[op] > list",
	      kind);
	(void)check_lines(LLVM);
}

static void split(void)
{
	check_split("unpacked");
	check_split("packed");
}

static void legacy(void)
{
	check_scheme("");
}

static void v0(void)
{
	check_scheme("-C symbol-mangling-version=v0");
}

/* Each mangled symbol of the program must be demangled. */
static void all_symbols(void)
{
	char name[16384];
	unsigned mangled = 0, hashes = 0;
	FILE *file;

	SHELL("nm x | sed 's/.* //' | grep '^_R\\|^_ZN' > names");
	file = fopen(work_path("names"), "re");
	REQUIRE(file);
	while (fgets(name, sizeof(name), file)) {
		_cleanup_(freep) char *plain = NULL;

		name[strcspn(name, "\n")] = '\0';
		plain = demangle(name);
		mangled++;
		if (!plain)
			CHECK_FAIL("not demangled: %s", name);
		else
			hashes += strstr(plain, "::h") &&
				  strlen(strstr(plain, "::h")) == 19;
	}
	fclose(file);
	CHECK(mangled > 100);
	CHECK_INT(hashes, 0);
}

int main(void)
{
	if (system("rustc --version >/dev/null 2>&1") != 0)
		check_skip("rustc is not installed");
	make_work_dir();
	RUN(legacy);
	RUN(all_symbols);
	RUN(v0);
	RUN(all_symbols);
	RUN(split);
	remove_work_dir();
	return check_done();
}
