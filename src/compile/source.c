// SPDX-License-Identifier: Apache-2.0
#include "compile/source.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "abi.h"
#include "abi_walk.h"
#include "compile/embedded.h"
#include "compile/source_kernel.h"
#include "plan/site.h"
#include "traffic_record.h"
#include "util/cleanup.h"
#include "util/strbuf.h"
#include "util/vec.h"

DEFINE_CLEANUP(struct source *, source_destroy);

#define MAX_FLAGS 64

/* Slots with --pid, some 700 bytes each. In a table that is nearly full a process may
 * find no free slot (abi.h), so there are more slots than users name processes. */
#define FEW_PROCESSES 1024
#define PROCESSES_MAX 32768

/* Buckets of four rules. 1 MiB is enough for a compiler (21,000 call sites); further
 * rules go to the spill map. Several processes get more. */
#define FEW_RULE_BUCKETS  16384
#define MANY_RULE_BUCKETS 65536

/* Address-space layouts that can exist at the same time. Each takes 16 KiB. */
#define LAYOUTS 2048

/* The ring of unwind misses. It holds 250 with whole copies of large stacks, or some
 * 30,000 that differ little from one another (abi_walk.h). */
#define MISS_RING_BYTES (16u << 20)

/* Slots per thread. With three quarters of the slots free, the few slots that a thread
 * can use are hardly ever all taken. */
#define THREAD_ROOM 4

/* The ring of events for blocks whose stack has no number yet: 130,000 events. */
#define LATE_RING_BYTES (4u << 20)

_Static_assert(PROCESSES_MAX - 1 <= ABI_RULE_SLOT(UINT64_MAX), "it fits a rule's key");

_Static_assert((int)EFFECT_ALLOC == ABI_EFFECT_ALLOC, "same numbers");
_Static_assert((int)EFFECT_ALLOC_OUT == ABI_EFFECT_ALLOC_OUT, "same numbers");
_Static_assert((int)EFFECT_REALLOC == ABI_EFFECT_REALLOC, "same numbers");
_Static_assert((int)EFFECT_FREE == ABI_EFFECT_FREE, "same numbers");
_Static_assert((int)EFFECT_MAP == ABI_EFFECT_MAP, "same numbers");
_Static_assert((int)EFFECT_UNMAP == ABI_EFFECT_UNMAP, "same numbers");
_Static_assert((int)EFFECT_REMAP == ABI_EFFECT_REMAP, "same numbers");
_Static_assert((int)EFFECT_RESIZE == ABI_EFFECT_RESIZE, "same numbers");
_Static_assert((int)EFFECT_ALLOC_USDT == ABI_EFFECT_ALLOC_USDT, "same numbers");
_Static_assert((int)EFFECT_FREE_USDT == ABI_EFFECT_FREE_USDT, "same numbers");
_Static_assert((int)RETURN_REGISTER == ABI_RESULT_REGISTER, "same numbers");
_Static_assert((int)RETURN_FRAME == ABI_RESULT_FRAME, "same numbers");
_Static_assert((int)RETURN_VALUE == ABI_RESULT_CONSTANT, "same numbers");
_Static_assert((int)RETURN_BLOCK == ABI_RESULT_BLOCK, "same numbers");

static uint32_t power_of_two_from(uint64_t n)
{
	uint32_t p = 1;

	while (p < n && p < 1u << 31)
		p *= 2;
	return p;
}

/* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

void pid_namespace_read(struct pid_namespace *ret)
{
	struct stat st;

	*ret = (struct pid_namespace){0};
	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NAMESPACE)
		return;
	ret->device = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
	ret->inode = st.st_ino;
}

static void compute_thread_sizes(const struct source_options *o, struct source_sizes *ret)
{
	if (!o->traffic)
		return;
	ret->thread_slots = power_of_two_from(o->max_threads * THREAD_ROOM);
	ret->thread_record_bytes =
		(uint32_t)(sizeof(struct abi_thread) +
			   (o->temporary_threshold + 1) * sizeof(uint64_t));
}

/* The stack_pcs map has room for max_stacks stacks of this depth, or for FEW_STACKS of
 * the largest depth if that is more. Builds by make, which have the most stacks, have 14
 * frames on average, LibreOffice 35. */
#define USUAL_DEPTH 16
#define FEW_STACKS  4096

static uint32_t stack_pcs_blocks(const struct source_options *options)
{
	uint64_t stacks = options->max_stacks, depth = options->stack_depth;
	uint64_t few = stacks < FEW_STACKS || options->no_atomics ? stacks : FEW_STACKS;
	uint64_t words = few * depth;

	/* Without atomics each stack has room for the largest depth
	 * (probes/stack_hash.c). */
	if (!options->no_atomics && depth > USUAL_DEPTH)
		depth = USUAL_DEPTH;
	if (words < stacks * depth)
		words = stacks * depth;
	return (uint32_t)(words / ABI_PCS_BLOCK + 1);
}

void source_sizes_compute(const struct source_options *options, struct source_sizes *ret)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t slots = options->max_allocations * 10 / 7;

	/*
	 * With two choices of buckets of eight, and insertion into the emptier one, a
	 * table is 70 % full before the first overflow. A stack goes to its first bucket
	 * if possible, since two processors may insert the same stack; then that is about
	 * 25 %.
	 */
	*ret = (struct source_sizes){
		.cpu_slots = power_of_two_from(cpus > 0 ? (uint64_t)cpus : 1),
		.process_slots = options->scope == SCOPE_PROCESSES
					 ? FEW_PROCESSES
					 : power_of_two_from(options->max_processes),
		.live_buckets = (uint32_t)((slots + ABI_LIVE_WAYS - 1) / ABI_LIVE_WAYS),
		.live_spill = (uint32_t)(options->max_allocations / 128 + 64),
		.pending_spill = ABI_PENDING_SPILL,
		.stack_buckets = (uint32_t)(options->max_stacks * 4 / ABI_STACK_WAYS + 1),
		.max_stacks = (uint32_t)options->max_stacks,
		.stack_depth = options->stack_depth,
		.stack_pcs_blocks = stack_pcs_blocks(options),
		.rule_buckets = options->scope == SCOPE_PROCESSES ? FEW_RULE_BUCKETS
								  : MANY_RULE_BUCKETS,
		.unwind_pages =
			(uint32_t)(options->unwind_memory_bytes / ABI_UNWIND_PAGE_BYTES),
		.layouts = LAYOUTS,
	};
	if (options->no_atomics) {
		ret->live_buckets = ret->stack_buckets = 0;
		ret->live_spill = (uint32_t)options->max_allocations;
		ret->pending_spill = ABI_PENDING_ALL;
	}
	compute_thread_sizes(options, ret);
}

/* The register of an argument; ABI_ARG_NONE for a missing argument. */
static uint8_t abi_arg(const struct plan_site *site, uint8_t arg)
{
	uint8_t reg = arg < PLACE_ARGUMENTS ? site->arg_reg[arg] : PLACE_NO_REGISTER;

	return reg == PLACE_NO_REGISTER ? ABI_ARG_NONE : reg;
}

static uint64_t common_bits(const struct plan_site *site, unsigned allocator,
			    unsigned number)
{
	return (site->unrecorded ? ABI_SITE_UNRECORDED : 0) |
	       (uint64_t)allocator << ABI_SITE_ALLOCATOR_SHIFT |
	       (uint64_t)number << ABI_SITE_NUMBER_SHIFT;
}

uint64_t source_site(const struct plan_site *site, unsigned allocator, unsigned number,
		     bool inside)
{
	const struct alloc_function *f = site->function;

	return ABI_SITE(f->effect, abi_arg(site, f->size_arg),
			abi_arg(site, f->count_arg), abi_arg(site, f->old_arg),
			abi_arg(site, f->out_arg)) |
	       common_bits(site, allocator, number) | ABI_SITE_SP(site->sp_delta) |
	       (inside ? ABI_SITE_INSIDE : 0);
}

/* The index of a register's word in struct pt_regs (arch/x86/include/uapi/asm/ptrace.h).
 * Callers never ask for the stack pointer. */
static uint64_t register_word(uint8_t reg)
{
	static const uint8_t words[INSN_REGISTERS] = {
		[INSN_RAX] = 10, [INSN_RCX] = 11, [INSN_RDX] = 12, [INSN_RBX] = 5,
		[INSN_RSP] = 15, [INSN_RBP] = 4,  [INSN_RSI] = 13, [INSN_RDI] = 14,
		[8] = 9,         [9] = 8,         [10] = 7,        [11] = 6,
		[12] = 3,        [13] = 2,        [14] = 1,        [15] = 0,
	};

	return words[reg % INSN_REGISTERS];
}

static uint64_t result_bits(uint32_t effect, int32_t sp_delta, uint8_t bp_words)
{
	return effect | (uint64_t)bp_words << ABI_RESULT_BP_SHIFT | ABI_SITE_SP(sp_delta);
}

uint64_t source_body_site(const struct plan_site *site, const struct body_site *at,
			  unsigned allocator, unsigned number)
{
	const uint64_t unrecorded = site->unrecorded ? ABI_RESULT_UNRECORDED : 0;
	uint8_t bp_words = site->body.bp_words[at - site->body.sites];
	uint64_t whole = result_bits(ABI_EFFECT_WHOLE, at->sp_delta, bp_words);
	uint64_t result = result_bits(ABI_EFFECT_RESULT, at->sp_delta, bp_words);
	uint64_t in_rax = ABI_RESULT(ABI_RESULT_REGISTER, register_word(INSN_RAX))
			  << ABI_RESULT_VALUE0_SHIFT;

	switch (at->part) {
	case BODY_WHOLE:
		return whole | unrecorded | in_rax |
		       register_word(at->size_reg) << ABI_WHOLE_SIZE_SHIFT |
		       (uint64_t)allocator << ABI_WHOLE_ALLOCATOR_SHIFT;
	case BODY_RETURN:
		return result | unrecorded | in_rax;
	case BODY_FAILURE:
		return result | unrecorded | ABI_RESULT_FAILS_ALONE |
		       ABI_RESULT(ABI_RESULT_CONSTANT, 0) << ABI_RESULT_VALUE0_SHIFT;
	case BODY_ENTRY:
	case BODY_STOP:
		break;
	}
	return ABI_SITE(site->function->effect,
			at->part == BODY_ENTRY ? at->size_reg : ABI_ARG_NONE,
			ABI_ARG_NONE, ABI_ARG_NONE, ABI_ARG_NONE) |
	       common_bits(site, allocator, number) | ABI_SITE_SP(at->sp_delta) |
	       (at->part == BODY_ENTRY ? ABI_SITE_INSIDE | ABI_SITE_ALONE
				       : ABI_SITE_STOPS);
}

static uint64_t result_value(const struct return_value *value)
{
	switch (value->kind) {
	case RETURN_REGISTER:
	case RETURN_BLOCK:
		return ABI_RESULT(value->kind, register_word(value->reg));
	case RETURN_FRAME:
		return ABI_RESULT(value->kind, value->offset / 8);
	case RETURN_VALUE:
		return ABI_RESULT(value->kind, value->offset);
	case RETURN_OPEN:
		break;
	}
	return 0;
}

static uint64_t whole_site(const struct plan_site *site, const struct return_site *at,
			   unsigned allocator)
{
	bool when_taken = at->has_condition && at->value[1].kind;

	return result_bits(ABI_EFFECT_WHOLE, at->sp_delta, at->bp_words) |
	       result_value(&at->value[when_taken]) << ABI_RESULT_VALUE0_SHIFT |
	       (when_taken ? ABI_WHOLE_WHEN_TAKEN : 0) |
	       (site_asked(site->function) == VALUE_PRODUCT ? ABI_WHOLE_PRODUCT : 0) |
	       (site->unrecorded ? ABI_RESULT_UNRECORDED : 0) |
	       register_word(at->size_reg) << ABI_WHOLE_SIZE_SHIFT |
	       (uint64_t)allocator << ABI_WHOLE_ALLOCATOR_SHIFT;
}

uint64_t source_return_site(const struct plan_site *site, const struct return_site *at,
			    unsigned allocator)
{
	uint64_t condition =
		at->has_condition
			? ABI_RESULT_HAS_CONDITION | (uint64_t)at->condition
							     << ABI_RESULT_CONDITION_SHIFT
			: 0;
	uint64_t common = condition | (at->lacks_cfi ? ABI_RESULT_NO_CFI : 0);

	if (at->is_whole)
		return whole_site(site, at, allocator) | common;
	return result_bits(ABI_EFFECT_RESULT, at->sp_delta, at->bp_words) | common |
	       result_value(&at->value[0]) << ABI_RESULT_VALUE0_SHIFT |
	       result_value(&at->value[1]) << ABI_RESULT_VALUE1_SHIFT |
	       (at->is_shared ? ABI_RESULT_SHARED : 0);
}

uint64_t source_entry_site(const struct plan_site *site, const struct entry_site *at,
			   unsigned allocator, unsigned number)
{
	return ABI_SITE(site->function->effect, at->size_reg, ABI_ARG_NONE, ABI_ARG_NONE,
			ABI_ARG_NONE) |
	       common_bits(site, allocator, number) | ABI_SITE_SP(at->sp_delta) |
	       ABI_SITE_INSIDE;
}

uint64_t source_exit_site(const struct plan_site *site, const struct return_exit *exit)
{
	enum alloc_effect effect = site->function->effect;
	bool is_int = effect == EFFECT_ALLOC_OUT || effect == EFFECT_UNMAP;

	return result_bits(ABI_EFFECT_CHECK, 0, 0) |
	       ABI_RESULT(ABI_RESULT_REGISTER,
			  register_word(exit->is_jump ? INSN_RDI : INSN_RAX))
		       << ABI_RESULT_VALUE0_SHIFT |
	       ABI_RESULT_SHARED | (exit->lacks_cfi ? ABI_RESULT_NO_CFI : 0) |
	       (is_int ? ABI_CHECK_SHORT : 0) | (exit->is_own ? ABI_CHECK_OWN : 0);
}

static bool is_result(uint64_t site)
{
	return ABI_SITE_EFFECT(site) == ABI_EFFECT_RESULT ||
	       ABI_SITE_EFFECT(site) == ABI_EFFECT_WHOLE;
}

bool source_site_begins(uint64_t site)
{
	return !is_result(site);
}

#if defined(__x86_64__)
/* rcx, rdx, rsi and rdi: they have the first four arguments at a function's entry. */
#define CONVENTION_REGISTERS (1u << 1 | 1u << 2 | 1u << 6 | 1u << 7)
#else
#define CONVENTION_REGISTERS 0u
#endif

/* Bit n is set if the site has an argument in register n. */
static unsigned argument_registers(uint64_t site)
{
	unsigned registers = 1u << ABI_SITE_SIZE_ARG(site) |
			     1u << ABI_SITE_COUNT_ARG(site) |
			     1u << ABI_SITE_OLD_ARG(site) | 1u << ABI_SITE_OUT_ARG(site);

	return registers & ~(1u << ABI_ARG_NONE);
}

bool source_serves(const struct source *source, uint64_t site)
{
	if (!source->cookies)
		return source_site_index(source, site) < source->sites.len;
	return is_result(site) || !(argument_registers(site) & ~source->registers);
}

size_t source_site_index(const struct source *source, uint64_t site)
{
	size_t i = 0;

	while (i < source->sites.len && source->sites.data[i] != site)
		i++;
	return i;
}

static bool collect_sites(struct source *source, const struct meanings *meanings)
{
	source->registers = CONVENTION_REGISTERS;
	vec_foreach (site, &meanings->list) {
		if (!is_result(*site))
			source->registers |= argument_registers(*site);
		if (source_site_index(source, *site) == source->sites.len &&
		    !vec_push(&source->sites, *site))
			return false;
	}
	return true;
}

void source_entry_name(size_t index, char ret[PROGRAM_NAME_MAX])
{
	snprintf(ret, PROGRAM_NAME_MAX, "on_call_%zu", index);
}

static bool add_flag(struct source *source, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool add_flag(struct source *source, const char *format, ...)
{
	va_list ap;
	char *flag;

	if (source->flag_count == MAX_FLAGS)
		return false;
	va_start(ap, format);
	int n = vasprintf(&flag, format, ap);
	va_end(ap);
	if (n < 0)
		return false;
	source->flags[source->flag_count++] = flag;
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
static bool add_scope_flags(struct source *source, const struct source_options *o)
{
	bool ok =
		add_flag(source, "-DPROCESS_SLOTS=%" PRIu32, source->sizes.process_slots);

	if (o->pid_namespace.inode)
		ok &= add_flag(source, "-DPIDNS_DEVICE=%" PRIu64 "ull",
			       o->pid_namespace.device) &&
		      add_flag(source, "-DPIDNS_INODE=%" PRIu64 "ull",
			       o->pid_namespace.inode);
	if (o->scope == SCOPE_ALL)
		ok &= add_flag(source, "-DALL_PROCESSES");
	if (o->scope == SCOPE_FORKS)
		ok &= add_flag(source, "-DFOLLOW_FORKS");
	if (o->offsets.has_task)
		ok &= add_flag(source, "-DOFFSET_TASK_PID=%u", o->offsets.task_pid) &&
		      add_flag(source, "-DOFFSET_TASK_TGID=%u", o->offsets.task_tgid);
	if (o->offsets.has_parent)
		ok &= add_flag(source, "-DOFFSET_TASK_REAL_PARENT=%u",
			       o->offsets.task_real_parent);
	return ok;
}

/* Most kernel frames in a stack of `depth` frames. */
#define KERNEL_FRAMES_MAX 31

/* How the probe treats an event of each kind: where the stack begins, and whether the
 * program has the user-space registers. */
static bool add_event_flags(struct source *source, const struct source_options *o)
{
	enum event_kind kind = o->event->kind;
	bool is_exact = kind != EVENT_URETPROBE;
	unsigned kernel_frames = o->stack_depth / 2;
	bool ok = add_flag(source, "-DEVENTS");

	if (kernel_frames > KERNEL_FRAMES_MAX)
		kernel_frames = KERNEL_FRAMES_MAX;
	if (event_is_in_file(kind))
		ok &= add_flag(source, "-DEVENT_HAS_USER_REGISTERS");
	if (is_exact)
		ok &= add_flag(source, "-DWALK_EXACT=1");
	/* Unwind information is also right at the first instruction; frame pointers are
	 * not. */
	if (kind == EVENT_UPROBE && !o->event->offset && !o->rules)
		ok &= add_flag(source, "-DWALK_FIRST=1");
	if (o->kernel_stacks && kernel_frames)
		ok &= add_flag(source, "-DKERNEL_FRAMES=%u", kernel_frames) &&
		      add_flag(source, "-DWALK_DEPTH=%u", o->stack_depth - kernel_frames);
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

static bool add_kernel_flags(struct source *source, const struct source_options *o)
{
	bool ok =
		add_flag(source, "-DKERNEL") &&
		add_flag(source, "-DKERNEL_BY_NUMBER=%d", is_by_number(o->kernel_points));

	if (o->kernel->pid)
		ok &= add_flag(source, "-DKERNEL_OF_ONE");
	return ok;
}

/* Features that old kernels lack. */
static bool add_lack_flags(struct source *source, const struct source_options *o)
{
	bool ok = true;

	if (o->no_atomics)
		ok &= add_flag(source, "-DNO_ATOMICS") &&
		      add_flag(source, "-DJOURNAL_RING_PAGES=%ld",
			       (long)ABI_JOURNAL_RING_BYTES / sysconf(_SC_PAGESIZE));
	if (o->no_task_btf)
		ok &= add_flag(source, "-DNO_TASK_BTF");
	/* bpf_task_pt_regs() came with the same release as cookies. */
	if (!o->cookies && o->offsets.has_stack)
		ok &= add_flag(source, "-DOFFSET_TASK_STACK=%u", o->offsets.task_stack) &&
		      add_flag(source, "-DKERNEL_STACK_BYTES=%u", o->offsets.stack_bytes);
	return ok;
}

static bool add_program_flags(struct source *source, const struct source_options *o)
{
	bool ok = true;

	if (o->programs & 1u << SOURCE_ON_SESSION)
		ok &= add_flag(source, "-DWITH_ON_SESSION");
	if (o->programs & 1u << SOURCE_ON_RETURN)
		ok &= add_flag(source, "-DWITH_ON_RETURN");
	if (o->programs & 1u << SOURCE_ON_RESULT)
		ok &= add_flag(source, "-DWITH_ON_RESULT");
	if (o->cookies && o->programs & 1u << SOURCE_ON_CALL)
		ok &= add_flag(source, source->one_process ? "-DWITH_ON_CALL_HERE"
							   : "-DWITH_ON_CALL");
	if (o->cookies && o->programs & 1u << SOURCE_ON_FREE)
		ok &= add_flag(source, source->one_process ? "-DWITH_ON_FREE_HERE"
							   : "-DWITH_ON_FREE");
	return ok;
}

static bool add_flags(struct source *source, const struct source_options *o)
{
	const struct source_sizes *z = &source->sizes;
	bool ok = true;

	/* libbcc only warns about helpers it does not know, and then the load fails. It
	 * requests debug info, which nothing here needs and which takes a quarter of the
	 * time. */
	ok &= add_flag(source, "-Werror=implicit-function-declaration") &&
	      add_flag(source, "-g0");
	/* libbcc optimizes (BPFModule::run_pass_manager() of src/cc/bpf_module.cc) what
	 * clang has optimized before, so leave out clang's passes. Type-based alias
	 * information would be passed through without a use. */
	if (!o->thorough)
		ok &= add_flag(source, "-Xclang") &&
		      add_flag(source, "-disable-llvm-passes") &&
		      add_flag(source, "-fno-strict-aliasing");
	ok &= add_flag(source, "-DMEMTRACE_LINUX_VERSION_CODE=%u", linux_version_code());
	ok &= add_flag(source, "-DMEMTRACE_PAGE_SIZE=%ld", sysconf(_SC_PAGESIZE));
#if defined(__x86_64__)
	ok &= add_flag(source, "-D__TARGET_ARCH_x86");
#endif
	ok &= add_scope_flags(source, o);
	ok &= add_flag(source, "-DSTACK_DEPTH=%u", o->stack_depth);
	ok &= add_flag(source, "-DCPU_SLOTS=%" PRIu32, z->cpu_slots);
	ok &= add_flag(source, "-DLIVE_BUCKETS=%" PRIu32, z->live_buckets);
	ok &= add_flag(source, "-DLIVE_SPILL=%" PRIu32, z->live_spill);
	ok &= add_flag(source, "-DPENDING_SPILL=%" PRIu32, z->pending_spill);
	ok &= add_flag(source, "-DSTACK_BUCKETS=%" PRIu32, z->stack_buckets);
	ok &= add_flag(source, "-DMAX_STACKS=%" PRIu32, z->max_stacks);
	ok &= add_flag(source, "-DSTACK_PCS_BLOCKS=%" PRIu32, z->stack_pcs_blocks);
	if (o->with_time)
		ok &= add_flag(source, "-DWITH_TIME");
	if (o->with_time && o->ticks.is_jiffies)
		ok &= add_flag(source, "-DTICK_JIFFIES");
	if (o->event)
		ok &= add_event_flags(source, o);
	if (o->kernel_points)
		ok &= add_kernel_flags(source, o);
	/* Unwinding begins at the probe itself, not where a call returned to. */
	if (o->told)
		ok &= add_flag(source, "-DWALK_EXACT=1");
	if (o->mappings)
		ok &= add_flag(source, "-DMAPPINGS");
	ok &= add_flag(source, "-DARG_REGISTERS=%#xu", source->registers);
	if (o->cookies)
		ok &= add_flag(source, "-DHAVE_COOKIE");
	if (o->checks)
		ok &= add_flag(source, "-DCHECKS");
	if (o->min_size_bytes)
		ok &= add_flag(source, "-DMIN_SIZE=%" PRIu64 "ull", o->min_size_bytes);
	if (o->max_size_bytes != UINT64_MAX)
		ok &= add_flag(source, "-DMAX_SIZE=%" PRIu64 "ull", o->max_size_bytes);
	if (o->sample_every > 1)
		ok &= add_flag(source, "-DSAMPLE_THRESHOLD=%" PRIu64 "u",
			       ((UINT64_C(1) << 32) + o->sample_every / 2) /
				       o->sample_every);
	/* With traffic each event of a thread needs its thread id and process anyway. */
	source->one_process = o->one_process && o->sessions && !o->traffic;
	if (source->one_process)
		ok &= add_flag(source, "-DONE_PROCESS");
	source->keeps_tids = source->one_process && o->offsets.has_task &&
			     !o->pid_namespace.inode && !o->event && !o->kernel_points;
	if (source->keeps_tids)
		ok &= add_flag(source, "-DKEEPS_TIDS");
	ok &= add_program_flags(source, o) && add_lack_flags(source, o);
	if (o->may_goto)
		ok &= add_flag(source, "-DHAVE_MAY_GOTO");
	if (o->maps_are_there)
		ok &= add_flag(source, "-DMAPS_ARE_THERE");
	if (o->sessions)
		ok &= add_flag(source, "-DHAVE_SESSION");
	if (o->traffic)
		ok &= add_flag(source, "-DWITH_TRAFFIC") &&
		      add_flag(source, "-DTHREAD_SLOTS=%" PRIu32, z->thread_slots) &&
		      add_flag(source, "-DTEMPORARY_EVENTS=%u",
			       o->temporary_threshold + 1) &&
		      add_flag(source, "-DLATE_RING_PAGES=%ld",
			       (long)LATE_RING_BYTES / sysconf(_SC_PAGESIZE));
	if (o->rules)
		ok &= add_flag(source, "-DUNWIND_RULES") &&
		      add_flag(source, "-DRULE_BUCKETS=%" PRIu32, z->rule_buckets) &&
		      add_flag(source, "-DMISS_RING_PAGES=%ld",
			       (long)MISS_RING_BYTES / sysconf(_SC_PAGESIZE));
	/* With --growth the program for mappings has not enough BPF stack for the
	 * tables. */
	if (o->rules && o->may_goto && !(o->event && o->mappings))
		ok &= add_flag(source, "-DUNWIND_TABLES") &&
		      add_flag(source, "-DUNWIND_PAGES=%" PRIu32, z->unwind_pages) &&
		      add_flag(source, "-DLAYOUTS=%" PRIu32, z->layouts);
	if (o->rules && o->no_frame_pointers)
		ok &= add_flag(source, "-DNO_FRAME_POINTERS");
	if (o->rules && o->offsets.has_code_pages)
		ok &= add_flag(source, "-DOFFSET_MM_CODE_PAGES=%u",
			       o->offsets.mm_code_pages);
	if (o->rules && o->offsets.has_stack_ends)
		ok &= add_flag(source, "-DOFFSET_MM_START_STACK=%u",
			       o->offsets.mm_start_stack) &&
		      add_flag(source, "-DOFFSET_TASK_FSBASE=%u", o->offsets.task_fsbase);
	if ((o->rules && o->offsets.has_code_pages) || o->offsets.has_trampoline ||
	    o->offsets.has_parent)
		ok &= add_flag(source, "-DOFFSET_TASK_MM=%u", o->offsets.task_mm);
	if (o->offsets.has_instances)
		ok &= add_flag(source, "-DOFFSET_TASK_UTASK=%u", o->offsets.task_utask) &&
		      add_flag(source, "-DOFFSET_UTASK_INSTANCES=%u",
			       o->offsets.utask_instances) &&
		      add_flag(source, "-DOFFSET_INSTANCE_STACK=%u",
			       o->offsets.instance_stack) &&
		      add_flag(source, "-DOFFSET_INSTANCE_RETURN=%u",
			       o->offsets.instance_return) &&
		      add_flag(source, "-DOFFSET_INSTANCE_NEXT=%u",
			       o->offsets.instance_next);
	if (o->sample_bytes)
		ok &= add_flag(source, "-DSAMPLE_BYTES");
	if (o->offsets.has_trampoline) {
		ok &= add_flag(source, "-DOFFSET_MM_XOL_AREA=%u", o->offsets.mm_xol_area);
		ok &= add_flag(source, "-DOFFSET_XOL_VADDR=%u", o->offsets.xol_vaddr);
	}
	return ok;
}

/* --- the text --------------------------------------------------------------------- */

/* Is this fragment part of the program? */
static bool is_wanted(const char *name, const struct source_options *o)
{
	static const char *const of_allocations[] = {
		"sites.c",   "check.c",  "live.c",   "live_hash.c",
		"pending.c", "sample.c", "account.c"};

	if (!strcmp(name, o->no_atomics ? "live.c" : "live_hash.c") ||
	    !strcmp(name, o->no_atomics ? "stack_table.c" : "stack_hash.c"))
		return false;
	if (!strcmp(name, "kernel.c"))
		return o->kernel_points;
	if (o->kernel_points && (!strncmp(name, "live", 4) || !strcmp(name, "sample.c")))
		return true;
	if (!strcmp(name, "hooks.c") || !strcmp(name, "result.c"))
		return !o->event && !o->told && !o->kernel_points;
	if (!strcmp(name, "usdt.c"))
		return o->told;
	if (!strcmp(name, "mappings.c"))
		return o->mappings;
	if (!strcmp(name, "miss.c") || !strcmp(name, "moves.c"))
		return o->rules;
	if (!strcmp(name, "event.c"))
		return o->event;
	if (!strcmp(name, "growth.c"))
		return o->event && o->mappings;
	for (size_t i = 0; i < sizeof(of_allocations) / sizeof(*of_allocations); i++)
		if (!strcmp(name, of_allocations[i]))
			return !o->event && !o->kernel_points;
	return true;
}

/* Set the values that differ between runs with the same options: kept out of the text, so
 * that these runs share compiled code. */
static void set_values(struct source *source, const struct source_options *o)
{
	source->values.of[ABI_RUN_START] =
		o->ticks.is_jiffies ? o->ticks.start_jiffies : o->ticks.start_ns;
	source->values.of[ABI_RUN_OWN_PID] = (uint64_t)getpid();
	source->values.of[ABI_RUN_KERNEL_PID] =
		o->kernel_points ? (uint64_t)o->kernel->pid : 0;
	source->values.of[ABI_RUN_APART] = o->apart;
}

struct error *source_build(const struct source_options *options,
			   const struct meanings *meanings, struct source **ret)
{
	_cleanup_(source_destroyp) struct source *source = calloc(1, sizeof(*source));
	struct strbuf text = {0};

	if (!source || !(source->flags = calloc(MAX_FLAGS, sizeof(char *))))
		return error_no_memory();
	source->cookies = options->cookies;
	set_values(source, options);
	source_sizes_compute(options, &source->sizes);
	if (!collect_sites(source, meanings) || !add_flags(source, options))
		return error_no_memory();

	strbuf_append(&text, "#include <uapi/linux/ptrace.h>\n");
	if (options->kernel_points)
		source_append_ranges(&text, options);
	for (const struct embedded_file *f = embedded_probes; f->name; f++) {
		if (!is_wanted(f->name, options))
			continue;
		/* #line makes diagnostics name the fragment. */
		strbuf_appendf(&text, "#line 1 \"probes/%s\"\n%s\n", f->name, f->text);
	}
	if (!options->cookies && !options->kernel_points) {
		for (size_t i = 0; i < source->sites.len; i++) {
			uint64_t site = source->sites.data[i];
			/* With mappings the free family has return probes (plan.h). */
			bool is_free = ABI_SITE_EFFECT(site) == ABI_EFFECT_FREE &&
				       !options->mappings;
			char name[PROGRAM_NAME_MAX];

			source_entry_name(i, name);
			strbuf_appendf(&text,
				       "ENTRY(%s, tracee_find, %s_entered, %#" PRIx64
				       "ull)\n",
				       name, is_free ? "free" : "call", site);
		}
	}
	if (options->kernel_points)
		vec_foreach (point, &options->kernel_points->list)
			source_append_point(&text, point);
	source->text = strbuf_steal(&text);
	if (!source->text)
		return error_no_memory();
	*ret = take(source);
	return NULL;
}

void source_destroy(struct source *source)
{
	if (!source)
		return;
	for (size_t i = 0; i < source->flag_count; i++)
		free(source->flags[i]);
	free(source->flags);
	vec_deinit(&source->sites);
	free(source->text);
	free(source);
}
