// SPDX-License-Identifier: Apache-2.0
#include "compile/source_fragments.h"

#include <string.h>

#include "compile/embedded.h"

/* What a fragment needs besides abilities of the mode, one bit each. */
enum run_need {
	/* What a kernel has or lacks: each variant is a folder of probes/. */
	NEEDS_ATOMICS = 1 << 0,    /* compare-and-exchange in BPF: arrays/ */
	NEEDS_NO_ATOMICS = 1 << 1, /* hashes/ */
	NEEDS_COOKIES = 1 << 2,
	NEEDS_NO_COOKIES = 1 << 3,
	NEEDS_SESSIONS = 1 << 4,
	NEEDS_TASK_BTF = 1 << 5, /* typed tasks */
	NEEDS_NO_TASK_BTF = 1 << 6,
	NEEDS_MAY_GOTO = 1 << 7,
	NEEDS_NO_MAY_GOTO = 1 << 8,
	/* What the configuration wants. */
	NEEDS_MAPPINGS = 1 << 9,
	NEEDS_RULES = 1 << 10,
	NEEDS_SAMPLE_BYTES = 1 << 11,
	NEEDS_CHECKS = 1 << 12,
	NEEDS_NO_CHECKS = 1 << 13,
	NEEDS_TRAFFIC = 1 << 14,
	NEEDS_NO_TRAFFIC = 1 << 15,
};

#define ALL_MODES 0

/* Ordered: each fragment builds on earlier ones. A run contains the fragments whose needs
 * are met, followed by the fragments of its mode (source_mode.fragments). */
static const struct fragment {
	const char *name;
	unsigned able;  /* set of enum mode_ability */
	unsigned needs; /* set of enum run_need */
} fragments[] = {
	{"abi_sites.h", ALL_MODES, 0},
	{"abi.h", ALL_MODES, 0},
	{"abi_walk.h", ALL_MODES, 0},
	{"peak_record.h", ALL_MODES, 0},
	{"hashes/traffic_add.h", ALL_MODES, NEEDS_NO_ATOMICS},
	{"traffic_record.h", ALL_MODES, 0},
	{"unwind_step.h", ALL_MODES, 0},
	{"instructions.c", ALL_MODES, 0},
	{"maps.c", ALL_MODES, 0},
	{"unwind/maps.c", ALL_MODES, NEEDS_RULES},
	{"sample_bytes.c", ALL_MODES, NEEDS_SAMPLE_BYTES},
	{"loops/may_goto.c", ALL_MODES, NEEDS_MAY_GOTO},
	{"loops/plain.c", ALL_MODES, NEEDS_NO_MAY_GOTO},
	{"loop.c", ALL_MODES, 0},
	{"claim.c", ALL_MODES, 0},
	{"arrays/claim.c", ALL_MODES, NEEDS_ATOMICS},
	{"hashes/claim.c", ALL_MODES, NEEDS_NO_ATOMICS},
	{"hashes/raise_peak.c", ALL_MODES, NEEDS_NO_ATOMICS | NEEDS_TRAFFIC},
	{"regs.c", ALL_MODES, 0},
	{"task.c", ALL_MODES, 0},
	{"task/btf.c", ALL_MODES, NEEDS_TASK_BTF},
	{"task/helper.c", ALL_MODES, NEEDS_NO_TASK_BTF},
	{"process.c", ALL_MODES, 0},
	{"sites.c", MODE_CALLS, 0},
	{"cookies/site_meaning.c", MODE_CALLS, NEEDS_COOKIES},
	{"sessions/site_is_entry.c", MODE_CALLS, NEEDS_SESSIONS},
	{"check.c", MODE_CALLS, NEEDS_CHECKS},
	{"no_check.c", MODE_CALLS, NEEDS_NO_CHECKS},
	{"cookies/call_meaning.c", MODE_CALLS, NEEDS_COOKIES},
	{"traffic.c", ALL_MODES, NEEDS_TRAFFIC},
	{"no_traffic.c", ALL_MODES, NEEDS_NO_TRAFFIC},
	{"arrays/live.c", MODE_BLOCKS, NEEDS_ATOMICS},
	{"hashes/live.c", MODE_BLOCKS, NEEDS_NO_ATOMICS},
	{"unwind/window.c", ALL_MODES, 0},
	{"unwind/repeat.c", ALL_MODES, 0},
	{"unwind/deep.c", ALL_MODES, 0},
	{"unwind/unwind_table.c", ALL_MODES, 0},
	{"unwind/unwind.c", ALL_MODES, 0},
	{"unwind/moves.c", ALL_MODES, NEEDS_RULES},
	{"unwind/miss_room.c", ALL_MODES, NEEDS_RULES},
	{"arrays/miss_number.c", ALL_MODES, NEEDS_RULES | NEEDS_ATOMICS},
	{"hashes/miss_number.c", ALL_MODES, NEEDS_RULES | NEEDS_NO_ATOMICS},
	{"loops/miss_far.c", ALL_MODES, NEEDS_RULES | NEEDS_MAY_GOTO},
	{"unwind/miss.c", ALL_MODES, NEEDS_RULES},
	{"stack_record.c", ALL_MODES, 0},
	{"arrays/stack_number.c", ALL_MODES, NEEDS_ATOMICS},
	{"hashes/stack_number.c", ALL_MODES, NEEDS_NO_ATOMICS},
	{"stack.c", ALL_MODES, 0},
	{"arrays/pending_slot.c", MODE_CALLS, NEEDS_ATOMICS},
	{"hashes/pending_slot.c", MODE_CALLS, NEEDS_NO_ATOMICS},
	{"pending.c", MODE_CALLS, 0},
	{"sample.c", MODE_BLOCKS, 0},
	{"account.c", MODE_CALLS, 0},
	{"mappings.c", ALL_MODES, NEEDS_MAPPINGS},
	{"task/pt_regs.c", MODE_HITS, NEEDS_COOKIES},
	{"task/stack_top.c", MODE_HITS, NEEDS_NO_COOKIES},
};

static unsigned met_by(const struct source_run *o)
{
	return (o->no_atomics ? NEEDS_NO_ATOMICS : NEEDS_ATOMICS) |
	       (o->cookies ? NEEDS_COOKIES : NEEDS_NO_COOKIES) |
	       (o->sessions ? NEEDS_SESSIONS : 0) |
	       (o->no_task_btf ? NEEDS_NO_TASK_BTF : NEEDS_TASK_BTF) |
	       (o->may_goto ? NEEDS_MAY_GOTO : NEEDS_NO_MAY_GOTO) |
	       (o->mappings ? NEEDS_MAPPINGS : 0) | (o->rules ? NEEDS_RULES : 0) |
	       (sampling_is_by_size(&o->config->sampling) ? NEEDS_SAMPLE_BYTES : 0) |
	       (o->checks ? NEEDS_CHECKS : NEEDS_NO_CHECKS) |
	       (o->traffic ? NEEDS_TRAFFIC : NEEDS_NO_TRAFFIC);
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
