// SPDX-License-Identifier: Apache-2.0
/* Which value types a class of blocks has, and which of them a profile has. */
#include "render/pprof/parts.h"

enum pprof_value pprof_objects(enum block_class class)
{
	static const enum pprof_value objects[BLOCK_CLASS_COUNT] = {
		[BLOCK_HEAP] = INUSE_OBJECTS,
		[BLOCK_MAPPING] = MAPPED_OBJECTS,
		[BLOCK_KERNEL] = KERNEL_OBJECTS,
		[BLOCK_EVENT] = EVENTS,
	};

	return objects[class];
}

enum pprof_value pprof_weight(enum block_class class)
{
	enum pprof_value objects = pprof_objects(class);

	return objects == EVENTS ? EVENTS : objects + 1;
}

/* Does a class of the snapshot have this value? */
static bool classes_have(const struct snapshot *snap, enum pprof_value value)
{
	for (int i = 0; i < BLOCK_CLASS_COUNT; i++) {
		enum block_class class = (enum block_class)i;

		if (value == pprof_objects(class) || value == pprof_weight(class))
			return snapshot_has_class(snap, class);
	}
	return false;
}

bool pprof_has_value(const struct pprof_builder *b, enum pprof_value value)
{
	const struct report *report = b->report;
	enum pprof_value objects = pprof_objects(snapshot_main_class(report->snapshot));

	if (b->options->only_heap && value < ALLOC_OBJECTS && objects > ALLOC_OBJECTS)
		return false;
	switch (value) {
	case PEAK_OBJECTS:
	case PEAK_SPACE:
		/* A peak has no changes. */
		return report->data & REPORT_DATA_AT_PEAK && !b->options->changes;
	case LOST_OBJECTS:
	case LOST_SPACE:
		return report->data & REPORT_DATA_UNREACHABLE && !b->options->changes;
	case ALLOC_OBJECTS:
	case ALLOC_SPACE:
		return report->data & REPORT_DATA_TRAFFIC;
	default:
		return classes_have(report->snapshot, value);
	}
}
