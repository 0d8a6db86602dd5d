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

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code/body.h"
#include "code/flow.h"
#include "code/place.h"
#include "elf/elf.h"
#include "process/proc.h"
#include "unit/code/tracee.h"
#include "util/cleanup.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CALLS        "calls" /* argument that makes this program the tracee */

DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct proc *, proc_close);

/* --- the tracee --------------------------------------------------------------------- */

/* The C library's functions, even if a sanitizer replaces malloc. */
static void *(*libc_malloc)(size_t size);
static void (*libc_free)(void *block);

#define BLOCKS       256

/* Sizes that always fail. Only _int_malloc() checks the first two. */
static const size_t too_large[] = {(size_t)1 << 62, (size_t)1 << 46, SIZE_MAX,
				   (size_t)1 << 63};

static size_t some_size(unsigned *seed)
{
	static const size_t limits[] = {0x80,   0x80,    0x408,   0x408,
					0x2000, 0x10000, 0x100000};

	return (size_t)rand_r(seed) % limits[(size_t)rand_r(seed) % COUNT(limits)];
}

/* Allocates and frees blocks of all sizes: from the thread's cache, fast bins, small,
 * unsorted and large bins, the top, and mmap(2). */
static void churn(unsigned rounds, unsigned seed)
{
	void *blocks[BLOCKS] = {NULL};

	for (unsigned i = 0; i < rounds; i++) {
		void **block = &blocks[(size_t)rand_r(&seed) % BLOCKS];

		libc_free(*block);
		*block = libc_malloc(some_size(&seed));
		if (i % 50 == 0)
			libc_free(libc_malloc(too_large[i / 50 % COUNT(too_large)]));
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		libc_free(blocks[i]);
}

static void *churn_thread(void *argument)
{
	(void)argument;
	churn(300, 3);
	return NULL;
}

/* The thread's first call has this size. */
static void *first_call(void *size)
{
	libc_free(libc_malloc(*(const size_t *)size));
	libc_free(libc_malloc(24));
	return NULL;
}

static void run_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, argument) ||
	    pthread_join(thread, NULL))
		_exit(1);
}

static int make_calls(void)
{
	static const size_t first[] = {0, 24, 2000, 300000, (size_t)1 << 62, SIZE_MAX};
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	if (!libc)
		return 1;
	*(void **)&libc_malloc = dlsym(libc, "malloc");
	*(void **)&libc_free = dlsym(libc, "free");
	if (!libc_malloc || !libc_free)
		return 1;
	churn(800, 1);
	run_thread(churn_thread, NULL);
	churn(300, 2);
	for (size_t i = 0; i < COUNT(first); i++)
		run_thread(first_call, (void *)(uintptr_t)&first[i]);
	return 0;
}

/* --- the tracer --------------------------------------------------------------------- */

struct tracer {
	pid_t pid;
	uint64_t start, end; /* addresses of malloc() */
	const struct body *body;
	bool has_stop_at;    /* result of has_stop_at() */
	uint64_t first_word; /* the word at `start`, which holds a trap instead */
	unsigned calls, failed_calls;
	unsigned hits[BODY_SITES_MAX], parts[BODY_STOP + 1];
};

/* A call of malloc(). */
struct call {
	pid_t tid;
	uint64_t size, return_address, return_sp;
	unsigned entries, wholes, returns, failures, stops;
	uint64_t settled; /* rax at the site where the result is settled */
};

static void wait_trap(pid_t tid)
{
	int status;

	REQUIRE(waitpid(tid, &status, __WALL) == tid);
	REQUIRE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
}

/* Runs until the function that malloc() has just called returns. */
static struct user_regs_struct step_over(const struct tracer *t, pid_t tid,
					 const struct user_regs_struct *r)
{
	uint64_t back = peek(tid, r->rsp), sp = r->rsp + sizeof(uint64_t);
	uint64_t word;

	REQUIRE(back > t->start && back < t->end);
	word = set_trap(tid, back);
	REQUIRE(!ptrace(PTRACE_CONT, tid, NULL, NULL));
	wait_trap(tid);

	struct user_regs_struct after = registers_of(tid);

	REQUIRE(after.rip == back + 1 && after.rsp == sp);
	after.rip = back;
	poke(tid, back, word);
	REQUIRE(!ptrace(PTRACE_SETREGS, tid, NULL, &after));
	return after;
}

/* Called before the instruction at a site is executed. */
static void see_site(struct tracer *t, struct call *c, size_t n,
		     const struct user_regs_struct *r)
{
	const struct body_site *site = &t->body->sites[n];
	uint64_t sp = r->rsp + (uint64_t)(int64_t)site->sp_delta;

	t->hits[n]++;
	CHECK(sp == c->return_sp);
	CHECK(peek(c->tid, sp) == c->return_address);
	if (site->part == BODY_WHOLE || site->part == BODY_ENTRY)
		CHECK(register_of(r, site->size_reg) == c->size);
	if (site->part == BODY_WHOLE || site->part == BODY_RETURN)
		c->settled = r->rax;
	if (site->part == BODY_RETURN)
		CHECK_INT(c->entries, 1);

	switch (site->part) {
	case BODY_WHOLE:
		c->wholes++;
		break;
	case BODY_ENTRY:
		CHECK_INT(c->wholes + c->returns + c->failures, 0);
		c->entries++;
		break;
	case BODY_RETURN:
		c->returns++;
		break;
	case BODY_FAILURE:
		c->failures++;
		break;
	case BODY_STOP:
		c->stops++;
		break;
	}
}

static void check_call(struct tracer *t, const struct call *c, uint64_t result)
{
	unsigned before = check_state.failures;

	CHECK_INT(c->wholes + c->returns + c->failures, 1);
	CHECK(c->entries <= 1);
	CHECK(!c->wholes || !c->entries);
	CHECK(!c->returns || c->entries);
	CHECK_INT(c->stops, 0);
	CHECK(c->failures ? result == 0 : result == c->settled);
	t->calls++;
	t->failed_calls += result == 0;
	t->parts[BODY_WHOLE] += c->wholes;
	t->parts[BODY_ENTRY] += c->entries;
	t->parts[BODY_RETURN] += c->returns;
	t->parts[BODY_FAILURE] += c->failures;
	if (check_state.failures != before)
		fprintf(stderr, "... malloc(%#" PRIx64 ") is %#" PRIx64 "\n", c->size,
			result);
	/* Thousands of calls would fail in the same way. */
	REQUIRE(check_state.failures < 20);
}

/* Follows a call from malloc()'s first instruction. */
static void follow_call(struct tracer *t, pid_t tid)
{
	struct user_regs_struct r = registers_of(tid);
	struct call c = {.tid = tid,
			 .size = r.rdi,
			 .return_sp = r.rsp,
			 .return_address = peek(tid, r.rsp)};

	while (r.rip != c.return_address || r.rsp != c.return_sp + sizeof(uint64_t)) {
		if (r.rip < t->start || r.rip >= t->end) {
			r = step_over(t, tid, &r);
			continue;
		}
		for (size_t i = 0; i < t->body->count; i++)
			if (r.rip == t->start + t->body->sites[i].delta)
				see_site(t, &c, i, &r);
		REQUIRE(!ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL));
		wait_trap(tid);
		r = registers_of(tid);
	}
	check_call(t, &c, r.rax);
}

/* Makes threads stop at malloc()'s first instruction. Hardware breakpoints must be set
 * for each thread. */
static void watch_start(struct tracer *t, pid_t tid, bool is_new)
{
	if (t->has_stop_at)
		stop_at(tid, t->start);
	else if (!is_new)
		t->first_word = set_trap(tid, t->start);
}

/* Is the thread about to execute the first instruction? */
static bool is_at_start(const struct tracer *t, pid_t tid)
{
	if (t->has_stop_at)
		return registers_of(tid).rip == t->start;
	return is_trapped(tid, t->start);
}

/* Runs until the tracee ends. One of its threads runs at a time. */
static void follow_calls(struct tracer *t)
{
	int status;
	pid_t tid;

	watch_start(t, t->pid, false);
	REQUIRE(!ptrace(PTRACE_CONT, t->pid, NULL, NULL));
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		long signal = 0;

		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (tid != t->pid)
				continue;
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
			return;
		}
		REQUIRE(WIFSTOPPED(status));
		if (WSTOPSIG(status) == SIGTRAP && !(status >> 16) &&
		    is_at_start(t, tid)) {
			if (!t->has_stop_at)
				poke(tid, t->start, t->first_word);
			follow_call(t, tid);
			if (!t->has_stop_at)
				watch_start(t, tid, false);
		} else if (WSTOPSIG(status) == SIGSTOP)
			watch_start(t, tid, true);
		else if (WSTOPSIG(status) != SIGTRAP)
			signal = WSTOPSIG(status);
		REQUIRE(!ptrace(PTRACE_CONT, tid, NULL, (void *)signal));
	}
	CHECK_FAIL("the tracee is gone");
}

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
