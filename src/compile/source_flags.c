// SPDX-License-Identifier: Apache-2.0
#include "compile/source_flags.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "arch/arch.h"
#include "abi.h"

/* The ring of events for blocks whose stack has no number yet: 130,000 events. */
#define LATE_RING_BYTES (4u << 20)

bool source_flags_add(struct source_flags *flags, const char *format, ...)
{
	va_list ap;
	char *flag;

	if (flags->count == SOURCE_FLAGS_MAX)
		return false;
	va_start(ap, format);
	int n = vasprintf(&flag, format, ap);
	va_end(ap);
	if (n < 0)
		return false;
	flags->list[flags->count++] = flag;
	return true;
}

/* LINUX_VERSION_CODE as the kernel's own headers define it. */
static unsigned linux_version_code(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0, patch = 0;

	if (uname(&name) == 0)
		sscanf(name.release, "%u.%u.%u", &major, &minor, &patch);
	return major << 16 | minor << 8 | (patch > 255 ? 255 : patch);
}

/* Which processes are traced, and where the kernel keeps a task's ids. */
static bool add_scope_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	bool ok = source_flags_add(flags, "-DPROCESS_SLOTS=%" PRIu32,
				   facts->sizes->process_slots);

	if (o->pid_namespace.inode)
		ok &= source_flags_add(flags, "-DPIDNS_DEVICE=%" PRIu64 "ull",
				       o->pid_namespace.device) &&
		      source_flags_add(flags, "-DPIDNS_INODE=%" PRIu64 "ull",
				       o->pid_namespace.inode);
	if (o->scope == SCOPE_FORKS && o->execs != EXECS_OF_TRACED)
		ok &= source_flags_add(flags, "-DFOLLOW_EXECS_ONLY=%d",
				       o->execs == EXECS_ONLY) &&
		      source_flags_add(flags, "-DOFFSET_TASK_SIGNAL=%u",
				       o->offsets.task_signal) &&
		      source_flags_add(flags, "-DOFFSET_SIGNAL_LIVE=%u",
				       o->offsets.signal_live);
	if (o->offsets.has_task)
		ok &= source_flags_add(flags, "-DOFFSET_TASK_PID=%u",
				       o->offsets.task_pid) &&
		      source_flags_add(flags, "-DOFFSET_TASK_TGID=%u",
				       o->offsets.task_tgid);
	if (o->offsets.has_parent)
		ok &= source_flags_add(flags, "-DOFFSET_TASK_REAL_PARENT=%u",
				       o->offsets.task_real_parent);
	return ok;
}

/* Features that old kernels lack. */
static bool add_lack_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	bool ok = true;

	if (o->no_atomics)
		ok &= source_flags_add(flags, "-DJOURNAL_RING_PAGES=%ld",
				       (long)ABI_JOURNAL_RING_BYTES /
					       sysconf(_SC_PAGESIZE));
	/* bpf_task_pt_regs() came with the same release as cookies. */
	if (!o->cookies && o->offsets.has_stack)
		ok &= source_flags_add(flags, "-DOFFSET_TASK_STACK=%u",
				       o->offsets.task_stack) &&
		      source_flags_add(flags, "-DKERNEL_STACK_BYTES=%u",
				       o->offsets.stack_bytes);
	return ok;
}

/* What clang is to do, and facts of the machine. */
static bool add_compiler_flags(struct source_flags *flags,
			       const struct source_facts *facts)
{
	/* libbcc only warns about helpers it does not know, and then the load fails. It
	 * requests debug info, which nothing here needs and which takes a quarter of the
	 * time. */
	bool ok = source_flags_add(flags, "-Werror=implicit-function-declaration") &&
		  source_flags_add(flags, "-g0");

	/* libbcc optimizes (BPFModule::run_pass_manager() of src/cc/bpf_module.cc) what
	 * clang has optimized before, so leave out clang's passes. Type-based alias
	 * information would be passed through without a use. */
	if (!facts->run->thorough)
		ok &= source_flags_add(flags, "-Xclang") &&
		      source_flags_add(flags, "-disable-llvm-passes") &&
		      source_flags_add(flags, "-fno-strict-aliasing");
	ok &= source_flags_add(flags, "-DMEMTRACE_LINUX_VERSION_CODE=%u",
			       linux_version_code());
	ok &= source_flags_add(flags, "-DMEMTRACE_PAGE_SIZE=%ld", sysconf(_SC_PAGESIZE));
	ok &= source_flags_add(flags, "%s", arch.probes_flag);
	return ok;
}

static bool add_size_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_sizes *z = facts->sizes;

	return source_flags_add(flags, "-DSTACK_DEPTH=%u", facts->run->stack_depth) &&
	       source_flags_add(flags, "-DCPU_SLOTS=%" PRIu32, z->cpu_slots) &&
	       source_flags_add(flags, "-DCLAIMS=%" PRIu32, z->claims) &&
	       source_flags_add(flags, "-DLIVE_BUCKETS=%" PRIu32, z->live_buckets) &&
	       source_flags_add(flags, "-DLIVE_GENERATIONS=%" PRIu32,
				z->live_generations) &&
	       source_flags_add(flags, "-DLIVE_SPILL=%" PRIu32, z->live_spill) &&
	       source_flags_add(flags, "-DJOURNAL_ENTRIES=%" PRIu32,
				z->journal_entries) &&
	       source_flags_add(flags, "-DPENDING_SPILL=%" PRIu32, z->pending_spill) &&
	       source_flags_add(flags, "-DSTACK_BUCKETS_1=%" PRIu32,
				z->stack_buckets[0]) &&
	       source_flags_add(flags, "-DSTACK_BUCKETS_2=%" PRIu32,
				z->stack_buckets[1]) &&
	       source_flags_add(flags, "-DSTACK_BUCKETS_3=%" PRIu32,
				z->stack_buckets[2]) &&
	       source_flags_add(flags, "-DSTACK_INDEX_PARTS=%" PRIu32,
				source_index_parts(z, z->max_stacks)) &&
	       source_flags_add(flags, "-DMAX_STACKS=%" PRIu32, z->max_stacks) &&
	       source_flags_add(flags, "-DSTACK_PCS_BLOCKS=%" PRIu32,
				z->stack_pcs_blocks) &&
	       source_flags_add(flags, "-DSTACKS_PART=%" PRIu32, z->stacks_part) &&
	       source_flags_add(flags, "-DSTACK_PCS_PART=%" PRIu32, z->stack_pcs_part) &&
	       source_flags_add(flags, "-DSTACKS_AHEAD=%" PRIu32, z->stacks_ahead) &&
	       source_flags_add(flags, "-DSTACK_PCS_AHEAD=%" PRIu32,
				z->stack_pcs_ahead) &&
	       source_flags_add(flags, "-DSTACKS_PARTS=%" PRIu32,
				source_parts(z->max_stacks, z->stacks_part)) &&
	       source_flags_add(flags, "-DSTACK_PCS_PARTS=%" PRIu32,
				source_parts(z->stack_pcs_blocks, z->stack_pcs_part));
}

/* Hashes allocate their memory as needed, if they may. Kernels before 6.1 refuse that to
 * perf event programs, and log a warning with a stack trace if any program uses such a
 * hash (check_map_prog_compatibility(), kernel/bpf/verifier.c). */
static bool add_hash_flags(struct source_flags *flags, const struct source_run *o)
{
	return source_flags_add(
		flags, "-DAS_NEEDED=%s",
		o->no_atomics || o->mode->preallocates ? "0" : "BPF_F_NO_PREALLOC");
}

/* What counts of the blocks. */
static bool add_block_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;

	return source_flags_add(flags, "-DWITH_TIME=%d", o->with_time) &&
	       source_flags_add(flags, "-DTICK_JIFFIES=%d",
				o->with_time && o->ticks.is_jiffies) &&
	       /* Unwinding begins at the probe itself, not where a call returned to. */
	       source_flags_add(flags, "-DWALK_EXACT=%d",
				o->mode->is_exact && o->mode->is_exact(o));
}

static bool add_traffic_flags(struct source_flags *flags,
			      const struct source_facts *facts)
{
	return source_flags_add(flags, "-DTHREAD_SLOTS=%" PRIu32,
				facts->sizes->thread_slots) &&
	       source_flags_add(flags, "-DTEMPORARY_EVENTS=%u",
				facts->run->config->temporary_threshold + 1) &&
	       source_flags_add(flags, "-DLATE_RING_PAGES=%ld",
				(long)LATE_RING_BYTES / sysconf(_SC_PAGESIZE));
}

bool source_flags_want_tables(const struct source_run *o)
{
	return o->rules && o->may_goto && !o->mode->lacks_stack;
}

static bool add_rule_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	const struct source_sizes *z = facts->sizes;
	bool ok = source_flags_add(flags, "-DRULE_BUCKETS=%" PRIu32, z->rule_buckets);

	if (source_flags_want_tables(o))
		ok &= source_flags_add(flags, "-DUNWIND_PAGES=%" PRIu32,
				       z->unwind_pages) &&
		      source_flags_add(flags, "-DLAYOUTS=%" PRIu32, z->layouts);
	ok &= source_flags_add(flags, "-DNO_FRAME_POINTERS=%d",
			       o->config->unwind == UNWIND_CHOICE_RULES);
	if (o->offsets.has_code_pages)
		ok &= source_flags_add(flags, "-DOFFSET_MM_CODE_PAGES=%u",
				       o->offsets.mm_code_pages);
	if (o->offsets.has_stack_ends)
		ok &= source_flags_add(flags, "-DOFFSET_MM_START_STACK=%u",
				       o->offsets.mm_start_stack) &&
		      source_flags_add(flags, "-DOFFSET_TASK_FSBASE=%u",
				       o->offsets.task_fsbase);
	return ok;
}

/* Where the kernel keeps what the probes read of its structures. */
static bool add_offset_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	bool ok = true;

	if ((o->rules && o->offsets.has_code_pages) || o->offsets.has_trampoline ||
	    o->offsets.has_parent)
		ok &= source_flags_add(flags, "-DOFFSET_TASK_MM=%u", o->offsets.task_mm);
	if (o->offsets.has_instances)
		ok &= source_flags_add(flags, "-DOFFSET_TASK_UTASK=%u",
				       o->offsets.task_utask) &&
		      source_flags_add(flags, "-DOFFSET_UTASK_INSTANCES=%u",
				       o->offsets.utask_instances) &&
		      source_flags_add(flags, "-DOFFSET_INSTANCE_STACK=%u",
				       o->offsets.instance_stack) &&
		      source_flags_add(flags, "-DOFFSET_INSTANCE_RETURN=%u",
				       o->offsets.instance_return) &&
		      source_flags_add(flags, "-DOFFSET_INSTANCE_NEXT=%u",
				       o->offsets.instance_next);
	if (o->offsets.has_trampoline)
		ok &= source_flags_add(flags, "-DOFFSET_MM_XOL_AREA=%u",
				       o->offsets.mm_xol_area) &&
		      source_flags_add(flags, "-DOFFSET_XOL_VADDR=%u",
				       o->offsets.xol_vaddr);
	return ok;
}

static bool add_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	bool ok = add_compiler_flags(flags, facts) && add_scope_flags(flags, facts) &&
		  add_size_flags(flags, facts) && add_hash_flags(flags, o) &&
		  add_block_flags(flags, facts) &&
		  source_flags_add(flags, "-DARG_REGISTERS=%#xu", facts->registers);

	if (o->mode->add_flags)
		ok &= o->mode->add_flags(flags, o);
	ok &= add_lack_flags(flags, facts);
	if (o->maps_are_there)
		ok &= source_flags_add(flags, "-DMAPS_ARE_THERE");
	if (o->traffic)
		ok &= add_traffic_flags(flags, facts);
	if (o->rules)
		ok &= add_rule_flags(flags, facts);
	return ok && add_offset_flags(flags, facts);
}

bool source_flags_init(struct source_flags *ret, const struct source_facts *facts)
{
	*ret = (struct source_flags){.list = calloc(SOURCE_FLAGS_MAX, sizeof(char *))};
	return ret->list && add_flags(ret, facts);
}

void source_flags_deinit(struct source_flags *flags)
{
	for (size_t i = 0; i < flags->count; i++)
		free(flags->list[i]);
	free(flags->list);
	*flags = (struct source_flags){0};
}
