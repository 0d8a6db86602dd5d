/* SPDX-License-Identifier: Apache-2.0 */
/* One traced process: what is known of it while it runs and after it has exited. */
#ifndef TRACEES_TRACEE_H
#define TRACEES_TRACEE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace_mode.h"
#include "trace/tracer.h"
#include "options/options.h"
#include "tracees/modules.h"
#include "plan/plan.h"
#include "snapshot/snapshot.h"
#include "symbol/cache.h"
#include "symbol/kernel_names.h"
#include "symbol/reader.h"
#include "symbol/symbolizer.h"
#include "process/file_names.h"
#include "process/proc.h"
#include "process/watched_code.h"

/* A process remembers at most this many stack families. */
#define TRACEE_FAMILIES 16

/* A mapped file with an allocator. */
struct tracee_file {
	struct file_name name;   /* device and inode as in /proc/PID/maps */
	struct code_range range; /* addresses of its code */
	uint64_t number;         /* tracer_file(); 0: it has no probes */
};

struct tracee {
	int pid;
	char command[64];
	struct proc
		*proc;  /* NULL: it exited before memtrace opened it, or is the kernel */
	uint64_t image; /* the program it runs (proc_image()); an exec changes it */
	uint64_t image_ns; /* when it was last seen to run `image`, CLOCK_MONOTONIC */
	struct proc_memory memory; /* as last seen */
	uint64_t memory_ns;        /* when it was last read, CLOCK_MONOTONIC */
	bool is_stopped; /* by a signal; or a debugger stopped it at the last two looks */
	bool said_stopped; /* a note said so, and it has not run since */
	struct modules modules;
	struct proc_maps planned;      /* the mappings at the last plan */
	VEC(struct code_range) ranges; /* code of its allocators */
	VEC(struct tracee_file) files; /* files with an allocator, as of the last plan */
	bool has_loaded;               /* it has loaded allocators since tracing began */
	struct symbolizer *symbolizer; /* NULL: not created yet, or it has exited */
	struct symbolizer *user; /* the part of `symbolizer` for user space, from the
				    reader (symbol/reader.h); NULL: all names are the
				    kernel's. Borrowed. */
	struct frame_cache *frames;
	bool may_lack_names;               /* it exited while `user` was created */
	const struct kernel_names *kernel; /* names its frames in the kernel; NULL: it has
					      none. Borrowed. */
	struct proc *named; /* the process that the names were taken from; NULL: this
			       process */
	/* Once it has exited: its code mappings, as the kernel reported them. The next
	 * report adds them to `modules`. NULL: nothing is known, or they were added. */
	struct watched_code *reported_code;
	bool has_our_root; /* it has (or had when it was opened) memtrace's root
			      directory */
	uint32_t slot;     /* slot in the tracer's tables; valid once is_traced */
	VEC(uint64_t)
	families; /* the stack families it was in (tracer_family()), in order; the last
		     one is current */
	bool is_traced;
	bool asked_for;       /* the user asked for it: by pid or as the command */
	bool maps_changed;    /* the mappings have changed since they were last read */
	bool wants_plan;      /* files were mapped since the last plan */
	uint64_t executed_ns; /* CLOCK_MONOTONIC: it executed another program at that time
				 or later; 0: no exec to follow */
	uint64_t noticed_ns;  /* when memtrace noticed that exec, CLOCK_MONOTONIC */
	bool check_image;     /* compare `image`: an exec may have been missed */
	uint64_t first_ended_ns; /* CLOCK_MONOTONIC: the main thread has exited; 0: no, or
				    already handled */
	bool maps_late;          /* they could not be read in time: try again */
	bool maps_failed;        /* the last attempt to read its mappings failed */
	bool has_unread_maps;    /* an attempt failed, and a note said so */
	bool said_jit;           /* a note said what would name frames in its JIT-compiled
				    code */
	bool said_untraced;      /* a note said that files it has loaded are not traced */
	bool is_refused; /* its probes cannot be kept after the main thread exited */
	bool exited;
	bool reported; /* a report has shown it as exited */
	bool dropped;  /* to be removed by tracees_sweep() */
};

/* Open the process; nothing is traced yet. `elf_reader` (NULL: none, read in this
 * process) reads its ELF files and must outlive it, as must `opened`, which keeps its
 * files (NULL: none). Returns errors of proc_open(), and ERROR_NO_MEMORY and
 * ERROR_PERMISSION if the mappings cannot be read. */
struct error *tracee_create(int pid, struct elf_reader *elf_reader,
			    struct opened_files *opened, struct tracee **ret)
	__attribute__((warn_unused_result));

/* Create the pseudo-process that stands for the kernel; its number is 0. */
struct error *tracee_create_kernel(struct tracee **ret)
	__attribute__((warn_unused_result));

/* Create a process that has exited already. Only its name, number and slot are known. */
struct error *tracee_create_gone(const struct tracer_process *process,
				 struct tracee **ret) __attribute__((warn_unused_result));
void tracee_destroy(struct tracee *tracee);

/* Prepare to name its frames with `reader`, unless that was done. A process that has
 * exited stays unnamed unless something stands in for it. */
struct error *tracee_open_symbols(struct tracee *tracee, const struct options *options,
				  struct reader *reader)
	__attribute__((warn_unused_result));

/* The same for frames that may stay without names: fails only if memory is out. */
struct error *tracee_try_symbols(struct tracee *tracee, const struct options *options,
				 struct reader *reader)
	__attribute__((warn_unused_result));

/*
 * Plan probes for the allocators in files that were mapped since the last plan, and
 * remember where their code is. Drops files that are not mapped any more.
 * ERROR_NOT_FOUND: no new allocators.
 */
struct error *tracee_plan(struct tracee *tracee, const struct plan_options *options,
			  struct plan **ret) __attribute__((warn_unused_result));

/* The same right after tracee_create(), with the mappings that it has read. */
struct error *tracee_plan_first(struct tracee *tracee, const struct plan_options *options,
				struct plan **ret) __attribute__((warn_unused_result));

/* Does it map other code, as of the last tracee_refresh(), than at the last plan? */
bool tracee_has_other_code(const struct tracee *tracee);

/* Has it code that belongs to no file on a disk, as of the last tracee_refresh()? Such
 * code is mostly of a JIT compiler. Also true if its mappings are not known. */
bool tracee_may_compile(const struct tracee *tracee);

/* Read its memory use and whether it is stopped, unless that was done shortly before. */
void tracee_refresh_memory(struct tracee *tracee);

/* Read its memory use and, if its mappings have changed, read them and tell the frame
 * cache. */
struct error *tracee_refresh(struct tracee *tracee) __attribute__((warn_unused_result));

/* Let `stand_in` take the place of the process, which has exited. Takes ownership of
 * `stand_in`. Names that the process had are dropped. */
void tracee_replace(struct tracee *tracee, struct proc *stand_in);

/* Move the modules and names of `from` to `heir`, which runs the same code. `from` has
 * none afterwards. */
void tracee_take_names(struct tracee *heir, struct tracee *from);

/* Check for its exit. Returns true if it has exited. */
bool tracee_check_exit(struct tracee *tracee);

/* Copy what is known of it into a process of a snapshot. */
struct error *tracee_describe(const struct tracee *tracee, struct snapshot_process *ret)
	__attribute__((warn_unused_result));

#endif
