/* SPDX-License-Identifier: Apache-2.0 */
/* The floor under every uprobe tracer: programs that do nothing at the entry and the
 * return of each function, in the best places that memtrace knows there, attached in the
 * same way as its own. */
#ifndef BENCH_EMPTY_PROBES_H
#define BENCH_EMPTY_PROBES_H

#include <sys/types.h>

struct empty_probes;

/* Attach to process `pid`; what fails ends the bench. */
struct empty_probes *empty_probes_attach(pid_t pid);
/* The same, but inside the functions where memtrace has probes there. */
struct empty_probes *inside_probes_attach(pid_t pid);
/* The same, for all processes that map a file of that process. */
struct empty_probes *inside_probes_attach_to_all(pid_t pid);
/* The same for one process, but only where results are seen and the kernel single-steps
 * the instruction; there may be no such place. */
struct empty_probes *stepped_probes_attach(pid_t pid);
/* As empty_probes_attach(), but for returns, which ask for the stack by
 * bpf_get_stackid(). */
struct empty_probes *stackid_probes_attach(pid_t pid);
/* Take them away; the ms that it took. */
double empty_probes_detach(struct empty_probes *probes);

#endif
