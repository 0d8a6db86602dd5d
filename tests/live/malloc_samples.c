/* SPDX-License-Identifier: Apache-2.0 */
#include "live/malloc_samples.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/live.h"
#include "unit/code/tracee.h"

#define FRAMES_MAX  1024
#define THREADS_MAX 16
#define SECONDS_MAX 100

/* The longest x86-64 instruction, bytes (SDM volume 2, 2.3.11). */
#define INSN_SIZE_MAX 15

enum {
	AT_MALLOC,
	AT_FREE,
	AT_REALLOC,
	FUNCTIONS
};

struct thread {
	pid_t tid;
	int events[FUNCTIONS]; /* perf events that stop the thread at the functions */
	bool is_held;          /* stopped at the trap of another thread's call */
	/* The last stop was at the return from malloc. An operator new that called it may
	 * not have returned yet, and then memtrace does not know the block. */
	bool is_unsettled;
};

/* A sampled call that has not returned. */
struct pending {
	struct thread *thread; /* NULL: no call is pending */
	struct malloc_sample *sample;
	uint64_t return_pc, sp; /* `sp`: the stack pointer in malloc */
	uint64_t word;          /* the word at the return address, without the trap */
	/* Single-step until the call returns: a uprobe's trap is at the return
	 * address. */
	bool is_stepping;
};

struct malloc_samples {
	pid_t pid;
	Dwfl *dwfl;
	uint64_t code_hash; /* hash of the executable mappings that `dwfl` knows */
	uint64_t at[FUNCTIONS];
	struct thread threads[THREADS_MAX];
	size_t thread_count;
	struct pending pending;
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
	/* Blocks do not overlap: the free of an earlier sample at this address was
	 * seen. */
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

static struct malloc_sample *unwind(struct malloc_samples *s, pid_t tid,
				    const struct user_regs_struct *r)
{
	struct malloc_sample *sample = calloc(1, sizeof(*sample));

	REQUIRE(sample);
	sample->pcs = calloc(FRAMES_MAX, sizeof(*sample->pcs));
	REQUIRE(sample->pcs);
	sample->tid = tid;
	sample->size = r->rdi;
	refresh_dwfl(s);
	sample->is_whole = dwfl_getthread_frames(s->dwfl, tid, note_frame, sample) == 0;
	if (!sample->is_whole) {
		s->counts.not_whole++;
		s->counts.why = dwfl_errmsg(-1);
	}
	/* The first frame is malloc's own, which memtrace does not show. */
	REQUIRE(sample->count > 1 && sample->pcs[0] == r->rip);
	memmove(sample->pcs, sample->pcs + 1, --sample->count * sizeof(*sample->pcs));
	s->counts.unwound++;
	return sample;
}

/* Find the functions of the C library at which the program stops. */
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
		for (size_t k = 0; k < FUNCTIONS; k++)
			if (!strcmp(function, names[k]))
				s->at[k] = address;
	}
	return DWARF_CB_ABORT;
}

/* --- uprobes that stop a thread --------------------------------------------------- */

/* Returns a file descriptor, or -1 with errno. */
static int open_event(struct perf_event_attr *attr, pid_t tid)
{
	attr->size = sizeof(*attr);
	attr->sample_period = 1;
	attr->sigtrap = 1;
	attr->remove_on_exec = 1; /* required by sigtrap */
	return (int)syscall(SYS_perf_event_open, attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

bool malloc_samples_are_possible(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};
	int fd = open_event(&attr, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The mapped file at an address of the process, and the offset in the file. */
static uint64_t file_at(pid_t pid, uint64_t address, char ret_path[PATH_MAX])
{
	char path[64], line[PATH_MAX + 128];
	uint64_t start, end, offset, ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);

	FILE *f = fopen(path, "re");

	REQUIRE(f);
	while (!ret && fgets(line, sizeof(line), f)) {
		/* PATH_MAX is 4096. */
		int count = sscanf(
			line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %4095s",
			&start, &end, &offset, ret_path);

		if (count == 4 && address >= start && address < end)
			ret = address - start + offset;
	}
	fclose(f);
	REQUIRE(ret);
	return ret;
}

/* Stops the thread with SIGTRAP after it has executed the instruction at the address: the
 * kernel holds back signals while a probed instruction is executed (uprobe_deny_signal()
 * in kernel/events/uprobes.c). Returns a file descriptor. */
static int stop_after(const struct malloc_samples *s, pid_t tid, uint64_t address)
{
	char path[PATH_MAX];
	struct perf_event_attr attr = {.probe_offset = file_at(s->pid, address, path)};
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");

	REQUIRE(f && fscanf(f, "%" SCNu32, &attr.type) == 1);
	fclose(f);
	attr.uprobe_path = (uintptr_t)path;

	int fd = open_event(&attr, tid);

	REQUIRE(fd >= 0);
	return fd;
}

/* Has the thread executed the first instruction of the function and no other? */
static bool has_entered(const struct malloc_samples *s, unsigned function,
			const struct user_regs_struct *r)
{
	return r->rip > s->at[function] && r->rip <= s->at[function] + INSN_SIZE_MAX;
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
	for (unsigned i = 0; i < FUNCTIONS; i++)
		thread->events[i] = stop_after(s, tid, s->at[i]);
	return thread;
}

/* How many calls to skip: 1 to twice the gap, at random. With a fixed gap a loop of the
 * program could have the same call sampled each time. */
static unsigned next_gap(struct malloc_samples *s)
{
	s->random = s->random * 6364136223846793005u + 1442695040888963407u;
	return 1 + (unsigned)((s->random >> 33) % (2 * s->gap));
}

static void enter_malloc(struct malloc_samples *s, struct thread *thread,
			 const struct user_regs_struct *r)
{
	struct pending *call = &s->pending;

	s->counts.calls++;
	if (call->thread || s->until_next--)
		return;
	s->until_next = next_gap(s);
	call->thread = thread;
	call->sample = unwind(s, thread->tid, r);
	call->return_pc = call->sample->pcs[0] + 1;
	call->sp = r->rsp;
	call->is_stepping = (peek(thread->tid, call->return_pc) & 0xff) == TRAP;
	if (!call->is_stepping)
		call->word = set_trap(thread->tid, call->return_pc);
}

static void on_alarm(int signal)
{
	(void)signal;
}

static void resume(const struct malloc_samples *s, const struct thread *thread,
		   int signal)
{
	const struct pending *call = &s->pending;
	bool is_step = call->thread == thread && call->is_stepping;

	/* ESRCH: the thread is not stopped, or has exited. */
	if (ptrace(is_step ? PTRACE_SINGLESTEP : PTRACE_CONT, thread->tid, NULL,
		   (void *)(long)signal))
		REQUIRE(errno == ESRCH);
}

static void leave_malloc(struct malloc_samples *s, uint64_t block)
{
	struct pending *call = &s->pending;

	if (block)
		keep_sample(s, call->sample, block);
	else
		sample_free(call->sample);
	if (!call->is_stepping)
		clear_trap(call->thread->tid, call->return_pc, call->word);
	call->thread->is_unsettled = true;
	*call = (struct pending){0};
	for (size_t i = 0; i < s->thread_count; i++) {
		if (s->threads[i].is_held)
			resume(s, &s->threads[i], 0);
		s->threads[i].is_held = false;
	}
}

/* Is the thread at the return address of the sampled call? */
static bool is_at_return(const struct malloc_samples *s, const struct thread *thread,
			 const struct user_regs_struct *r)
{
	const struct pending *call = &s->pending;

	if (!call->thread)
		return false;
	if (call->is_stepping)
		return thread == call->thread && r->rip == call->return_pc;
	return is_trapped(thread->tid, call->return_pc);
}

static void handle_trap(struct malloc_samples *s, struct thread *thread)
{
	struct user_regs_struct r = registers_of(thread->tid);

	thread->is_unsettled = false;
	if (is_at_return(s, thread, &r)) {
		thread->is_held = thread != s->pending.thread;
		if (thread->is_held)
			return;
		REQUIRE(r.rsp > s->pending.sp);
		leave_malloc(s, r.rax);
	} else if (has_entered(s, AT_MALLOC, &r)) {
		enter_malloc(s, thread, &r);
	} else if (has_entered(s, AT_FREE, &r) || has_entered(s, AT_REALLOC, &r)) {
		drop_sample(s, r.rdi);
	}
}

/* Wait until a thread stops, and leave it stopped. Returns the signal to resume it with.
 */
static int next_stop(struct malloc_samples *s, struct thread **ret)
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

	struct thread *thread = thread_of(s, tid);

	*ret = thread;
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
		struct thread *thread;
		int signal = next_stop(s, &thread);

		if (s->is_exiting || has_enough(s, whole_live))
			break;
		if (!thread->is_held)
			resume(s, thread, signal);
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
	for (unsigned i = 0; i < FUNCTIONS; i++)
		REQUIRE(s->at[i]);
	resume(s, thread_of(s, pid), 0);
	return s;
}

/* Resume a thread that was killed until it has exited. live_destroy() reaps the main
 * thread. */
static void await_exit(const struct malloc_samples *s, const struct thread *thread)
{
	siginfo_t info;
	pid_t tid = thread->tid;
	bool has_exited = false;

	/* SIGKILL does not end a stop before an exit. */
	resume(s, thread, 0);
	while (!has_exited &&
	       !waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL)) {
		has_exited = info.si_code == CLD_EXITED || info.si_code == CLD_KILLED;
		if (!has_exited || tid != s->pid)
			REQUIRE(waitpid(tid, NULL, __WALL) == tid);
		if (!has_exited)
			resume(s, thread, 0);
	}
}

void malloc_samples_end(struct malloc_samples *s)
{
	dwfl_end(s->dwfl);
	REQUIRE(!kill(s->pid, SIGKILL));
	/* The kernel reports the end of the main thread, the first one, after the ends of
	 * the others. */
	while (s->thread_count--) {
		struct thread *thread = &s->threads[s->thread_count];

		for (unsigned i = 0; i < FUNCTIONS; i++)
			close(thread->events[i]);
		await_exit(s, thread);
	}
	if (s->pending.thread)
		sample_free(s->pending.sample);
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
