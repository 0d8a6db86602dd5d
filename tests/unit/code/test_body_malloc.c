// SPDX-License-Identifier: Apache-2.0
/*
 * The sites inside malloc() of real C libraries, checked by execution: ptrace(2)
 * single-steps some thousand calls.
 */
#include "check.h"

#if !defined(__x86_64__)

int main(void)
{
	check_leave_out("the libraries of this machine are not x86-64");
}

#else

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code/body.h"
#include "code/flow.h"
#include "code/place.h"
#include "elf/elf.h"
#include "process/proc.h"
#include "unit/code/body_calls.h"
#include "unit/code/tracee.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct proc *, proc_close);

/* --- a run -------------------------------------------------------------------------- */

struct library {
	const char *name, *path;
	const char *linker; /* NULL: this program's dynamic linker finds the library */
	const char *folder; /* folder of the library, with `linker` */
};

/* The function and its sites in a library's file. */
struct function {
	struct elf_symbol symbol;
	char build_id[64];
	struct body body;
	const char *why; /* why no sites were found, or NULL */
};

struct other_text {
	struct elf_file *file;
	uint64_t offset; /* file offset of the function */
};

static size_t read_other(void *arg, int64_t offset, uint8_t *ret, size_t size)
{
	const struct other_text *text = arg;

	return elf_file_read(text->file, text->offset + (uint64_t)offset, ret, size);
}

/* False if the file does not exist. */
static bool read_function(const char *path, struct function *ret)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_(error_destroyp) struct error *error = elf_file_open(path, &file);
	static const char *const names[] = {"malloc"};
	uint8_t code[FLOW_CODE_MAX];

	*ret = (struct function){.why = "it is too long"};
	if (error)
		return false;
	REQUIRE(!elf_file_find_functions(file, names, 1, &ret->symbol));
	REQUIRE(ret->symbol.name && ret->symbol.size_bytes > 0);
	if (elf_file_build_id(file))
		snprintf(ret->build_id, sizeof(ret->build_id), "%s",
			 elf_file_build_id(file));
	if (ret->symbol.size_bytes > sizeof(code))
		return true;
	REQUIRE(elf_file_read(file, ret->symbol.file_offset, code,
			      (size_t)ret->symbol.size_bytes) == ret->symbol.size_bytes);
	const struct flow_text text = {
		code, (size_t)ret->symbol.size_bytes, read_other,
		&(struct other_text){file, ret->symbol.file_offset}};

	ret->why = body_find(&text, emulated_by_kernel(6, 18), &ret->body);
	return true;
}

static void print_sites(const char *name, const struct function *f)
{
	static const char *const parts[] = {"?",      "whole",   "entry",
					    "return", "failure", "stop"};

	if (f->why)
		printf("     %s: no sites: %s\n", name, f->why);
	for (size_t i = 0; i < f->body.count; i++) {
		const struct body_site *s = &f->body.sites[i];

		printf("     %s: %-7s at %#" PRIx64 " (+%u) sp+%d size:%u %s\n", name,
		       parts[s->part], f->symbol.address + s->delta, s->delta,
		       s->sp_delta, s->size_reg, s->reason);
	}
}

/* The address of malloc() in the tracee; 0: the library is not mapped yet. */
static uint64_t find_in_memory(pid_t pid, const struct function *f)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps = {0};
	uint64_t ret = 0, offset = f->symbol.file_offset;

	REQUIRE(!proc_open(pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	vec_foreach (m, &maps.mappings) {
		const char *file = strrchr(m->path, '/');

		if (m->executable && file && !strcmp(file, "/libc.so.6") &&
		    offset >= m->file_offset &&
		    offset - m->file_offset < m->end - m->start)
			ret = m->start + (offset - m->file_offset);
	}
	proc_maps_deinit(&maps);
	return ret;
}

/* Executes this program again, traced. False: tracing is not permitted here. */
static bool start(const struct library *library, const char *tunables, pid_t *ret)
{
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int status;

	REQUIRE(length > 0);
	self[length] = '\0';
	fflush(stdout);
	*ret = fork();
	REQUIRE(*ret >= 0);
	if (*ret == 0) {
		if (tunables)
			setenv("GLIBC_TUNABLES", tunables, 1);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(2);
		if (library->linker)
			execl(library->linker, library->linker, "--library-path",
			      library->folder, self, CALLS, NULL);
		else
			execl(self, self, CALLS, NULL);
		_exit(3);
	}
	REQUIRE(waitpid(*ret, &status, 0) == *ret);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		return false;
	REQUIRE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	REQUIRE(!ptrace(PTRACE_SETOPTIONS, *ret, NULL,
			(void *)(long)(PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)));
	return true;
}

/* Runs until the dynamic linker maps the library, so that even the first call is seen. */
static uint64_t run_to_library(pid_t pid, const struct function *f)
{
	uint64_t address = 0;
	int status;

	while (!address) {
		REQUIRE(!ptrace(PTRACE_SYSCALL, pid, NULL, NULL));
		REQUIRE(waitpid(pid, &status, 0) == pid);
		REQUIRE(WIFSTOPPED(status));
		address = find_in_memory(pid, f);
	}
	return address;
}

static void run(const struct library *library, const struct function *f,
		const char *tunables, struct tracer *t)
{
	if (!start(library, tunables, &t->pid))
		check_skip("ptrace(2) is not allowed here");
	t->body = &f->body;
	t->start = run_to_library(t->pid, f);
	t->end = t->start + f->symbol.size_bytes;
	follow_calls(t);
}

/* Default, without the threads' caches, and with one arena for all threads. */
static const char *const tunables[] = {NULL, "glibc.malloc.tcache_count=0",
				       "glibc.malloc.arena_max=1"};

/* Checks all sites that were found in the library. */
static void judge(const struct library *library, const struct function *f, unsigned runs)
{
	struct tracer t = {.has_stop_at = has_stop_at()};

	for (unsigned i = 0; i < runs; i++)
		run(library, f, tunables[i], &t);
	printf("     %s: %u calls, %u failed; hits:", library->name, t.calls,
	       t.failed_calls);
	for (size_t i = 0; i < f->body.count; i++) {
		enum body_part part = f->body.sites[i].part;

		printf(" +%u:%u", f->body.sites[i].delta, t.hits[i]);
		/* Each kind of site was hit, and no call was wrongly assumed not to
		 * return. */
		CHECK(part == BODY_STOP ? !t.hits[i] : t.parts[part] > 0);
	}
	printf("\n");
	CHECK(t.calls > 1300 * runs);
	CHECK(t.failed_calls > 20 * runs);
	CHECK(t.parts[BODY_WHOLE] > 100 * runs);
	CHECK(t.parts[BODY_FAILURE] > 0);
}

/* --- the libraries ------------------------------------------------------------------ */

/* Sites that were read from the disassembly: each path to a `ret` passes one site of kind
 * WHOLE, RETURN or FAILURE. */
static const struct known {
	const char *build_id;
	struct {
		enum body_part part;
		uint32_t delta;
		uint8_t size_reg;
	} sites[BODY_SITES_MAX];
} known[] = {
	/* glibc 2.36-9+deb12u14 */
	{"93ac61ec5a8eb1396f9fbd350e3169a558528a40",
	 {
		 /* before the failed assertions and malloc_printerr() */
		 {BODY_STOP, 510, PLACE_NO_REGISTER},
		 {BODY_STOP, 684, PLACE_NO_REGISTER},
		 {BODY_STOP, 752, PLACE_NO_REGISTER},
		 /* the size is too large, or the only arena has no memory; no arena
		  * has */
		 {BODY_FAILURE, 556, PLACE_NO_REGISTER},
		 {BODY_FAILURE, 659, PLACE_NO_REGISTER},
		 /* test $2,%dl; jne: chunk_is_mmapped(), with threads and without */
		 {BODY_RETURN, 183, PLACE_NO_REGISTER},
		 {BODY_RETURN, 426, PLACE_NO_REGISTER},
		 /* cmpb $0,__libc_single_threaded; jne */
		 {BODY_ENTRY, 98, INSN_RBX},
		 /* test $15,%al; jne: aligned_OK() of tcache_get() */
		 {BODY_WHOLE, 343, INSN_RBX},
	 }},
};

/* False: the library is not in the table. */
static bool check_known(const struct function *f)
{
	for (size_t i = 0; i < COUNT(known); i++) {
		if (strcmp(known[i].build_id, f->build_id))
			continue;
		CHECK(!f->why);
		for (size_t k = 0; k < BODY_SITES_MAX && known[i].sites[k].part; k++) {
			REQUIRE(k < f->body.count);
			CHECK_INT(f->body.sites[k].part, known[i].sites[k].part);
			CHECK_INT(f->body.sites[k].delta, known[i].sites[k].delta);
			CHECK_INT(f->body.sites[k].size_reg, known[i].sites[k].size_reg);
			CHECK_INT(f->body.count > k + 1,
				  k + 1 < BODY_SITES_MAX && known[i].sites[k + 1].part);
		}
		return true;
	}
	return false;
}

/* Why nothing could be checked on this machine. */
static const char *nothing;

static void this_machine(void)
{
	static const char *const paths[] = {"/lib/x86_64-linux-gnu/libc.so.6",
					    "/lib64/libc.so.6"};
	struct function f;

	for (size_t i = 0; i < COUNT(paths); i++) {
		const struct library library = {.name = "glibc", .path = paths[i]};

		if (!read_function(paths[i], &f))
			continue;
		print_sites(library.name, &f);
		if (!check_known(&f)) {
			printf("     glibc with build-id %s is not in known[]\n",
			       f.build_id);
			/* scripts/test fails until a person has added the build. */
			CHECK(!getenv("MEMTRACE_TEST_ALL"));
			if (f.why)
				nothing = "no sites are found in this machine's libc";
		}
		if (!f.why)
			judge(&library, &f, COUNT(tunables));
		return;
	}
	nothing = "no glibc is here";
}

/* A program that was linked with a newer library does not run with an older one. With
 * sanitizers that is the case for this program. */
static bool runs_with(const struct library *library)
{
	char self[4096] = {0};
	pid_t pid;
	int status;

	REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		execl(library->linker, library->linker, "--library-path", library->folder,
		      self, CALLS, (char *)NULL);
		_exit(127);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Releases as for unit.code.place_releases. */
static void other_releases(void)
{
	static const char *const releases[] = {"ubuntu-22.04", "ubuntu-24.04",
					       "debian-13"};
	const char *dir = getenv("MEMTRACE_TEST_LIBRARIES");
	unsigned there = 0;

	for (size_t i = 0; dir && i < COUNT(releases); i++) {
		_cleanup_(freep) char *folder = NULL, *path = NULL, *linker = NULL;
		struct function f;

		REQUIRE(asprintf(&folder, "%s/%s", dir, releases[i]) > 0);
		REQUIRE(asprintf(&path, "%s/libc.so.6", folder) > 0);
		REQUIRE(asprintf(&linker, "%s/ld-linux-x86-64.so.2", folder) > 0);

		const struct library library = {releases[i], path, linker, folder};

		if (!read_function(path, &f))
			continue;
		there++;
		print_sites(library.name, &f);
		/* Ubuntu's packages never change. */
		CHECK(!f.why || strncmp(releases[i], "ubuntu", 6) != 0);
		if (!f.why && runs_with(&library))
			judge(&library, &f, 1);
		else if (!f.why)
			CHECK_SKIP_PART("no call of %s: this program does not run "
					"with it",
					library.name);
	}
	printf("     %u of %zu other releases\n", there, COUNT(releases));
}

int main(int argc, char *argv[])
{
	/* _exit(): LeakSanitizer cannot work in a tracee. */
	if (argc > 1 && !strcmp(argv[1], CALLS))
		_exit(make_calls());
	RUN(other_releases);
	RUN(this_machine);
	if (nothing && !check_state.failures)
		check_skip(nothing);
	return check_done();
}

#endif
