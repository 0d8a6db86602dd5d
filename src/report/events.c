// SPDX-License-Identifier: Apache-2.0
/* Finds for each row the processes that had its hits. */
#include <stdlib.h>

#include "report/aggregate.h"
#include "report/build.h"
#include "report/holders.h"
#include "util/cleanup.h"

/* The events, sorted by row. */
struct placed {
	uint32_t *row_of; /* by stack (the last element: no stack): index of the row, or
			     UINT32_MAX */
	size_t *starts;   /* by row: index into `list`; while filling, where the next
			     event goes */
	const struct snapshot_event **list;
};

static void placed_deinit(struct placed *p)
{
	free(p->row_of);
	free(p->starts);
	free(p->list);
}

static uint32_t row_of(const struct snapshot *snap, const struct placed *p,
		       const struct snapshot_event *event)
{
	uint32_t stack = snapshot_stack_index(snap, event->stack);

	return p->row_of[stack < snap->stacks.len ? stack : snap->stacks.len];
}

static struct error *place(const struct snapshot *snap,
			   const struct report_section *section, struct placed *p)
{
	size_t stacks = snap->stacks.len, rows = section->row_count;

	p->row_of = malloc((stacks + 1) * sizeof(*p->row_of));
	p->starts = calloc(rows + 2, sizeof(*p->starts));
	p->list = calloc(snap->events.len + 1, sizeof(*p->list));
	if (!p->row_of || !p->starts || !p->list)
		return error_no_memory();
	for (size_t i = 0; i <= stacks; i++)
		p->row_of[i] = UINT32_MAX;
	for (size_t i = 0; i < rows && i < UINT32_MAX; i++) {
		uint32_t stack = section->rows[i].stack;

		p->row_of[stack < stacks ? stack : stacks] = (uint32_t)i;
	}
	/* Count the events of each row two places further on, so that prefix sums become
	 * starts. */
	vec_foreach (event, &snap->events) {
		uint32_t row = row_of(snap, p, event);

		if (row != UINT32_MAX)
			p->starts[row + 2]++;
	}
	for (size_t i = 2; i < rows + 2; i++)
		p->starts[i] += p->starts[i - 1];
	vec_foreach (event, &snap->events) {
		uint32_t row = row_of(snap, p, event);

		if (row != UINT32_MAX)
			p->list[p->starts[row + 1]++] = event;
	}
	return NULL;
}

struct error *report_events_build(struct builder *b, struct report_section *section)
{
	const struct snapshot *snap = b->snap;
	_cleanup_(placed_deinit) struct placed p = {0};
	struct holders holders;
	struct error *err;

	if (report_is_of_one(b->report))
		return NULL;
	err = place(snap, section, &p);
	if (err)
		return err;
	err = holders_init(&holders, b);
	for (size_t i = 0; !err && i < section->row_count; i++) {
		for (size_t k = p.starts[i]; k < p.starts[i + 1]; k++) {
			const struct snapshot_event *event = p.list[k];
			struct snapshot_held sum = {0};

			stack_sum_add_event(&sum, snap, event);
			holders_add(&holders, event->process, (double)sum.size_bytes,
				    (double)sum.count);
		}
		err = holders_finish(&holders, &section->rows[i]);
	}
	holders_deinit(&holders);
	return err;
}
