// SPDX-License-Identifier: Apache-2.0
/*
 * Unwinds copied stacks and compares them with libdwfl. A program without frame pointers
 * (targets/shapes.c) is single-stepped. At each instruction the stack must be libdwfl's,
 * frame by frame, and each frame's rule, applied by the probes' step, must lead to the
 * next frame.
 */
#include "check.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/proc.h"
#include "unwind/images.h"
#include "unwind/rules.h"
#include "unwind/walk.h"

#define STEPS_MAX  6000
#define FRAMES_MAX 128
#define PAGE       4096
/* A part is below the stack pointer: with an alternate stack, the other stack may be
 * there. */
#define COPY_PAGES  32
#define PAGES_BELOW 8

struct event {
	struct unwind_registers registers;
	uint8_t bytes[COPY_PAGES * PAGE];
	uint64_t pages;
	struct stack_copy stack;
};

struct tracee {
	pid_t pid, tid;
	struct proc *proc;
	struct image_store *store;
	struct images *images;
	Dwfl *dwfl;
	struct event event;
	/* libdwfl's stack. */
	uint64_t pcs[FRAMES_MAX];
	bool interrupted[FRAMES_MAX];
	size_t count;
	unsigned walks, frames, rules, slow, approximate, without_rbx, returns,
		differences;
	/* Return address of the frame at the last event. */
	uint64_t return_pc, return_sp;
};

static struct walk_frame frames[FRAMES_MAX], last[FRAMES_MAX];
static size_t last_count;
static struct walk_frame returned[FRAMES_MAX];

/* --- the copy --------------------------------------------------------------------- */

static void take_event(struct tracee *t)
{
	struct event *e = &t->event;
	struct user_regs_struct r;

	REQUIRE(ptrace(PTRACE_GETREGS, t->tid, NULL, &r) == 0);

	const uint64_t values[ARCH_REGISTERS] = {
		r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
		r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip,
	};

	memcpy(e->registers.value, values, sizeof(values));
	e->registers.known = (1u << ARCH_REGISTERS) - 1;
	e->stack = (struct stack_copy){.base = (r.rsp & -(uint64_t)PAGE) -
					       PAGES_BELOW * PAGE,
				       .bytes = e->bytes,
				       .size_bytes = sizeof(e->bytes),
				       .pages = &e->pages};
	e->pages = 0;
	for (unsigned i = 0; i < COPY_PAGES; i++) {
		struct iovec to = {e->bytes + i * PAGE, PAGE};
		struct iovec from = {(void *)(uintptr_t)(e->stack.base + i * PAGE), PAGE};

		if (process_vm_readv(t->pid, &to, 1, &from, 1, 0) == PAGE)
			e->pages |= (uint64_t)1 << i;
	}
}

/* --- libdwfl on the same copy ----------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *argument, void **thread_argument)
{
	struct tracee *t = argument;

	(void)dwfl;
	if (*thread_argument)
		return 0;
	*thread_argument = t;
	return t->pid;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *argument)
{
	struct tracee *t = argument;

	(void)dwfl;
	return stack_copy_read(&t->event.stack, address, 8, ret);
}

static bool set_registers(Dwfl_Thread *thread, void *argument)
{
	struct tracee *t = argument;

	return dwfl_thread_state_registers(thread, 0, ARCH_REGISTERS,
					   t->event.registers.value);
}

static int note_frame(Dwfl_Frame *frame, void *argument)
{
	struct tracee *t = argument;
	Dwarf_Addr pc;

	if (t->count == FRAMES_MAX ||
	    !dwfl_frame_pc(frame, &pc, &t->interrupted[t->count]))
		return DWARF_CB_ABORT;
	t->pcs[t->count++] = pc;
	return DWARF_CB_OK;
}

static void dwfl_of(struct tracee *t)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
	};
	static const Dwfl_Thread_Callbacks thread_callbacks = {
		.next_thread = next_thread,
		.memory_read = read_memory,
		.set_initial_registers = set_registers,
	};

	t->dwfl = dwfl_begin(&callbacks);
	REQUIRE(t->dwfl);
	REQUIRE(dwfl_linux_proc_report(t->dwfl, t->pid) == 0);
	REQUIRE(dwfl_report_end(t->dwfl, NULL, NULL) == 0);
	REQUIRE(dwfl_attach_state(t->dwfl, NULL, t->pid, &thread_callbacks, t));
}

/* --- the comparison --------------------------------------------------------------- */

static bool word_at(const struct tracee *t, uint64_t address, uint64_t *ret)
{
	return stack_copy_read(&t->event.stack, address, 8, ret);
}

/* Does the rule of a frame lead to the next one? */
static bool rule_leads_on(struct tracee *t, const struct walk_frame *frame)
{
	struct unwind_regs regs = {frame->pc, frame->sp, frame->bp};
	uint64_t cfa, return_address, bp = 0, sp;

	if (UNWIND_TYPE(frame->rule) == UNWIND_SIGNAL) {
		if (!word_at(t, regs.sp + UNWIND_SIGNAL_BP, &bp) ||
		    !word_at(t, regs.sp + UNWIND_SIGNAL_SP, &sp) ||
		    !word_at(t, regs.sp + UNWIND_SIGNAL_PC, &return_address))
			return false;
		unwind_step_signal(&regs, bp, sp, return_address);
	} else {
		cfa = unwind_cfa_at(&regs, frame->rule);
		if (unwind_derefs(frame->rule)) {
			if (!word_at(t, cfa, &cfa))
				return false;
			cfa = unwind_cfa_from(frame->rule, cfa);
		}
		/* A saved bp that cannot be read is unknown, like an undefined one. */
		if (unwind_bp_saved(frame->rule) &&
		    !word_at(t, unwind_bp_at(&regs, frame->rule, cfa), &bp))
			bp = 0;
		if (!word_at(t, unwind_return_address_at(cfa), &return_address) ||
		    !unwind_step(&regs, frame->rule, cfa, return_address, bp))
			return false;
	}
	return regs.pc == frame[1].pc && regs.sp == frame[1].sp && regs.bp == frame[1].bp;
}

static void complain(struct tracee *t, const char *what, const struct walk *walk)
{
	if (t->differences++ >= 3)
		return;
	CHECK_FAIL("%s: %zu frames, end %d; libdwfl: %zu", what, walk->count,
		   (int)walk->end, t->count);
	for (size_t i = 0; i < walk->count || i < t->count; i++)
		fprintf(stderr,
			"  %zu: 0x%" PRIx64 "%s rule %016" PRIx64 ", 0x%" PRIx64 "%s\n",
			i, i < walk->count ? walk->frames[i].pc : 0,
			i < walk->count && walk->frames[i].is_interrupted ? "*" : "",
			i < walk->count ? walk->frames[i].rule : 0,
			i < t->count ? t->pcs[i] : 0,
			i < t->count && t->interrupted[i] ? "*" : "");
}

/* Is libdwfl's stack, as far as it goes, the beginning of this one? libdwfl sets the flag
 * for the trampoline, too. */
static bool is_beginning(const struct tracee *t, const struct walk *walk)
{
	if (t->count > walk->count)
		return false;
	for (size_t i = 0; i < t->count; i++) {
		bool flag = frames[i].is_interrupted ||
			    (i + 1 < walk->count && frames[i + 1].is_interrupted);

		if (frames[i].pc != t->pcs[i] || flag != t->interrupted[i])
			return false;
	}
	return true;
}

/* Do the outer frames equal the last stack that libdwfl confirmed? */
static bool is_end_of_last(const struct walk *walk, size_t begin)
{
	size_t count = walk->count - begin;

	if (count > last_count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct walk_frame *was = &last[last_count - count + i];

		if (was->pc != frames[begin + i].pc || was->sp != frames[begin + i].sp)
			return false;
	}
	return true;
}

/*
 * libdw treats rbx as not preserved unless the CFI says so (see test_rows_oracle.c). So
 * it has no CFA for _dl_runtime_resolve, which keeps it in rbx. At such a frame, which
 * has a slow rule, libdw may stop. The frames above were confirmed a moment ago.
 */
static bool stopped_for_rbx(const struct tracee *t, const struct walk *walk)
{
	return t->count && t->count < walk->count &&
	       UNWIND_TYPE(frames[t->count - 1].rule) == UNWIND_SLOW &&
	       is_end_of_last(walk, t->count);
}

/*
 * Just after a return, as at the probes: the pc is a return address. The stack must be
 * the same as with this address as the next instruction.
 */
static void compare_return(struct tracee *t, const struct walk *walk)
{
	struct walk again = {.frames = returned, .capacity = FRAMES_MAX};
	struct images_moment then = {t->images, 1};

	t->returns++;
	walk_stack(&t->event.registers, false, &t->event.stack, images_find_then, &then,
		   &again);

	bool same = again.count == walk->count && again.end == walk->end &&
		    !returned[0].is_interrupted;

	for (size_t i = 0; same && i < again.count; i++)
		same = returned[i].pc == frames[i].pc && returned[i].sp == frames[i].sp &&
		       returned[i].bp == frames[i].bp;
	if (!same)
		complain(t, "another walk after a return", &again);
}

static void compare_walks(struct tracee *t)
{
	struct walk walk = {.frames = frames, .capacity = FRAMES_MAX};
	struct images_moment then = {t->images, 1};

	t->count = 0;
	t->walks++;

	bool dwfl_ended = dwfl_getthread_frames(t->dwfl, t->pid, note_frame, t) == 0;

	walk_stack(&t->event.registers, true, &t->event.stack, images_find_then, &then,
		   &walk);
	if (walk.is_approximate) {
		/* Both guess, in different ways. */
		t->approximate++;
	} else if (!is_beginning(t, &walk) || walk.end != WALK_COMPLETE) {
		complain(t, "another walk", &walk);
	} else if (walk.count == t->count && dwfl_ended) {
		memcpy(last, frames, walk.count * sizeof(*frames));
		last_count = walk.count;
	} else if (stopped_for_rbx(t, &walk)) {
		t->without_rbx++;
	} else {
		complain(t, "another end", &walk);
	}
	if (!walk.is_approximate && t->return_pc == frames[0].pc &&
	    t->return_sp == frames[0].sp)
		compare_return(t, &walk);
	t->return_pc = walk.count > 1 ? frames[1].pc : 0;
	t->return_sp = walk.count > 1 ? frames[1].sp : 0;
	for (size_t i = 0; i + 1 < walk.count; i++) {
		t->frames++;
		if (UNWIND_TYPE(frames[i].rule) == UNWIND_SLOW) {
			t->slow++;
			continue;
		}
		t->rules++;
		if (!rule_leads_on(t, &frames[i])) {
			complain(t, "a rule leads elsewhere", &walk);
			break;
		}
	}
}

/* --- the tracee ------------------------------------------------------------------- */

static void open_images(struct tracee *t)
{
	struct proc_maps maps = {0};

	REQUIRE(!image_store_create(NULL, NULL, &t->store));
	REQUIRE(!images_create(t->store, &t->images));
	REQUIRE(!proc_read_maps(t->proc, &maps));
	vec_foreach (m, &maps.mappings) {
		struct images_change change;

		if (m->executable)
			REQUIRE(!images_add(t->images, t->pid, m, images_since(0), 0,
					    &change));
	}
	proc_maps_deinit(&maps);
}

static void start(struct tracee *t, const char *program, const char *shape)
{
	int status;

	fflush(stdout);
	t->pid = fork();
	REQUIRE(t->pid >= 0);
	if (!t->pid) {
		execl(program, program, shape, NULL);
		_exit(127);
	}
	t->tid = waitpid(-1, &status, __WALL);
	REQUIRE(t->tid > 0 && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);

	struct error *err = proc_open(t->pid, &t->proc);

	if (err)
		fprintf(stderr, "%s\n", err->message);
	REQUIRE(!err);
	open_images(t);
	CHECK_INT(images_unread(t->images), 0);
	dwfl_of(t);
}

static void stop(struct tracee *t)
{
	dwfl_end(t->dwfl);
	images_destroy(t->images);
	image_store_destroy(t->store);
	proc_close(t->proc);
	kill(t->pid, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
}

/* Steps the shape to its end, or until the time is over. */
static void walk_shape(const char *program, const char *shape, unsigned walks_min,
		       unsigned approximate_percent)
{
	static struct tracee t;
	int deliver = 0;

	t = (struct tracee){0};
	start(&t, program, shape);
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		int status;

		REQUIRE(ptrace(PTRACE_SINGLESTEP, t.tid, NULL, (long)deliver) == 0);
		REQUIRE(waitpid(t.tid, &status, __WALL) == t.tid && WIFSTOPPED(status));
		deliver = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (deliver == SIGSTOP)
			break;
		take_event(&t);
		compare_walks(&t);
	}
	printf("     %s: %u walks, %u frames, %u by rules, %u slow, %u approximate, "
	       "%u without rbx, %u returns\n",
	       shape, t.walks, t.frames, t.rules, t.slow, t.approximate, t.without_rbx,
	       t.returns);
	CHECK(t.walks >= walks_min);
	CHECK_INT(t.differences, 0);
	CHECK(t.approximate * 100 <= t.walks * approximate_percent);
	CHECK(t.without_rbx <= t.walks / 100);
	CHECK(t.rules > t.frames / 100 * 85);
	CHECK(t.returns >= 2);
	stop(&t);
}

/* Static programs have a few jumps to indirect functions without unwind information. A
 * coroutine's outermost pc is the first byte of glibc's __start_context, so that the byte
 * before it belongs to no function. */
static const struct {
	const char *name;
	unsigned walks_min, approximate_percent;
} shapes[] = {
	{"recursion", 1000, 0},  {"sorting", 500, 1},     {"signals", 300, 0},
	{"other_stack", 300, 0}, {"library", 3000, 1},    {"clock", 50, 1},
	{"jumps", 300, 0},       {"coroutines", 300, 60}, {"thread", 500, 1},
};

static void walk_program(const char *program)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		walk_shape(program, shapes[i].name, shapes[i].walks_min,
			   shapes[i].approximate_percent);
}

static void dynamic_program(void)
{
	walk_program(TEST_SHAPES);
}

static void static_program(void)
{
	walk_program(TEST_SHAPES "_static");
}

int main(void)
{
	RUN(dynamic_program);
	RUN(static_program);
	return check_done();
}
