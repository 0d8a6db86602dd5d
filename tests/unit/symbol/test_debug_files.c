// SPDX-License-Identifier: Apache-2.0
/* Debug info in other files: by build-id, debuglink, dwz, .gnu_debugdata and debuginfod.
 * It is found, refused, and not requested from a server unless the user asks for that. */
#include "unit/dwarf/compare_lines.h"

#include <sys/stat.h>

#include "symbol/debuginfod.h"

#define TARGETS TEST_DATA_DIR "/unit/symbol/targets/"

/* The build-id of a file, as a path below .build-id. */
static const char *build_id_path(const char *name)
{
	static char path[256];
	int fd = open(work_path(name), O_RDONLY | O_CLOEXEC);
	struct debug_elf *image;
	struct build_id id;
	int n;

	REQUIRE(fd >= 0 && !debug_elf_open(fd, &image));
	id = debug_elf_build_id(image);
	debug_elf_close(image);
	REQUIRE(id.size == 20);
	n = snprintf(path, sizeof(path), ".build-id/%02x/", id.bytes[0]);
	for (size_t i = 1; i < id.size; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", id.bytes[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
	return path;
}

/* Builds "x", stripped; "x.debug", its debug info; and "whole", both together. */
static void build(const char *flags)
{
	SHELL("rm -rf * && gcc -g -O2 %s " TARGETS "inlines.c -o whole && "
	      "objcopy --only-keep-debug whole x.debug && strip -o x whole",
	      flags);
}

/* Compares the answers for "x" with addr2line's for "whole". */
static void check_found(struct line_resources *resources, const char *oracle_name)
{
	struct line_module *module = open_module("x");
	struct comparison result =
		compare_lines(module, resources, "x", oracle_name, BINUTILS, 2000);

	CHECK_INT(result.differences, 0);
	CHECK(result.with_lines > 200);
	CHECK(result.inlined > 150);
	CHECK(!line_module_missing(module));
	line_module_destroy(module);
}

static void check_missing(struct line_resources *resources, const char *why)
{
	struct line_module *module = open_module("x");
	struct text_range text = find_text("x");
	struct source_frames frames;

	REQUIRE(!line_module_find(module, resources, text.file_offset + 8, &frames));
	CHECK_INT(frames.list.len, 0);
	CHECK_STR(line_module_missing(module), why);
	line_module_destroy(module);
}

static void by_build_id(void)
{
	struct line_resources resources = plain_resources();
	char dir[512];
	const char *const dirs[] = {"/nonexistent", dir, NULL};
	char path[256];

	build("");
	snprintf(path, sizeof(path), "%s", build_id_path("x"));
	SHELL("mkdir -p debug/$(dirname %s) && mv x.debug debug/%s", path, path);
	check_missing(&resources, "no debug info");
	snprintf(dir, sizeof(dir), "%s/debug", work_dir);
	resources.search.dirs = dirs;
	check_found(&resources, "whole");

	/* The debug file of another build is refused. */
	SHELL("gcc -g -O1 " TARGETS "inlines.c -o other && "
	      "objcopy --only-keep-debug other debug/%s",
	      path);
	check_missing(&resources, "no debug info");

	/* Files that are not regular must not block the reader. */
	SHELL("rm debug/%s && mkfifo debug/%s", path, path);
	check_missing(&resources, "no debug info");
	SHELL("rm debug/%s && ln -s /dev/zero debug/%s", path, path);
	check_missing(&resources, "no debug info");
	SHELL("rm debug/%s && mkdir debug/%s", path, path);
	check_missing(&resources, "no debug info");
	SHELL("rmdir debug/%s && head -c 100000 /dev/urandom > debug/%s", path, path);
	check_missing(&resources, "no debug info");
}

static void by_debuglink(void)
{
	struct line_resources resources = plain_resources();
	char dir[512];
	const char *const dirs[] = {dir, NULL};

	/* Without a build-id the checksum decides. */
	snprintf(dir, sizeof(dir), "%s/debug", work_dir);
	build("-Wl,--build-id=none");
	SHELL("objcopy --add-gnu-debuglink=x.debug x");
	check_found(&resources, "whole"); /* in the same directory */
	SHELL("mkdir .debug && mv x.debug .debug/");
	check_found(&resources, "whole");
	SHELL("mkdir -p debug$PWD && mv .debug/x.debug debug$PWD/");
	check_missing(&resources, "no debug info");
	resources.search.dirs = dirs;
	check_found(&resources, "whole");
	SHELL("mv debug$PWD/x.debug debug/");
	check_found(&resources, "whole");
	SHELL("printf x >> debug/x.debug");
	check_missing(&resources, "no debug info");

	/* With a build-id, that decides. */
	build("");
	SHELL("objcopy --add-gnu-debuglink=x.debug x");
	check_found(&resources, "whole");
	SHELL("printf x >> x.debug");
	check_found(&resources, "whole");
}

/* The target has another root directory: links do not lead out of it, and files below our
 * root are not used. */
static void in_another_root(void)
{
	struct line_resources resources = plain_resources();
	char path[256];

	build("");
	snprintf(path, sizeof(path), "%s", build_id_path("x"));
	SHELL("mkdir -p root/usr/lib/debug/$(dirname %s) && "
	      "mv x.debug root/usr/lib/debug/%s",
	      path, path);
	check_missing(&resources, "no debug info");
	resources.search.root_fd =
		open(work_path("root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(resources.search.root_fd >= 0);
	check_found(&resources, "whole");
	/* An absolute link starts at the target's root. */
	SHELL("mv root/usr/lib/debug/%s outside && ln -s $PWD/outside "
	      "root/usr/lib/debug/%s",
	      path, path);
	check_missing(&resources, "no debug info");
	SHELL("mkdir -p root$PWD && cp outside root$PWD/outside");
	check_found(&resources, "whole");
	close(resources.search.root_fd);
}

/* Common parts of the debug info in a supplementary file. */
static void dwz(void)
{
	struct line_resources resources = plain_resources();

	/* gcc's DWARF 4: binutils 2.40 cannot read DWARF 5 written by dwz. */
	SHELL("rm -rf * && gcc -gdwarf-4 -O2 " TARGETS "inlines.c -o x && "
	      "gcc -gdwarf-4 -O2 -DOTHER " TARGETS "inlines.c -o y && cp x whole && "
	      "dwz -m common.debug x y && "
	      "readelf -S x | grep -q gnu_debugaltlink");
	check_found(&resources, "whole");
	/* Without that file no debug info is found, and a FIFO with its name is not
	 * opened. */
	SHELL("mv common.debug hidden && mkfifo common.debug");
	check_missing(&resources,
		      "the supplementary file (dwz) of its debug info was not found");
	/* Another file with that name is refused. */
	SHELL("rm common.debug && cp x x.kept && cp y y.kept && "
	      "gcc -gdwarf-4 -O1 " TARGETS "inlines.c -o a && cp a b && "
	      "dwz -m common.debug a b");
	check_missing(&resources,
		      "the supplementary file (dwz) of its debug info was not found");
}

/* Symbols only: the symbol table that Fedora keeps in stripped files. */
static void minidebuginfo(void)
{
	struct line_resources resources = plain_resources();
	struct line_module *module;
	struct text_range text;
	struct source_frames frames;
	unsigned named = 0, outer = 0;

	build("");
	SHELL("objcopy -S --remove-section .gnu_debuglink x.debug mini && "
	      "objcopy -g whole mini && xz -k mini && "
	      "objcopy --add-section .gnu_debugdata=mini.xz x");
	module = open_module("x");
	text = find_text("x");
	for (uint64_t at = 0; at < text.size_bytes; at++) {
		REQUIRE(!line_module_find(module, &resources, text.file_offset + at,
					  &frames));
		if (frames.list.len) {
			named++;
			CHECK_INT(frames.list.len, 1);
			CHECK(!frames.list.data[0].file && !frames.list.data[0].line);
			CHECK(frames.function_offset < 2000);
			outer += !strcmp(frames.list.data[0].function, "outer");
		}
		source_frames_deinit(&frames);
	}
	CHECK(named > 300);
	CHECK(outer > 50);
	CHECK_STR(line_module_missing(module), "no debug info");
	line_module_destroy(module);

	/* Damaged, truncated, and a bomb of 512 MiB of zeros. */
	SHELL("strip -o x whole && head -c 700 mini.xz > part && "
	      "objcopy --add-section .gnu_debugdata=part x");
	check_missing(&resources, "no debug info");
	SHELL("strip -o x whole && head -c 512M /dev/zero | xz -0 > bomb && "
	      "objcopy --add-section .gnu_debugdata=bomb x");
	check_missing(&resources, "no debug info");
	SHELL("strip -o x whole && head -c 5000 /dev/urandom > junk && "
	      "objcopy --add-section .gnu_debugdata=junk x");
	check_missing(&resources, "no debug info");
}

static int fetch(void *arg, const struct build_id *id)
{
	(void)arg;
	return debuginfod_fetch(id);
}

/* Only if requested, and with a URL, which may be a directory. */
static void debuginfod(void)
{
	struct line_resources resources = plain_resources();
	char path[256], id[64], url[600];

	build("");
	snprintf(path, sizeof(path), "%s", build_id_path("x"));
	/* ".build-id/ab/cdef.debug" to "abcdef" */
	snprintf(id, sizeof(id), "%.2s%.38s", path + 10, path + 13);
	SHELL("mkdir -p server/buildid/%s && mv x.debug server/buildid/%s/debuginfo && "
	      "mkdir cache",
	      id, id);
	snprintf(url, sizeof(url), "file://%s/server", work_dir);
	setenv("DEBUGINFOD_CACHE_PATH", work_path("cache"), 1);
	setenv("DEBUGINFOD_URLS", url, 1);
	check_missing(&resources, "no debug info");
	/* The server was not asked. */
	SHELL("test -z \"$(ls cache)\"");
	resources.search.fetch = fetch;
	check_found(&resources, "whole");
	unsetenv("DEBUGINFOD_URLS");
	SHELL("rm -rf cache");
	check_missing(&resources, "no debug info");
	resources.search.fetch = NULL;
}

int main(void)
{
	make_work_dir();
	RUN(by_build_id);
	RUN(by_debuglink);
	RUN(in_another_root);
	RUN(dwz);
	RUN(minidebuginfo);
	RUN(debuginfod);
	remove_work_dir();
	return check_done();
}
