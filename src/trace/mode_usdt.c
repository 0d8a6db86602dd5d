// SPDX-License-Identifier: Apache-2.0
/* Traces the blocks that programs report by USDT probes (probes/usdt.c). */
#include "bpf/mapped.h"
#include "trace/tracer_state.h"
#include "trace/usdt_record.h"

static bool is_exact(const struct source_run *run)
{
	(void)run;
	return true;
}

static struct error *look(struct tracer *t)
{
	return t->features.cookies
		       ? NULL
		       : error_create(ERROR_UNSUPPORTED,
				      "--otel-memory needs Linux 5.15 (BPF cookies)");
}

static struct error *open_sites(struct tracer *t)
{
	int fd = compiler_map(t->compiler, "usdt_args");

	t->usdt = fd < 0 ? NULL : mapped_open(fd, TRACER_USDT_BYTES);
	return t->usdt ? NULL
		       : error_create(ERROR_IO, "cannot map the table of static probes");
}

static struct error *load(struct tracer *t, unsigned beside)
{
	(void)beside;
	return tracer_load(t, PROGRAM_USDT);
}

static size_t entry_program(const struct tracer *t, const struct plan_site *site,
			    uint64_t meaning)
{
	(void)t;
	(void)site;
	(void)meaning;
	return PROGRAM_USDT;
}

static bool take_site(struct tracer *t, const struct plan_site *site, unsigned number)
{
	/* All further sites share the last number. */
	if (number == ABI_MAX_SITES - 1)
		return false;
	usdt_record(site, &t->usdt[number]);
	return true;
}

const struct trace_mode trace_mode_usdt = {
	.does = "traces no allocation functions",
	.class = BLOCK_HEAP,
	.source =
		{
			.able = MODE_BLOCKS | MODE_CALLS | MODE_TRAFFIC | MODE_PROCESSES |
				MODE_FORKS | MODE_SAMPLE_BYTES,
			.fragments = {"usdt.c"},
			.is_exact = is_exact,
		},
	.look = look,
	.open_tables = open_sites,
	.begin_load = tracer_begin_calls,
	.load = load,
	.attach_once = tracer_attach_tracepoints,
	.attach = tracer_attach_sites,
	.entry_program = entry_program,
	.take_site = take_site,
	.drain = tracer_drain_heap,
	.drop_slots = tracer_remove_blocks,
};
