/* SPDX-License-Identifier: Apache-2.0 */
/* Perf events at uprobes, for attach_*.c. They take CAP_SYS_ADMIN. */
#ifndef BPF_ATTACH_EVENTS_H
#define BPF_ATTACH_EVENTS_H

#include "bpf/attach.h"

/* The kernel's uprobes as perf_event_open(2) knows them. */
struct uprobe_pmu {
	int type, return_bit;
};

/* ERROR_UNSUPPORTED: there are none. */
struct error *uprobe_pmu_find(struct uprobe_pmu *ret) __attribute__((warn_unused_result));

/*
 * Open an event of one task, or of all (0), at a probe's place; its program is not looked
 * at. One that is disabled counts nothing, and has its breakpoint all the same. Returns
 * the descriptor or a negative errno value: -ESRCH when the task has ended.
 */
int uprobe_event_open(const struct uprobe_pmu *pmu, int task, bool is_disabled,
		      const struct attach_probe *probe);

/* Has the task of the event ended? Not that of an event of all. */
bool uprobe_event_has_ended(int event);

/* What is_private of the probe forbids, in words. */
struct error *uprobe_event_private(const struct attach_probe *probe)
	__attribute__((warn_unused_result));

/* Why uprobe_event_open() failed, in words. */
struct error *uprobe_event_refused(int error, const struct attach_probe *probe)
	__attribute__((warn_unused_result));

/* Stop the events at once. Another process closes them, as the kernel takes 0.1 s for
 * each; the caller does not wait for it. */
void uprobe_events_close(const struct attached events[], size_t count);

#endif
