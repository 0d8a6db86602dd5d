/* SPDX-License-Identifier: Apache-2.0 */
/* The seccomp filters of confined processes (seccomp(2), seccomp_rule_add(3)). In all of
 * them clone3(2) and the calls of Linux 6.6 and later fail with ENOSYS. */
#ifndef CONFINED_FILTER_H
#define CONFINED_FILTER_H

#include <stdbool.h>

#include "util/error.h"

/*
 * Confine the calling process permanently: it may use its descriptors and allocate
 * memory, but make no page executable. Calls with a path wait until the reader of
 * *ret_listener (the caller's) answers them (seccomp_unotify(2)); NULL: they fail. All
 * others fail with EPERM. Sets no_new_privs. ERROR_UNSUPPORTED: the kernel or a sandbox
 * permits no filter. ERROR_IO, ERROR_NO_MEMORY: no descriptor or memory is left.
 */
struct error *filter_load_reader(int *ret_listener) __attribute__((warn_unused_result));

/*
 * Confine the calling process permanently to what a client of a network service needs:
 * files, threads, and sockets of the Internet, of this machine, and for its addresses.
 * Calls on other processes, new processes, mounts, modules, BPF etc. fail with EPERM.
 * Sets no_new_privs. Same errors.
 */
struct error *filter_load_client(void) __attribute__((warn_unused_result));

/*
 * Confine the calling process permanently to what answers clients: it may accept
 * connections on its descriptors, and create threads. Paths, new sockets, other
 * processes, and new code are refused with EPERM. Sets no_new_privs. Same errors.
 */
struct error *filter_load_server(void) __attribute__((warn_unused_result));

/*
 * Confine the calling process permanently to what opens files for reading and passes
 * their descriptors: it may use descriptors, allocate memory, and create threads. Calls
 * for other processes, sockets, IPC and attributes of files fail with EPERM, as does
 * opening a file for writing, except by openat2(2), whose flags a filter cannot see. Sets
 * no_new_privs. Same errors.
 */
struct error *filter_load_opener(void) __attribute__((warn_unused_result));

/*
 * Confine the calling process permanently to what stops other processes and reads their
 * memory (ptrace(2), process_vm_readv(2)), and opens files for reading. It may allocate
 * memory, use its descriptors, and create threads. All else fails with EPERM: writing to
 * files or to other processes' memory, sockets, new processes. Sets no_new_privs. Same
 * errors.
 */
struct error *filter_load_scanner(void) __attribute__((warn_unused_result));

/*
 * Refuse, in all threads of this process, system calls that tracing does not need:
 * docs/security.md, "Privileges". Without `holds_command` also ptrace(2), without
 * `has_network` also sockets, and without `accepts` also connections to a socket that
 * listens already. Same errors. This and the client's filter list what is refused:
 * libbcc, LLVM, libcurl and the resolver need calls that differ from version to version.
 */
struct error *filter_load_tracing(bool holds_command, bool has_network, bool accepts)
	__attribute__((warn_unused_result));

/* Confine the calling process permanently to reading and writing files: it may open and
 * create them, give them their names, and allocate memory. Attributes of files, sockets,
 * other processes, threads and new code are refused with EPERM. Same errors. */
struct error *filter_load_files(void) __attribute__((warn_unused_result));

/* The same for a process that also draws on a terminal and has threads: it may set how
 * the terminal behaves, but not put text into its input. Same errors. */
struct error *filter_load_screen(void) __attribute__((warn_unused_result));

#endif
