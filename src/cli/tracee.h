/* SPDX-License-Identifier: Apache-2.0 */
/* One traced process: what is known of it while it lives, and after. */
#ifndef CLI_TRACEE_H
#define CLI_TRACEE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/tracer.h"
#include "cli/options.h"
#include "cli/modules.h"
#include "plan/plan.h"
#include "snapshot/snapshot.h"
#include "symbol/cache.h"
#include "symbol/kernel_names.h"
#include "symbol/reader.h"
#include "symbol/symbolizer.h"
#include "target/file_names.h"
#include "target/proc.h"
#include "target/told_code.h"

/* So many families of stacks are remembered of a process. */
#define TRACEE_FAMILIES 16

/* A file with an allocator that the process maps. */
struct tracee_file {
	struct file_name name;   /* as /proc/PID/maps has it */
	struct code_range range; /* of its code */
	uint64_t number;         /* tracer_file(); 0: it has no probes */
};

struct tracee {
	int pid;
	char command[64];
	struct proc *proc; /* NULL: it was gone before it could be looked at */
	uint64_t image;    /* what it runs (proc_image()); changes with an exec */
	uint64_t image_ns; /* CLOCK_MONOTONIC: when it was last seen to run that */
	struct proc_memory memory; /* as last seen */
	struct modules modules;
	struct proc_maps planned;      /* the mappings as of the last plan */
	VEC(struct code_range) ranges; /* of its allocators' code */
	VEC(struct tracee_file) files; /* as of the last plan */
	bool has_loaded;               /* allocators, since it is traced */
	struct symbolizer *symbolizer; /* NULL: not made yet, or it has exited */
	struct symbolizer *user; /* of these, the reader's (symbol/reader.h); NULL: all
				    names are the kernel's. Borrowed. */
	struct frame_cache *frames;
	const struct kernel_names *kernel; /* of its frames in the kernel; NULL: it has
					      none. Borrowed. */
	struct proc
		*named; /* the process whose names these are, when it is another one */
	/* After it has exited: its mappings of code as the kernel told of them. They are
	 * put into `modules` with the next report. NULL: nothing is known, or that was
	 * done. */
	struct told_code *told;
	bool has_our_root; /* or had, when it was looked at */
	uint32_t slot;     /* of the tracer, once it is traced */
	VEC(uint64_t)
	families; /* it was in these one after the other (tracer_family()) */
	bool is_traced;
	bool asked_for;       /* by the user: its number, or the command */
	bool maps_changed;    /* since they were last read */
	bool wants_plan;      /* files were mapped since the last plan */
	uint64_t executed_ns; /* CLOCK_MONOTONIC: it executes another program, or did so
				 later than then; 0: no */
	uint64_t noticed_ns;  /* the same: since when that is known */
	bool check_image;     /* it may have done so */
	uint64_t first_ended_ns; /* the same: its first thread has ended; 0: no, or all
				has been done about it */
	bool maps_failed;        /* its mappings could not be read the last time */
	bool has_unread_maps;    /* the same at some time, which was said */
	bool said_jit;           /* what would name the frames of its own code */
	bool said_untraced;      /* that files it has loaded are not traced */
	bool is_refused; /* nothing can be done about the end of its first thread */
	bool exited;
	bool reported; /* as exited, in a report */
	bool dropped;  /* of no interest any more */
};

/* Look at the process; nothing is traced yet. Its ELF files are read by `elf_reader`
 * (NULL: here), which must outlive it. Errors are those of proc_open(). */
struct error *tracee_create(int pid, struct elf_reader *elf_reader, struct tracee **ret)
	__attribute__((warn_unused_result));

/* What stands for the kernel: its number is 0. */
struct error *tracee_create_kernel(struct tracee **ret)
	__attribute__((warn_unused_result));

/* A process of which only the name is known: it has exited already. */
struct error *tracee_create_gone(const struct tracer_process *process,
				 struct tracee **ret) __attribute__((warn_unused_result));
void tracee_destroy(struct tracee *tracee);

/* Get ready to name its frames by `reader`, if that was not done. What has exited stays
 * unnamed, unless something stands for it. */
struct error *tracee_open_symbols(struct tracee *tracee, const struct options *options,
				  struct reader *reader)
	__attribute__((warn_unused_result));

/* The same where frames can go without names: fails only when memory is out. */
struct error *tracee_try_symbols(struct tracee *tracee, const struct options *options,
				 struct reader *reader)
	__attribute__((warn_unused_result));

/*
 * Plan probes for the allocators in files that it has mapped since the last plan, and
 * remember where their code is; forget files that it does not map any more.
 * ERROR_NOT_FOUND: there are none.
 */
struct error *tracee_plan(struct tracee *tracee, const struct plan_options *options,
			  struct plan **ret) __attribute__((warn_unused_result));

/* Does it map other files as code, as of the last tracee_refresh(), than at the last
 * plan?
 */
bool tracee_has_other_code(const struct tracee *tracee);

/* Look at its memory and, if they have changed, at its mappings and names. */
struct error *tracee_refresh(struct tracee *tracee) __attribute__((warn_unused_result));

/* From here on `stand_in`, which is taken over, stands for the process, which has exited.
 * Names that it has are forgotten. */
void tracee_replace(struct tracee *tracee, struct proc *stand_in);

/* One that has exited gets the modules and names of another one with the same code, which
 * is without from then on. */
void tracee_take_names(struct tracee *heir, struct tracee *from);

/* Notice that it has exited. True when it has. */
bool tracee_check_exit(struct tracee *tracee);

/* What is known of it, into a process of a snapshot. */
struct error *tracee_describe(const struct tracee *tracee, struct snapshot_process *ret)
	__attribute__((warn_unused_result));

#endif
