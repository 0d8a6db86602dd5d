/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a tracer. Only for tracer*.c and mode_*.c. */
#ifndef TRACE_TRACER_STATE_H
#define TRACE_TRACER_STATE_H

#include <bpf/libbpf.h>

#include "abi.h"
#include "abi_walk.h"
#include "attach/attach.h"
#include "attach/checks.h"
#include "compile/compiler.h"
#include "drain/drain.h"
#include "drain/table_grower.h"
#include "bpf/features.h"
#include "bpf/file_numbers.h"
#include "bpf/ring.h"
#include "unwind_miss/miss_handler.h"
#include "unwind_miss/miss_ring.h"
#include "unwind_miss/mapping_book.h"
#include "compile/source.h"
#include "bpf/ticks.h"
#include "bpf/used_slots.h"
#include "trace/trace_mode.h"
#include "trace/tracer.h"
#include "drain/traffic_tables.h"

/* Most programs for entries. */
#define ENTRY_PROGRAMS 56

/* Indexes of tracer.programs, which modes share. */
enum {
	/* changes of code */
	PROGRAM_CODE_CHANGE,
	PROGRAM_MOVE,
	PROGRAM_MOVED,
	/* calls of allocation functions */
	PROGRAM_RETURN,
	PROGRAM_SESSION,
	PROGRAM_RESULT, /* for sites inside functions */
	PROGRAM_CHECK,  /* compares their results with what is returned */
	PROGRAM_FREE,   /* with cookies: plain frees; */
	PROGRAM_CALL,   /* other entries */
	/* without cookies: one for each meaning of an entry */
	PROGRAM_ENTRY,
	MAX_PROGRAMS = PROGRAM_ENTRY + ENTRY_PROGRAMS,
};

/* A program of the mode's own fragments (tracer_load_own()). */
struct own_program {
	char name[PROGRAM_NAME_MAX];
	int fd;
};

/* Tracepoints that are attached for all processes. */
enum raw_tracepoint {
	RAW_EXEC,
	RAW_FORK,
	RAW_THREAD_END,
	RAW_PROCESS_END, /* only if tracer_awaits() */
	RAW_TRACEPOINTS,
};

/* A site that has its probe. */
struct attached_site {
	int pid;         /* 0: all processes */
	unsigned number; /* ABI_SITE_NUMBER; also 0 for sites that need none */
	/* its number; 0: it could not be opened, and equals no other file */
	uint64_t file;
	uint64_t offset; /* of the entry probe in the file, bytes */
	/* Offset of the function's first byte, which identifies the site: a later plan
	 * may have another place for the probe, for example because of another tracer. 0:
	 * a site of results or of an event, which has no other place. */
	uint64_t function;
	uint64_t meaning; /* of a site that reads results, else 0 */
};

/* Where probes were ever attached in one file. Entries stay after the probes are
 * detached: the kernel may remove the breakpoints from memory later. */
struct own_breakpoints {
	uint64_t file; /* its number */
	struct plan_breakpoints at;
};

/* Files that have probes; the offsets are unused. */
struct probed_files {
	VEC(struct attached_site) list;
};

/* The mappings of one process. */
struct slot_book {
	uint32_t slot;
	struct mapping_book book;
};

struct leaving;

struct tracer {
	struct tracer_setup setup;
	const struct trace_config *config; /* setup.config */
	const struct trace_mode *mode;     /* setup.mode */
	void *mode_state;                  /* mode->state_bytes long, or NULL */
	struct source_run run; /* of the last compilation; `programs` is unused */
	struct kernel_features features;
	bool by_hash; /* tables are hashes (probes/claim.c) */
	const char *headers_kind;
	struct cache cache;
	char *no_cache;  /* why the cache is missing, or NULL */
	bool is_refused; /* the kernel has refused code from the cache */
	struct source *source;
	struct compiler *compiler;
	struct drain_maps maps;
	struct live_table live; /* maps.live, if that is not NULL */
	struct stack_tables stacks;
	struct journal_table journal; /* maps.journal, if that is not NULL */
	struct table_grower *grower;
	struct drain_kept kept; /* blocks of the last report */
	/* Snapshots in a row that had the same number of stacks and of everything that
	 * is counted, and the sum of these numbers. */
	unsigned same_sums;
	uint64_t last_sum;
	/* The same for the number of stacks alone. */
	unsigned same_stacks;
	uint32_t last_stacks;
	struct fence fence;
	struct abi_control *control;   /* mapped */
	struct abi_process *processes; /* mapped, sizes.process_slots of them */
	struct used_slots used_slots;  /* of `processes` */
	struct abi_site_at *sites_at;  /* mapped, one for each byte of a page */
	struct tick_clock ticks;
	uint64_t enabled_ns; /* when counting began, CLOCK_MONOTONIC ns; 0: not yet */
	struct attachment attachment;
	int programs[MAX_PROGRAMS]; /* -1: not loaded */
	VEC(struct own_program) own_programs;
	unsigned compiled; /* the source_run.programs that `compiler` has */
	int raw_programs[RAW_TRACEPOINTS], raw_links[RAW_TRACEPOINTS]; /* -1: none */
	struct file_numbers files;
	VEC(struct attached_site) sites;
	VEC(int) returning; /* pids that have return probes of their own; 0: all */
	VEC(struct own_breakpoints) breakpoints; /* of files that have a number */
	struct checks *checks;                   /* NULL: no probes inside functions */
	struct miss_handler *handler;       /* NULL: unwinding is only by frame pointer */
	struct probed_files linkers, libcs; /* files with probes for changes of code */
	/* of tracer_files.c; NULL: no probes are being removed */
	struct leaving *waiting, *leaving;
	VEC(struct snapshot_allocator) allocators; /* by number; owns the strings */
	int exec_awaited;  /* the map; -1: none (tracer_awaits()) */
	int claims;        /* lock map (bpf/claims.h) */
	struct ring *ring; /* only with mappings */
	struct ring *news; /* NULL: the probes have no such ring */
	bool has_news;     /* the last read of it found some */
	VEC(struct slot_book) books;
	size_t mapping_pieces; /* in all books */
	struct mapping_reading reading;
	/* totals of removed processes; of heap blocks only `gone` */
	struct snapshot_totals gone[BLOCK_CLASS_COUNT];
	struct traffic_tables traffic; /* only with run.traffic */
	struct {
		int set;         /* epoll descriptor for `ring` and `late_ring`, or -1 */
		bool is_watched; /* false: they are read regularly */
	} rings;
	struct ring *late_ring;    /* with traffic; NULL: all events are counted there */
	VEC(struct abi_late) late; /* events read from there */
	uint64_t events_lost;
	uint64_t unsettled; /* snapshots that are inconsistent: the journal overflowed */
	uint64_t untraced;  /* sum of plan_untraced() of all attached plans */
	bool is_cut_off;    /* tracer_cut_off() */
};

/* Can the mode do all of `abilities` (enum mode_ability)? */
static inline bool tracer_can(const struct tracer *t, unsigned abilities)
{
	return source_mode_can(&t->mode->source, abilities);
}

/* Is there a table of processes whose execs are awaited (tracer_execs.c)? */
static inline bool tracer_awaits(const struct tracer *t)
{
	return t->run.scope == SCOPE_FORKS && t->run.execs != EXECS_OF_TRACED;
}

/* --- tracer_attach.c -------------------------------------------------------------- */

/* The number of an allocator that tracer_number_allocators() has seen;
 * ABI_MAX_ALLOCATOR_NUMBERS stands for all that have no number of their own. */
unsigned tracer_allocator_number(const struct tracer *t,
				 const struct allocator *allocator);

/* Give every allocator of the plan its number, and collect the meanings of its sites in
 * *ret (if not NULL). */
struct error *tracer_number_allocators(struct tracer *t, const struct plan *plan,
				       struct meanings *ret)
	__attribute__((warn_unused_result));

/* Attach to the tracepoints for exec and, with SCOPE_FORKS, for fork. */
struct error *tracer_attach_tracepoints(struct tracer *t)
	__attribute__((warn_unused_result));

void tracer_detach(struct tracer *t);

/* --- tracer_breakpoints.c --------------------------------------------------------- */

/* Attach the probes by the chosen mechanism, as attach_ops.attach() does, and record
 * where their breakpoints are (tracer_breakpoints()). Returns ERROR_UNSAFE as
 * tracer_attach() does. */
struct error *tracer_attach_probes(struct tracer *t, int pid,
				   const struct attach_probe probes[], size_t count)
	__attribute__((warn_unused_result));

/* The probes of the process are gone, including its return probes. */
void tracer_remove_returns(struct tracer *t, int pid);

/* Record that there is, or will be, a breakpoint at this offset of the file with this
 * number. Returns false without memory. */
bool tracer_note_breakpoint(struct tracer *t, uint64_t file, uint64_t offset)
	__attribute__((warn_unused_result));

/* The file has no probes, and its number is being released: drop its breakpoints. */
void tracer_drop_breakpoints(struct tracer *t, uint64_t file);

void tracer_close_breakpoints(struct tracer *t);

/* --- tracer_files.c --------------------------------------------------------------- */

/* Set used[i] for each number i of a site whose probes are being removed. `used` has
 * ABI_MAX_SITES elements. */
void tracer_mark_leaving_sites(const struct tracer *t, bool used[]);

/* Close those files of the plan that have no probes. */
void tracer_drop_unneeded(struct tracer *t, const struct plan *plan);

/* Continue with removing probes. Blocks only if too many files wait for that. */
void tracer_poll_files(struct tracer *t);

/* The tracer detaches: wait for the thread, and move probes that still wait to
 * t->attachment. */
void tracer_end_files(struct tracer *t);

/* --- tracer_checks.c --------------------------------------------------------------- */

/* Does the run check sites? */
bool tracer_has_checks(const struct tracer *t);

/* Start the thread that checks functions with probes inside. */
struct error *tracer_open_checks(struct tracer *t) __attribute__((warn_unused_result));

/* Describe the check of a function whose probes inside are `site->body` or else
 * `site->returns`. Returns false without memory. In either case *ret must be passed to
 * tracer_add_check() or to check_request_deinit(). */
bool tracer_describe_check(const struct tracer *t, const struct plan_object *object,
			   const struct plan_site *site, const struct attached_site *id,
			   unsigned allocator, unsigned number, struct check_request *ret)
	__attribute__((warn_unused_result));

/* Call after the probes are attached. Takes ownership of the request's vectors. */
struct error *tracer_add_check(struct tracer *t, struct check_request *request)
	__attribute__((warn_unused_result));

/* --- tracer_programs.c ------------------------------------------------------------ */

/* The mechanism to try first. */
const struct attach_ops *tracer_preferred_ops(const struct tracer *t);

/* Does this mechanism support sessions here? */
bool tracer_uses_sessions(const struct tracer *t, const struct attach_ops *ops);

/* Are loops compiled with may_goto for it, so that the verifier does not follow them to
 * their end? */
bool tracer_uses_may_goto(const struct tracer *t, const struct attach_ops *ops);

/* Does this mechanism support probes inside functions here? */
bool tracer_uses_bodies(const struct tracer *t, const struct attach_ops *ops);

/* The programs (source_run.programs) that these plans need; without plans, those that
 * the first plan will most likely need. */
unsigned tracer_wanted_programs(const struct tracer *t, const struct plan *const plans[],
				size_t count);

/* The trace_mode.load_entry() of allocation functions. */
struct error *tracer_load_entry(struct tracer *t, const struct plan_site *site,
				uint64_t meaning, int *ret)
	__attribute__((warn_unused_result));

/* Load programs for this mechanism from now on. Needs t->source. */
struct error *tracer_begin_programs(struct tracer *t, const struct attach_ops *ops)
	__attribute__((warn_unused_result));

/* Load these programs from this compiler. May be called from a second thread while
 * trace_mode.load() loads others, after tracer_begin_programs(). */
struct error *tracer_load_programs(struct tracer *t, struct compiler *compiler,
				   unsigned programs) __attribute__((warn_unused_result));

/* Load tracer.programs[i] if it is not loaded. */
struct error *tracer_load(struct tracer *t, size_t i) __attribute__((warn_unused_result));

/* Load the program `name` of the mode's own fragments if it is not loaded. *ret is its
 * descriptor, which the tracer closes. */
struct error *tracer_load_own(struct tracer *t, const char *name,
			      struct program_kind kind, int *ret)
	__attribute__((warn_unused_result));

/* The programs that the sites of a plan need: a set of 1 << enum source_program. */
unsigned tracer_plan_programs(const struct tracer *t, const struct attach_ops *ops,
			      const struct plan *plan);

/* Compile and load the programs that the plan needs and that are missing. Takes as long
 * as at the start. An allocator that is loaded later may need other kinds of probes, and
 * so may another mechanism. */
struct error *tracer_load_more(struct tracer *t, const struct plan *plan)
	__attribute__((warn_unused_result));

/* Load the programs that are not needed to begin counting. */
void tracer_load_rest(struct tracer *t);

/* Load the programs for changes of code, if possible. */
void tracer_load_code_programs(struct tracer *t);

void tracer_close_programs(struct tracer *t);

/* --- tracer_compile.c ------------------------------------------------------------- */

/* Does the kernel support what the configuration requests? */
struct error *tracer_check_kernel(const struct tracer *t)
	__attribute__((warn_unused_result));

/* Compile t->compiled for sites with these meanings, and load programs to see whether the
 * kernel accepts the code; use a smaller stack_depth if it does not. */
struct error *tracer_compile(struct tracer *t, const struct meanings *meanings)
	__attribute__((warn_unused_result));

/* Compile programs that t->compiler does not have, for the same maps. */
struct error *tracer_compile_more(struct tracer *t, unsigned programs,
				  struct compiler **ret)
	__attribute__((warn_unused_result));

/* --- mode_heap.c, for other modes with calls --------------------------------------- */

struct error *tracer_begin_calls(struct tracer *t) __attribute__((warn_unused_result));
struct error *tracer_drain_heap(struct tracer *t, const struct drain_slots *slots,
				struct snapshot *snap, bool *settled)
	__attribute__((warn_unused_result));
struct error *tracer_remove_blocks(struct tracer *t, const bool gone[], bool held[])
	__attribute__((warn_unused_result));

/* Add the blocks, as drain_blocks(), and the counters. */
struct error *tracer_drain_blocks(struct tracer *t, const struct drain_slots *slots,
				  struct drain_kept *kept, struct snapshot *snap,
				  bool *settled) __attribute__((warn_unused_result));

/* --- tracer_attach.c, for modes ---------------------------------------------------- */

/* As tracer_attach(), for a plan with sites. */
struct error *tracer_attach_sites(struct tracer *t, const struct plan *plan, int pid,
				  size_t *refused) __attribute__((warn_unused_result));

/* Does the site have its probe? */
bool tracer_is_attached(const struct tracer *t, const struct attached_site *site);

/* --- tracer_code.c ---------------------------------------------------------------- */

/* Attach probes that report when the process loads or unloads libraries, or moves code.
 * Without them such changes are noticed by the number of executable pages
 * (probes/unwind/unwind.c). */
void tracer_watch_code(struct tracer *t, const struct proc *proc);

/* The process has no probes any more. */
void tracer_unwatch_code(struct tracer *t, int pid);

/* --- tracer_unwind.c -------------------------------------------------------------- */

struct error *tracer_open_miss_handler(struct tracer *t)
	__attribute__((warn_unused_result));

/* A process is traced from now on: prepare to unwind its stacks. */
void tracer_unwind_begin(struct tracer *t, const struct proc *proc, uint32_t slot);

/* Remember what the snapshot has counted, for tracer_is_quiet() and
 * tracer_has_new_stacks(). */
void tracer_note_sums(struct tracer *t, const struct snapshot *snap);

/* Members of a struct drain_resolver; `arg` is the tracer. */
void tracer_catch_up(void *arg);
uint32_t tracer_stack(void *arg, uint32_t stack);

/* Add the losses of the miss handler. */
void tracer_add_walks(struct tracer *t, struct snapshot *snap);

/* --- tracer_traffic.c ------------------------------------------------------------- */

struct error *tracer_open_traffic(struct tracer *t) __attribute__((warn_unused_result));

/* With the miss handler or run.peak: open the ring of events that memtrace counts. */
struct error *tracer_open_late(struct tracer *t) __attribute__((warn_unused_result));
void tracer_poll_traffic(struct tracer *t);

/* Count a block that is removed together with its process. */
void tracer_block_gone(struct tracer *t, uint32_t slot, const struct abi_block *block);

/* Add the counted traffic and its losses. */
struct error *tracer_add_traffic(struct tracer *t, const struct drain_slots *slots,
				 struct snapshot *snap)
	__attribute__((warn_unused_result));

void tracer_close_traffic(struct tracer *t);

/* --- tracer_rings.c --------------------------------------------------------------- */

/* Begin to watch the open rings; note that they were read; stop watching. */
void tracer_watch_rings(struct tracer *t);
void tracer_settle_rings(struct tracer *t);
void tracer_unwatch_rings(struct tracer *t);

/* --- tracer_mappings.c ------------------------------------------------------------ */

struct error *tracer_open_ring(struct tracer *t) __attribute__((warn_unused_result));

/* Open the ring that wakes memtrace when a traced process changes. If that fails, as with
 * no watch left for epoll, memtrace hears of such changes by its watch and its looks
 * alone. */
void tracer_open_news(struct tracer *t);

/* Drop the mappings of a process that has ended. Its events may still be in the ring:
 * call tracer_poll() first. Returns true if it had any mappings. */
bool tracer_remove_mappings(struct tracer *t, uint32_t slot);

/* Ask for the stack of each mapping, before miss_handler_sweep(). */
void tracer_ask_mappings(struct tracer *t);

/* Add all mappings, with their totals and losses. */
struct error *tracer_add_mappings(struct tracer *t, const struct drain_slots *slots,
				  struct snapshot *snap)
	__attribute__((warn_unused_result));

void tracer_close_ring(struct tracer *t);

#endif
