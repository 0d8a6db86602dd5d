// SPDX-License-Identifier: Apache-2.0
#include "compile/source_flags.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "abi.h"

/* The ring of unwind misses. It holds 250 with whole copies of large stacks, or some
 * 30,000 that differ little from one another (abi_walk.h). */
#define MISS_RING_BYTES (16u << 20)

/* The ring of events for blocks whose stack has no number yet: 130,000 events. */
#define LATE_RING_BYTES (4u << 20)

static bool __attribute__((format(printf, 2, 3)))
add_flag(struct source_flags *flags, const char *format, ...)
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
	bool ok =
		add_flag(flags, "-DPROCESS_SLOTS=%" PRIu32, facts->sizes->process_slots);

	if (o->pid_namespace.inode)
		ok &= add_flag(flags, "-DPIDNS_DEVICE=%" PRIu64 "ull",
			       o->pid_namespace.device) &&
		      add_flag(flags, "-DPIDNS_INODE=%" PRIu64 "ull",
			       o->pid_namespace.inode);
	if (o->scope == SCOPE_ALL)
		ok &= add_flag(flags, "-DALL_PROCESSES");
	if (o->scope == SCOPE_FORKS)
		ok &= add_flag(flags, "-DFOLLOW_FORKS");
	if (o->offsets.has_task)
		ok &= add_flag(flags, "-DOFFSET_TASK_PID=%u", o->offsets.task_pid) &&
		      add_flag(flags, "-DOFFSET_TASK_TGID=%u", o->offsets.task_tgid);
	if (o->offsets.has_parent)
		ok &= add_flag(flags, "-DOFFSET_TASK_REAL_PARENT=%u",
			       o->offsets.task_real_parent);
	return ok;
}

/* Most kernel frames in a stack of `depth` frames. */
#define KERNEL_FRAMES_MAX 31

/* How the probe treats an event of each kind: where the stack begins, and whether the
 * program has the user-space registers. */
static bool add_event_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	enum event_kind kind = o->event->kind;
	bool is_exact = kind != EVENT_URETPROBE;
	unsigned kernel_frames = o->stack_depth / 2;
	bool ok = add_flag(flags, "-DEVENTS");

	if (kernel_frames > KERNEL_FRAMES_MAX)
		kernel_frames = KERNEL_FRAMES_MAX;
	if (event_is_in_file(kind))
		ok &= add_flag(flags, "-DEVENT_HAS_USER_REGISTERS");
	if (is_exact)
		ok &= add_flag(flags, "-DWALK_EXACT=1");
	/* Unwind information is also right at the first instruction; frame pointers are
	 * not. */
	if (kind == EVENT_UPROBE && !o->event->offset && !o->rules)
		ok &= add_flag(flags, "-DWALK_FIRST=1");
	if (o->config->kernel_stacks && kernel_frames)
		ok &= add_flag(flags, "-DKERNEL_FRAMES=%u", kernel_frames) &&
		      add_flag(flags, "-DWALK_DEPTH=%u", o->stack_depth - kernel_frames);
	return ok;
}

/* Records identify pages by number, arguments by struct page. */
static bool is_by_number(const struct kernel_points *points)
{
	vec_foreach (point, &points->list)
		if (point->kind == KERNEL_PAGES)
			return !point->is_raw;
	return false;
}

static bool add_kernel_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	bool ok = add_flag(flags, "-DKERNEL") && add_flag(flags, "-DKERNEL_BY_NUMBER=%d",
							  is_by_number(o->kernel_points));

	if (o->kernel->pid)
		ok &= add_flag(flags, "-DKERNEL_OF_ONE");
	return ok;
}

/* Features that old kernels lack. */
static bool add_lack_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	bool ok = true;

	if (o->no_atomics)
		ok &= add_flag(flags, "-DNO_ATOMICS") &&
		      add_flag(flags, "-DJOURNAL_RING_PAGES=%ld",
			       (long)ABI_JOURNAL_RING_BYTES / sysconf(_SC_PAGESIZE));
	if (o->no_task_btf)
		ok &= add_flag(flags, "-DNO_TASK_BTF");
	/* bpf_task_pt_regs() came with the same release as cookies. */
	if (!o->cookies && o->offsets.has_stack)
		ok &= add_flag(flags, "-DOFFSET_TASK_STACK=%u", o->offsets.task_stack) &&
		      add_flag(flags, "-DKERNEL_STACK_BYTES=%u", o->offsets.stack_bytes);
	return ok;
}

static bool add_program_flags(struct source_flags *flags,
			      const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	bool ok = true;

	if (o->programs & 1u << SOURCE_ON_SESSION)
		ok &= add_flag(flags, "-DWITH_ON_SESSION");
	if (o->programs & 1u << SOURCE_ON_RETURN)
		ok &= add_flag(flags, "-DWITH_ON_RETURN");
	if (o->programs & 1u << SOURCE_ON_RESULT)
		ok &= add_flag(flags, "-DWITH_ON_RESULT");
	if (o->cookies && o->programs & 1u << SOURCE_ON_CALL)
		ok &= add_flag(flags, facts->one_process ? "-DWITH_ON_CALL_HERE"
							 : "-DWITH_ON_CALL");
	if (o->cookies && o->programs & 1u << SOURCE_ON_FREE)
		ok &= add_flag(flags, facts->one_process ? "-DWITH_ON_FREE_HERE"
							 : "-DWITH_ON_FREE");
	return ok;
}

/* What clang is to do, and facts of the machine. */
static bool add_compiler_flags(struct source_flags *flags,
			       const struct source_facts *facts)
{
	/* libbcc only warns about helpers it does not know, and then the load fails. It
	 * requests debug info, which nothing here needs and which takes a quarter of the
	 * time. */
	bool ok = add_flag(flags, "-Werror=implicit-function-declaration") &&
		  add_flag(flags, "-g0");

	/* libbcc optimizes (BPFModule::run_pass_manager() of src/cc/bpf_module.cc) what
	 * clang has optimized before, so leave out clang's passes. Type-based alias
	 * information would be passed through without a use. */
	if (!facts->run->thorough)
		ok &= add_flag(flags, "-Xclang") &&
		      add_flag(flags, "-disable-llvm-passes") &&
		      add_flag(flags, "-fno-strict-aliasing");
	ok &= add_flag(flags, "-DMEMTRACE_LINUX_VERSION_CODE=%u", linux_version_code());
	ok &= add_flag(flags, "-DMEMTRACE_PAGE_SIZE=%ld", sysconf(_SC_PAGESIZE));
#if defined(__x86_64__)
	ok &= add_flag(flags, "-D__TARGET_ARCH_x86");
#endif
	return ok;
}

static bool add_size_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_sizes *z = facts->sizes;

	return add_flag(flags, "-DSTACK_DEPTH=%u", facts->run->stack_depth) &&
	       add_flag(flags, "-DCPU_SLOTS=%" PRIu32, z->cpu_slots) &&
	       add_flag(flags, "-DLIVE_BUCKETS=%" PRIu32, z->live_buckets) &&
	       add_flag(flags, "-DLIVE_SPILL=%" PRIu32, z->live_spill) &&
	       add_flag(flags, "-DPENDING_SPILL=%" PRIu32, z->pending_spill) &&
	       add_flag(flags, "-DSTACK_BUCKETS=%" PRIu32, z->stack_buckets) &&
	       add_flag(flags, "-DMAX_STACKS=%" PRIu32, z->max_stacks) &&
	       add_flag(flags, "-DSTACK_PCS_BLOCKS=%" PRIu32, z->stack_pcs_blocks);
}

/* Which blocks count, and what of them. */
static bool add_block_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	bool ok = true;

	if (o->with_time)
		ok &= add_flag(flags, "-DWITH_TIME");
	if (o->with_time && o->ticks.is_jiffies)
		ok &= add_flag(flags, "-DTICK_JIFFIES");
	/* Unwinding begins at the probe itself, not where a call returned to. */
	if (o->told)
		ok &= add_flag(flags, "-DWALK_EXACT=1");
	if (o->mappings)
		ok &= add_flag(flags, "-DMAPPINGS");
	if (o->checks)
		ok &= add_flag(flags, "-DCHECKS");
	if (o->config->min_size_bytes)
		ok &= add_flag(flags, "-DMIN_SIZE=%" PRIu64 "ull",
			       o->config->min_size_bytes);
	if (o->config->max_size_bytes != UINT64_MAX)
		ok &= add_flag(flags, "-DMAX_SIZE=%" PRIu64 "ull",
			       o->config->max_size_bytes);
	if (o->config->sample_every > 1)
		ok &= add_flag(flags, "-DSAMPLE_THRESHOLD=%" PRIu64 "u",
			       ((UINT64_C(1) << 32) + o->config->sample_every / 2) /
				       o->config->sample_every);
	if (o->config->sample_bytes)
		ok &= add_flag(flags, "-DSAMPLE_BYTES");
	return ok;
}

static bool add_traffic_flags(struct source_flags *flags,
			      const struct source_facts *facts)
{
	return add_flag(flags, "-DWITH_TRAFFIC") &&
	       add_flag(flags, "-DTHREAD_SLOTS=%" PRIu32, facts->sizes->thread_slots) &&
	       add_flag(flags, "-DTEMPORARY_EVENTS=%u",
			facts->run->config->temporary_threshold + 1) &&
	       add_flag(flags, "-DLATE_RING_PAGES=%ld",
			(long)LATE_RING_BYTES / sysconf(_SC_PAGESIZE)) &&
	       (!facts->run->peak || add_flag(flags, "-DWITH_PEAK"));
}

static bool add_rule_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	const struct source_sizes *z = facts->sizes;
	bool ok = add_flag(flags, "-DUNWIND_RULES") &&
		  add_flag(flags, "-DRULE_BUCKETS=%" PRIu32, z->rule_buckets) &&
		  add_flag(flags, "-DMISS_RING_PAGES=%ld",
			   (long)MISS_RING_BYTES / sysconf(_SC_PAGESIZE));

	/* With --growth the program for mappings has not enough BPF stack for the
	 * tables. */
	if (o->may_goto && !(o->event && o->mappings))
		ok &= add_flag(flags, "-DUNWIND_TABLES") &&
		      add_flag(flags, "-DUNWIND_PAGES=%" PRIu32, z->unwind_pages) &&
		      add_flag(flags, "-DLAYOUTS=%" PRIu32, z->layouts);
	if (o->config->unwind == UNWIND_CHOICE_RULES)
		ok &= add_flag(flags, "-DNO_FRAME_POINTERS");
	if (o->offsets.has_code_pages)
		ok &= add_flag(flags, "-DOFFSET_MM_CODE_PAGES=%u",
			       o->offsets.mm_code_pages);
	if (o->offsets.has_stack_ends)
		ok &= add_flag(flags, "-DOFFSET_MM_START_STACK=%u",
			       o->offsets.mm_start_stack) &&
		      add_flag(flags, "-DOFFSET_TASK_FSBASE=%u", o->offsets.task_fsbase);
	return ok;
}

/* Where the kernel keeps what the probes read of its structures. */
static bool add_offset_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	bool ok = true;

	if ((o->rules && o->offsets.has_code_pages) || o->offsets.has_trampoline ||
	    o->offsets.has_parent)
		ok &= add_flag(flags, "-DOFFSET_TASK_MM=%u", o->offsets.task_mm);
	if (o->offsets.has_instances)
		ok &= add_flag(flags, "-DOFFSET_TASK_UTASK=%u", o->offsets.task_utask) &&
		      add_flag(flags, "-DOFFSET_UTASK_INSTANCES=%u",
			       o->offsets.utask_instances) &&
		      add_flag(flags, "-DOFFSET_INSTANCE_STACK=%u",
			       o->offsets.instance_stack) &&
		      add_flag(flags, "-DOFFSET_INSTANCE_RETURN=%u",
			       o->offsets.instance_return) &&
		      add_flag(flags, "-DOFFSET_INSTANCE_NEXT=%u",
			       o->offsets.instance_next);
	if (o->offsets.has_trampoline)
		ok &= add_flag(flags, "-DOFFSET_MM_XOL_AREA=%u",
			       o->offsets.mm_xol_area) &&
		      add_flag(flags, "-DOFFSET_XOL_VADDR=%u", o->offsets.xol_vaddr);
	return ok;
}

static bool add_flags(struct source_flags *flags, const struct source_facts *facts)
{
	const struct source_run *o = facts->run;
	bool ok = add_compiler_flags(flags, facts) && add_scope_flags(flags, facts) &&
		  add_size_flags(flags, facts) && add_block_flags(flags, facts) &&
		  add_flag(flags, "-DARG_REGISTERS=%#xu", facts->registers);

	if (o->event)
		ok &= add_event_flags(flags, facts);
	if (o->kernel_points)
		ok &= add_kernel_flags(flags, facts);
	if (o->cookies)
		ok &= add_flag(flags, "-DHAVE_COOKIE");
	if (facts->one_process)
		ok &= add_flag(flags, "-DONE_PROCESS");
	if (facts->keeps_tids)
		ok &= add_flag(flags, "-DKEEPS_TIDS");
	ok &= add_program_flags(flags, facts) && add_lack_flags(flags, facts);
	if (o->may_goto)
		ok &= add_flag(flags, "-DHAVE_MAY_GOTO");
	if (o->maps_are_there)
		ok &= add_flag(flags, "-DMAPS_ARE_THERE");
	if (o->sessions)
		ok &= add_flag(flags, "-DHAVE_SESSION");
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
