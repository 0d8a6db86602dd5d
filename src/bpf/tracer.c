// SPDX-License-Identifier: Apache-2.0
#include "bpf/tracer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "abi.h"
#include "bpf/attach.h"
#include "bpf/kernel_offsets.h"
#include "bpf/compiler.h"
#include "bpf/drain.h"
#include "bpf/features.h"
#include "bpf/syscall.h"
#include "bpf/mapping_book.h"
#include "bpf/source.h"
#include "util/cleanup.h"

/* How often mapping events are fetched: the ring holds some 20,000. */
#define POLL_MS      20

#define MAX_PROGRAMS COMPILER_MAX_PROGRAMS

struct tracer {
	const struct proc *proc;
	const struct plan *plan;
	struct tracer_options options;
	struct kernel_features features;
	const char *headers_kind;
	struct source *source;
	struct compiler *compiler;
	struct drain_maps maps;
	struct abi_control *control; /* mapped */
	uint64_t attach_ns;          /* ticks count from here */
	uint64_t enabled_ns;         /* counting began */
	struct attachment attachment;
	int programs[MAX_PROGRAMS];
	size_t program_count;
	struct ring_buffer *ring; /* with mappings only */
	struct mapping_book book;
	uint64_t events_lost;
	uint64_t unsettled; /* snapshots whose journal overflowed */
};

DEFINE_CLEANUP(struct tracer *, tracer_destroy);
DEFINE_CLEANUP(struct headers *, headers_destroy);

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void progress(const struct tracer *t, const char *phase)
{
	if (t->options.progress)
		t->options.progress(t->options.progress_arg, phase);
}

/* --- compile ---------------------------------------------------------------------- */

static struct error *check_kernel(const struct tracer *t)
{
	if (!t->features.atomics)
		return error_create(
			ERROR_UNSUPPORTED,
			"this kernel's BPF has no compare-and-exchange, which the "
			"tables need: Linux 5.12 or newer is required");
	if (t->options.attach == ATTACH_MULTI && !t->features.uprobe_multi)
		return error_create(
			ERROR_UNSUPPORTED,
			"this kernel has no uprobe_multi (Linux 6.6): use --attach "
			"perf");
	return NULL;
}

/* A table that the kernel has no memory for is the user's to make smaller. */
static struct error *explain_compile(struct error *err, const struct tracer *t)
{
	struct error *better;

	if (!err || !err->detail || !strstr(err->detail, "could not open bpf map"))
		return err;
	if (strstr(err->detail, strerror(EMFILE)))
		better =
			error_create(ERROR_COMPILE,
				     "too few file descriptors for the tables: raise the "
				     "limit (ulimit -n)");
	else if (strstr(err->detail, strerror(EPERM)))
		better =
			error_create(ERROR_PERMISSION,
				     "the kernel does not allow the tables: CAP_BPF is "
				     "needed, and before Linux 5.11 a raised memory lock "
				     "limit (ulimit -l unlimited)");
	else
		better = error_create(ERROR_COMPILE,
				      "the kernel refused the tables for %" PRIu64
				      " blocks and %" PRIu64
				      " stacks: lower --max-allocations or --max-stacks",
				      t->options.max_allocations, t->options.max_stacks);
	better = error_with_detail(better, err->detail);
	error_destroy(err);
	return better;
}

static struct error *compile(struct tracer *t)
{
	_cleanup_(headers_destroyp) struct headers *headers = NULL;
	struct source_options so = {
		.pid = t->proc->pid,
		.attach_ns = t->attach_ns,
		.stack_depth = t->options.stack_depth,
		.max_allocations = t->options.max_allocations,
		.max_stacks = t->options.max_stacks,
		.sample_every = t->options.sample_every,
		.min_size_bytes = t->options.min_size_bytes,
		.max_size_bytes = t->options.max_size_bytes,
		.mappings = t->options.mappings,
		.with_time = t->options.with_time,
		.cookies = t->features.cookies,
	};
	struct error *err;

	pid_namespace_read(&so.pid_namespace);
	kernel_offsets_read(&so.offsets);
	err = source_build(&so, t->plan, &t->source);
	if (!err)
		err = headers_create(t->options.headers, t->options.headers_dir,
				     &so.offsets, &headers);
	if (!err)
		err = compiler_start(t->source, headers, &t->compiler);
	if (!err) {
		t->headers_kind = headers->kind;
		err = explain_compile(compiler_wait(t->compiler), t);
	}
	return err;
}

static struct error *open_maps(struct tracer *t)
{
	const struct {
		const char *name;
		int *fd;
	} wanted[] = {
		{"control", &t->maps.control},
		{"counters", &t->maps.counters},
		{"live", &t->maps.live},
		{"live_spill", &t->maps.live_spill},
		{"journal", &t->maps.journal},
		{"pending", &t->maps.pending},
		{"pending_spill", &t->maps.pending_spill},
		{"stacks", &t->maps.stacks},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		*wanted[i].fd = compiler_map(t->compiler, wanted[i].name);
		if (*wanted[i].fd < 0)
			return error_create(ERROR_COMPILE,
					    "the compiled probes have no map %s",
					    wanted[i].name);
	}
	t->control = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			  MAP_SHARED, t->maps.control, 0);
	if (t->control == MAP_FAILED) {
		t->control = NULL;
		return error_errno(ERROR_IO, errno, "cannot map the control record");
	}
	return NULL;
}

/* --- attach ----------------------------------------------------------------------- */

/* A plain free needs no return probe, and so a smaller program. */
static bool is_plain_free(const struct plan_site *site)
{
	return site->function->effect == EFFECT_FREE && !site->wants_return;
}

/* The return probe replaces the word at the stack pointer: see plan/site.c. Once more,
 * since anything else would crash the target. */
static bool can_return(const struct plan_site *site)
{
	return site->return_offset != site->entry_offset || site->sp_delta == 0;
}

/* The names of the programs: returns, then plain frees and other entries, or without
 * cookies each entry. */
static struct error *load_programs(struct tracer *t, const struct attach_ops *ops)
{
	char own[MAX_PROGRAMS][PROGRAM_NAME_MAX];
	const char *names[MAX_PROGRAMS];
	size_t entries = t->features.cookies ? 2 : t->source->sites.len, count = 0;

	if (entries + 1 > MAX_PROGRAMS)
		return error_create(ERROR_UNSUPPORTED, "%zu kinds of probes are too many",
				    entries);
	names[count++] = "on_return";
	if (t->features.cookies) {
		names[count++] = "on_free";
		names[count++] = "on_call";
	}
	for (size_t i = 0; !t->features.cookies && i < entries; i++) {
		source_entry_name(i, own[i]);
		names[count++] = own[i];
	}

	struct error *err =
		compiler_load(t->compiler, names, count, ops->attach_type, t->programs);

	if (!err)
		t->program_count = count;
	return err;
}

/* The probes of one site, one or two of them; how many. */
static size_t site_probes(const struct tracer *t, const struct plan_object *object,
			  const struct plan_site *site, struct attach_probe ret[2])
{
	uint64_t meaning = source_site(site);
	size_t entry = t->features.cookies ? !is_plain_free(site)
					   : source_site_index(t->source, meaning);

	ret[0] = (struct attach_probe){
		.path = object->allocator.open_path,
		.function = site->function->name,
		.offset = site->entry_offset,
		.program = t->programs[1 + entry],
		.cookie = meaning,
	};
	if (!site->wants_return)
		return 1;
	ret[1] = ret[0];
	ret[1].offset = site->return_offset;
	ret[1].program = t->programs[0];
	ret[1].cookie = 0;
	ret[1].is_return = true;
	return 2;
}

static struct error *attach_with(struct tracer *t, const struct attach_ops *ops)
{
	size_t count = 0;
	_cleanup_(freep) struct attach_probe *probes =
		calloc(plan_site_count(t->plan) * 2 + 1, sizeof(*probes));
	struct error *err;

	if (!probes)
		return error_no_memory();
	err = load_programs(t, ops);
	if (err)
		return err;
	vec_foreach (object, &t->plan->objects) {
		vec_foreach (site, &object->sites) {
			if (site->wants_return && !can_return(site))
				return error_create(ERROR_UNSUPPORTED,
						    "no return probe is possible in %s",
						    site->function->name);
			count += site_probes(t, object, site, probes + count);
		}
	}
	t->attachment.ops = ops;
	return ops->attach(&t->attachment, t->proc->pid, probes, count,
			   t->features.cookies);
}

static void close_programs(struct tracer *t)
{
	while (t->program_count > 0)
		close(t->programs[--t->program_count]);
}

static struct error *attach(struct tracer *t)
{
	if (t->options.attach == ATTACH_PERF || !t->features.uprobe_multi)
		return attach_with(t, &attach_perf_event);

	struct error *err = attach_with(t, &attach_uprobe_multi);

	if (!err || t->options.attach == ATTACH_MULTI || err->code != ERROR_UNSUPPORTED)
		return err;
	/* The kernel has it and yet will not: the old way may work. */
	error_destroy(err);
	close_programs(t);
	return attach_with(t, &attach_perf_event);
}

/* --- mappings --------------------------------------------------------------------- */

static int on_event(void *arg, void *data, size_t size)
{
	struct tracer *t = arg;

	if (size < sizeof(struct abi_event) || !mapping_book_apply(&t->book, data))
		t->events_lost++;
	return 0;
}

static struct error *open_ring(struct tracer *t)
{
	int fd = compiler_map(t->compiler, "events");

	mapping_book_init(&t->book, (uint64_t)sysconf(_SC_PAGESIZE));
	t->ring = fd < 0 ? NULL : ring_buffer__new(fd, on_event, t, NULL);
	if (!t->ring)
		return error_errno(ERROR_IO, errno,
				   "cannot open the ring of mapping events");
	return NULL;
}

void tracer_poll(struct tracer *t)
{
	if (t->ring)
		ring_buffer__consume(t->ring);
}

int tracer_poll_ms(const struct tracer *t)
{
	return t->ring ? POLL_MS : -1;
}

static bool add_mappings(const struct tracer *t, struct snapshot *snap)
{
	vec_foreach (piece, &t->book.pieces) {
		struct snapshot_block block = {
			.address = piece->start,
			.size_bytes = piece->end - piece->start,
			.time_ns =
				drain_tick_ns(t->attach_ns, snap->time_ns, piece->tick),
			.stack = piece->stack < snap->stacks.len ? piece->stack
								 : SNAPSHOT_NO_STACK,
			.tid = piece->tid,
		};

		if (!vec_push(&snap->blocks[BLOCK_MAPPING], block))
			return false;
	}
	snap->totals[BLOCK_MAPPING] = t->book.totals;
	return true;
}

/* Where the code of the allocators is: one range for each file. */
static void tell_allocators(struct tracer *t)
{
	size_t count = 0;

	vec_foreach (object, &t->plan->objects) {
		const struct abi_range range = {object->allocator.text_start,
						object->allocator.text_end};
		size_t i = 0;

		while (i < count && t->control->allocators[i].start != range.start)
			i++;
		if (i == count && count < ABI_MAX_ALLOCATORS)
			t->control->allocators[count++] = range;
	}
}

/* --- all together ----------------------------------------------------------------- */

struct error *tracer_create(const struct tracer_options *options, const struct proc *proc,
			    const struct plan *plan, struct tracer **ret)
{
	_cleanup_(tracer_destroyp) struct tracer *t = calloc(1, sizeof(*t));
	struct error *err;

	if (!t)
		return error_no_memory();
	t->proc = proc;
	t->plan = plan;
	t->options = *options;
	t->attach_ns = now_ns();
	progress(t, "compiling the probes");
	kernel_features_detect(&t->features);
	err = check_kernel(t);
	if (!err)
		err = compile(t);
	if (!err)
		err = open_maps(t);
	if (!err && t->options.mappings)
		err = open_ring(t);
	if (err)
		return err;
	progress(t, "attaching");
	err = attach(t);
	if (err) {
		if (proc_has_exited(proc)) {
			error_destroy(err);
			err = error_create(ERROR_GONE,
					   "pid %d exited while memtrace attached",
					   proc->pid);
		}
		return err;
	}
	compiler_release_child(t->compiler);
	tell_allocators(t);
	t->enabled_ns = now_ns();
	__atomic_store_n(&t->control->enabled, 1, __ATOMIC_SEQ_CST);
	*ret = take(t);
	return NULL;
}

void tracer_freeze(struct tracer *t)
{
	__atomic_store_n(&t->control->enabled, 0, __ATOMIC_SEQ_CST);
}

/* Hits that the kernel skipped because the program was running already. */
static uint64_t missed_hits(const struct tracer *t)
{
	uint64_t missed = 0;

	for (size_t i = 0; i < t->program_count; i++) {
		struct bpf_prog_info info = {0};
		union bpf_attr attr;

		memset(&attr, 0, sizeof(attr));
		attr.info.bpf_fd = (uint32_t)t->programs[i];
		attr.info.info_len = sizeof(info);
		attr.info.info = (uint64_t)(uintptr_t)&info;
		if (sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0)
			missed += info.recursion_misses;
	}
	return missed;
}

struct error *tracer_snapshot(struct tracer *t, struct snapshot *snap)
{
	bool settled = true;
	struct error *err;

	tracer_poll(t);
	snap->time_ns = now_ns();
	snap->attached_ns = t->enabled_ns;
	snap->mappings_traced = t->options.mappings;
	snap->sample_every = t->options.sample_every;
	snap->min_size_bytes = t->options.min_size_bytes;
	snap->max_size_bytes = t->options.max_size_bytes;
	snap->max_allocations = t->options.max_allocations;
	snap->max_stacks = t->options.max_stacks;
	err = drain_blocks(&t->maps, &t->source->sizes, t->control, t->attach_ns, snap,
			   &settled);
	t->unsettled += !settled;
	if (!err)
		err = drain_counters(&t->maps, &t->source->sizes, t->proc, snap);
	if (!err && t->options.mappings && !add_mappings(t, snap))
		err = error_no_memory();
	snap->losses[LOSS_EVENTS_LOST] += t->events_lost;
	snap->losses[LOSS_SNAPSHOTS_UNSETTLED] += t->unsettled;
	snap->losses[LOSS_PROBES_MISSED] += missed_hits(t);
	return err;
}

const char *tracer_attach_name(const struct tracer *t)
{
	return t->attachment.ops->name;
}

const char *tracer_headers_kind(const struct tracer *t)
{
	return t->headers_kind;
}

void tracer_destroy(struct tracer *t)
{
	if (!t)
		return;
	if (t->control)
		tracer_freeze(t);
	if (t->attachment.ops)
		t->attachment.ops->detach(&t->attachment);
	close_programs(t);
	ring_buffer__free(t->ring);
	mapping_book_deinit(&t->book);
	if (t->control)
		munmap(t->control, (size_t)sysconf(_SC_PAGESIZE));
	compiler_destroy(t->compiler);
	source_destroy(t->source);
	free(t);
}
