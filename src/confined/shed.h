/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Privileges that this process gives up permanently: capabilities (capabilities(7)), the
 * user id of root, and system calls (seccomp(2)). Programs that were started earlier keep
 * theirs. A process of an ordinary user has little to give up, and nothing changes.
 */
#ifndef CONFINED_SHED_H
#define CONFINED_SHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

/*
 * The user and group id of processes that have given up root's: 0x7f and "mtr". They give
 * up user 0 because it needs no capability to use root's own files. No account has this
 * id. So no other process may send signals to these processes, and they share no limits
 * with others. With id 65534, an account that services share, both would be possible.
 */
#define SHED_USER ((uid_t)0x7f6d7472)
/* Used in a user namespace that lacks SHED_USER. */
#define SHED_USER_OVERFLOW ((uid_t)65534)

/*
 * Each of these functions gives up as much as it can, also after an error. With
 * ERROR_UNSUPPORTED the caller may go on: the kernel, or a sandbox, never permits it.
 */

/* Give up all capabilities of the calling thread except those in `keep` (bit = number).
 * Sets no_new_privs. */
struct error *shed_capabilities(uint64_t keep) __attribute__((warn_unused_result));

/*
 * The same, and if the process is root's, change its user and group to shed_user() and
 * leave all other groups. The process is then not dumpable. It must have one thread. Its
 * parent-death signal stays. ERROR_IO: the user id is still root's, although shed_user()
 * is not.
 */
struct error *shed_root(uint64_t keep) __attribute__((warn_unused_result));

/*
 * The effective user of a process after shed_root(): its own if it is not root's; else
 * SHED_USER, or SHED_USER_OVERFLOW, or 0 if the user namespace has neither or CAP_SETUID
 * or CAP_SETGID is missing.
 */
uid_t shed_user(void);

/* Like shed_root(): keep the capabilities to open all files of other processes, including
 * /proc/PID. */
struct error *shed_for_reading(void) __attribute__((warn_unused_result));

/* Keep the capabilities that tracing needs, in the calling thread. */
struct error *shed_for_thread(void) __attribute__((warn_unused_result));

/*
 * Like shed_for_thread(), and also give up, in all threads, system calls that this
 * process never makes: those that start programs, mount, load modules, write to other
 * processes etc. Without `has_network` also sockets, and without `holds_command` also
 * ptrace(2). With `accepts` connections to a socket that listens already may be accepted:
 * by children that are started later, which inherit what is refused.
 */
struct error *shed_for_tracing(bool holds_command, bool has_network, bool accepts)
	__attribute__((warn_unused_result));

/* Keep what is needed to open others' files for reading, and the user id. The process
 * must have one thread. */
struct error *shed_for_opening(void) __attribute__((warn_unused_result));

/* Keep what is needed to create files in others' directories, as root can. The process
 * must have one thread. */
struct error *shed_for_writing(void) __attribute__((warn_unused_result));

/* Keep what is needed to make a report from open files: shed_root(0), and no system calls
 * but those for memory and files. */
struct error *shed_for_report(void) __attribute__((warn_unused_result));

/* The same, and what is needed to draw on a terminal by several threads. */
struct error *shed_for_screen(void) __attribute__((warn_unused_result));

#endif
