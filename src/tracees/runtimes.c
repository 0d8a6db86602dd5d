// SPDX-License-Identifier: Apache-2.0
#include "tracees/runtimes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "process/target_file.h"
#include "unwind/elf_image.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/path.h"
#include "util/say_note.h"

/* How a runtime is recognized. */
enum mark {
	FILE_NAME,      /* last component of the path of mapped code */
	FILE_VERSION,   /* the same; the rest may be a version */
	FILE_BEGINNING, /* the same; any rest */
	MEMORY_NAME,    /* prefix of the name of a mapping without a file */
	SECTION,        /* section of the executable */
	SYMBOL,         /* symbol in the executable's .strtab */
};

static const struct runtime java = {
	.heap = "Java objects lie in the virtual machine's own heap",
	.use = "jcmd PID GC.class_histogram lists its objects",
	.jit = "-XX:+PreserveFramePointer makes its stacks whole, and jcmd PID "
	       "Compiler.perfmap writes the names",
};
static const struct runtime v8 = {
	.heap = "JavaScript objects lie in V8's own heap",
	.use = "a heap snapshot shows them (v8.writeHeapSnapshot(), or the developer "
	       "tools of a browser)",
	.jit = "--perf-basic-prof writes the names (in chromium: "
	       "--js-flags=--perf-basic-prof)",
};
static const struct runtime go = {
	.heap = "Go objects lie in the Go runtime's own heap",
	.use = "go tool pprof shows it",
	.is_go = true,
};
static const struct runtime python = {
	.heap = "Python objects of up to 512 bytes lie in arenas of its own, unless it "
		"runs with PYTHONMALLOC=malloc",
	.jit = "-X perf (Python 3.12) writes the names of Python functions",
};
static const struct runtime php = {
	.heap = "PHP values lie in a heap of its own, unless it runs with "
		"USE_ZEND_ALLOC=0",
	.jit = "-d opcache.jit_debug=16 writes the names",
};
static const struct runtime beam = {
	.heap = "Erlang terms lie in carriers of the BEAM's own, unless it runs with "
		"+Mea min",
	.use = "recon_alloc and erlang:memory() show them",
	.jit = "+JPperf true writes the names",
};
static const struct runtime dotnet = {
	.heap = ".NET objects lie in the runtime's own heap",
	.use = "dotnet-gcdump shows them",
	.jit = "DOTNET_PerfMapEnabled=1 in the environment writes the names",
};
static const struct runtime luajit = {
	.heap = "Lua objects lie in LuaJIT's own heap",
	.use = "collectgarbage(\"count\") returns its size",
	.jit = "its traces have no names and no frame pointers, and -joff turns them off",
};
static const struct runtime ruby = {
	.heap = "Ruby objects lie in heap pages of its own, and only what they refer to "
		"is allocated by malloc",
	.use = "ObjectSpace.dump_all lists them",
	.jit = "--yjit-perf (Ruby 3.3) writes the names",
};
static const struct runtime boehm = {
	.heap = "objects of the Boehm collector lie in its own heap",
	.use = "GC_PRINT_STATS=1 in the environment prints its figures",
};
static const struct runtime haskell = {
	.heap = "Haskell objects lie in the heap of GHC's own runtime",
	.use = "+RTS -hT profiles it",
};
static const struct runtime ocaml = {
	.heap = "OCaml values lie in the OCaml runtime's own heap",
	.use = "OCAMLRUNPARAM=v=0x400 prints its figures at the end",
};
static const struct runtime lisp = {
	.heap = "Lisp objects lie in SBCL's own heap",
	.use = "(room) lists them",
};
static const struct runtime valgrind = {
	.heap = "the program's blocks are valgrind's, which memtrace does not follow",
};

/* The first row that matches decides. */
static const struct row {
	enum mark mark;
	const char *text;
	const struct runtime *runtime;
} rows[] = {
	{FILE_NAME, "libjvm.so", &java},
	{FILE_NAME, "node", &v8},
	{FILE_NAME, "nodejs", &v8},
	{FILE_VERSION, "libnode.so", &v8},
	{FILE_VERSION, "libv8.so", &v8},
	{FILE_NAME, "chromium", &v8},
	{FILE_NAME, "chrome", &v8},
	{FILE_NAME, "headless_shell", &v8},
	{FILE_NAME, "electron", &v8},
	{MEMORY_NAME, "[anon:v8", &v8},
	{FILE_VERSION, "python", &python},
	{FILE_VERSION, "libpython", &python},
	{FILE_VERSION, "php", &php},
	{FILE_VERSION, "php-fpm", &php},
	{FILE_VERSION, "php-cgi", &php},
	{FILE_VERSION, "libphp", &php},
	{FILE_NAME, "beam.smp", &beam},
	{FILE_NAME, "libcoreclr.so", &dotnet},
	{FILE_VERSION, "luajit", &luajit},
	{FILE_VERSION, "luajit-", &luajit},
	{FILE_VERSION, "libluajit-", &luajit},
	{FILE_VERSION, "ruby", &ruby},
	{FILE_VERSION, "libruby.so", &ruby},
	{FILE_VERSION, "libruby-", &ruby},
	{FILE_VERSION, "libgc.so", &boehm},
	{FILE_VERSION, "sbcl", &lisp},
	{FILE_VERSION, "libasmrun_shared.so", &ocaml},
	{FILE_VERSION, "libcamlrun_shared.so", &ocaml},
	{FILE_VERSION, "ocamlrun", &ocaml},
	{FILE_BEGINNING, "libHSrts", &haskell},
	{FILE_VERSION, "libgo.so", &go},
	{MEMORY_NAME, "[anon: Go: ", &go},
	{FILE_NAME, "memcheck-amd64-linux", &valgrind},
	{SECTION, ".go.buildinfo", &go},
	{SECTION, ".note.go.buildid", &go},
	{SECTION, ".debug-ghc-link-info", &haskell},
	{SYMBOL, "caml_start_program", &ocaml},
	{SYMBOL, "hs_main", &haskell},
};

#define ROW_COUNT (sizeof(rows) / sizeof(*rows))

/* --- recognition by mappings ------------------------------------------------------ */

/* True for "" and a rest that begins with a digit or a dot: "3.11", ".so.1", "3.13t". */
static bool is_version(const char *text)
{
	return !*text || isdigit((unsigned char)*text) || *text == '.';
}

static bool fits_mapping(const struct row *row, const struct proc_mapping *mapping)
{
	const char *name = path_base_name(mapping->path);
	size_t len = strlen(row->text);
	bool is_code = mapping->executable && *mapping->path == '/';

	switch (row->mark) {
	case FILE_NAME:
		return is_code && !strcmp(name, row->text);
	case FILE_VERSION:
		return is_code && !strncmp(name, row->text, len) &&
		       is_version(name + len);
	case FILE_BEGINNING:
		return is_code && !strncmp(name, row->text, len);
	case MEMORY_NAME:
		return !strncmp(mapping->path, row->text, len);
	case SECTION:
	case SYMBOL:
		break;
	}
	return false;
}

static const struct runtime *find_mapped(const struct proc_maps *maps)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		vec_foreach (mapping, &maps->mappings)
			if (fits_mapping(&rows[i], mapping))
				return rows[i].runtime;
	return NULL;
}

/* --- recognition by the executable ------------------------------------------------ */

/* Names of sections; the last one is the string table of the symbols. */
struct names {
	const char *name[ROW_COUNT + 1];
	size_t count;
};

static bool has_symbol(const struct elf_bytes *strings, const char *name)
{
	/* Search for the name with the NULs around it. */
	char text[64];
	size_t len = strlen(name);

	if (!strings->data || len + 2 > sizeof(text))
		return false;
	text[0] = '\0';
	memcpy(text + 1, name, len + 1);
	return memmem(strings->data, strings->size_bytes, text, len + 2) != NULL;
}

static const struct runtime *find_in(const struct elf_image *image)
{
	struct names names = {.count = 0};
	struct elf_bytes bytes[ROW_COUNT + 1];
	const struct runtime *found = NULL;
	struct error *err;
	size_t section = 0;

	for (size_t i = 0; i < ROW_COUNT; i++)
		if (rows[i].mark == SECTION)
			names.name[names.count++] = rows[i].text;
	names.name[names.count] = ".strtab";
	err = elf_image_load_sections(image, names.name, names.count + 1, bytes);
	for (size_t i = 0; i < ROW_COUNT && !err && !found; i++) {
		if (rows[i].mark == SECTION
			    ? bytes[section++].data != NULL
			    : rows[i].mark == SYMBOL &&
				      has_symbol(&bytes[names.count], rows[i].text))
			found = rows[i].runtime;
	}
	for (size_t i = 0; i <= names.count && !err; i++)
		free(bytes[i].data);
	error_destroy(err);
	return found;
}

const struct runtime *runtime_of_elf(int fd)
{
	struct elf_image image = {.fd = -1};
	const struct runtime *found = NULL;
	struct error *err = elf_image_init_file(&image, fd);

	if (!err) {
		found = find_in(&image);
		elf_image_deinit(&image);
	}
	error_destroy(err);
	return found;
}

static const struct runtime *find_in_file(const struct target_file *file)
{
	int fd = target_file_open(file);

	return fd < 0 ? NULL : runtime_of_elf(fd);
}

static const struct runtime *find_in_executable(const struct proc_maps *maps,
						const struct proc *proc)
{
	const struct runtime *found;
	struct target_file *file;
	struct error *err;

	vec_foreach (mapping, &maps->mappings) {
		if (!mapping->executable || !proc->executable ||
		    strcmp(mapping->path, proc->executable) != 0)
			continue;
		err = target_file_of_mapping(proc, mapping, &file);
		if (err) {
			error_destroy(err);
			return NULL;
		}
		found = find_in_file(file);
		target_file_release(file);
		return found;
	}
	return NULL;
}

const struct runtime *runtime_of(const struct proc_maps *maps, const struct proc *proc)
{
	const struct runtime *found = find_mapped(maps);

	return found || !proc ? found : find_in_executable(maps, proc);
}

/* --- messages --------------------------------------------------------------------- */

void runtime_say_heap(const struct tracee *tracee)
{
	const struct runtime *runtime = runtime_of(&tracee->planned, tracee->proc);
	_cleanup_(freep) char *command = escape_dup(tracee->command);

	if (!runtime || !runtime->heap)
		return;
	say_note("pid %d (%s): %s: not counted here; --growth shows all memory that "
		 "grows%s%s",
		 tracee->pid, command ? command : "?", runtime->heap,
		 runtime->use ? "; " : "", runtime->use ? runtime->use : "");
}

/* Is the frame unnamed and in code that does not belong to a file? */
static bool is_unnamed(const struct report_frame *frame)
{
	return !frame->symbol && (!frame->module || *frame->module != '/');
}

/* Does the stack have an unnamed frame, or end in code that does not belong to a file? */
static bool is_of_jit(const struct report_row *row)
{
	for (size_t i = 0; i < row->depth; i++)
		if (is_unnamed(row->frames[i]))
			return true;
	if (!row->depth || row->end != STACK_END_NO_FRAME)
		return false;

	const char *module = row->frames[row->depth - 1]->module;

	return !module || *module != '/';
}

static bool has_jit_frames(const struct report *report, int pid)
{
	for (size_t i = 0; i < report->section_count; i++) {
		const struct report_section *section = &report->sections[i];

		for (size_t k = 0; k < section->row_count; k++) {
			const struct report_row *row = &section->rows[k];

			if (row->frames_of && row->frames_of->pid == pid &&
			    is_of_jit(row))
				return true;
		}
	}
	return false;
}

void runtime_say_jit(struct tracee *const tracees[], size_t count,
		     const struct report *report)
{
	for (size_t i = 0; i < count; i++) {
		struct tracee *t = tracees[i];
		const struct runtime *runtime;

		if (t->said_jit || !has_jit_frames(report, t->pid))
			continue;
		runtime = runtime_of(&t->planned, NULL);
		if (!runtime || !runtime->jit)
			continue;

		_cleanup_(freep) char *command = escape_dup(t->command);

		t->said_jit = true;
		say_note("pid %d (%s): frames in code that it has made itself have no "
			 "names, or end stacks: %s",
			 t->pid, command ? command : "?", runtime->jit);
	}
}
