// SPDX-License-Identifier: Apache-2.0
#include "compile/source_fragments.h"

#include <string.h>

#include "compile/embedded.h"

/* What a run has, one bit each. */
enum run_has {
	/* Of the kernel. Each variant is a folder of probes/. */
	HAS_ATOMICS = 1 << 0, /* compare-and-exchange in BPF: arrays/, else hashes/ */
	HAS_COOKIES = 1 << 1,
	HAS_SESSIONS = 1 << 2,
	HAS_TASK_BTF = 1 << 3, /* typed tasks */
	HAS_MAY_GOTO = 1 << 4,
	/* Offsets in its structures (struct kernel_offsets): offsets/. */
	HAS_PARENT = 1 << 5,
	HAS_SHARED_MEMORY = 1 << 6,
	HAS_TRAMPOLINE = 1 << 7,
	HAS_CODE_PAGES = 1 << 8,
	HAS_STACK_ENDS = 1 << 9,
	HAS_INSTANCES = 1 << 10,
	/* Of the configuration and the mode. */
	HAS_MAPPINGS = 1 << 11,
	HAS_RULES = 1 << 12,
	HAS_SAMPLE_BYTES = 1 << 13,
	HAS_CHECKS = 1 << 14,
	HAS_TRAFFIC = 1 << 15,
	HAS_PEAK = 1 << 16,
	HAS_LATE = 1 << 17,  /* events of traffic that memtrace counts */
	HAS_CALLS = 1 << 18, /* MODE_CALLS */
};

#define ALL_MODES 0

/* Ordered: each fragment builds on earlier ones. A run contains the fragments whose needs
 * are met, followed by the fragments of its mode (source_mode.fragments). */
static const struct fragment {
	const char *name;
	unsigned able;    /* set of enum mode_ability */
	unsigned needs;   /* set of enum run_has */
	unsigned instead; /* only if the run lacks one of this set; 0: in any case */
} fragments[] = {
	{"abi_sites.h", ALL_MODES, 0, 0},
	{"abi.h", ALL_MODES, 0, 0},
	{"abi_walk.h", ALL_MODES, 0, 0},
	{"peak_record.h", ALL_MODES, 0, 0},
	{"hashes/traffic_add.h", ALL_MODES, 0, HAS_ATOMICS},
	{"traffic_record.h", ALL_MODES, 0, 0},
	{"unwind_step.h", ALL_MODES, 0, 0},
	{"instructions.c", ALL_MODES, 0, 0},
	{"maps.c", ALL_MODES, 0, 0},
	{"unwind/maps.c", ALL_MODES, HAS_RULES, 0},
	{"sample_bytes.c", ALL_MODES, HAS_SAMPLE_BYTES, 0},
	{"no_sample_bytes.c", ALL_MODES, 0, HAS_SAMPLE_BYTES},
	{"loops/may_goto.c", ALL_MODES, HAS_MAY_GOTO, 0},
	{"loops/plain.c", ALL_MODES, 0, HAS_MAY_GOTO},
	{"loop.c", ALL_MODES, 0, 0},
	{"claim.c", ALL_MODES, 0, 0},
	{"arrays/claim.c", ALL_MODES, HAS_ATOMICS, 0},
	{"hashes/claim.c", ALL_MODES, 0, HAS_ATOMICS},
	{"hashes/raise_peak.c", ALL_MODES, HAS_TRAFFIC, HAS_ATOMICS},
	{"regs.c", ALL_MODES, 0, 0},
	{"task.c", ALL_MODES, 0, 0},
	{"task/btf.c", ALL_MODES, HAS_TASK_BTF, 0},
	{"task/helper.c", ALL_MODES, 0, HAS_TASK_BTF},
	{"offsets/trampoline.c", ALL_MODES, HAS_TRAMPOLINE, 0},
	{"offsets/no_trampoline.c", ALL_MODES, 0, HAS_TRAMPOLINE},
	{"code.c", ALL_MODES, HAS_RULES, 0},
	{"offsets/code_pages.c", ALL_MODES, HAS_RULES | HAS_CODE_PAGES, 0},
	{"offsets/no_code_pages.c", ALL_MODES, 0, HAS_RULES | HAS_CODE_PAGES},
	{"offsets/parent.c", ALL_MODES, HAS_PARENT, 0},
	{"offsets/no_parent.c", ALL_MODES, 0, HAS_PARENT},
	{"offsets/shared_memory.c", ALL_MODES, HAS_SHARED_MEMORY, 0},
	{"offsets/no_shared_memory.c", ALL_MODES, 0, HAS_SHARED_MEMORY},
	{"process.c", ALL_MODES, 0, 0},
	{"sites.c", MODE_CALLS, 0, 0},
	{"cookies/site_meaning.c", MODE_CALLS, HAS_COOKIES, 0},
	{"sessions/site_is_entry.c", MODE_CALLS, HAS_SESSIONS, 0},
	{"check.c", MODE_CALLS, HAS_CHECKS, 0},
	{"no_check.c", MODE_CALLS, 0, HAS_CHECKS},
	{"cookies/call_meaning.c", MODE_CALLS, HAS_COOKIES, 0},
	{"traffic/maps.c", ALL_MODES, HAS_TRAFFIC, 0},
	{"traffic/estimates.c", ALL_MODES, HAS_TRAFFIC | HAS_SAMPLE_BYTES, 0},
	{"traffic/no_estimates.c", ALL_MODES, HAS_TRAFFIC, HAS_SAMPLE_BYTES},
	{"traffic/late.c", ALL_MODES, HAS_TRAFFIC | HAS_LATE, 0},
	{"traffic/late_numbers.c", ALL_MODES, HAS_TRAFFIC | HAS_RULES, 0},
	{"traffic/no_late_numbers.c", ALL_MODES, HAS_TRAFFIC, HAS_RULES},
	{"traffic/peak.c", ALL_MODES, HAS_TRAFFIC | HAS_PEAK, 0},
	{"traffic/no_peak.c", ALL_MODES, HAS_TRAFFIC, HAS_PEAK},
	{"traffic.c", ALL_MODES, HAS_TRAFFIC, 0},
	{"no_traffic.c", ALL_MODES, 0, HAS_TRAFFIC},
	{"arrays/live.c", MODE_BLOCKS, HAS_ATOMICS, 0},
	{"hashes/live.c", MODE_BLOCKS, 0, HAS_ATOMICS},
	{"unwind/window.c", ALL_MODES, 0, 0},
	{"unwind/repeat.c", ALL_MODES, HAS_CALLS, 0},
	{"unwind/no_repeat.c", ALL_MODES, 0, HAS_CALLS},
	{"unwind/deep.c", ALL_MODES, 0, 0},
	{"unwind/unwind_table.c", ALL_MODES, 0, 0},
	{"offsets/put_back.c", ALL_MODES, HAS_TRAMPOLINE | HAS_INSTANCES, 0},
	{"offsets/no_put_back.c", ALL_MODES, 0, HAS_TRAMPOLINE | HAS_INSTANCES},
	{"unwind/unwind.c", ALL_MODES, 0, 0},
	{"unwind/moves.c", ALL_MODES, HAS_RULES, 0},
	{"unwind/miss_room.c", ALL_MODES, HAS_RULES, 0},
	{"arrays/miss_number.c", ALL_MODES, HAS_RULES | HAS_ATOMICS, 0},
	{"hashes/miss_number.c", ALL_MODES, HAS_RULES, HAS_ATOMICS},
	{"loops/miss_far.c", ALL_MODES, HAS_RULES | HAS_MAY_GOTO, 0},
	{"offsets/stack_ends.c", ALL_MODES, HAS_RULES | HAS_STACK_ENDS, 0},
	{"offsets/no_stack_ends.c", ALL_MODES, HAS_RULES, HAS_STACK_ENDS},
	{"offsets/return_instances.c", ALL_MODES, HAS_RULES | HAS_INSTANCES, 0},
	{"offsets/no_return_instances.c", ALL_MODES, HAS_RULES, HAS_INSTANCES},
	{"unwind/miss.c", ALL_MODES, HAS_RULES, 0},
	{"stack_record.c", ALL_MODES, 0, 0},
	{"arrays/stack_number.c", ALL_MODES, HAS_ATOMICS, 0},
	{"hashes/stack_number.c", ALL_MODES, 0, HAS_ATOMICS},
	{"stack.c", MODE_CALLS, 0, 0},
	{"arrays/pending_slot.c", MODE_CALLS, HAS_ATOMICS, 0},
	{"hashes/pending_slot.c", MODE_CALLS, 0, HAS_ATOMICS},
	{"pending.c", MODE_CALLS, 0, 0},
	{"sample.c", MODE_BLOCKS, 0, 0},
	{"account.c", MODE_CALLS, 0, 0},
	{"mappings.c", ALL_MODES, HAS_MAPPINGS, 0},
	{"task/pt_regs.c", MODE_HITS, HAS_COOKIES, 0},
	{"task/stack_top.c", MODE_HITS, 0, HAS_COOKIES},
};

static unsigned bits_of(const struct source_run *o)
{
	return (o->no_atomics ? 0 : HAS_ATOMICS) | (o->cookies ? HAS_COOKIES : 0) |
	       (o->sessions ? HAS_SESSIONS : 0) | (o->no_task_btf ? 0 : HAS_TASK_BTF) |
	       (o->may_goto ? HAS_MAY_GOTO : 0) |
	       /* The kernel's number of a parent is one of the initial pid namespace. */
	       (o->offsets.has_parent && !o->pid_namespace.inode ? HAS_PARENT : 0) |
	       (o->offsets.has_parent ? HAS_SHARED_MEMORY : 0) |
	       (o->offsets.has_trampoline ? HAS_TRAMPOLINE : 0) |
	       (o->offsets.has_code_pages ? HAS_CODE_PAGES : 0) |
	       (o->offsets.has_stack_ends ? HAS_STACK_ENDS : 0) |
	       (o->offsets.has_instances ? HAS_INSTANCES : 0) |
	       (o->mappings ? HAS_MAPPINGS : 0) | (o->rules ? HAS_RULES : 0) |
	       (sampling_is_by_size(&o->config->sampling) ? HAS_SAMPLE_BYTES : 0) |
	       (o->checks ? HAS_CHECKS : 0) | (o->traffic ? HAS_TRAFFIC : 0) |
	       (o->peak ? HAS_PEAK : 0) | (o->rules || o->peak ? HAS_LATE : 0) |
	       (source_mode_can(o->mode, MODE_CALLS) ? HAS_CALLS : 0);
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
	unsigned has = bits_of(run);

	for (size_t i = 0; i < sizeof(fragments) / sizeof(*fragments); i++) {
		const struct fragment *f = &fragments[i];

		if (source_mode_can(run->mode, f->able) && !(f->needs & ~has) &&
		    (!f->instead || f->instead & ~has))
			append(text, f->name);
	}
	for (size_t i = 0; run->mode->fragments[i]; i++)
		append(text, run->mode->fragments[i]);
}
