/* SPDX-License-Identifier: Apache-2.0 */
/* Perf events for uprobes. Private to attach/. They need CAP_SYS_ADMIN. */
#ifndef ATTACH_ATTACH_EVENTS_H
#define ATTACH_ATTACH_EVENTS_H

#include "attach/attach.h"

/* The uprobe PMU, as perf_event_open(2) addresses it. */
struct uprobe_pmu {
	int type, return_bit;
};

/* Returns ERROR_UNSUPPORTED if the kernel has no uprobe PMU. */
struct error *uprobe_pmu_find(struct uprobe_pmu *ret) __attribute__((warn_unused_result));

/* Open an event for one task, or for all (0), at a probe's place; probe->program is not
 * used. A disabled event counts nothing but keeps its breakpoint set. Returns the
 * descriptor or -errno; -ESRCH if the task has ended. */
int uprobe_event_open(const struct uprobe_pmu *pmu, int task, bool is_disabled,
		      const struct attach_probe *probe);

/* Has the task of the event ended? Not for events of all tasks. */
bool uprobe_event_has_ended(int event);

/* The error for a failed uprobe_event_open(), whose return value is `error`. */
struct error *uprobe_event_refused(int error, const struct attach_probe *probe)
	__attribute__((warn_unused_result));

/* Disable the events at once. Another process closes them, since the kernel needs 0.1 s
 * for each; the caller does not wait. */
void uprobe_events_close(const struct attached events[], size_t count);

#endif
