/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of memtrace, in parts: session.c is its life from the command line to the exit
 * status, session_start.c plans and sets the probes, session_report.c makes the reports,
 * session_last.c makes the last report if the main thread is stuck, and session_say.c
 * says on standard error how the run goes. Private to session/.
 */
#ifndef SESSION_SESSION_PRIVATE_H
#define SESSION_SESSION_PRIVATE_H

#include "bpf/offsets_reader.h"
#include "compile/compiler_process.h"
#include "trace/trace_mode.h"
#include "trace/tracer.h"
#include "tracees/kernel.h"
#include "options/options.h"
#include "output/output.h"
#include "output/outputs.h"
#include "progress/progress.h"
#include "output/report_setup.h"
#include "tracees/tracees.h"
#include "progress/wait.h"
#include "plan/event.h"
#include "plan/plan.h"
#include "render/renderer.h"
#include "screen/screen.h"
#include "serve/serve.h"
#include "session/trim.h"
#include "report/report.h"
#include "snapshot/timeline.h"
#include "snapshot/join.h"
#include "snapshot/merge.h"
#include "process/children.h"
#include "process/spawn.h"
#include "reach/search.h"
#include "util/phases.h"
#include "util/vec.h"
struct session {
	const struct options *options;
	struct report_setup setup;
	const struct renderer *renderer;
	struct waiter waiter;
	struct progress progress;
	bool prints_final_only; /* only the last report is printed */
	bool has_said_left_out; /* a line said that functions are not checked */
	bool has_said_stripped; /* stripped_note_say() printed its line */
	uint64_t begun_ns;      /* CLOCK_MONOTONIC */
	struct phases phases;   /* of the start */
	struct on_time {
		uint64_t due_ns;   /* CLOCK_MONOTONIC; 0: no time was given */
		uint64_t queue_ns; /* cpu_queue_ns() when the waiting began */
	} end;                     /* of --duration */
	struct compiler_pool compilers;
	struct offsets_reader offsets;
	struct event_spec event;    /* with MODE_HITS, else text is NULL */
	struct kernel_trace kernel; /* of --kernel */
	struct spawn spawn;         /* the command; unused without one */
	struct elf_reader *elf_reader;
	int fetch_cache; /* of fetch_cache_open(); -1: none */
	struct tracees tracees;
	VEC(struct plan *) plans; /* of the processes traced from the start */
	struct children children; /* existing children of these processes, which are not
				     traced */
	struct name_book *names;  /* for the screen and clients; NULL: not needed yet */
	struct report_history *history;
	struct timeline *timeline;
	struct snapshot_merge *merge; /* unused with --group-by process */
	/* With --save and merged stacks: for the unmerged snapshots that are saved. */
	struct report_history *saved_history;
	struct timeline *saved_timeline;
	struct tracer *tracer;
	struct tracer *kernel_tracer; /* with --with-kernel: the second tracer */
	struct snapshot_join join;
	struct output output;
	struct outputs outputs;
	struct serve *serve;         /* of --listen; else NULL */
	bool serve_is_lent;          /* another process owns it */
	struct reach_search *search; /* with --unreachable, else NULL */
	struct screen *screen;       /* of --live; NULL: the reports are printed */
	FILE *said_before; /* progress.out before the screen came; NULL: unset */
	struct trim trim;
	uint64_t interval_ns; /* between reports */
	uint64_t intervals;   /* number of report intervals that have passed */
};

/* --- session_start.c ---------------------------------------------------------------- */

/* Choose the processes, and plan the probes of each. */
struct error *session_plan(struct session *s) __attribute__((warn_unused_result));

/* Is it certain that the run never has a second process? */
bool session_traces_one(const struct session *s);

/* The input of the tracer for this run. Borrows from `s`. */
struct tracer_setup session_tracer_setup(struct session *s);

/* Compile, load and attach what is planned. */
struct error *session_start(struct session *s) __attribute__((warn_unused_result));

/* --- session_report.c --------------------------------------------------------------- */

/* Take a snapshot, and write its report and the files that are due. An error ends the
 * run. */
struct error *session_report(struct session *s, enum report_cause cause)
	__attribute__((warn_unused_result));

/* If a client of --listen waits for a snapshot, take one and answer. Growth and trends in
 * reports do not change. */
void session_observe(struct session *s);
/* After a report: return free memory to the kernel if that is due (trim.h). */
void session_trim(struct session *s);

/* --- session_screen.c --------------------------------------------------------------- */

/* With --live, start the screen, or say why it cannot start. `to_terminal`: the reports
 * would go to the terminal. Sets s->interval_ns. */
struct error *session_screen_start(struct session *s, bool to_terminal)
	__attribute__((warn_unused_result));
/* Handle what the user did on the screen. True: end the run. */
bool session_screen_look(struct session *s);
/* Does the screen wait for a snapshot? */
bool session_screen_wants(const struct session *s);
/* Show the snapshot of a report, which has its names. Only if the screen waits for it. */
struct error *session_screen_give(struct session *s, const struct snapshot *snap)
	__attribute__((warn_unused_result));
/* The run is over: give the terminal back. If the target has exited, wait for the user's
 * `q` first, and show `last` when the screen waits for it; NULL: it has been shown. */
struct error *session_screen_end(struct session *s, enum report_cause cause,
				 const struct snapshot *last)
	__attribute__((warn_unused_result));
/* Give the terminal back now. */
void session_screen_stop(struct session *s);

/* --- session_last.c ----------------------------------------------------------------- */

/* Make the final report in a forked child. `arg` is the session. A last_report_fn. */
enum last_report_result session_last_report(void *arg,
					    const struct last_report_options *options);

/* Start the helper that opens files of targets. It gives up what it does not need. */
struct error *session_start_opener(void) __attribute__((warn_unused_result));

/* --- session_say.c: on standard error ------------------------------------------------
 */

/* Which functions of an allocator the file lacks. */
void session_say_missing(const struct plan *plan);
/* Print the plan for --dry-run on standard output. */
struct error *session_dry_run(struct session *s) __attribute__((warn_unused_result));
/* Say which processes are traced and how to end the run; with -v also how long each phase
 * of the start took. */
void session_say_tracing(struct session *s);
/* Name the programs that keep objects in a heap of their own. */
void session_say_own_heaps(const struct session *s);
/* Say that the start has taken long, if the reason is busy processors. `begun_ns`: when
 * it began, CLOCK_MONOTONIC. */
void session_say_slow_start(uint64_t begun_ns);
/* Say that the run ends later than --duration asks for, for the same reason. */
void session_say_late_end(const struct session *s);
/* How many stacks were walked, and how. */
void session_say_walks(const struct session *s);
/* The parts of the last stop of --unreachable, if there was one. */
void session_say_pause(const struct session *s);
/* Functions whose result sites turned out to be wrong. */
void session_say_verdicts(struct session *s);
/* A file system does not answer. */
void session_say_hung(const char *path);
/* Links are removed later, because the process `pid` holds its mmap_lock. */
void session_say_late(int pid);
/* How many files were left out because of file systems that do not answer. */
void session_say_given_up(void);

#endif
