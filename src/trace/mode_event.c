// SPDX-License-Identifier: Apache-2.0
/* Counts stacks at an event (probes/event.c). */
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/mapped.h"
#include "bpf/offsets_reader.h"
#include "trace/mode_event.h"
#include "util/cleanup.h"

/* --- attach ----------------------------------------------------------------------- */

struct error *mode_event_begin_load(struct tracer *t)
{
	/* If the event is not in a file, this is for the probes of changes of code. */
	t->attachment.ops = tracer_preferred_ops(t);
	return NULL;
}

static struct error *load_program(struct tracer *t, int *ret)
{
	enum event_kind event = t->run.event->kind;
	bool is_in_file = event_is_in_file(event);
	const struct program_kind kind = {
		is_in_file ? BPF_PROG_TYPE_KPROBE : kernel_events_program_type(event),
		is_in_file ? t->attachment.ops->attach_type : 0};

	return tracer_load_own(t, "on_event", kind, ret);
}

struct error *mode_event_load(struct tracer *t, unsigned beside)
{
	int program;

	(void)beside;
	return load_program(t, &program);
}

/* So many of the first elements stay mapped, because mapping them takes longer than
 * reading them. It is a whole number of pages of any size up to 64 KiB. */
#define FEW_COUNTS 8192

static uint32_t few_counts(uint32_t count)
{
	return count < FEW_COUNTS ? count : FEW_COUNTS;
}

static size_t few_bytes(const struct tracer *t)
{
	return few_counts(t->source->sizes.max_stacks + 1) * sizeof(uint64_t);
}

struct error *mode_event_open_tables(struct tracer *t)
{
	struct event_state *state = t->mode_state;

	state->counts = compiler_map(t->compiler, "event_counts");
	if (state->counts < 0)
		return compiler_lacks_map("event_counts");
	return mapped_table(state->counts, few_bytes(t), (void **)&state->few);
}

/* One event of the kernel serves all processes: attach it once. */
struct error *mode_event_attach_in_kernel(struct tracer *t)
{
	struct event_state *state = t->mode_state;
	struct error *err;
	int program;

	if (state->in_kernel.fds.len)
		return NULL;
	err = load_program(t, &program);
	return err ? err : kernel_events_attach(&state->in_kernel, t->run.event, program);
}

struct addition {
	VEC(struct attach_probe) probes;
	VEC(struct attached_site) sites;
};

static void addition_deinit(struct addition *a)
{
	vec_deinit(&a->probes);
	vec_deinit(&a->sites);
}

static struct error *collect(struct tracer *t, const struct plan *plan, int pid,
			     int program, struct addition *a)
{
	vec_foreach (place, &plan->places.list) {
		struct attached_site id = {.pid = pid, .offset = place->offset};
		const struct attach_probe probe = {
			.path = target_file_link(place->file),
			.module = target_file_name(place->file),
			.is_private = place->is_private,
			.before = place->before,
			.function = plan->event->name,
			.offset = place->offset,
			.ref_ctr = place->ref_ctr,
			.program = program,
			.is_return = plan->event->kind == EVENT_URETPROBE,
		};
		/* If the file is gone by now, the kernel refuses the probe. */
		struct error *err = file_numbers_get(&t->files, probe.path, &id.file);

		if (err)
			return err;
		if (tracer_is_attached(t, &id))
			continue;
		if (!vec_push(&a->probes, probe) || !vec_push(&a->sites, id))
			return error_no_memory();
	}
	return NULL;
}

static struct error *attach(struct tracer *t, const struct plan *plan, int pid,
			    size_t *refused)
{
	_cleanup_(addition_deinit) struct addition a = {0};
	struct error *err;
	int program;

	*refused = 0;
	if (!event_is_in_file(plan->event->kind))
		return mode_event_attach_in_kernel(t);
	err = load_program(t, &program);
	if (!err)
		err = collect(t, plan, pid, program, &a);
	if (!err && a.probes.len)
		err = tracer_attach_probes(t, pid, a.probes.data, a.probes.len);
	if (err)
		return err;
	vec_foreach (site, &a.sites)
		if (!vec_push(&t->sites, *site))
			return error_no_memory();
	return NULL;
}

/* --- snapshots -------------------------------------------------------------------- */

static bool add_counts(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	struct hit_counts *hits = arg;
	const uint64_t *from = elements;

	(void)first;
	if (!vec_reserve(&hits->list, hits->list.len + count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		hits->list.data[hits->list.len++] =
			__atomic_load_n(&from[i], __ATOMIC_RELAXED);
	return true;
}

/* Read the hits that the probes have counted so far. A stack gets its number before its
 * first hit, so elements beyond the numbers in use had no hit when the reading began. */
static struct error *read_table(struct tracer *t, struct hit_counts *ret)
{
	const struct event_state *state = t->mode_state;
	uint32_t used = stack_tables_used(&t->stacks) + 1;
	uint32_t few = few_counts(used);

	if (!add_counts(state->few, 0, few, ret))
		return error_no_memory();
	return mapped_walk_part(state->counts, few, used - few, sizeof(uint64_t),
				add_counts, ret);
}

/* Read all hits so far. */
static struct error *read_hits(struct tracer *t, struct hit_counts *ret)
{
	struct error *err = read_table(t, ret);

	if (err)
		return err;
	tracer_catch_up(t);
	return !t->handler || miss_handler_add_hits(t->handler, ret) ? NULL
								     : error_no_memory();
}

/* The hits of an element that were removed together with the process of its stack. */
static uint64_t base_of(const struct event_state *state, size_t at)
{
	return at < state->bases.list.len ? state->bases.list.data[at] : 0;
}

static struct error *add_hits(const struct tracer *t, const struct hit_counts *hits,
			      struct snapshot *snap)
{
	const struct event_state *state = t->mode_state;
	uint64_t *sum = &snap->totals[BLOCK_EVENT].allocations;

	*sum = snap->totals[BLOCK_EVENT].gone = state->gone;
	for (size_t i = 0; i < hits->list.len; i++) {
		const struct snapshot_stack *stack =
			i && i <= snap->stacks.len ? &snap->stacks.data[i - 1] : NULL;
		struct snapshot_event event = {
			.count = (hits->list.data[i] - base_of(state, i)) *
				 event_period(t->run.event),
			.stack = stack ? (uint32_t)i - 1 : SNAPSHOT_NO_STACK,
			.process = stack ? stack->process : SNAPSHOT_NO_PROCESS,
		};

		if (stack && stack->allocator == ABI_MAPPING_STACKS)
			continue;
		*sum += event.count;
		/* Skip hits of a process that has ended and was already reported. */
		if (!event.count || (stack && event.process == SNAPSHOT_NO_PROCESS))
			continue;
		if (!vec_push(&snap->events, event))
			return error_no_memory();
	}
	return NULL;
}

struct error *mode_event_drain(struct tracer *t, const struct drain_slots *slots,
			       struct snapshot *snap, bool *settled)
{
	const struct source_sizes *sizes = &t->source->sizes;
	_cleanup_(hit_counts_deinit) struct hit_counts hits = {0};
	struct error *err = drain_counters(&t->maps, sizes, slots, NULL, snap);

	*settled = true;
	snap->event_period = event_period(t->run.event);
	snap->event = err ? NULL : strdup(t->run.event->text);
	if (!err)
		err = snap->event ? read_hits(t, &hits) : error_no_memory();
	if (err)
		return err;

	/* Read the stacks last: then they include each stack that was counted. */
	err = drain_stacks(&t->maps, sizes, slots, stack_tables_count(&t->stacks), snap);
	*settled = stack_tables_is_whole(&t->stacks);
	return err ? err : add_hits(t, &hits, snap);
}

/* --- processes that go ------------------------------------------------------------ */

struct removal {
	struct tracer *t;
	const bool *gone;
	const struct hit_counts *hits;
};

/* With an event each process is a family of its own. */
static bool is_gone(const struct removal *f, uint64_t family)
{
	uint32_t slot = ABI_FAMILY_SLOT(family);

	return slot < f->t->source->sizes.process_slots && f->gone[slot] &&
	       tracer_family(f->t, slot) == family;
}

static bool remove_stacks(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct removal *f = arg;
	struct event_state *state = f->t->mode_state;
	const struct abi_stack_head *heads = elements;

	for (uint32_t i = 0; i < count; i++) {
		size_t at = (size_t)first + i + 1;
		const struct abi_stack_head head = heads[i];

		/* Stacks that have come since the hits were read are of others. */
		if (at >= f->hits->list.len)
			break;
		if (!head.check || head.allocator == ABI_MAPPING_STACKS ||
		    !is_gone(f, head.family))
			continue;
		state->gone += (f->hits->list.data[at] - state->bases.list.data[at]) *
			       event_period(f->t->run.event);
		state->bases.list.data[at] = f->hits->list.data[at];
	}
	return true;
}

static struct error *remove_hits(struct tracer *t, const bool gone[])
{
	_cleanup_(hit_counts_deinit) struct hit_counts hits = {0};
	struct event_state *state = t->mode_state;
	struct error *err = read_hits(t, &hits);
	const struct removal f = {t, gone, &hits};

	if (err)
		return err;
	if (!hit_counts_reach(&state->bases, hits.list.len))
		return error_no_memory();
	return part_table_walk(&t->stacks.heads, stack_tables_count(&t->stacks),
			       remove_stacks, (void *)&f);
}

struct error *mode_event_drop_slots(struct tracer *t, const bool gone[], bool held[])
{
	/* Most have had hits. */
	memcpy(held, gone, t->source->sizes.process_slots * sizeof(*held));
	return remove_hits(t, gone);
}

void mode_event_close(struct tracer *t)
{
	struct event_state *state = t->mode_state;

	kernel_events_detach(&state->in_kernel);
	if (state->few)
		mapped_close(state->few, few_bytes(t));
	hit_counts_deinit(&state->bases);
}

/* --- the mode --------------------------------------------------------------------- */

/* Most kernel frames in a stack of `depth` frames. */
#define KERNEL_FRAMES_MAX 31

bool mode_event_is_exact(const struct source_run *run)
{
	return run->event->kind != EVENT_URETPROBE;
}

bool mode_event_add_flags(struct source_flags *flags, const struct source_run *run)
{
	unsigned kernel_frames = run->config->kernel_stacks ? run->stack_depth / 2 : 0;
	/* Unwind information is also right at the first instruction; frame pointers are
	 * not. */
	bool is_first =
		run->event->kind == EVENT_UPROBE && !run->event->offset && !run->rules;

	if (kernel_frames > KERNEL_FRAMES_MAX)
		kernel_frames = KERNEL_FRAMES_MAX;
	return (!is_first || source_flags_add(flags, "-DWALK_FIRST=1")) &&
	       source_flags_add(flags, "-DKERNEL_FRAMES=%u", kernel_frames) &&
	       source_flags_add(flags, "-DWALK_DEPTH=%u",
				run->stack_depth - kernel_frames);
}

struct error *mode_event_look(struct tracer *t)
{
	const struct event_spec *event = t->run.event;
	struct kernel_offsets offsets;

	if (event_is_in_file(event->kind))
		return NULL;
	if (t->features.cookies)
		return kernel_events_check(event);
	/* Without the cookies of 5.15 there is no bpf_task_pt_regs() either. */
	offsets_reader_get(t->setup.offsets, &t->cache, &offsets);
	if (!offsets.has_stack || !offsets.pt_regs_as_embedded)
		return error_create(
			ERROR_UNSUPPORTED,
			"counting %s needs Linux 5.15, or type information "
			"(CONFIG_DEBUG_INFO_BTF), to find the registers of user space",
			event->text);
	return kernel_events_check(event);
}

bool mode_event_is_in_kernel(const struct tracer_setup *setup)
{
	return !event_is_in_file(setup->event->kind);
}

/* The plan has already looked for events in files. */
struct error *mode_event_dry_run(const struct tracer_setup *setup, FILE *out)
{
	(void)out;
	return mode_event_is_in_kernel(setup) ? kernel_events_check(setup->event) : NULL;
}

const struct trace_mode trace_mode_event = {
	.does = "counts an event, not allocations",
	.class = BLOCK_EVENT,
	.source =
		{
			.able = MODE_HITS | MODE_PROCESSES | MODE_FORKS,
			.preallocates = true,
			.fragments = {"event.c"},
			.is_exact = mode_event_is_exact,
			.add_flags = mode_event_add_flags,
		},
	.state_bytes = sizeof(struct event_state),
	.look = mode_event_look,
	.open_tables = mode_event_open_tables,
	.begin_load = mode_event_begin_load,
	.load = mode_event_load,
	.attach_once = tracer_attach_tracepoints,
	.attach = attach,
	.drain = mode_event_drain,
	.drop_slots = mode_event_drop_slots,
	.close = mode_event_close,
	.is_in_kernel = mode_event_is_in_kernel,
	.dry_run = mode_event_dry_run,
};
