/* SPDX-License-Identifier: Apache-2.0 */
/* A lower bound of the cost of every uprobe tracer: programs that do nothing, at entry
 * and return of each function or where memtrace would put its own probes, attached by the
 * same kernel interface. */
#ifndef BENCH_EMPTY_PROBES_H
#define BENCH_EMPTY_PROBES_H

#include <sys/types.h>

struct empty_probes;

/* Attach to process `pid`, at entry and return of each function. A failure ends the
 * bench. */
struct empty_probes *empty_probes_attach(pid_t pid);
/* The same, but where memtrace puts its probes, often inside the functions. */
struct empty_probes *inside_probes_attach(pid_t pid);
/* The same, in every process that maps one of the files that `pid` maps. */
struct empty_probes *inside_probes_attach_to_all(pid_t pid);
/* The same for one process, but only at sites that see results and whose instruction the
 * kernel single-steps. There may be none. */
struct empty_probes *stepped_probes_attach(pid_t pid);
/* As empty_probes_attach(), but the programs at returns call bpf_get_stackid(). */
struct empty_probes *stackid_probes_attach(pid_t pid);
/* Detach the probes; returns the ms that this took. */
double empty_probes_detach(struct empty_probes *probes);

#endif
