/* SPDX-License-Identifier: Apache-2.0 */
/* What the list of traced processes and its keeping up to date share. Inside of
 * tracees*.c only. */
#ifndef CLI_TRACEES_PRIVATE_H
#define CLI_TRACEES_PRIVATE_H

#include "cli/tracees.h"

/* Of more processes than these names are made ready for only when they are printed, as
 * each keeps its files open, and only a part is looked at each time. */
#define TRACEES_MANY 256

/* Everything is looked at this often in the beginning, and where the kernel does not tell
 * of all processes. */
#define LOOK_OFTEN_MS 50

/* Wake up when `fd` is readable; -1 is fine. Where the kernel takes no more of them
 * (max_user_watches of epoll(7)) a line says so once, and memtrace looks often instead.
 */
void tracees_wait_for(struct tracees *tracees, int fd);

/* Something that cannot be traced is left out: note whether it is for want of
 * descriptors, and say so once. */
bool tracees_note_descriptors(struct tracees *tracees, const struct error *err);

/* May one of the processes have exited? Takes one system call for all of them. */
bool tracees_may_have_exited(const struct tracees *tracees);

/* The process of this number that has not exited, or NULL. Borrowed. */
struct tracee *tracees_find(const struct tracees *tracees, int pid);

/* Trace one that is on the list: its probes stand. */
struct error *tracees_trace(struct tracees *tracees, struct tracee *tracee)
	__attribute__((warn_unused_result));

/* Can one of the processes name the frames of this family of stacks? */
bool tracees_name_family(const struct tracees *tracees, uint64_t family);

/* May this process, with the index `i` in the list, name frames of some stack? */
bool tracees_may_name(const struct families *families, const struct tracee *tracee,
		      size_t i);

/* Remember the family that the process is in now. Where nobody can name its frames it
 * gets ready to do so, unless there are many processes. */
struct error *tracees_note_family(struct tracees *tracees, struct tracee *tracee)
	__attribute__((warn_unused_result));

/* Which process of the list names each family; `ret` is empty, and the caller's. */
struct error *tracees_choose_families(struct tracees *tracees, struct families *ret)
	__attribute__((warn_unused_result));

/* Add the mappings that the kernel told of to the modules of processes that have exited,
 * and open the symbols of files that no other process has open. */
struct error *tracees_recall(struct tracees *tracees, const struct families *families)
	__attribute__((warn_unused_result));

/* A process leaves the list: another one of its family that stays there gets its names.
 */
struct error *tracees_pass_names(struct tracees *tracees, struct tracee *from)
	__attribute__((warn_unused_result));

/* Put a process on the list, which owns it from then on, also on failure. */
struct error *tracees_add(struct tracees *tracees, struct tracee *tracee)
	__attribute__((warn_unused_result));

/*
 * Forget retired slots that nobody on the list holds: of a process that executed another
 * program, maybe twice, or before it was looked at. What they hold is gone.
 */
struct error *tracees_forget_orphans(struct tracees *tracees)
	__attribute__((warn_unused_result));

/* Which slots are held by the processes on the list, for each slot; owned. NULL: memory
 * is out. */
bool *tracees_held_slots(const struct tracees *tracees);

/* The probes of the plan stand: remember for which files that the process maps. */
struct error *tracees_note_files(struct tracees *tracees, struct tracee *tracee,
				 const struct plan *plan)
	__attribute__((warn_unused_result));

/* Take the probes out of files that no process on the list maps any more, but for the
 * last few, which may be loaded again. */
struct error *tracees_release_files(struct tracees *tracees)
	__attribute__((warn_unused_result));

/* Take those off the list that are of no interest any more (tracee.dropped). */
struct error *tracees_sweep(struct tracees *tracees) __attribute__((warn_unused_result));

/*
 * Hours can lie between two reports, and thousands of processes exit in a minute. When
 * more than a quarter of the slots are held by processes that have exited, the oldest of
 * them give theirs back. Takes as long as reading the tables does.
 */
struct error *tracees_drop_exited(struct tracees *tracees)
	__attribute__((warn_unused_result));

/*
 * A thread of the process may have been confined since its return probes were attached.
 * True: return probes are not safe any more, so all its probes were taken away.
 */
bool tracees_drop_unsafe(struct tracees *tracees, struct tracee *tracee);

/* Name the process before a message of ERROR_UNSAFE. Returns `err`. */
struct error *tracees_name_unsafe(struct error *err, const struct tracee *tracee)
	__attribute__((warn_unused_result));

/* Say once that a mapped file could not be read. */
void tracees_say_unread(struct tracees *tracees);

/* Say once when processes that are not traced pay for one that is. */
void tracees_say_wide(struct tracees *tracees);

/* printf-style note on standard error, of children with -v only; the process's name comes
 * first. What the target chose is for the caller to escape. */
void tracees_note(const struct tracees *tracees, const struct tracee *tracee,
		  const char *format, ...) __attribute__((format(printf, 3, 4)));

/* May a line say what the process has loaded or executed? LISTED_MAX may in a run, and
 * all with -v. The first one that may not is announced; they are counted. */
#define LISTED_MAX 64
bool tracees_may_list(struct tracees *tracees, const struct tracee *tracee);

/* tracee_refresh(). Mappings that cannot be read are no error: a note says so once, and
 * the run goes on. */
struct error *tracees_refresh(struct tracees *tracees, struct tracee *tracee)
	__attribute__((warn_unused_result));

/* A process could not be looked at, and is not traced. When that is because a limit is
 * reached it is counted, and said once. Frees the error. ERROR_NO_MEMORY is returned. */
struct error *tracees_pass_over(struct tracees *tracees, struct error *err)
	__attribute__((warn_unused_result));

/* Count a process whose mappings could not be read, and say so, once for each. */
void tracees_note_unread_maps(struct tracees *tracees, struct tracee *tracee,
			      const struct error *err);

#endif
