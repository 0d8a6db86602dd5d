/* SPDX-License-Identifier: Apache-2.0 */
/* What a tracer is made of. Inside of tracer*.c only. */
#ifndef BPF_TRACER_STATE_H
#define BPF_TRACER_STATE_H

#include <bpf/libbpf.h>

#include "abi.h"
#include "abi_walk.h"
#include "bpf/attach.h"
#include "bpf/checks.h"
#include "bpf/compiler.h"
#include "bpf/drain.h"
#include "bpf/features.h"
#include "bpf/file_numbers.h"
#include "bpf/kernel_events.h"
#include "bpf/learner.h"
#include "bpf/mapping_book.h"
#include "bpf/source.h"
#include "bpf/ticks.h"
#include "bpf/tracer.h"
#include "bpf/traffic_tables.h"

#define MAX_PROGRAMS 64

/* Of tracer.programs. */
enum {
	PROGRAM_RETURN,
	PROGRAM_CODE_CHANGE,
	PROGRAM_MOVE,
	PROGRAM_MOVED,
	PROGRAM_SESSION,
	PROGRAM_RESULT, /* of sites inside functions */
	PROGRAM_CHECK,  /* compares them with what is returned */
	PROGRAM_ENTRY,  /* without cookies: one program for each meaning from here on */
	PROGRAM_FREE = PROGRAM_ENTRY, /* else of plain frees, and of other entries */
	PROGRAM_CALL,
	PROGRAM_TOLD = PROGRAM_RETURN, /* of static probes */
	/* Of an event, but for those of changes of code. */
	PROGRAM_EVENT = PROGRAM_RETURN,
	PROGRAM_MAPPING_CALL = PROGRAM_SESSION,
	PROGRAM_MAPPING_RETURN,
	PROGRAM_EVENT_COUNT,
};

/* What is attached to for all processes. */
enum raw_tracepoint {
	RAW_EXEC,
	RAW_FORK,
	RAW_THREAD_END,
	RAW_TRACEPOINTS,
};

/* One probe site that has its probe. */
struct attached_site {
	int pid;         /* 0: all processes */
	unsigned number; /* ABI_SITE_NUMBER; 0 also of sites that need none */
	uint64_t file;   /* its number; 0: it could not be opened, and is like no other */
	uint64_t offset; /* of the entry probe in the file, bytes */
	/* The same of the function's first byte, which names the site: a later plan may
	 * have another place for the probe, as when another tracer has come. 0: a site of
	 * results or of an event, which has no other place. */
	uint64_t function;
	uint64_t meaning; /* of one that sees results, else 0 */
};

/* Where probes were ever attached in one file. They stay here when they are detached: the
 * kernel may take the breakpoints out of memory later. */
struct own_breakpoints {
	uint64_t file; /* its number */
	struct plan_breakpoints at;
};

/* Files that have probes; no offset. */
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
	struct tracer_options options;
	struct kernel_features features;
	bool by_hash; /* tables are hashes (probes/claim.c) */
	const char *headers_kind;
	struct cache cache;
	char *no_cache;  /* why there is none, or NULL */
	bool is_refused; /* the kernel has refused code from the cache */
	struct source *source;
	struct compiler *compiler;
	struct drain_maps maps;
	struct fence fence;
	struct abi_control *control;   /* mapped */
	struct abi_process *processes; /* mapped, sizes.process_slots of them */
	struct abi_site_at *sites_at;  /* mapped, one for each byte of a page */
	struct abi_told *told;         /* mapped, by the number of the site; or NULL */
	struct tick_clock ticks;
	uint64_t enabled_ns; /* counting began; 0: not yet */
	struct attachment attachment;
	int programs[MAX_PROGRAMS]; /* -1: not loaded */
	size_t program_count;       /* that there can be; 0: it is not settled how */
	unsigned compiled; /* of source_options.programs: those that `compiler` has */
	bool thorough;     /* what is compiled is (source_options) */
	int raw_programs[RAW_TRACEPOINTS], raw_links[RAW_TRACEPOINTS]; /* -1: none */
	struct file_numbers files;
	VEC(struct attached_site) sites;
	VEC(int) returning; /* processes that have return probes of their own */
	VEC(struct own_breakpoints) breakpoints; /* of files that have a number */
	struct checks *checks;                   /* NULL: no probes inside functions */
	struct learner *learner;            /* NULL: walks are by frame pointer alone */
	struct probed_files linkers, libcs; /* the probes of changes of code */
	struct leaving *waiting, *leaving;  /* of tracer_files.c; NULL: nothing leaves */
	VEC(struct snapshot_allocator) allocators; /* by number; the strings are owned */
	struct kernel_events kernel_events; /* of an event that is in no file, and of the
					       kernel's allocations */
	struct kernel_points kernel_points; /* with options.kernel */
	int claims;                         /* bpf/claims.h */
	int event_counts;                   /* table of an event, else -1 */
	VEC(uint64_t) event_bases;          /* hits of each stack that are gone already */
	uint64_t events_gone;               /* hits of processes that have gone */
	struct ring_buffer *ring;           /* with mappings only */
	VEC(struct slot_book) books;
	struct snapshot_totals
		gone[BLOCK_CLASS_COUNT]; /* of processes that have gone;
					    of heap blocks only what went */
	struct traffic_tables traffic;   /* with options.traffic only */
	struct ring_buffer *late_ring;   /* with traffic and the learner */
	VEC(struct abi_late) late;       /* taken from there */
	uint64_t events_lost;
	uint64_t unsettled; /* snapshots whose journal overflowed */
	uint64_t untraced;  /* plan_untraced() of all plans that were attached */
};

/* --- tracer_attach.c -------------------------------------------------------------- */

/* Give every allocator of the plan its number, and what its sites mean. */
struct error *tracer_number_allocators(struct tracer *t, const struct plan *plan,
				       struct meanings *ret)
	__attribute__((warn_unused_result));

/* Attach to the tracepoints that tell of an exec and, with SCOPE_FORKS, of a fork. */
struct error *tracer_attach_tracepoints(struct tracer *t)
	__attribute__((warn_unused_result));

void tracer_detach(struct tracer *t);

/* --- tracer_breakpoints.c --------------------------------------------------------- */

/* Attach the probes by the way that is settled, as attach_ops.attach() does, and note
 * where their breakpoints are (tracer_breakpoints()). ERROR_UNSAFE as tracer_attach(). */
struct error *tracer_attach_probes(struct tracer *t, int pid,
				   const struct attach_probe probes[], size_t count)
	__attribute__((warn_unused_result));

/* The probes of the process are gone, its return probes with them. */
void tracer_forget_returns(struct tracer *t, int pid);

/* Note that there is or will be one, at this offset of the file with this number; false
 * without memory. */
bool tracer_note_breakpoint(struct tracer *t, uint64_t file, uint64_t offset)
	__attribute__((warn_unused_result));

/* The file has no probes, and its number is given back. */
void tracer_drop_breakpoints(struct tracer *t, uint64_t file);

void tracer_close_breakpoints(struct tracer *t);

/* --- tracer_files.c --------------------------------------------------------------- */

/* Set used[i] for each number i of a site whose probes are about to go; `used` has
 * ABI_MAX_SITES elements. */
void tracer_mark_leaving_sites(const struct tracer *t, bool used[]);

/* Close the files of the plan that have no probes. */
void tracer_drop_unneeded(struct tracer *t, const struct plan *plan);

/* Go on with taking probes away. Does not block, unless too many files wait for that. */
void tracer_poll_files(struct tracer *t);

/* The tracer detaches: wait for the thread, and leave it the probes that wait. */
void tracer_end_files(struct tracer *t);

/* --- tracer_checks.c --------------------------------------------------------------- */

/* Does the run check sites? */
bool tracer_has_checks(const struct tracer *t);

/* Functions that are probed inside can be checked from now on. */
struct error *tracer_open_checks(struct tracer *t) __attribute__((warn_unused_result));

/* The check of a function whose probes inside are `site->body` or else `site->returns`;
 * false without memory. `ret` is to be given to tracer_add_check(), or to
 * check_request_deinit() in either case. */
bool tracer_describe_check(const struct tracer *t, const struct plan_object *object,
			   const struct plan_site *site, const struct attached_site *id,
			   unsigned allocator, unsigned number, struct check_request *ret)
	__attribute__((warn_unused_result));

/* Once the probes stand. Takes over the vectors. */
struct error *tracer_add_check(struct tracer *t, struct check_request *request)
	__attribute__((warn_unused_result));

/* --- tracer_programs.c ------------------------------------------------------------ */

/* The way to attach that is tried first. */
const struct attach_ops *tracer_preferred_ops(const struct tracer *t);

/* Has this way to attach sessions here? */
bool tracer_uses_sessions(const struct tracer *t, const struct attach_ops *ops);

/* Are loops compiled for it so that the verifier need not see their end? */
bool tracer_uses_may_goto(const struct tracer *t, const struct attach_ops *ops);

/* Has this way to attach probes inside functions here? */
bool tracer_uses_bodies(const struct tracer *t, const struct attach_ops *ops);

/* Which programs (source_options.programs) these plans want; without any plan, those that
 * the first one most likely will. */
unsigned tracer_wanted_programs(const struct tracer *t, const struct plan *const plans[],
				size_t count);

/* The index in tracer.programs of the one that the site's entry wants. */
size_t tracer_entry_program(const struct tracer *t, const struct plan_site *site,
			    uint64_t meaning);

/* Programs are loaded for this way to attach from now on. */
struct error *tracer_begin_programs(struct tracer *t, const struct attach_ops *ops)
	__attribute__((warn_unused_result));

/* Will the kernel have the programs? They are loaded then. `body` has what is for sites
 * inside functions; NULL: the tracer's compiler has it, too, if it is compiled. */
struct error *tracer_try_program(struct tracer *t, struct compiler *body)
	__attribute__((warn_unused_result));

/* Load tracer.programs[i] if it is not. */
struct error *tracer_load(struct tracer *t, size_t i) __attribute__((warn_unused_result));

/*
 * Compile and load what the plan wants and is not there yet, which takes as long as the
 * start did: an allocator that is loaded later may have probes of other kinds than those
 * before, and so may another way to attach.
 */
struct error *tracer_load_more(struct tracer *t, const struct plan *plan)
	__attribute__((warn_unused_result));

/* Load what else there is. */
void tracer_load_rest(struct tracer *t);

/* The programs that are told of changes of code, if they can be had. */
void tracer_load_code_programs(struct tracer *t);

void tracer_close_programs(struct tracer *t);

/* --- tracer_compile.c ------------------------------------------------------------- */

/* Can the kernel do what is asked for? */
struct error *tracer_check_kernel(const struct tracer *t)
	__attribute__((warn_unused_result));

/* Compile `compiled` for calls of these meanings, and load what shows whether the kernel
 * takes it; with a smaller stack_depth if it takes no other. */
struct error *tracer_compile(struct tracer *t, const struct meanings *meanings)
	__attribute__((warn_unused_result));

/* Compile these programs, which `compiler` does not have, for the same maps. */
struct error *tracer_compile_more(struct tracer *t, unsigned programs,
				  struct compiler **ret)
	__attribute__((warn_unused_result));

/* --- tracer_event.c --------------------------------------------------------------- */

/* Will the kernel have the program that counts? It is loaded then. */
struct error *tracer_try_event(struct tracer *t) __attribute__((warn_unused_result));

/* As tracer_attach(), for the plan of an event. */
struct error *tracer_attach_event(struct tracer *t, const struct plan *plan, int pid,
				  size_t *refused) __attribute__((warn_unused_result));

/* Add stacks, the hits at each, and their totals. */
struct error *tracer_add_events(struct tracer *t, const struct drain_slots *slots,
				struct snapshot *snap)
	__attribute__((warn_unused_result));

/* Hits of slots for which `gone` is set are not wanted any more. */
struct error *tracer_forget_events(struct tracer *t, const bool gone[])
	__attribute__((warn_unused_result));

/* --- tracer_growth.c -------------------------------------------------------------- */

/* With an event and mappings: to the system calls that make them. */
struct error *tracer_attach_growth(struct tracer *t) __attribute__((warn_unused_result));

/* A process is traced from now on, or not any more: where its heap ends. */
void tracer_begin_growth(struct tracer *t, int pid, uint32_t slot);
void tracer_forget_growth(struct tracer *t, uint32_t slot);

/* --- tracer_kernel.c -------------------------------------------------------------- */

/* Load the programs of the kernel's allocations. */
struct error *tracer_try_kernel(struct tracer *t) __attribute__((warn_unused_result));

/* Attach them. */
struct error *tracer_attach_kernel(struct tracer *t) __attribute__((warn_unused_result));

/* Give each class its number. */
struct error *tracer_number_kernel(struct tracer *t) __attribute__((warn_unused_result));

/* To blocks and stacks that were drained: what is the kernel's of them, and its totals.
 */
struct error *tracer_add_kernel(struct tracer *t, struct snapshot *snap)
	__attribute__((warn_unused_result));

/* --- tracer_attach.c, for it ------------------------------------------------------ */

/* Does the site have its probe? */
bool tracer_is_attached(const struct tracer *t, const struct attached_site *site);

/* --- tracer_code.c ---------------------------------------------------------------- */

/* Be told when the process loads or unloads libraries, or moves code. Without it that is
 * noticed by what is mapped (probes/unwind.c). */
void tracer_watch_code(struct tracer *t, int pid);

/* The process has no probes any more. */
void tracer_unwatch_code(struct tracer *t, int pid);

/* --- tracer_unwind.c -------------------------------------------------------------- */

struct error *tracer_open_learner(struct tracer *t) __attribute__((warn_unused_result));

/* A process is traced from now on: get ready to unwind its stacks. */
void tracer_unwind_begin(struct tracer *t, int pid, uint32_t slot);

/* Of a struct drain_resolver; `arg` is the tracer. */
void tracer_catch_up(void *arg);
uint32_t tracer_stack(void *arg, uint32_t stack);

/* Add the losses of the learner. */
void tracer_add_walks(struct tracer *t, struct snapshot *snap);

/* --- tracer_traffic.c ------------------------------------------------------------- */

struct error *tracer_open_traffic(struct tracer *t) __attribute__((warn_unused_result));

/* With the learner: events of blocks whose stack has no number yet. */
struct error *tracer_open_late(struct tracer *t) __attribute__((warn_unused_result));
void tracer_poll_traffic(struct tracer *t);

/* The block goes with its process. */
void tracer_block_gone(struct tracer *t, const struct abi_block *block);

/* Add what was counted, with its losses. */
struct error *tracer_add_traffic(struct tracer *t, const struct drain_slots *slots,
				 struct snapshot *snap)
	__attribute__((warn_unused_result));

void tracer_close_traffic(struct tracer *t);

/* --- tracer_mappings.c ------------------------------------------------------------ */

struct error *tracer_open_ring(struct tracer *t) __attribute__((warn_unused_result));

/* Forget the mappings of a process; true when there were some. */
bool tracer_forget_mappings(struct tracer *t, uint32_t slot);

/* Ask for the stack of each mapping (learner_sweep()). */
void tracer_ask_mappings(struct tracer *t);

/* Add all mappings, with their totals and losses. */
struct error *tracer_add_mappings(struct tracer *t, const struct drain_slots *slots,
				  struct snapshot *snap)
	__attribute__((warn_unused_result));

void tracer_close_ring(struct tracer *t);

#endif
