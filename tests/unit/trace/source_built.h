/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the probes' source: builds it for a run. */
#ifndef TESTS_UNIT_TRACE_SOURCE_BUILT_H
#define TESTS_UNIT_TRACE_SOURCE_BUILT_H

#include "check.h"

#include "compile/source.h"
#include "snapshot/sampling.h"
#include "trace/trace_mode.h"

/* The configuration of defaults(). */
static struct trace_config config;

static inline struct source_run defaults(void)
{
	config = (struct trace_config){
		.sampling.every = 1,
		.max_size_bytes = UINT64_MAX,
	};
	return (struct source_run){
		.config = &config,
		.mode = &trace_mode_heap.source,
		.ticks.start_ns = 99,
		.stack_depth = 64,
		.max_stacks = 1 << 16,
		.max_allocations = 1 << 20,
		.with_time = true,
		.cookies = true,
	};
}

static inline struct source *build(const struct source_run *run,
				   const struct meanings *meanings)
{
	struct source *source = NULL;
	struct error *err = source_build(run, meanings, &source);

	REQUIRE(!err);
	return source;
}

static inline bool has_flag(const struct source *source, const char *prefix)
{
	for (size_t i = 0; i < source->flags.count; i++) {
		if (!strncmp(source->flags.list[i], prefix, strlen(prefix)))
			return true;
	}
	return false;
}

#endif
