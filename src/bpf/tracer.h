/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tracing, from compiling to the last snapshot, of any number of processes. The
 * order: create (compile), attach everything, trace the processes that are there, then
 * start (open the gate), so that no free is missed because its probe came later than
 * malloc's. Later ones the same way: first their probes, then the process.
 */
#ifndef BPF_TRACER_H
#define BPF_TRACER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/check_verdict.h"
#include "bpf/families.h"
#include "bpf/features.h"
#include "bpf/headers.h"
#include "bpf/source.h"
#include "plan/plan.h"
#include "snapshot/snapshot.h"
#include "util/error.h"

/* How to attach; auto takes uprobe_multi where the kernel has it. */
enum attach_choice {
	ATTACH_AUTO,
	ATTACH_MULTI,
	ATTACH_PERF
};

/* How stacks are walked; auto is by rules where there is unwind information, else by
 * frame pointer, frame by frame. */
enum unwind_choice {
	UNWIND_CHOICE_AUTO,
	UNWIND_CHOICE_RULES,
	UNWIND_CHOICE_FP
};

/* Where blocks and numbers of stacks are kept: in arrays, by compare-and-exchange, or in
 * hashes; auto takes the former where the kernel's BPF has that. */
enum tables_choice {
	TABLES_AUTO,
	TABLES_ARRAYS,
	TABLES_HASHES
};

/* Which these features make of it, and why, for people. */
const char *tables_text(enum tables_choice choice,
			const struct kernel_features *features);

struct tracer_options {
	enum tables_choice tables;
	enum unwind_choice unwind;
	/* Of one processor that finding unwind rules may take, 1..100, averaged over 20
	 * s; not for UNWIND_CHOICE_FP. */
	unsigned unwind_cpu_percent;
	/* Kernel memory for the unwind rules of whole files; not for UNWIND_CHOICE_FP. */
	uint64_t unwind_memory_bytes;
	uint64_t max_allocations;
	uint64_t max_stacks; /* 0: 256K, and 64K where tables are hashes */
	unsigned stack_depth;
	enum trace_scope scope;
	uint64_t max_processes; /* at once, but with SCOPE_PROCESSES; at most 32768 */
	bool one_process;       /* with SCOPE_PROCESSES: no second one will be traced */
	bool apart;             /* forked children share no stacks with their parent */
	uint64_t sample_every;
	uint64_t sample_bytes; /* 0: not by bytes */
	uint64_t min_size_bytes, max_size_bytes;
	bool mappings;
	const struct event_spec *event; /* count stacks at it, and trace no allocations;
					   borrowed; NULL: do not */
	bool kernel_stacks;             /* of the event, with the kernel's part */
	const struct kernel_trace *kernel; /* trace the kernel's own allocations instead,
					      of all or of one process; borrowed; NULL:
					      do not */
	bool told;            /* plans have static probes that tell of blocks,
				 and nothing else (plan_options.otel) */
	bool with_time;       /* keep the time of each block */
	bool traffic;         /* count by call path and thread; needs with_time */
	uint64_t max_threads; /* with traffic: threads that are told apart */
	unsigned
		temporary_threshold; /* with traffic: a block is temporary that its thread
					frees with so many of its heap events between */
	enum headers_mode headers;
	const char *headers_dir;
	bool no_cache; /* compile anew, and keep nothing */
	enum attach_choice attach;
	/* As in plan_options: asked before each return probe. NULL: they are safe. */
	const char *(*refuse_returns)(void *arg, int pid);
	void *refuse_arg;
	/* Told what is going on ("compiling", ...); may be NULL. */
	void (*progress)(void *arg, const char *phase);
	void *progress_arg;
};

struct tracer;

/*
 * Compile what the sites of `plans` (count of them, needed only for the call) need, and
 * make the tables. Nothing is attached yet. Errors name what the kernel or the compiler
 * refused.
 */
struct error *tracer_create(const struct tracer_options *options,
			    const struct plan *const plans[], size_t count,
			    struct tracer **ret) __attribute__((warn_unused_result));

/*
 * Put probes on the sites of `plan`, for the process `pid` or, where the scope is not
 * SCOPE_PROCESSES, for all. A function that has its probes keeps them where they are,
 * also when `plan` has other places for it. Returns how many sites could not be served in
 * *refused (late ones, on kernels without cookies). On failure nothing of this plan stays
 * attached. ERROR_UNSAFE: options.refuse_returns() refuses a return probe of this plan.
 */
struct error *tracer_attach(struct tracer *tracer, const struct plan *plan, int pid,
			    size_t *refused) __attribute__((warn_unused_result));

/*
 * For plan_options.find_breakpoints: where this tracer has, or had, probes in the file at
 * `path`; NULL: nowhere. `tracer` is the struct tracer. Borrowed until the next call of
 * tracer_attach() or tracer_trace().
 */
const struct plan_breakpoints *tracer_breakpoints(void *tracer, const char *path);

/* The number by which the tracer knows a file that has probes; 0: it has none there. No
 * number is used twice in a run. */
uint64_t tracer_file(const struct tracer *tracer, const struct target_file *file);

/*
 * No traced process maps the file with this number any more (with SCOPE_PROCESSES: the
 * process `pid` does not): take its probes away. That goes on in the background. They can
 * be attached anew at any time. Nothing happens where probes have to stay, as when a
 * check has replaced them (bpf/checks.h). ERROR_NO_MEMORY.
 */
struct error *tracer_detach_file(struct tracer *tracer, int pid, uint64_t file)
	__attribute__((warn_unused_result));

/* Has the process `pid` return probes of its own? */
bool tracer_has_return_probes(const struct tracer *tracer, int pid);

/* Take away the probes that are for the process `pid` alone. Lasts up to 0.1 s; they can
 * be attached anew. */
void tracer_detach_process(struct tracer *tracer, int pid);

/*
 * After an exec: have the probes of this process ended with the task that they were for?
 * Then they are taken away, which lasts up to 0.1 s, and can be attached anew. Only with
 * SCOPE_PROCESSES; false else.
 */
bool tracer_probes_ended(struct tracer *tracer, int pid);

/* What becomes of the probes of a process whose first thread has ended. */
enum tracer_probes {
	TRACER_PROBES_STAY,
	TRACER_PROBES_END,   /* any moment now */
	TRACER_PROBES_ENDED, /* and were taken away, as by tracer_probes_ended() */
};

/*
 * The first thread of the process `pid` has ended while others go on. What can be done is
 * done for its probes to stay; to be called again when it has mapped files since.
 */
struct error *tracer_lost_first(struct tracer *tracer, int pid, enum tracer_probes *ret)
	__attribute__((warn_unused_result));

/* Did that take breakpoints in all processes that map the same files? Their hits are
 * passed over, but cost them time. */
bool tracer_is_wide(const struct tracer *tracer);

/* Code of an allocator in a process; end exclusive. */
struct code_range {
	uint64_t start, end;
};

/*
 * Trace the process `pid` from now on; its probes stand. `ranges` (count of them) says
 * where the code of its allocators is; NULL: nothing new is known of that. Its slot,
 * which names it to the functions below, in *ret: the same when it is traced already.
 * ERROR_UNSUPPORTED: no room.
 */
struct error *tracer_trace(struct tracer *tracer, int pid,
			   const struct code_range ranges[], size_t count, uint32_t *ret)
	__attribute__((warn_unused_result));

/* Open the gate: counting begins. The compiling child ends. */
struct error *tracer_start(struct tracer *tracer) __attribute__((warn_unused_result));

/* The next process that is traced, from slot *cursor on (0 at first); false at the end.
 * `command` is as of its first call. */
struct tracer_process {
	int pid;
	uint32_t slot;
	char command[16];
};
bool tracer_next_process(const struct tracer *tracer, uint32_t *cursor,
			 struct tracer_process *ret);

/* The next slot that is retired and not forgotten, from *cursor on; false at the end. */
bool tracer_next_retired(const struct tracer *tracer, uint32_t *cursor, uint32_t *ret);

/* No slot is as high. */
uint32_t tracer_slot_count(const struct tracer *tracer);

/* The process `pid` as it is traced at present; false: it is not. */
bool tracer_find_process(const struct tracer *tracer, int pid,
			 struct tracer_process *ret);

/* The process has ended. Probes that were for it alone have ended with it; those that had
 * to be in all processes (tracer_is_wide()) are taken away. */
void tracer_process_ended(struct tracer *tracer, int pid);

/* Does the slot stand for the process no longer, after an exec or tracer_retire()? */
bool tracer_is_retired(const struct tracer *tracer, uint32_t slot);

/* When the slot was given to the process, by CLOCK_MONOTONIC: to a program that it
 * executes a little after the kernel tells of that. */
uint64_t tracer_slot_since_ns(const struct tracer *tracer, uint32_t slot);

/* The family whose stacks the process of the slot shares now, or shared last. */
uint64_t tracer_family(const struct tracer *tracer, uint32_t slot);

/* Do the probes retire a slot themselves when its process executes a program? */
bool tracer_sees_execs(const struct tracer *tracer);

/* The process of this slot is no more, or another program. Its blocks stay until
 * tracer_forget(). */
void tracer_retire(struct tracer *tracer, uint32_t slot);

/* What the retired slots `slots` hold is not wanted any more: their blocks are counted as
 * gone, and other processes may get the slots. Adds to *held how many of them held any
 * block, mapping or hit, unless it is NULL. */
struct error *tracer_forget(struct tracer *tracer, const uint32_t slots[], size_t count,
			    uint64_t *held) __attribute__((warn_unused_result));

/* With options.kernel: does the run see allocations of this class? */
bool tracer_sees_class(const struct tracer *tracer, enum kernel_class kind);

/* Stop counting; the tables stay as they are. With traffic it waits for calls on their
 * way to be counted, some milliseconds. */
void tracer_freeze(struct tracer *tracer);

/* Take events from the ring buffer. To be called every tracer_poll_ms(). */
void tracer_poll(struct tracer *tracer);

/* Give memory back that a report would, if it is much. To be called about once a second;
 * takes some ms when there is something to do. */
void tracer_tidy(struct tracer *tracer);

/* How often tracer_poll() wants to be called, or -1 when not at all. */
int tracer_poll_ms(const struct tracer *tracer);

/*
 * Fill blocks, stacks, allocators, totals, losses and, where it was counted, traffic of
 * `snap`, and its fields on how it was traced. snap->processes are the caller's to give,
 * `slots` has the slot of each, and `families` says by which of them stacks are named.
 * Blocks of other processes are left out.
 */
struct error *tracer_snapshot(struct tracer *tracer, const uint32_t slots[],
			      const struct families *families, struct snapshot *snap)
	__attribute__((warn_unused_result));

/* Does a run with these options have probes inside functions, where a plan has any
 * (plan_site.body)? */
bool tracer_takes_bodies(const struct tracer_options *options,
			 const struct kernel_features *features);

/* The same of a tracer, once something is attached. */
bool tracer_sees_results(const struct tracer *tracer);

/* The verdict of the next check (bpf/checks.h) that has ended; false: no other has ended
 * since the last call. */
bool tracer_next_verdict(struct tracer *tracer, struct check_verdict *ret);

/* How the probes are attached and compiled, for -v: "uprobe_multi", "embedded". */
const char *tracer_attach_name(const struct tracer *tracer);
const char *tracer_headers_kind(const struct tracer *tracer);

/* Was the code there already when the run began? The directory that keeps code for other
 * runs, or NULL, and why there is none, or NULL when none was wanted. */
bool tracer_had_code(const struct tracer *tracer);
const char *tracer_cache_path(const struct tracer *tracer);
const char *tracer_why_no_cache(const struct tracer *tracer);

/* For -v: walks that met a call site without a rule, rules that were learned, and the
 * kernel memory that the rules of whole files take. All 0 when walks are by frame pointer
 * alone. */
void tracer_unwind_counts(const struct tracer *tracer, uint64_t *walks, uint64_t *rules,
			  uint64_t *table_bytes);

/* "arrays" or "hashes". */
const char *tracer_tables_name(const struct tracer *tracer);

/* How many frames are kept: fewer than asked for when the kernel would not verify more.
 */
unsigned tracer_stack_depth(const struct tracer *tracer);

/* Take the probes away and free everything; NULL is fine. */
void tracer_destroy(struct tracer *tracer);

#endif
