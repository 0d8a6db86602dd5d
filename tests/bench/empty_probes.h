/* SPDX-License-Identifier: Apache-2.0 */
/* The floor under every uprobe tracer: programs that do nothing, in the places where
 * memtrace puts its own, attached in the same way. */
#ifndef BENCH_EMPTY_PROBES_H
#define BENCH_EMPTY_PROBES_H

#include <sys/types.h>

struct empty_probes;

/* Attach to process `pid`; what fails ends the bench. */
struct empty_probes *empty_probes_attach(pid_t pid);
/* The same, but for returns, which ask for the stack by bpf_get_stackid(). */
struct empty_probes *stackid_probes_attach(pid_t pid);
/* Take them away; the ms that it took. */
double empty_probes_detach(struct empty_probes *probes);

#endif
