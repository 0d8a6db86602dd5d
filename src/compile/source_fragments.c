// SPDX-License-Identifier: Apache-2.0
#include "compile/source_fragments.h"

#include <string.h>

#include "compile/embedded.h"

/* What a fragment needs besides abilities of the mode, one bit each. */
enum run_need {
	NEEDS_ATOMICS = 1 << 0,    /* compare-and-exchange in BPF */
	NEEDS_NO_ATOMICS = 1 << 1, /* their absence */
	NEEDS_MAPPINGS = 1 << 2,
	NEEDS_RULES = 1 << 3,
};

#define ALL_MODES 0

/* Ordered: each fragment builds on earlier ones. A run contains those whose needs are
 * met, and after them those of its mode (source_mode.fragments). */
static const struct fragment {
	const char *name;
	unsigned able;  /* set of enum mode_ability */
	unsigned needs; /* set of enum run_need */
} fragments[] = {
	{"abi_sites.h", ALL_MODES, 0},
	{"abi.h", ALL_MODES, 0},
	{"abi_walk.h", ALL_MODES, 0},
	{"peak_record.h", ALL_MODES, 0},
	{"traffic_record.h", ALL_MODES, 0},
	{"unwind_step.h", ALL_MODES, 0},
	{"instructions.c", ALL_MODES, 0},
	{"maps.c", ALL_MODES, 0},
	{"loop.c", ALL_MODES, 0},
	{"claim.c", ALL_MODES, 0},
	{"regs.c", ALL_MODES, 0},
	{"process.c", ALL_MODES, 0},
	{"sites.c", MODE_CALLS, 0},
	{"check.c", MODE_CALLS, 0},
	{"traffic.c", ALL_MODES, 0},
	{"live.c", MODE_BLOCKS, NEEDS_ATOMICS},
	{"live_hash.c", MODE_BLOCKS, NEEDS_NO_ATOMICS},
	{"unwind/window.c", ALL_MODES, 0},
	{"unwind/repeat.c", ALL_MODES, 0},
	{"unwind/deep.c", ALL_MODES, 0},
	{"unwind/unwind_table.c", ALL_MODES, 0},
	{"unwind/unwind.c", ALL_MODES, 0},
	{"unwind/moves.c", ALL_MODES, NEEDS_RULES},
	{"unwind/miss.c", ALL_MODES, NEEDS_RULES},
	{"stack_record.c", ALL_MODES, 0},
	{"stack_table.c", ALL_MODES, NEEDS_ATOMICS},
	{"stack_hash.c", ALL_MODES, NEEDS_NO_ATOMICS},
	{"stack.c", ALL_MODES, 0},
	{"pending.c", MODE_CALLS, 0},
	{"sample.c", MODE_BLOCKS, 0},
	{"account.c", MODE_CALLS, 0},
	{"mappings.c", ALL_MODES, NEEDS_MAPPINGS},
};

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

static void append(struct strbuf *text, const char *name)
{
	/* #line makes diagnostics name the fragment. */
	strbuf_appendf(text, "#line 1 \"probes/%s\"\n%s\n", name, text_of(name));
}

void source_append_fragments(struct strbuf *text, const struct source_run *run)
{
	unsigned met = met_by(run);

	for (size_t i = 0; i < sizeof(fragments) / sizeof(*fragments); i++) {
		const struct fragment *f = &fragments[i];

		if (source_mode_can(run->mode, f->able) && !(f->needs & ~met))
			append(text, f->name);
	}
	for (size_t i = 0; run->mode->fragments[i]; i++)
		append(text, run->mode->fragments[i]);
}
