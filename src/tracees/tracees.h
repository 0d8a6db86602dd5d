/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of traced processes, kept up to date as processes load libraries, execute
 * other programs, fork and exit.
 */
#ifndef TRACEES_TRACEES_H
#define TRACEES_TRACEES_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/tracer.h"
#include "progress/reading.h"
#include "tracees/return_probes.h"
#include "tracees/supervisor.h"
#include "tracees/tracee.h"
#include "plan/plan.h"
#include "snapshot/snapshot.h"
#include "elf/elf_reader.h"
#include "process/file_names.h"
#include "process/target_file.h"
#include "process/watched_code.h"
#include "process/watch.h"
#include "util/error.h"
#include "util/vec.h"

/* A process that a kernel event announced and that is not on the list yet. */
struct fresh {
	int pid;
	int parent; /* the process that forked it; 0: not a fork, it mapped the library */
};

/* A file that has probes: of the process `pid`, or of all processes if `pid` is 0. */
struct probed_file {
	int pid;
	uint64_t number;       /* tracer_file() */
	uint64_t unused_since; /* value of tracees.releases when it was first found
				  unmapped; 0: it is mapped */
};

struct tracees {
	struct plan_options plan_options;
	enum trace_scope scope;
	struct supervisor supervisor; /* of --follow-exec-of */
	struct return_probes returns;
	const struct options *options; /* borrowed */
	struct elf_reader *elf_reader; /* borrowed; NULL: files are read in this
					  process */
	struct opened_files *opened;   /* of the current round of work; may be NULL */
	struct reading reading;
	struct tracer *tracer; /* borrowed; NULL before tracees_start() */
	struct watch *watch;   /* events of all processes; NULL: the kernel does not
				  permit it */
	struct watched_codes
		*reported_code; /* code mappings from these events; NULL like `watch` */
	int epoll_fd;           /* readable when tracees_look() has something to do */
	VEC(struct tracee *) list;
	struct kernel_names *kernel; /* set with --kernel-stacks, --kernel and
					--with-kernel */
	VEC(struct fresh) news;
	VEC(struct probed_file) probed;
	uint64_t releases; /* number of passes of tracees_release_files() */
	bool may_release;  /* files may have been unmapped */
	/* With SCOPE_ALL: the library whose users are traced; inode 0: not known yet. */
	struct file_names library;
	uint64_t next_look_ns;   /* CLOCK_MONOTONIC */
	uint64_t next_remove_ns; /* when to look for orphaned slots next,
				    CLOCK_MONOTONIC */
	unsigned looks;
	uint64_t unshown; /* processes with live data that exited and were dropped before
			     a report could show them */
	struct untraced_files untraced; /* over all processes */
	uint64_t left_out;              /* processes not opened for lack of file
					   descriptors */
	bool lacks_descriptors;         /* something is not traced for lack of file
					   descriptors */
	bool cannot_wait;               /* epoll cannot watch all descriptors, so look
					   often */
	struct other_code *others;      /* code of all processes */
	uint64_t unread_maps;           /* processes whose mappings could not be read */
	uint64_t listed, unlisted; /* lines printed about loaded libraries and programs,
				      and lines suppressed after LISTED_MAX */
	uint64_t warned_untraced;  /* functions of loaded libraries that were reported as
				      not traced */
	bool said_unread;
	bool said_unchecked;
	bool has_lost_events; /* the kernel's events about processes, at any time */
	bool said_lost_events;
	bool said_no_room;
	bool said_wide;
	bool is_cut_off; /* tracees_cut_off() */
	bool look_soon;  /* call tracees_look() again at once: an exec or thread exit is
			    pending */
};

/* Initialize without processes. No kernel event after this call is missed. `elf_reader`
 * (NULL: none) reads the targets' ELF files and must outlive the tracees, as must
 * `fetch_cache` (session/fetch_cache.h). */
struct error *tracees_init(struct tracees *tracees, const struct options *options,
			   struct elf_reader *elf_reader, int fetch_cache,
			   struct progress *progress) __attribute__((warn_unused_result));
void tracees_deinit(struct tracees *tracees);

/* Open the process `pid` and plan its probes; the caller owns the plan. ERROR_UNSAFE:
 * return probes could kill the process. It is then not on the list; others can still be
 * traced. */
struct error *tracees_open(struct tracees *tracees, int pid, struct plan **ret)
	__attribute__((warn_unused_result));

/*
 * With SCOPE_ALL: find the library of the options, by its path or, if it is a base name,
 * in the processes that map it. Plan its probes; the caller owns the plan. Opens the
 * processes that map it now.
 */
struct error *tracees_open_all(struct tracees *tracees, struct plan **ret)
	__attribute__((warn_unused_result));

/*
 * Attach the probes of `plans` and trace all processes on the list. The plans are in the
 * order of the processes; with SCOPE_ALL there is one plan for all, and the plan of a
 * supervisor comes last. A process that return probes could kill is left out with a
 * message; its plan is destroyed and removed from `plans`. ERROR_UNSAFE: no process is
 * left.
 */
struct error *tracees_start(struct tracees *tracees, struct tracer *tracer,
			    struct plan *plans[], size_t *count)
	__attribute__((warn_unused_result));

/* Print why a process is not traced, and free the error. NULL does nothing. */
void tracees_say_left_out(struct error *err);

/* Read the kernel's events about processes. Some may have been lost during a long start.
 * Call this before a command starts, so that the ring has room for the command's
 * events. */
void tracees_read_events(struct tracees *tracees);

/* Follow what the processes have done. Does not block. Call it when epoll_fd is readable,
 * every tracees_look_ms() milliseconds, and before a report. An error ends the run. */
struct error *tracees_look(struct tracees *tracees) __attribute__((warn_unused_result));
int tracees_look_ms(const struct tracees *tracees);

/* At the end of the run: if file descriptors ran out and something was not traced, print
 * so and return true. */
bool tracees_say_descriptors(const struct tracees *tracees);

/* At the end of the start: print which processes are stopped. Waits 50 ms if a debugger
 * may have stopped one. */
void tracees_say_stopped(const struct tracees *tracees);

/* At the end of the run: print how many libraries and programs were not listed, if
 * any. */
void tracees_say_unlisted(const struct tracees *tracees);

/* Have all processes exited, and can no new one appear? */
bool tracees_are_gone(const struct tracees *tracees);

/* Fill `snap` with the processes and the tracer's data about them. */
struct error *tracees_snapshot(struct tracees *tracees, struct snapshot *snap)
	__attribute__((warn_unused_result));

/* tracer_find_same(), for processes that are stopped. */
struct error *tracees_find_same(const struct tracees *tracees,
				const struct snapshot *snap, const uint32_t numbers[],
				size_t count, bool is_there[])
	__attribute__((warn_unused_result));

/* Does (or did) a traced process see the files of this machine at their paths? `arg` is
 * the struct tracees. False also if it is not traced. */
bool tracees_have_our_root(void *arg, int pid);

/* In a forked child: from now on only tracees_snapshot() may be called. It opens no
 * files, and reads nothing of the processes, but the reader may. False: fork again
 * (tracer_cut_off()). */
bool tracees_cut_off(struct tracees *tracees, bool are_named);

/* A report was written: remove the processes that it has shown as exited. */
struct error *tracees_reported(struct tracees *tracees)
	__attribute__((warn_unused_result));

#endif
