// SPDX-License-Identifier: Apache-2.0
#include "compile/source_fragments.h"

#include <string.h>

#include "compile/embedded.h"

/* What a run counts, one bit each. */
enum run_kind {
	RUN_HEAP = 1 << 0,   /* calls of allocation functions */
	RUN_USDT = 1 << 1,   /* blocks that USDT probes report */
	RUN_EVENT = 1 << 2,  /* --event and --growth */
	RUN_KERNEL = 1 << 3, /* the kernel's own allocations */
	RUN_ALL = RUN_HEAP | RUN_USDT | RUN_EVENT | RUN_KERNEL,
	RUN_BLOCKS = RUN_HEAP | RUN_USDT | RUN_KERNEL, /* with a table of live blocks */
	RUN_CALLS = RUN_HEAP | RUN_USDT, /* of functions, entry and result apart */
};

/* What a fragment needs in addition, one bit each. */
enum run_need {
	NEEDS_ATOMICS = 1 << 0,    /* compare-and-exchange in BPF */
	NEEDS_NO_ATOMICS = 1 << 1, /* their absence */
	NEEDS_MAPPINGS = 1 << 2,
	NEEDS_RULES = 1 << 3,
};

/* Ordered: each fragment builds on earlier ones. A program contains those whose kinds
 * include the run's and whose needs are met. */
static const struct fragment {
	const char *name;
	unsigned kinds; /* set of enum run_kind */
	unsigned needs; /* set of enum run_need */
} fragments[] = {
	{"abi_sites.h", RUN_ALL, 0},
	{"abi.h", RUN_ALL, 0},
	{"abi_walk.h", RUN_ALL, 0},
	{"peak_record.h", RUN_ALL, 0},
	{"traffic_record.h", RUN_ALL, 0},
	{"unwind_step.h", RUN_ALL, 0},
	{"instructions.c", RUN_ALL, 0},
	{"maps.c", RUN_ALL, 0},
	{"loop.c", RUN_ALL, 0},
	{"claim.c", RUN_ALL, 0},
	{"regs.c", RUN_ALL, 0},
	{"process.c", RUN_ALL, 0},
	{"sites.c", RUN_CALLS, 0},
	{"check.c", RUN_CALLS, 0},
	{"traffic.c", RUN_ALL, 0},
	{"live.c", RUN_BLOCKS, NEEDS_ATOMICS},
	{"live_hash.c", RUN_BLOCKS, NEEDS_NO_ATOMICS},
	{"unwind/window.c", RUN_ALL, 0},
	{"unwind/repeat.c", RUN_ALL, 0},
	{"unwind/deep.c", RUN_ALL, 0},
	{"unwind/unwind_table.c", RUN_ALL, 0},
	{"unwind/unwind.c", RUN_ALL, 0},
	{"unwind/moves.c", RUN_ALL, NEEDS_RULES},
	{"unwind/miss.c", RUN_ALL, NEEDS_RULES},
	{"stack_record.c", RUN_ALL, 0},
	{"stack_table.c", RUN_ALL, NEEDS_ATOMICS},
	{"stack_hash.c", RUN_ALL, NEEDS_NO_ATOMICS},
	{"stack.c", RUN_ALL, 0},
	{"pending.c", RUN_CALLS, 0},
	{"sample.c", RUN_BLOCKS, 0},
	{"account.c", RUN_CALLS, 0},
	{"mappings.c", RUN_ALL, NEEDS_MAPPINGS},
	{"hooks.c", RUN_HEAP, 0},
	{"result.c", RUN_HEAP, 0},
	{"usdt.c", RUN_USDT, 0},
	{"event.c", RUN_EVENT, 0},
	{"growth.c", RUN_EVENT, NEEDS_MAPPINGS},
	{"kernel.c", RUN_KERNEL, 0},
};

static unsigned kind_of(const struct source_run *o)
{
	if (o->kernel_points)
		return RUN_KERNEL;
	if (o->event)
		return RUN_EVENT;
	return o->told ? RUN_USDT : RUN_HEAP;
}

static unsigned met_by(const struct source_run *o)
{
	return (o->no_atomics ? NEEDS_NO_ATOMICS : NEEDS_ATOMICS) |
	       (o->mappings ? NEEDS_MAPPINGS : 0) | (o->rules ? NEEDS_RULES : 0);
}

static const char *text_of(const char *name)
{
	const struct embedded_file *f = embedded_probes;

	while (strcmp(f->name, name) != 0)
		f++;
	return f->text;
}

void source_append_fragments(struct strbuf *text, const struct source_run *run)
{
	unsigned kind = kind_of(run), met = met_by(run);

	for (size_t i = 0; i < sizeof(fragments) / sizeof(*fragments); i++) {
		const struct fragment *f = &fragments[i];

		/* #line makes diagnostics name the fragment. */
		if ((f->kinds & kind) && !(f->needs & ~met))
			strbuf_appendf(text, "#line 1 \"probes/%s\"\n%s\n", f->name,
				       text_of(f->name));
	}
}
