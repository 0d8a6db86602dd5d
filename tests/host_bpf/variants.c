// SPDX-License-Identifier: Apache-2.0
#include "host_bpf/variants.h"

#include <string.h>

#include "host_bpf/host_bpf.h"
#include "host_bpf/sites.h"
#include "trace/trace_mode.h"

#define ENTRY_PROGRAMS                                                                   \
	(1u << SOURCE_ON_CALL | 1u << SOURCE_ON_RETURN | 1u << SOURCE_ON_FREE)

static void set_usual(struct variant *v)
{
	v->config = (struct trace_config){
		.max_size_bytes = UINT64_MAX,
		.sampling.every = 1,
		.max_threads = 64,
		.max_processes = 64,
		.temporary_threshold = 3,
	};
	v->run = (struct source_run){
		.config = &v->config,
		.mode = &trace_mode_heap.source,
		.scope = SCOPE_FORKS,
		.stack_depth = 16,
		.max_stacks = 32768,
		.max_allocations = 8192,
		.with_time = true,
		.traffic = true,
		.cookies = true,
		.programs = ENTRY_PROGRAMS | 1u << SOURCE_ON_RESULT,
		.offsets = {.has_trampoline = true,
			    .task_mm = offsetof(struct host_task, mm),
			    .mm_xol_area = offsetof(struct host_mm, xol_area),
			    .xol_vaddr = offsetof(struct host_xol, vaddr),
			    .has_task = true,
			    .task_pid = offsetof(struct host_task, pid),
			    .task_tgid = offsetof(struct host_task, tgid),
			    .has_parent = true,
			    .task_real_parent = offsetof(struct host_task, real_parent),
			    .has_live = true,
			    .task_signal = offsetof(struct host_task, signal),
			    .signal_live = offsetof(struct host_signal, live)},
	};
}

static void set_growing(struct variant *v)
{
	v->run.max_allocations = 1024;
	v->run.live_generations = 5;
	v->run.small_parts = true;
}

static void set_full(struct variant *v)
{
	v->run.max_allocations = 64;
}

static void set_hashes(struct variant *v)
{
	v->run.no_atomics = true;
	v->run.cookies = false;
	v->run.no_task_btf = true;
	v->run.programs = ENTRY_PROGRAMS;
}

static void set_sampled(struct variant *v)
{
	v->config.sampling.mean_bytes = 4096;
}

static void set_filtered(struct variant *v)
{
	v->config.sampling.every = 3;
	v->config.min_size_bytes = 32;
	v->config.max_size_bytes = 3000;
}

static void set_session(struct variant *v)
{
	v->run.scope = SCOPE_PROCESSES;
	v->run.one_process = v->run.sessions = true;
	v->run.traffic = false;
	v->run.programs |= 1u << SOURCE_ON_SESSION;
}

static void set_mappings(struct variant *v)
{
	v->run.mappings = true;
}

static void set_peak(struct variant *v)
{
	v->run.peak = true;
}

static void set_execs(struct variant *v)
{
	v->run.execs = EXECS_ONLY;
}

static void set_execs_and_forks(struct variant *v)
{
	v->run.execs = EXECS_OF_AWAITED;
}

static const struct {
	const char *name;
	void (*set)(struct variant *v); /* NULL: as usual */
} variants[] = {
	{"tables", NULL},
	{"full", set_full},
	{"hashes", set_hashes},
	{"sampled", set_sampled},
	{"filtered", set_filtered},
	{"session", set_session},
	{"mappings", set_mappings},
	{"peak", set_peak},
	{"growing", set_growing},
	{"execs", set_execs},
	{"execs_and_forks", set_execs_and_forks},
};

bool variant_init(const char *name, struct variant *ret)
{
	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
		if (strcmp(variants[i].name, name) != 0)
			continue;
		set_usual(ret);
		if (variants[i].set)
			variants[i].set(ret);
		return true;
	}
	return false;
}

bool variant_meanings(const struct source_run *run, struct meanings *ret)
{
	for (int fn = 0; fn < FN_COUNT; fn++) {
		uint64_t entry = host_entry_site(fn), result = host_result_site(fn);
		bool is_mapping = fn >= FN_MMAP && fn <= FN_MREMAP;

		if ((is_mapping && !run->mappings) || (result && !run->cookies))
			continue;
		if ((entry && !vec_push(&ret->list, entry)) ||
		    (result && !vec_push(&ret->list, result)))
			return false;
	}
	return true;
}
