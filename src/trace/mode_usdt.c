// SPDX-License-Identifier: Apache-2.0
/* Traces the blocks that programs report by USDT probes (probes/usdt.c). */
#include <linux/bpf.h>

#include "bpf/mapped.h"
#include "trace/tracer_state.h"
#include "trace/usdt_record.h"

struct usdt_state {
	struct abi_usdt *args; /* mapped, by number of the site */
};

#define ARGS_BYTES (ABI_MAX_SITES * sizeof(struct abi_usdt))

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
	struct usdt_state *state = t->mode_state;
	int fd = compiler_map(t->compiler, "usdt_args");

	state->args = fd < 0 ? NULL : mapped_open(fd, ARGS_BYTES);
	return state->args
		       ? NULL
		       : error_create(ERROR_IO, "cannot map the table of static probes");
}

static struct error *load_entry(struct tracer *t, const struct plan_site *site,
				uint64_t meaning, int *ret)
{
	const struct program_kind kind = {BPF_PROG_TYPE_KPROBE,
					  t->attachment.ops->attach_type};

	(void)site;
	(void)meaning;
	return tracer_load_own(t, "on_usdt", kind, ret);
}

static struct error *load(struct tracer *t, unsigned beside)
{
	int program;

	(void)beside;
	return load_entry(t, NULL, 0, &program);
}

static bool take_site(struct tracer *t, const struct plan_site *site, unsigned number)
{
	const struct usdt_state *state = t->mode_state;

	/* All further sites share the last number. */
	if (number == ABI_MAX_SITES - 1)
		return false;
	usdt_record(site, &state->args[number]);
	return true;
}

static void close_state(struct tracer *t)
{
	const struct usdt_state *state = t->mode_state;

	mapped_close(state->args, ARGS_BYTES);
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
	.state_bytes = sizeof(struct usdt_state),
	.look = look,
	.open_tables = open_sites,
	.begin_load = tracer_begin_calls,
	.load = load,
	.attach_once = tracer_attach_tracepoints,
	.attach = tracer_attach_sites,
	.load_entry = load_entry,
	.take_site = take_site,
	.drain = tracer_drain_heap,
	.drop_slots = tracer_remove_blocks,
	.close = close_state,
};
