/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces any number of processes, from compiling the probes to the last snapshot. The
 * order is: create (compiles), attach all probes, trace the existing processes, start
 * (open the gate). So no free is missed because its probe was attached later than
 * malloc's. Processes that come later are added the same way: first their probes, then
 * the process.
 */
#ifndef TRACE_TRACER_H
#define TRACE_TRACER_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/check_verdict.h"
#include "bpf/families.h"
#include "bpf/features.h"
#include "compile/headers.h"
#include "compile/source.h"
#include "plan/plan.h"
#include "snapshot/snapshot.h"
#include "util/error.h"

/* The tables that these features lead to, and why, for messages. */
const char *tables_text(enum tables_choice choice,
			const struct kernel_features *features);

struct phases;
struct trace_mode;
struct compiler_pool;

/* Input of the tracer: the configuration, and the processes and callbacks of the run. */
struct tracer_setup {
	const struct trace_config *config; /* borrowed */
	/* The mode of `config`, or another mode for a second tracer. */
	const struct trace_mode *mode;
	enum trace_scope scope;
	enum trace_execs execs;
	bool one_process; /* with SCOPE_PROCESSES: no second process will be traced */
	bool are_held;    /* the first processes wait for the trace to begin */
	const struct event_spec *event; /* for modes with MODE_HITS; borrowed */
	/* For the kernel mode: trace for all processes or for one; borrowed. */
	const struct kernel_trace *kernel;
	/* As in plan_options: called before each return probe is attached. Returns the
	 * reason for refusing it, or NULL. A NULL pointer: return probes are safe. */
	const char *(*refuse_returns)(void *arg, int pid);
	void *refuse_arg;
	/* For probes in more than one process: compare the code in the memory of all that
	 * map the file. Borrowed; NULL: do not. */
	struct other_code *others;
	/* Called when a phase begins ("compiling", ...); may be NULL. */
	void (*progress)(void *arg, const char *phase);
	void *progress_arg;
	/* Receives the phases of tracer_create(); may be NULL. */
	struct phases *phases;
	/* Processes that are there to compile (compile/compiler_process.h);
	 * tracer_create() uses as many as it needs; may be NULL. */
	struct compiler_pool *compilers;
	/* A thread that reads the kernel's offsets, for tracer_create(); may be NULL. */
	struct offsets_reader *offsets;
};

/* How many sources tracer_create() compiles at the same time, at most, if none are
 * cached. */
unsigned tracer_compiler_count(void);

struct other_code;
struct tracer;

/* Compile the programs that the sites of `plans` need (`count` plans, used only during
 * the call), and create the tables. Nothing is attached yet. Errors name what the kernel
 * or the compiler refused. */
struct error *tracer_create(const struct tracer_setup *setup,
			    const struct plan *const plans[], size_t count,
			    struct tracer **ret) __attribute__((warn_unused_result));

/*
 * Attach probes to the sites of `plan`, for the process `pid`, or for all if the scope is
 * not SCOPE_PROCESSES. A function that has probes keeps them, even if `plan` has other
 * places. Sets *refused to the number of sites that could not be served (late ones, on
 * kernels without cookies). On failure nothing of this plan stays attached. ERROR_UNSAFE:
 * setup.refuse_returns() refuses a return probe of this plan.
 */
struct error *tracer_attach(struct tracer *tracer, const struct plan *plan, int pid,
			    size_t *refused) __attribute__((warn_unused_result));

/* For plan_options.find_breakpoints: where this tracer has, or had, probes in the file at
 * `path`; NULL: nowhere. `tracer` is the struct tracer. Borrowed until the next call of
 * tracer_attach() or tracer_trace(). */
const struct plan_breakpoints *tracer_breakpoints(void *tracer, const char *path);

/* For plan_options.is_probed: does the site have a probe in all processes? */
bool tracer_is_probed(void *tracer, const char *path, uint64_t function, uint64_t place);

/* The tracer's number of a file that has probes; 0 for other files. No number is used
 * twice in a run. */
uint64_t tracer_file(const struct tracer *tracer, const struct target_file *file);

/*
 * No traced process maps the file with this number any more (with SCOPE_PROCESSES: the
 * process `pid` does not): remove its probes, in the background. They can be attached
 * again at any time. Does nothing if the probes must stay, for example because a check
 * has replaced them (attach/checks.h). Returns ERROR_NO_MEMORY on failure.
 */
struct error *tracer_detach_file(struct tracer *tracer, int pid, uint64_t file)
	__attribute__((warn_unused_result));

/* Does the process `pid` have return probes of its own? */
bool tracer_has_return_probes(const struct tracer *tracer, int pid);

/* Remove the probes that are only for the process `pid`. Takes up to 0.1 s. They can be
 * attached again. */
void tracer_detach_process(struct tracer *tracer, int pid);

/* After an exec: have the probes of this process ended with their task? If so, they are
 * removed, which takes up to 0.1 s, and can be attached again. Returns false unless the
 * scope is SCOPE_PROCESSES. */
bool tracer_probes_ended(struct tracer *tracer, int pid);

/* What happens to the probes of a process whose main thread has exited. */
enum tracer_probes {
	TRACER_PROBES_STAY,
	TRACER_PROBES_END, /* they will end any moment */
	/* they have ended and were removed, as by tracer_probes_ended() */
	TRACER_PROBES_ENDED,
};

/* The main thread of the process `pid` has exited while others go on. Keeps its probes in
 * place if possible. Call it again after the process has mapped files. */
struct error *tracer_lost_first(struct tracer *tracer, int pid, enum tracer_probes *ret)
	__attribute__((warn_unused_result));

/* Did tracer_lost_first() have to set breakpoints in all processes that map the same
 * files? Their hits are ignored, but cost them time. */
bool tracer_is_wide(const struct tracer *tracer);

/* Code of an allocator in a process; end exclusive. */
struct code_range {
	uint64_t start, end;
};

/*
 * Trace the process from now on; its probes must be attached. `ranges` (`count`
 * elements) is where the code of its allocators is; NULL: unchanged or unknown. *ret is
 * the slot of the process, which identifies it in the functions below; the same slot if
 * it is already traced. Returns ERROR_UNSUPPORTED if no slot is free.
 */
struct error *tracer_trace(struct tracer *tracer, const struct proc *proc,
			   const struct code_range ranges[], size_t count, uint32_t *ret)
	__attribute__((warn_unused_result));

/* --- tracer_execs.c: with other setup.execs than EXECS_OF_TRACED ------------------- */

/* Trace the programs that descendants of the process `pid` execute from now on. `itself`:
 * also those that it executes itself, if it is not traced. */
struct error *tracer_await_exec(struct tracer *tracer, int pid, bool itself)
	__attribute__((warn_unused_result));

/* Undo tracer_await_exec(). Its descendants stay as they are. */
void tracer_remove_awaited(struct tracer *tracer, int pid);

/* Is it a process of tracer_await_exec(), or a child of one that has executed nothing? */
bool tracer_awaits_exec(const struct tracer *tracer, int pid);

/* Is there such a process, running? Those with `itself` unset do not count. */
bool tracer_awaits_any(const struct tracer *tracer);

/* Open the gate: counting begins. */
struct error *tracer_start(struct tracer *tracer) __attribute__((warn_unused_result));

/* Get the next traced process from slot *cursor on (0 at first). Returns false at the
 * end. `command` is the process's name at its first call. */
struct tracer_process {
	int pid;
	uint32_t slot;
	char command[16];
};
bool tracer_next_process(struct tracer *tracer, uint32_t *cursor,
			 struct tracer_process *ret);

/* Get the next slot from *cursor on that is retired but not removed. Returns false at
 * the end. */
bool tracer_next_retired(struct tracer *tracer, uint32_t *cursor, uint32_t *ret);

/* The number of slots; all slots are below it. */
uint32_t tracer_slot_count(const struct tracer *tracer);

/* Find the process `pid`. Returns false if it is not traced now. */
bool tracer_find_process(const struct tracer *tracer, int pid,
			 struct tracer_process *ret);

/* The process has ended, and with it the probes that were only for it. Removes those that
 * had to be in all processes (tracer_is_wide()). */
void tracer_process_ended(struct tracer *tracer, int pid);

/* Has the slot been retired, by an exec or by tracer_retire()? */
bool tracer_is_retired(const struct tracer *tracer, uint32_t slot);

/* When the slot was taken for the process, CLOCK_MONOTONIC ns. After an exec that is
 * slightly later than the time that the kernel reports for the exec. */
uint64_t tracer_slot_since_ns(const struct tracer *tracer, uint32_t slot);

/* The family whose stacks the slot's process shares, or shared last. */
uint64_t tracer_family(const struct tracer *tracer, uint32_t slot);

/* Do the probes themselves retire a slot when its process calls execve()? */
bool tracer_sees_execs(const struct tracer *tracer);

/* The process of this slot has ended or executed another program. Its blocks stay until
 * tracer_remove(). */
void tracer_retire(struct tracer *tracer, uint32_t slot);

/* Drop what the retired slots `slots` hold: their blocks are counted as gone, and the
 * slots can be used for other processes. Adds to *held the number of slots that had any
 * block, mapping or hit; `held` may be NULL. */
struct error *tracer_remove(struct tracer *tracer, const uint32_t slots[], size_t count,
			    uint64_t *held) __attribute__((warn_unused_result));

/* Kernel mode only: are allocations of this class traced? */
bool tracer_sees_class(const struct tracer *tracer, enum kernel_class kind);

/* Stop counting; the tables keep their contents. With traffic, waits some milliseconds
 * for running probes. */
void tracer_freeze(struct tracer *tracer);

/* In a forked child, which lacks the threads of this process: from now on only
 * tracer_freeze() and tracer_snapshot() may be called. False: a thread was just changing
 * what they need; fork again. */
bool tracer_cut_off(struct tracer *tracer);

/* A descriptor that is readable when a traced process has forked, executed a program or
 * loaded a library. tracer_poll() reads it. Owned by the tracer. -1: not available. */
int tracer_news_fd(const struct tracer *tracer);

/* Becomes readable when tracer_poll() has events to read. -1: it never does. */
int tracer_rings_fd(const struct tracer *tracer);

/* Does it become readable when a library is loaded? Not with frame pointers alone: then
 * the dynamic linker has no probe. */
bool tracer_has_linker_news(const struct tracer *tracer);

/* Read events from the ring buffers. Call it every tracer_poll_ms(). */
void tracer_poll(struct tracer *tracer);

/* Free memory that a report would free, if it is much. Call it about once a second; takes
 * some milliseconds if there is something to do. */
void tracer_tidy(struct tracer *tracer);

/* How often tracer_poll() must be called, in ms; -1: only if tracer_rings_fd() is
 * readable. */
int tracer_poll_ms(const struct tracer *tracer);

/*
 * Fill in the blocks, stacks, allocators, totals, losses and, if it was counted, traffic
 * of `snap`, and its fields on how it was traced. The caller provides snap->processes.
 * `slots` has the slot of each process, and `families` tells which process names the
 * frames of a stack. Blocks of other processes are left out.
 */
struct error *tracer_snapshot(struct tracer *tracer, const uint32_t slots[],
			      const struct families *families, struct snapshot *snap)
	__attribute__((warn_unused_result));

/*
 * Which of these heap blocks of `snap` have neither been freed nor moved since?
 * `numbers` has `count` indices into snap->blocks[BLOCK_HEAP], and is_there[i] is set
 * for each. The processes of the blocks must be stopped. `slots` as for
 * tracer_snapshot(). A block that a realloc() holds counts as moved.
 */
struct error *tracer_find_same(struct tracer *tracer, const uint32_t slots[],
			       const struct snapshot *snap, const uint32_t numbers[],
			       size_t count, bool is_there[])
	__attribute__((warn_unused_result));

/* Does a run with this configuration put probes inside functions, if a plan has any
 * (plan_site.body)? */
bool tracer_takes_bodies(const struct trace_config *config,
			 const struct kernel_features *features);

/* As tracer_takes_bodies(), for a tracer after something was attached. */
bool tracer_sees_results(const struct tracer *tracer);

/* Get the verdict of the next check (attach/checks.h) that has ended. Returns false if no
 * other has ended since the last call. */
bool tracer_next_verdict(struct tracer *tracer, struct check_verdict *ret);

/* How many functions were not checked, because too many others were. */
uint64_t tracer_checks_left_out(const struct tracer *tracer);

/* Did the last snapshots show that nothing was allocated or freed, mapped or unmapped,
 * and no event hit? Then the last one has no new stack. */
bool tracer_is_quiet(const struct tracer *tracer);

/* Has a stack come since the last snapshot but two? */
bool tracer_has_new_stacks(const struct tracer *tracer);

/* How the probes are attached and compiled, for -v: for example "uprobe_multi",
 * "embedded". */
const char *tracer_attach_name(const struct tracer *tracer);
const char *tracer_headers_kind(const struct tracer *tracer);

/* Was the code in the cache when the run began? The cache directory, or NULL; why new
 * code is not kept there, or NULL if it is, or if no cache was wanted. */
bool tracer_had_code(const struct tracer *tracer);
const char *tracer_cache_path(const struct tracer *tracer);
const char *tracer_why_no_cache(const struct tracer *tracer);

/* Why an entry of the cache was not used. Owned by the caller. Each call returns another
 * entry's reason; NULL: there is no further one. */
struct error *tracer_take_ignored(struct tracer *tracer);

/* For -v: unwind misses, unwind rules found, and kernel memory of whole files' rules in
 * bytes. All 0 if stacks are unwound only by frame pointer. */
void tracer_unwind_counts(const struct tracer *tracer, uint64_t *walks, uint64_t *rules,
			  uint64_t *table_bytes);

/* "arrays" or "hashes". */
const char *tracer_tables_name(const struct tracer *tracer);

/* Frames kept per stack: fewer than requested if the kernel would not verify more. */
unsigned tracer_stack_depth(const struct tracer *tracer);

/* The stack depth that was requested and that the kernel would not verify; 0: it did. */
unsigned tracer_refused_depth(const struct tracer *tracer);

/* The size in MB of the ring of unwind misses at the start, if the kernel had no memory
 * for a large one; else 0. */
unsigned tracer_small_ring_mb(const struct tracer *tracer);

/* Begin to remove the probes, and free everything; `tracer` may be NULL. The probes are
 * gone after link_close_wait(). */
void tracer_destroy(struct tracer *tracer);

#endif
