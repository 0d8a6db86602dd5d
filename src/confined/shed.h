/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Privileges that this process gives up permanently: capabilities (capabilities(7)) and
 * system calls (seccomp(2)). Programs that were started earlier keep theirs. A process
 * of an ordinary user has little to give up, and nothing changes.
 */
#ifndef CONFINED_SHED_H
#define CONFINED_SHED_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* Give up all capabilities of the calling thread except those in `keep` (bit = number).
 * Sets no_new_privs. ERROR_UNSUPPORTED: a sandbox does not permit it. */
struct error *shed_capabilities(uint64_t keep) __attribute__((warn_unused_result));

/* Keep the capabilities that tracing needs, in the calling thread. */
struct error *shed_for_thread(void) __attribute__((warn_unused_result));

/*
 * Like shed_for_thread(), and also give up, in all threads, system calls that this
 * process never makes: those that start programs, mount, load modules, write to other
 * processes etc. Without `has_network` also sockets, and without `holds_command` also
 * ptrace(2).
 */
struct error *shed_for_tracing(bool holds_command, bool has_network)
	__attribute__((warn_unused_result));

/* Keep what is needed to open others' files for reading. The process must have one
 * thread. */
struct error *shed_for_opening(void) __attribute__((warn_unused_result));

/*
 * Keep what a report from a file needs: reading and writing files. With `writes_files`
 * files can be created in others' directories, as root can; otherwise all capabilities
 * are given up.
 */
struct error *shed_for_files(bool writes_files) __attribute__((warn_unused_result));

#endif
