/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traced processes of a run, kept up with what they do: libraries that they load,
 * other programs that they execute, children that they fork, their exits.
 */
#ifndef CLI_TRACEES_H
#define CLI_TRACEES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/tracer.h"
#include "cli/reading.h"
#include "cli/return_probes.h"
#include "cli/tracee.h"
#include "plan/plan.h"
#include "snapshot/snapshot.h"
#include "target/elf_reader.h"
#include "target/file_names.h"
#include "target/told_code.h"
#include "target/watch.h"
#include "util/error.h"
#include "util/vec.h"

/* A process that is not on the list yet. */
struct fresh {
	int pid;
	int parent; /* that forked it; 0: of no interest */
};

/* A file that has probes for the process `pid` (0: for all). */
struct probed_file {
	int pid;
	uint64_t number;       /* tracer_file() */
	uint64_t unused_since; /* tracees.releases when no process mapped it any more; 0:
				  it is mapped */
};

struct tracees {
	struct plan_options plan_options;
	enum trace_scope scope;
	struct return_probes returns;
	const struct options *options; /* borrowed */
	struct elf_reader *elf_reader; /* borrowed; NULL: files are read here */
	struct reading reading;
	struct tracer *tracer;   /* borrowed; NULL before tracees_start() */
	struct watch *watch;     /* NULL: the kernel does not tell */
	struct told_codes *told; /* NULL as well: nor of what processes mapped */
	int epoll_fd;            /* readable when there is something to look at */
	VEC(struct tracee *) list;
	struct kernel_names *kernel; /* with --kernel-stacks and --kernel, else NULL */
	VEC(struct fresh) news;
	VEC(struct probed_file) probed;
	uint64_t releases; /* calls of tracees_release_files() that looked */
	bool may_release;  /* files may not be mapped any more */
	/* With SCOPE_ALL: the file whose users are traced; inode 0: not known. */
	struct file_names library;
	uint64_t next_look_ns;   /* CLOCK_MONOTONIC */
	uint64_t next_forget_ns; /* the same: slots of nobody are looked for then */
	unsigned looks;
	uint64_t unshown; /* that held something as they exited, and were dropped before
			     a report */
	struct untraced_files untraced; /* of all processes */
	uint64_t left_out;              /* processes that no descriptor was left for */
	bool lacks_descriptors;         /* something is not traced, as none was left */
	bool cannot_wait;               /* for all descriptors: so look often */
	uint64_t unread_maps;           /* processes whose mappings could not be read */
	uint64_t listed, unlisted; /* what processes have loaded: lines, and what would
				      have been one more */
	uint64_t warned_untraced;  /* functions of loaded libraries that are not traced:
				      lines */
	bool said_unread;
	bool said_no_room;
	bool said_wide;
	bool look_soon; /* somebody is about to become another program */
};

/* Nobody is traced yet. What the kernel tells from here on is not missed. `elf_reader`
 * (NULL: nobody) reads the targets' ELF files, and must outlive the tracees. */
struct error *tracees_init(struct tracees *tracees, const struct options *options,
			   struct elf_reader *elf_reader, struct progress *progress)
	__attribute__((warn_unused_result));
void tracees_deinit(struct tracees *tracees);

/* Look at the process `pid` and plan its probes; the plan is the caller's. ERROR_UNSAFE:
 * return probes could end the process. It is not on the list then; others can be traced.
 */
struct error *tracees_open(struct tracees *tracees, int pid, struct plan **ret)
	__attribute__((warn_unused_result));

/*
 * With SCOPE_ALL: find the library of the options, by its path or in the processes that
 * map it (by its base name), and plan its probes; the plan is the caller's. Processes
 * that map it now are looked at.
 */
struct error *tracees_open_all(struct tracees *tracees, struct plan **ret)
	__attribute__((warn_unused_result));

/*
 * Attach the probes of `plans`, which are in the order of the processes (with SCOPE_ALL:
 * one plan for all), and trace all of them. A process that return probes could end is
 * left out with a line; its plan is destroyed and taken from `plans`. ERROR_UNSAFE: no
 * process is left.
 */
struct error *tracees_start(struct tracees *tracees, struct tracer *tracer,
			    struct plan *plans[], size_t *count)
	__attribute__((warn_unused_result));

/* Say in a line why a process is not traced, and free the error. */
void tracees_say_left_out(struct error *err);

/* Look at what has happened. Does not block; to be called when epoll_fd is readable,
 * every tracees_look_ms(), and before a report. Errors are those that end the run. */
struct error *tracees_look(struct tracees *tracees) __attribute__((warn_unused_result));
int tracees_look_ms(const struct tracees *tracees);

/* Say at the end of the run that descriptors ran out and something was not traced. False:
 * nothing was. */
bool tracees_say_descriptors(const struct tracees *tracees);

/* Say at the end of the run how many libraries and programs were not listed, if any. */
void tracees_say_unlisted(const struct tracees *tracees);

/* Has every process exited, and can no other come? */
bool tracees_are_gone(const struct tracees *tracees);

/* Fill `snap` with the processes and what the tracer has of them. */
struct error *tracees_snapshot(struct tracees *tracees, struct snapshot *snap)
	__attribute__((warn_unused_result));

/* Those processes that a report has shown as exited are not shown again. */
struct error *tracees_reported(struct tracees *tracees)
	__attribute__((warn_unused_result));

#endif
