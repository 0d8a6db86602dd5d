/* SPDX-License-Identifier: Apache-2.0 */
#include "live/malloc_samples.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/live.h"
#include "unit/plan/tracee.h"

#define FRAMES_MAX  1024
#define THREADS_MAX 16
#define SECONDS_MAX 100

/* Numbers of the processor's breakpoints. */
enum {
	AT_MALLOC,
	AT_FREE,
	AT_REALLOC,
	AT_RETURN
};

struct thread {
	pid_t tid;
	struct malloc_sample *sample; /* its call has not returned; NULL: none */
	uint64_t return_pc, return_sp;
	/* The last stop was at the return from malloc. An operator new that called it may
	 * not have returned yet, and then memtrace does not know the block. */
	bool is_unsettled;
};

struct malloc_samples {
	pid_t pid;
	Dwfl *dwfl;
	uint64_t code_hash; /* of the executable mappings that `dwfl` knows */
	uint64_t at[AT_RETURN];
	struct thread threads[THREADS_MAX];
	size_t thread_count;
	void *by_block; /* live samples by address: tsearch(3) */
	struct malloc_sample_counts counts;
	unsigned gap, until_next; /* calls of malloc */
	uint64_t random;
	bool is_exiting;
};

static int by_block(const void *pa, const void *pb)
{
	const struct malloc_sample *a = pa, *b = pb;

	return (a->block > b->block) - (a->block < b->block);
}

static void sample_free(void *sample)
{
	free(((struct malloc_sample *)sample)->pcs);
	free(sample);
}

static struct malloc_sample *find_sample(const struct malloc_samples *s, uint64_t block)
{
	struct malloc_sample key = {.block = block};
	struct malloc_sample **found = tfind(&key, &s->by_block, by_block);

	return found ? *found : NULL;
}

static void drop_sample(struct malloc_samples *s, uint64_t block)
{
	struct malloc_sample *sample = find_sample(s, block);

	if (!sample)
		return;
	s->counts.live--;
	s->counts.whole_live -= sample->is_whole;
	tdelete(sample, &s->by_block, by_block);
	sample_free(sample);
}

static void keep_sample(struct malloc_samples *s, struct malloc_sample *sample,
			uint64_t block)
{
	sample->block = block;
	/* A sample that was live at this address had its free seen. */
	REQUIRE(!find_sample(s, block));
	REQUIRE(tsearch(sample, &s->by_block, by_block));
	s->counts.live++;
	s->counts.whole_live += sample->is_whole;
}

/* --- libdw ------------------------------------------------------------------------ */

/* The unwind information of stock programs is in their own files, in .eh_frame. */
static int find_no_debuginfo(Dwfl_Module *module, void **user, const char *name,
			     Dwarf_Addr base, const char *file, const char *link,
			     GElf_Word crc, char **ret)
{
	(void)module, (void)user, (void)name, (void)base;
	(void)file, (void)link, (void)crc, (void)ret;
	return -1;
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	while (size--)
		hash = (hash ^ *at++) * 0x100000001b3u;
	return hash;
}

/* A hash of the lines of the executable mappings in /proc/PID/maps. */
static uint64_t hash_code(pid_t pid)
{
	char path[64], line[4200];
	uint64_t hash = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);

	FILE *f = fopen(path, "re");

	REQUIRE(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "r-xp "))
			hash = hash_bytes(hash, line, strlen(line));
	fclose(f);
	return hash;
}

/* Report all modules to libdw anew when the executable mappings have changed. It does not
 * notice by itself that the program loaded a library. */
static void refresh_dwfl(struct malloc_samples *s)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = find_no_debuginfo,
	};
	uint64_t hash = hash_code(s->pid);

	if (s->dwfl && hash == s->code_hash)
		return;
	dwfl_end(s->dwfl);
	s->code_hash = hash;
	s->dwfl = dwfl_begin(&callbacks);
	REQUIRE(s->dwfl);
	REQUIRE(dwfl_linux_proc_report(s->dwfl, s->pid) == 0);
	REQUIRE(dwfl_report_end(s->dwfl, NULL, NULL) == 0);
	REQUIRE(dwfl_linux_proc_attach(s->dwfl, s->pid, true) == 0);
}

/* libdw gives the return address of a frame that called another, and the pc itself of the
 * first frame and of one that a signal interrupted. memtrace shows the last byte of a
 * call, which is the return address minus 1. */
static int note_frame(Dwfl_Frame *frame, void *argument)
{
	struct malloc_sample *sample = argument;
	Dwarf_Addr pc;
	bool is_exact;

	if (sample->count == FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &is_exact))
		return DWARF_CB_ABORT;
	sample->pcs[sample->count++] = is_exact ? pc : pc - 1;
	return DWARF_CB_OK;
}

static struct malloc_sample *unwind(struct malloc_samples *s, pid_t tid, uint64_t size)
{
	struct malloc_sample *sample = calloc(1, sizeof(*sample));

	REQUIRE(sample);
	sample->pcs = calloc(FRAMES_MAX, sizeof(*sample->pcs));
	REQUIRE(sample->pcs);
	sample->tid = tid;
	sample->size = size;
	refresh_dwfl(s);
	sample->is_whole = dwfl_getthread_frames(s->dwfl, tid, note_frame, sample) == 0;
	if (!sample->is_whole) {
		s->counts.not_whole++;
		s->counts.why = dwfl_errmsg(-1);
	}
	/* The first frame is malloc's own, which memtrace does not show. */
	REQUIRE(sample->count && sample->pcs[0] == s->at[AT_MALLOC]);
	memmove(sample->pcs, sample->pcs + 1, --sample->count * sizeof(*sample->pcs));
	s->counts.unwound++;
	return sample;
}

/* Find the functions at which the breakpoints are set in the C library. */
static int find_functions(Dwfl_Module *module, void **user, const char *name,
			  Dwarf_Addr base, void *argument)
{
	static const char *const names[] = {"malloc", "free", "realloc"};
	struct malloc_samples *s = argument;
	int count = dwfl_module_getsymtab(module);

	(void)user, (void)base;
	if (!strstr(name, "/libc.so") && !strstr(name, "/libc-"))
		return DWARF_CB_OK;
	for (int i = 1; i < count; i++) {
		GElf_Addr address;
		GElf_Sym symbol;
		const char *function = dwfl_module_getsym_info(
			module, i, &symbol, &address, NULL, NULL, NULL);

		if (!function || symbol.st_shndx == SHN_UNDEF)
			continue;
		for (size_t k = 0; k < AT_RETURN; k++)
			if (!strcmp(function, names[k]))
				s->at[k] = address;
	}
	return DWARF_CB_ABORT;
}

/* --- the stopped program ---------------------------------------------------------- */

static struct thread *thread_of(struct malloc_samples *s, pid_t tid)
{
	for (size_t i = 0; i < s->thread_count; i++)
		if (s->threads[i].tid == tid)
			return &s->threads[i];

	struct thread *thread = &s->threads[s->thread_count++];

	REQUIRE(s->thread_count <= THREADS_MAX);
	*thread = (struct thread){.tid = tid};
	for (unsigned i = 0; i < AT_RETURN; i++)
		stop_also_at(tid, i, s->at[i]);
	return thread;
}

/* How many calls to pass over: 1 to twice the gap, at random. With a fixed gap a loop of
 * the program could have the same call sampled each time. */
static unsigned next_gap(struct malloc_samples *s)
{
	s->random = s->random * 6364136223846793005u + 1442695040888963407u;
	return 1 + (unsigned)((s->random >> 33) % (2 * s->gap));
}

static void enter_malloc(struct malloc_samples *s, struct thread *thread,
			 const struct user_regs_struct *r)
{
	s->counts.calls++;
	if (thread->sample || s->until_next--)
		return;
	s->until_next = next_gap(s);
	thread->sample = unwind(s, thread->tid, r->rdi);
	thread->return_pc = peek(thread->tid, r->rsp);
	thread->return_sp = r->rsp + sizeof(uint64_t);
	stop_also_at(thread->tid, AT_RETURN, thread->return_pc);
}

static void leave_malloc(struct malloc_samples *s, struct thread *thread, uint64_t block)
{
	if (block)
		keep_sample(s, thread->sample, block);
	else
		sample_free(thread->sample);
	thread->sample = NULL;
	thread->is_unsettled = true;
	stop_also_at(thread->tid, AT_RETURN, 0);
}

static void handle_trap(struct malloc_samples *s, struct thread *thread)
{
	struct user_regs_struct r = registers_of(thread->tid);

	thread->is_unsettled = false;
	if (r.rip == s->at[AT_MALLOC])
		enter_malloc(s, thread, &r);
	else if (r.rip == s->at[AT_FREE] || r.rip == s->at[AT_REALLOC])
		drop_sample(s, r.rdi);
	else if (thread->sample && r.rip == thread->return_pc &&
		 r.rsp == thread->return_sp)
		leave_malloc(s, thread, r.rax);
}

static void on_alarm(int signal)
{
	(void)signal;
}

static void resume(pid_t tid, int signal)
{
	/* ESRCH: the thread is not stopped, or has exited. */
	if (ptrace(PTRACE_CONT, tid, NULL, (void *)(long)signal))
		REQUIRE(errno == ESRCH);
}

/* Wait until a thread stops, and leave it stopped. Returns the signal to resume it with.
 */
static int next_stop(struct malloc_samples *s, pid_t *ret)
{
	pid_t tid;
	int status;

	for (;;) {
		tid = waitpid(-1, &status, __WALL);
		if (tid < 0)
			live_fail("only %u samples of process %d in %d s",
				  s->counts.whole_live, (int)s->pid, SECONDS_MAX);
		if (WIFSTOPPED(status))
			break;
		/* Another thread may exit. */
		if (tid == s->pid)
			live_fail("process %d was killed", (int)tid);
	}
	*ret = tid;

	struct thread *thread = thread_of(s, tid);

	if (status >> 16 == PTRACE_EVENT_EXIT && tid == s->pid)
		s->is_exiting = true;
	if (status >> 16 == PTRACE_EVENT_EXIT)
		thread->is_unsettled = false;
	if (status >> 16)
		return 0;
	if (WSTOPSIG(status) != SIGTRAP)
		return WSTOPSIG(status);
	handle_trap(s, thread);
	return 0;
}

static bool has_enough(const struct malloc_samples *s, unsigned whole_live)
{
	for (size_t i = 0; i < s->thread_count; i++)
		if (s->threads[i].is_unsettled)
			return false;
	return s->counts.whole_live >= whole_live;
}

void malloc_samples_take(struct malloc_samples *s, unsigned whole_live)
{
	const struct sigaction action = {.sa_handler = on_alarm};

	sigaction(SIGALRM, &action, NULL);
	alarm(SECONDS_MAX);
	for (;;) {
		pid_t tid;
		int signal = next_stop(s, &tid);

		if (s->is_exiting || has_enough(s, whole_live))
			break;
		resume(tid, signal);
	}
	alarm(0);
}

struct malloc_samples *malloc_samples_begin(pid_t pid, unsigned gap)
{
	struct malloc_samples *s = calloc(1, sizeof(*s));
	int status;

	REQUIRE(s);
	s->pid = pid;
	s->gap = gap;
	REQUIRE(!ptrace(PTRACE_SEIZE, pid, NULL,
			(void *)(PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT)));
	REQUIRE(!ptrace(PTRACE_INTERRUPT, pid, NULL, NULL));
	REQUIRE(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status));
	refresh_dwfl(s);
	dwfl_getmodules(s->dwfl, find_functions, s, 0);
	for (unsigned i = 0; i < AT_RETURN; i++)
		REQUIRE(s->at[i]);
	thread_of(s, pid);
	resume(pid, 0);
	return s;
}

/* Resume a thread that was killed until it has exited. live_destroy() reaps the main
 * thread. */
static void await_exit(const struct malloc_samples *s, pid_t tid)
{
	siginfo_t info;
	bool has_exited = false;

	/* SIGKILL does not end a stop before an exit. */
	resume(tid, 0);
	while (!has_exited &&
	       !waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL)) {
		has_exited = info.si_code == CLD_EXITED || info.si_code == CLD_KILLED;
		if (!has_exited || tid != s->pid)
			REQUIRE(waitpid(tid, NULL, __WALL) == tid);
		if (!has_exited)
			resume(tid, 0);
	}
}

void malloc_samples_end(struct malloc_samples *s)
{
	dwfl_end(s->dwfl);
	REQUIRE(!kill(s->pid, SIGKILL));
	/* The kernel reports the end of the main thread, the first, after the others'. */
	while (s->thread_count--) {
		await_exit(s, s->threads[s->thread_count].tid);
		if (s->threads[s->thread_count].sample)
			sample_free(s->threads[s->thread_count].sample);
	}
	tdestroy(s->by_block, sample_free);
	free(s);
}

struct malloc_sample_counts malloc_samples_count(const struct malloc_samples *s)
{
	return s->counts;
}

const struct malloc_sample *malloc_samples_find(const struct malloc_samples *s,
						uint64_t block)
{
	return find_sample(s, block);
}

const char *malloc_samples_function(const struct malloc_samples *s, uint64_t pc)
{
	Dwfl_Module *module = dwfl_addrmodule(s->dwfl, pc);

	return module ? dwfl_module_addrname(module, pc) : NULL;
}

void malloc_samples_print(const struct malloc_samples *s, uint64_t pc)
{
	Dwfl_Module *module = dwfl_addrmodule(s->dwfl, pc);
	const char *function = malloc_samples_function(s, pc), *file = "?";
	Dwarf_Addr base = 0;

	if (module)
		file = dwfl_module_info(module, NULL, &base, NULL, NULL, NULL, NULL,
					NULL);
	fprintf(stderr, " 0x%" PRIx64 " %s+0x%" PRIx64 " %s", pc, file, pc - base,
		function ? function : "?");
}
