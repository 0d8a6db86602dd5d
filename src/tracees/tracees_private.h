/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that keep the list of traced processes. Private to tracees/. */
#ifndef TRACEES_TRACEES_PRIVATE_H
#define TRACEES_TRACEES_PRIVATE_H

#include "tracees/tracees.h"

/* With more processes than this, memtrace prepares names only for printing, because each
 * named process keeps its files open, and refreshes only some of the processes at a
 * time. */
#define TRACEES_MANY 256

/* How often to look at everything: at the start, and if the kernel does not report events
 * of all processes. */
#define LOOK_OFTEN_MS 50

/* How often otherwise. Each look reads memory use, so that a recent value is known when a
 * process exits. Without kernel events it also checks everything else. */
#define LOOK_MS 1000

/* Add `fd` to the epoll set; -1 does nothing. If the kernel accepts no more descriptors
 * (max_user_watches of epoll(7)), print a line once, and look often instead. */
void tracees_wait_for(struct tracees *tracees, int fd);

/* Something is left untraced because of `err`. If descriptors have run out, note it,
 * print a line once and return true. */
bool tracees_note_descriptors(struct tracees *tracees, const struct error *err);

/* A start or a look at the processes is over: close the files that it has opened, and
 * drop what was found in them. */
void tracees_end_round(struct tracees *tracees);

/* May one of the processes have exited? Needs one system call for all of them. */
bool tracees_may_have_exited(const struct tracees *tracees);

/* The process with this pid that has not exited, or NULL. Borrowed. */
struct tracee *tracees_find(const struct tracees *tracees, int pid);

/* Start to trace a process on the list, after its probes were attached. */
struct error *tracees_trace(struct tracees *tracees, struct tracee *tracee)
	__attribute__((warn_unused_result));

/* Can a process on the list name the frames of this family of stacks? */
bool tracees_name_family(const struct tracees *tracees, uint64_t family);

/* May a report need this process (index `i` in the list) to name frames? */
bool tracees_may_name(const struct families *families, const struct tracee *tracee,
		      size_t i);

/* Record the family that the process is in now. If no process can name its frames,
 * prepare this one to do so, unless there are many processes. */
struct error *tracees_note_family(struct tracees *tracees, struct tracee *tracee)
	__attribute__((warn_unused_result));

/* Choose for each family the process that names its frames. `ret` must be empty; the
 * caller owns it. */
struct error *tracees_choose_families(struct tracees *tracees, struct families *ret)
	__attribute__((warn_unused_result));

/* Add the mappings that the kernel reported to the modules of processes that have exited,
 * and open the symbols of files that no other process has open. */
struct error *tracees_recall(struct tracees *tracees, const struct families *families)
	__attribute__((warn_unused_result));

/* Before a process leaves the list: pass its names on to a process of the same family. */
struct error *tracees_pass_names(struct tracees *tracees, struct tracee *from)
	__attribute__((warn_unused_result));

/* Append a process to the list. The list takes ownership, also on failure. */
struct error *tracees_add(struct tracees *tracees, struct tracee *tracee)
	__attribute__((warn_unused_result));

/*
 * Remove retired slots that belong to no process on the list. Such a process executed
 * another program, perhaps twice, or before memtrace opened it. The slots' data is lost.
 */
struct error *tracees_remove_orphans(struct tracees *tracees)
	__attribute__((warn_unused_result));

/* For each slot: does a process on the list hold it? The caller frees the array. NULL:
 * memory is out. */
bool *tracees_held_slots(const struct tracees *tracees);

/* The probes of `plan` are attached: record the numbers of their files for the
 * process. */
struct error *tracees_note_files(struct tracees *tracees, struct tracee *tracee,
				 const struct plan *plan)
	__attribute__((warn_unused_result));

/* Remove the probes from files that no process on the list maps any more. The last few
 * are kept, because they may be loaded again. */
struct error *tracees_release_files(struct tracees *tracees)
	__attribute__((warn_unused_result));

/* Remove the processes marked as tracee.dropped from the list. */
struct error *tracees_sweep(struct tracees *tracees) __attribute__((warn_unused_result));

/*
 * If exited processes hold more than a quarter of the slots, free the slots of the oldest
 * ones. Reports may be hours apart while thousands of processes exit each minute. Takes
 * as long as reading the tables.
 */
struct error *tracees_drop_exited(struct tracees *tracees)
	__attribute__((warn_unused_result));

/*
 * Check whether a thread of the process has been confined since its return probes were
 * attached. True: return probes are not safe any more, so all probes of the process were
 * removed.
 */
bool tracees_drop_unsafe(struct tracees *tracees, struct tracee *tracee);

/* Prefix an ERROR_UNSAFE message with the process. Returns `err`. */
struct error *tracees_name_unsafe(struct error *err, const struct tracee *tracee)
	__attribute__((warn_unused_result));

/* Print once that a mapped file could not be read. */
void tracees_say_unread(struct tracees *tracees);

/* Print once that processes were not compared before they got probes (other_code.h). */
void tracees_say_unchecked(struct tracees *tracees);

/* Print once if processes that are not traced are slowed down by probes for a traced
 * one. */
void tracees_say_wide(struct tracees *tracees);

/* Print a printf-style note on standard error, after the name of the process. For
 * children only with -v. The caller must escape text that the target controls. */
void tracees_note(const struct tracees *tracees, const struct tracee *tracee,
		  const char *format, ...) __attribute__((format(printf, 3, 4)));

/* May a line report what the process has loaded or executed? With -v always, else
 * LISTED_MAX times in a run. The first suppressed line is announced, and all are
 * counted. */
#define LISTED_MAX 64
bool tracees_may_list(struct tracees *tracees, const struct tracee *tracee);

/* Print a note if the process is stopped, once until it runs again. */
void tracees_note_stopped(const struct tracees *tracees, struct tracee *tracee);

/* Call tracee_refresh(). If the mappings cannot be read, print a note once and continue
 * without an error. */
struct error *tracees_refresh(struct tracees *tracees, struct tracee *tracee)
	__attribute__((warn_unused_result));

/* A process could not be opened and is not traced. If a limit was reached, count it and
 * print a line once. Frees the error, except ERROR_NO_MEMORY, which it returns. */
struct error *tracees_pass_over(struct tracees *tracees, struct error *err)
	__attribute__((warn_unused_result));

/* Count a process whose mappings could not be read, and print why, once for each
 * process. */
void tracees_note_unread_maps(struct tracees *tracees, struct tracee *tracee,
			      const struct error *err);

/* Trace a process that was added during the run. If all slots are in use, it has to
 * wait. */
struct error *tracees_trace_if_room(struct tracees *ts, struct tracee *t)
	__attribute__((warn_unused_result));

/*
 * Has the process exited? Call it after the pid was used: the kernel may have taken it
 * for a new process with the same pid. If so, the probes of this one process are removed.
 */
bool tracees_lost_pid(struct tracees *ts, const struct tracee *t);

/* Text for tracees_plan_more() when a process has lost its probes. */
#define TRACEES_PROBED_ANEW "is probed anew in"

/* Plan and attach probes for allocators in files that were mapped since the last plan.
 * `what` begins the message about such a file ("has loaded"). */
struct error *tracees_plan_more(struct tracees *ts, struct tracee *t, const char *what)
	__attribute__((warn_unused_result));

/* The probes ended with the main thread: let the next plan cover all files again. */
void tracees_plan_anew(struct tracees *ts, struct tracee *t);

/* Take note of an event. For watch_read(); `arg` is the struct tracees. */
bool tracees_on_event(void *arg, const struct watch_event *event);

/* Note that the process executed another program at `when_ns` or later. */
void tracee_executes(struct tracee *t, uint64_t when_ns);

/* Print once that code of processes that have exited may have no names. */
void tracees_say_lost_events(struct tracees *ts);

#endif
