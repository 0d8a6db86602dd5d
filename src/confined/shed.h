/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process gives up for good, as it does not need it: capabilities
 * (capabilities(7)) and system calls (seccomp(2)). Programs that were started before keep
 * theirs. Where a process is no root's, there is little to give up, and nothing changes.
 */
#ifndef CONFINED_SHED_H
#define CONFINED_SHED_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* Of the capabilities that the calling thread has, keep those of `keep` (bit = number).
 * Sets no_new_privs. ERROR_UNSUPPORTED: a sandbox does not permit it. */
struct error *shed_capabilities(uint64_t keep) __attribute__((warn_unused_result));

/* Keep what tracing needs, in the calling thread. */
struct error *shed_for_thread(void) __attribute__((warn_unused_result));

/*
 * The same, and for all threads no system calls that this process never makes: those that
 * start programs, mount, load modules, write to other processes and the like; with
 * `has_network` false sockets, and with `holds_command` false ptrace(2).
 */
struct error *shed_for_tracing(bool holds_command, bool has_network)
	__attribute__((warn_unused_result));

/* Keep what opening files of others for reading needs, in a process with one thread. */
struct error *shed_for_opening(void) __attribute__((warn_unused_result));

/*
 * Keep what a report from a file needs: to read and write files. With `writes_files`
 * files may be made in directories of others, as root may; else no capability stays.
 */
struct error *shed_for_files(bool writes_files) __attribute__((warn_unused_result));

#endif
