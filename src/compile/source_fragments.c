// SPDX-License-Identifier: Apache-2.0
#include "compile/source_fragments.h"

#include <string.h>

#include "compile/embedded.h"

/* What a run has, one bit each. */
enum run_has {
	/* Of the kernel. Each variant is a folder of probes/. */
	HAS_ATOMICS = 1u << 0, /* compare-and-exchange in BPF: arrays/, else hashes/ */
	HAS_COOKIES = 1u << 1,
	HAS_SESSIONS = 1u << 2,
	HAS_TASK_BTF = 1u << 3, /* typed tasks */
	HAS_MAY_GOTO = 1u << 4,
	/* Offsets in its structures (struct kernel_offsets): offsets/. */
	HAS_PARENT = 1u << 5,
	HAS_SHARED_MEMORY = 1u << 6,
	HAS_TRAMPOLINE = 1u << 7,
	HAS_CODE_PAGES = 1u << 8,
	HAS_STACK_ENDS = 1u << 9,
	HAS_INSTANCES = 1u << 10,
	/* Of the configuration and the mode. */
	HAS_MAPPINGS = 1u << 11,
	HAS_RULES = 1u << 12,
	HAS_SAMPLE_BYTES = 1u << 13,
	HAS_CHECKS = 1u << 14,
	HAS_TRAFFIC = 1u << 15,
	HAS_PEAK = 1u << 16,
	HAS_LATE = 1u << 17,          /* events of traffic that memtrace counts */
	HAS_CALLS = 1u << 18,         /* MODE_CALLS */
	HAS_TABLES = 1u << 19,        /* unwind tables of whole files */
	HAS_HIT_REGISTERS = 1u << 20, /* an event in user space */
	/* The processes: scope/, pids/, tids/. */
	HAS_ALL = 1u << 21,   /* SCOPE_ALL */
	HAS_FORKS = 1u << 22, /* SCOPE_FORKS */
	HAS_EXECS = 1u << 23, /* and EXECS_OF_AWAITED or EXECS_ONLY */
	HAS_ONE_PROCESS = 1u << 24,
	HAS_PID_NAMESPACE = 1u << 25, /* not the initial one */
	HAS_KEPT_TIDS = 1u << 26,
	/* The programs of calls: programs/. */
	HAS_ON_SESSION = 1u << 27,
	HAS_ON_RETURN = 1u << 28,
	HAS_ON_CALL = 1u << 29,
	HAS_ON_FREE = 1u << 30,
	HAS_ON_RESULT = 1u << 31,
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
	{"pids/initial.c", ALL_MODES, 0, HAS_PID_NAMESPACE},
	{"pids/inner.c", ALL_MODES, HAS_PID_NAMESPACE, 0},
	{"process.c", ALL_MODES, 0, 0},
	{"scope/execs.c", ALL_MODES, HAS_EXECS, 0},
	{"scope/no_execs.c", ALL_MODES, 0, HAS_EXECS},
	{"unwind/layouts.c", ALL_MODES, HAS_TABLES, 0},
	{"unwind/no_layouts.c", ALL_MODES, 0, HAS_TABLES},
	{"scope/forks.c", ALL_MODES, HAS_FORKS, 0},
	{"scope/no_forks.c", ALL_MODES, 0, HAS_FORKS},
	{"scope/one_process.c", ALL_MODES, HAS_ONE_PROCESS, 0},
	{"scope/some_processes.c", ALL_MODES, 0, HAS_ONE_PROCESS},
	{"scope/all.c", ALL_MODES, HAS_ALL, 0},
	{"scope/not_all.c", ALL_MODES, 0, HAS_ALL},
	{"tracee.c", ALL_MODES, 0, 0},
	{"sites.c", MODE_CALLS, 0, 0},
	{"cookies/site_meaning.c", MODE_CALLS, HAS_COOKIES, 0},
	{"sessions/site_is_entry.c", MODE_CALLS, HAS_SESSIONS, 0},
	{"check.c", MODE_CALLS, HAS_CHECKS, 0},
	{"no_check.c", MODE_CALLS, 0, HAS_CHECKS},
	{"programs/on_check.c", MODE_CALLS, HAS_CHECKS | HAS_ON_RESULT, 0},
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
	{"last_free.c", MODE_CALLS, 0, 0},
	{"tids/kept.c", MODE_CALLS, HAS_KEPT_TIDS, 0},
	{"tids/not_kept.c", ALL_MODES, 0, HAS_KEPT_TIDS},
	{"exec.c", ALL_MODES, 0, 0},
	{"kernel_counters.c", MODE_BLOCKS, 0, HAS_CALLS},
	{"no_kernel_counters.c", MODE_BLOCKS, HAS_CALLS, 0},
	{"arrays/live.c", MODE_BLOCKS, HAS_ATOMICS, 0},
	{"hashes/live.c", MODE_BLOCKS, 0, HAS_ATOMICS},
	{"unwind/window.c", ALL_MODES, 0, 0},
	{"unwind/unwind_table.c", ALL_MODES, HAS_TABLES, 0},
	{"unwind/no_unwind_table.c", ALL_MODES, 0, HAS_TABLES},
	{"unwind/rules.c", ALL_MODES, HAS_RULES, 0},
	{"unwind/no_rules.c", ALL_MODES, 0, HAS_RULES},
	{"unwind/repeat.c", ALL_MODES, HAS_CALLS, 0},
	{"unwind/no_repeat.c", ALL_MODES, 0, HAS_CALLS},
	{"unwind/deep.c", ALL_MODES, 0, 0},
	{"offsets/put_back.c", ALL_MODES, HAS_TRAMPOLINE | HAS_INSTANCES, 0},
	{"offsets/no_put_back.c", ALL_MODES, 0, HAS_TRAMPOLINE | HAS_INSTANCES},
	{"unwind/unwind.c", ALL_MODES, 0, 0},
	{"unwind/walk_rules.c", ALL_MODES, HAS_RULES, 0},
	{"unwind/walk_pointers.c", ALL_MODES, 0, HAS_RULES},
	{"unwind/code_change.c", ALL_MODES, HAS_RULES, 0},
	{"unwind/untraced_moves.c", ALL_MODES, HAS_RULES | HAS_ALL, 0},
	{"unwind/no_untraced_moves.c", ALL_MODES, HAS_RULES, HAS_ALL},
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
	{"unwind/hand_over.c", ALL_MODES, HAS_RULES, 0},
	{"unwind/no_miss.c", ALL_MODES, 0, HAS_RULES},
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
	{"no_mappings.c", MODE_CALLS, 0, HAS_MAPPINGS},
	{"hooks.c", MODE_FUNCTIONS, 0, 0},
	{"programs/on_call.c", MODE_FUNCTIONS, HAS_ON_CALL, HAS_ONE_PROCESS},
	{"programs/on_call_here.c", MODE_FUNCTIONS, HAS_ON_CALL | HAS_ONE_PROCESS, 0},
	{"programs/on_free.c", MODE_FUNCTIONS, HAS_ON_FREE, HAS_ONE_PROCESS},
	{"programs/on_free_here.c", MODE_FUNCTIONS, HAS_ON_FREE | HAS_ONE_PROCESS, 0},
	{"programs/on_return.c", MODE_FUNCTIONS, HAS_ON_RETURN, 0},
	{"programs/on_session.c", MODE_FUNCTIONS, HAS_ON_SESSION, 0},
	{"result.c", MODE_FUNCTIONS, HAS_ON_RESULT, 0},
	{"task/hit_registers.c", MODE_HITS, HAS_HIT_REGISTERS, 0},
	{"task/pt_regs.c", MODE_HITS, HAS_COOKIES, HAS_HIT_REGISTERS},
	{"task/stack_top.c", MODE_HITS, 0, HAS_COOKIES},
	{"task/kept_registers.c", MODE_HITS, 0, HAS_HIT_REGISTERS},
};

static unsigned kernel_bits(const struct source_run *o)
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
	       (o->offsets.has_instances ? HAS_INSTANCES : 0);
}

static unsigned wanted_bits(const struct source_run *o)
{
	bool is_hit = source_mode_can(o->mode, MODE_HITS);

	return (o->mappings ? HAS_MAPPINGS : 0) | (o->rules ? HAS_RULES : 0) |
	       (sampling_is_by_size(&o->config->sampling) ? HAS_SAMPLE_BYTES : 0) |
	       (o->checks ? HAS_CHECKS : 0) | (o->traffic ? HAS_TRAFFIC : 0) |
	       (o->peak ? HAS_PEAK : 0) | (o->rules || o->peak ? HAS_LATE : 0) |
	       (source_mode_can(o->mode, MODE_CALLS) ? HAS_CALLS : 0) |
	       (source_flags_want_tables(o) ? HAS_TABLES : 0) |
	       (is_hit && event_is_in_file(o->event->kind) ? HAS_HIT_REGISTERS : 0);
}

static unsigned process_bits(const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	bool forks = o->scope == SCOPE_FORKS;

	return (o->scope == SCOPE_ALL ? HAS_ALL : 0) | (forks ? HAS_FORKS : 0) |
	       (forks && o->execs != EXECS_OF_TRACED ? HAS_EXECS : 0) |
	       (facts->one_process ? HAS_ONE_PROCESS : 0) |
	       (o->pid_namespace.inode ? HAS_PID_NAMESPACE : 0) |
	       (facts->keeps_tids ? HAS_KEPT_TIDS : 0);
}

static unsigned program_bits(const struct source_run *o)
{
	static const struct {
		enum source_program program;
		unsigned bit;
		bool by_cookie; /* without cookies each site has a program of its own */
	} programs[] = {
		{SOURCE_ON_SESSION, HAS_ON_SESSION, false},
		{SOURCE_ON_RETURN, HAS_ON_RETURN, false},
		{SOURCE_ON_CALL, HAS_ON_CALL, true},
		{SOURCE_ON_FREE, HAS_ON_FREE, true},
		{SOURCE_ON_RESULT, HAS_ON_RESULT, false},
	};
	unsigned bits = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (o->programs & 1u << programs[i].program &&
		    (o->cookies || !programs[i].by_cookie))
			bits |= programs[i].bit;
	return bits;
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

void source_append_fragments(struct strbuf *text, const struct source_facts *facts)
{
	const struct source_run *run = facts->run;
	unsigned has = kernel_bits(run) | wanted_bits(run) | process_bits(facts) |
		       program_bits(run);

	for (size_t i = 0; i < sizeof(fragments) / sizeof(*fragments); i++) {
		const struct fragment *f = &fragments[i];

		if (source_mode_can(run->mode, f->able) && !(f->needs & ~has) &&
		    (!f->instead || f->instead & ~has))
			append(text, f->name);
	}
	for (size_t i = 0; run->mode->fragments[i]; i++)
		append(text, run->mode->fragments[i]);
}
