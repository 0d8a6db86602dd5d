/* SPDX-License-Identifier: Apache-2.0 */
/* The seccomp filters of confined processes (seccomp(2), seccomp_rule_add(3)). */
#ifndef CONFINED_FILTER_H
#define CONFINED_FILTER_H

#include <stdbool.h>

#include "util/error.h"

/*
 * Confine the calling process for good: it may use the descriptors that it has and take
 * memory. System calls with a path wait until whoever reads the listener has answered
 * them (seccomp_unotify(2)); a page becomes executable never; all other calls fail with
 * EPERM, with `ret_listener` NULL those with a path, too. Sets no_new_privs.
 * *ret_listener is the caller's.
 *
 * ERROR_UNSUPPORTED: the kernel, or a sandbox around memtrace, does not permit it.
 */
struct error *filter_load_reader(int *ret_listener) __attribute__((warn_unused_result));

/*
 * Confine the calling process for good to what a client of a network service needs:
 * sockets and files stay. Other processes, mounts, modules, BPF and the like are refused
 * with EPERM. Sets no_new_privs. The errors are the same.
 */
struct error *filter_load_client(void) __attribute__((warn_unused_result));

/*
 * Refuse, to all threads of this process, system calls that tracing does not need:
 * programs, mounts, modules, clocks and the like; without `holds_command` ptrace(2), and
 * without `has_network` sockets. The errors are the same.
 */
struct error *filter_load_tracing(bool holds_command, bool has_network)
	__attribute__((warn_unused_result));

/* Refuse what reading and writing files does not need: the same, other processes, BPF,
 * and new code. The errors are the same. */
struct error *filter_load_files(void) __attribute__((warn_unused_result));

#endif
