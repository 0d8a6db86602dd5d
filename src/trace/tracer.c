// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/mapped.h"
#include "bpf/syscall.h"
#include "trace/table_limits.h"
#include "trace/tracer_state.h"
#include "snapshot/sampling.h"
#include "util/cleanup.h"
#include "util/priority.h"
#include "util/clock.h"
#include "util/hashmap.h"
#include "util/file_limit.h"
#include "util/phases.h"

DEFINE_CLEANUP(struct tracer *, tracer_destroy);

static void progress(const struct tracer *t, const char *phase)
{
	if (t->setup.progress)
		t->setup.progress(t->setup.progress_arg, phase);
}

/* --- maps -------------------------------------------------------------------------- */

static size_t processes_bytes(const struct tracer *t)
{
	return t->source->sizes.process_slots * sizeof(struct abi_process);
}

static size_t counters_bytes(const struct tracer *t)
{
	return t->source->sizes.cpu_slots * sizeof(struct abi_counters);
}

static size_t sites_at_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE) * sizeof(struct abi_site_at);
}

/* Open the tables that grow. `live_part` is -1 if the run has no table of live blocks. */
static struct error *open_growing(struct tracer *t, const struct stack_maps *stacks,
				  int live_part, int journal_part)
{
	const struct source_sizes *sizes = &t->source->sizes;
	struct error *err = NULL;

	stack_tables_open(&t->stacks, stacks, sizes, t->control, t->by_hash);
	t->stacks.hash_seed = t->run.stack_seed;
	t->maps.stacks = &t->stacks;
	if (live_part >= 0) {
		t->maps.live = &t->live;
		t->maps.journal = &t->journal;
		err = live_table_open(t->live.outer, live_part, sizes, t->control,
				      &t->live);
		if (!err)
			err = journal_table_open(&t->journal, t->journal.outer,
						 journal_part, sizes->journal_entries);
	}
	return err ? err
		   : table_grower_create(t->maps.live, &t->stacks, t->maps.journal,
					 compiler_map(t->compiler, "room_news"),
					 &t->grower);
}

static struct error *open_maps(struct tracer *t)
{
	int counters, sites_at, live_part, journal_part;
	struct stack_maps stacks;
	const struct {
		const char *name;
		int *fd;
		unsigned able; /* only modes with these abilities */
		bool is_array; /* not if tables are hashes */
	} wanted[] = {
		{"control", &t->maps.control, 0, false},
		{"processes", &t->maps.processes, 0, false},
		{"claims", &t->claims, 0, false},
		{"counters", &counters, 0, false},
		{"exec_awaited", &t->exec_awaited, tracer_awaits(t) ? 0 : ~0u, false},
		{"sites_at", &sites_at, MODE_CALLS, false},
		{"live", &t->live.outer, MODE_BLOCKS, true},
		{"live_part", &live_part, MODE_BLOCKS, true},
		{"live_spill", &t->maps.live_spill, MODE_BLOCKS, false},
		{"journal", t->by_hash ? &t->maps.journal_ring : &t->journal.outer,
		 MODE_BLOCKS, false},
		{"journal_part", &journal_part, MODE_BLOCKS, true},
		{"pending", &t->maps.pending, MODE_CALLS, true},
		{"pending_spill", &t->maps.pending_spill, MODE_CALLS, false},
		{"stacks", &stacks.stacks, 0, false},
		{"stacks_part", &stacks.stacks_part, 0, false},
		{"stack_pcs", &stacks.stack_pcs, 0, false},
		{"stack_pcs_part", &stacks.stack_pcs_part, 0, false},
		{"stack_index", &stacks.stack_index, 0, true},
		{"stack_index_part", &stacks.stack_index_part, 0, true},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		if (!tracer_can(t, wanted[i].able) ||
		    (wanted[i].is_array && t->by_hash)) {
			*wanted[i].fd = -1;
			continue;
		}
		*wanted[i].fd = compiler_map(t->compiler, wanted[i].name);
		if (*wanted[i].fd < 0)
			return compiler_lacks_map(wanted[i].name);
	}
	t->control = mapped_open(t->maps.control, sizeof(*t->control));
	t->processes = mapped_open(t->maps.processes, processes_bytes(t));
	t->maps.counters = mapped_open(counters, counters_bytes(t));
	if (sites_at >= 0)
		t->sites_at = mapped_open(sites_at, sites_at_bytes());
	if (!t->control || !t->processes || !t->maps.counters ||
	    (sites_at >= 0 && !t->sites_at))
		return error_errno(ERROR_IO, errno,
				   "cannot map the BPF map that controls the probes");
	return open_growing(t, &stacks, live_part, journal_part);
}

/* --- all together ----------------------------------------------------------------- */

/* Collect the meanings of probes on the sites of these plans. */
static struct error *collect_meanings(struct tracer *t, const struct plan *const plans[],
				      size_t count, struct meanings *ret)
{
	struct error *err = NULL;

	for (size_t i = 0; i < count && !err; i++)
		err = tracer_number_allocators(t, plans[i], ret);
	return err;
}

static struct error *fill_samples(struct tracer *t)
{
	size_t size = ABI_SAMPLE_CLASSES * sizeof(struct abi_sample);
	int fd = compiler_map(t->compiler, "samples");
	struct abi_sample *samples = fd < 0 ? NULL : mapped_open(fd, size);

	if (!samples)
		return error_create(ERROR_IO, "cannot map the table of samples");
	for (size_t i = 0; i < ABI_SAMPLE_CLASSES; i++) {
		uint32_t threshold =
			sampling_threshold(t->config->sampling.mean_bytes, i);
		double weight = sampling_threshold_weight(threshold);

		samples[i].threshold = threshold;
		samples[i].weight =
			(uint64_t)round(ldexp(weight, ABI_SAMPLE_WEIGHT_SHIFT));
	}
	mapped_close(samples, size);
	return NULL;
}

static void open_cache(struct tracer *t)
{
	struct error *err;

	if (t->config->no_cache)
		return;
	err = cache_open(&t->cache);
	if (err)
		t->no_cache = strdup(err->message);
	error_destroy(err);
}

/* Descriptors that kernel_features_detect() opens at the same time. */
#define FEATURE_FILES 4

/* So that tracer_destroy() may be called. */
static struct error *init(struct tracer *t, const struct tracer_setup *setup)
{
	for (size_t i = 0; i < RAW_TRACEPOINTS; i++)
		t->raw_programs[i] = t->raw_links[i] = -1;
	t->rings.set = t->exec_awaited = t->claims = t->cache.dir = -1;
	for (size_t i = 0; i < MAX_PROGRAMS; i++)
		t->programs[i] = -1;
	fence_open(&t->fence);
	t->maps.fence = &t->fence;
	t->setup = *setup;
	t->config = setup->config;
	t->mode = setup->mode;
	t->maps.class = t->mode->class;
	t->attachment.others = setup->others;
	if (t->mode->state_bytes)
		t->mode_state = calloc(1, t->mode->state_bytes);
	return t->mode->state_bytes && !t->mode_state ? error_no_memory() : NULL;
}

/* What is counted, and what this allows of the configuration. */
static void begin_run(struct tracer *t)
{
	const struct trace_config *config = t->config;
	struct source_run *run = &t->run;
	struct table_limits limits;

	run->config = config;
	run->mode = &t->mode->source;
	run->scope = tracer_can(t, MODE_PROCESSES) ? t->setup.scope : SCOPE_PROCESSES;
	run->execs = t->setup.execs;
	run->one_process = t->setup.one_process;
	run->event = t->setup.event;
	run->kernel = t->setup.kernel;
	run->mappings = run->mode->traces_mappings ||
			(config->mappings && tracer_can(t, MODE_FUNCTIONS));
	run->with_time = !config->combined_only || config->traffic;
	run->traffic = config->traffic && tracer_can(t, MODE_TRAFFIC);
	run->peak = config->peak && run->traffic && !t->by_hash;
	run->rules = config->unwind != UNWIND_CHOICE_FP && tracer_can(t, MODE_PROCESSES);
	run->stack_depth = trace_config_depth(config, run->rules);
	limits = table_limits_choose(config, t->by_hash,
				     run->traffic || tracer_can(t, MODE_HITS));
	run->max_allocations = limits.blocks;
	run->max_stacks = limits.stacks;
}

/* Find out what the kernel has, and what the mode needs of it. */
static struct error *look_at_kernel(struct tracer *t)
{
	struct error *err = file_limit_has_room(FEATURE_FILES);

	/* If a test cannot open a descriptor, a feature would seem to be missing. */
	if (err)
		return err;
	phases_begin(t->setup.phases, "kernel features", clock_now_ns());
	kernel_features_detect(&t->features);
	t->by_hash = t->config->tables == TABLES_HASHES || !t->features.atomics;
	begin_run(t);
	err = tracer_check_kernel(t);
	return err || !t->mode->look ? err : t->mode->look(t);
}

/* Open the tables that this run has, and start what fills or reads them. */
static struct error *open_tables(struct tracer *t)
{
	struct error *err = open_maps(t);

	if (!err && tracer_has_checks(t))
		err = tracer_open_checks(t);
	if (!err && t->mode->open_tables)
		err = t->mode->open_tables(t);
	if (!err && sampling_is_by_size(&t->config->sampling) &&
	    tracer_can(t, MODE_TRAFFIC))
		err = fill_samples(t);
	if (!err && t->run.mappings)
		err = tracer_open_ring(t);
	if (!err && tracer_can(t, MODE_PROCESSES))
		tracer_open_news(t);
	if (!err && t->run.rules)
		err = tracer_open_miss_handler(t);
	if (!err && t->run.traffic)
		err = tracer_open_traffic(t);
	if (!err && t->run.traffic && (t->handler || t->run.peak))
		err = tracer_open_late(t);
	if (!err)
		tracer_watch_rings(t);
	return err;
}

struct error *tracer_create(const struct tracer_setup *setup,
			    const struct plan *const plans[], size_t count,
			    struct tracer **ret)
{
	_cleanup_(tracer_destroyp) struct tracer *t = calloc(1, sizeof(*t));
	_cleanup_(priority_restore) struct priority priority = {0};
	struct meanings meanings = {0};
	struct error *err;

	if (!t)
		return error_no_memory();
	err = init(t, setup);
	if (err)
		return err;
	priority_raise(&priority);
	/* Errors are returned and printed in one place, not by libbpf. */
	libbpf_set_print(NULL);
	open_cache(t);
	tick_clock_begin(&t->ticks);
	t->run.stack_seed = hashmap_seed();
	progress(t, "compiling the probes");
	err = look_at_kernel(t);
	if (!err)
		err = collect_meanings(t, plans, count, &meanings);
	t->compiled = tracer_wanted_programs(t, plans, count);
	/* Without a plan it is not known which registers its probes will read. */
	t->run.all_registers = !count;
	/* Otherwise the verifier takes seconds to reject on_return (LLVM 14). */
	t->run.thorough = !tracer_uses_may_goto(t, tracer_preferred_ops(t)) &&
			  t->run.traffic && sampling_is_by_size(&t->config->sampling) &&
			  t->compiled & 1u << SOURCE_ON_RETURN;
	if (!err)
		err = tracer_compile(t, &meanings);
	vec_deinit(&meanings.list);
	phases_begin(setup->phases, "tables", clock_now_ns());
	if (!err)
		err = open_tables(t);
	if (!err)
		err = t->mode->attach_once(t);
	if (err)
		return err;
	progress(t, "attaching");
	phases_begin(setup->phases, "attaching", clock_now_ns());
	/* They live as long as tracer_create() runs. */
	t->setup.phases = NULL;
	t->setup.compilers = NULL;
	t->setup.offsets = NULL;
	*ret = take(t);
	return NULL;
}

struct error *tracer_start(struct tracer *t)
{
	struct error *err = table_grower_wait(t->grower);

	if (!err && t->handler)
		err = miss_handler_wait(t->handler);
	if (err)
		return err;
	t->enabled_ns = clock_now_ns();
	__atomic_store_n(&t->control->enabled, 1, __ATOMIC_SEQ_CST);
	tracer_load_rest(t);
	return NULL;
}

void tracer_freeze(struct tracer *t)
{
	__atomic_store_n(&t->control->enabled, 0, __ATOMIC_SEQ_CST);
	/* Programs that started before still count, and one may be preempted. If the wait
	 * fails, blocks and traffic may differ by what such programs count. */
	if (t->run.traffic)
		(void)fence_wait(&t->fence);
}

bool tracer_cut_off(struct tracer *t)
{
	t->is_cut_off = true;
	checks_cut_off(t->checks);
	fence_cut_off(&t->fence);
	return !t->handler || miss_handler_cut_off(t->handler);
}

/* --- snapshots -------------------------------------------------------------------- */

static uint64_t missed_by(int program)
{
	struct bpf_prog_info info = {0};

	return program >= 0 && sys_bpf_info(program, &info, sizeof(info)) > 0
		       ? info.recursion_misses
		       : 0;
}

/* Hits that the kernel skipped because the program was already running. */
static uint64_t missed_hits(const struct tracer *t)
{
	uint64_t missed = 0;

	for (size_t i = 0; i < MAX_PROGRAMS; i++)
		missed += missed_by(t->programs[i]);
	vec_foreach (own, &t->own_programs)
		missed += missed_by(own->fd);
	return missed;
}

static struct error *copy_allocators(const struct tracer *t, struct snapshot *snap)
{
	vec_foreach (a, &t->allocators) {
		struct snapshot_allocator copy = {strdup(a->label), strdup(a->module)};

		if (!copy.label || !copy.module || !vec_push(&snap->allocators, copy)) {
			free(copy.label);
			free(copy.module);
			return error_no_memory();
		}
	}
	return NULL;
}

static void describe(const struct tracer *t, struct snapshot *snap)
{
	snap->time_ns = clock_now_ns();
	snap->attached_ns = t->enabled_ns;
	snap->mappings_traced = t->run.mappings;
	snap->sampling = t->config->sampling;
	snap->min_size_bytes = t->config->min_size_bytes;
	snap->max_size_bytes = t->config->max_size_bytes;
	snap->max_allocations = t->run.max_allocations;
	snap->max_stacks = t->run.max_stacks;
	snap->max_threads = t->run.traffic ? t->config->max_threads : 0;
}

/* The index of the snapshot's process for each slot. The caller frees the result. */
static uint32_t *invert(const struct tracer *t, const uint32_t slots[], size_t count)
{
	uint32_t slot_count = t->source->sizes.process_slots;
	uint32_t *process = calloc(slot_count, sizeof(*process));

	if (!process)
		return NULL;
	for (uint32_t i = 0; i < slot_count; i++)
		process[i] = SNAPSHOT_NO_PROCESS;
	for (size_t i = 0; i < count; i++)
		if (slots[i] < slot_count)
			process[slots[i]] = (uint32_t)i;
	return process;
}

struct error *tracer_snapshot(struct tracer *t, const uint32_t slots[],
			      const struct families *families, struct snapshot *snap)
{
	_cleanup_(freep) uint32_t *process = invert(t, slots, snap->processes.len);
	const struct drain_slots by_slot = {process, families};
	_cleanup_(priority_restore) struct priority priority = {0};
	bool settled = true;
	struct error *err;

	if (!process)
		return error_no_memory();
	tracer_poll(t);
	priority_raise(&priority);
	describe(t, snap);
	err = copy_allocators(t, snap);
	if (err)
		return err;
	err = t->mode->drain(t, &by_slot, snap, &settled);
	t->unsettled += !settled;
	snap->inconsistent = !settled;
	if (!err && t->run.mappings)
		err = tracer_add_mappings(t, &by_slot, snap);
	if (!err && t->run.traffic)
		err = tracer_add_traffic(t, &by_slot, snap);
	snap->losses[LOSS_SNAPSHOTS_UNSETTLED] += t->unsettled;
	snap->losses[LOSS_PROBES_MISSED] += missed_hits(t);
	snap->losses[LOSS_FUNCTIONS_UNTRACED] += t->untraced;
	if (t->checks)
		snap->losses[LOSS_FUNCTIONS_MISREAD] += checks_misread(t->checks);
	if (err)
		return err;
	tracer_note_sums(t, snap);
	tracer_add_walks(t, snap);
	if (t->handler && settled)
		miss_handler_sweep(t->handler);
	return NULL;
}

const char *tracer_attach_name(const struct tracer *t)
{
	if (t->mode->attach_name)
		return t->mode->attach_name(t);
	return t->attachment.ops ? t->attachment.ops->name : "nothing";
}

unsigned tracer_stack_depth(const struct tracer *t)
{
	return t->run.stack_depth;
}

unsigned tracer_refused_depth(const struct tracer *t)
{
	unsigned wanted = trace_config_depth(t->config, t->run.rules);

	return t->run.stack_depth < wanted ? wanted : 0;
}

const char *tables_text(enum tables_choice choice, const struct kernel_features *features)
{
	if (!features->atomics)
		return "hashes (this kernel's BPF has no compare-and-exchange)";
	return choice == TABLES_HASHES ? "hashes" : "arrays";
}

const char *tracer_tables_name(const struct tracer *t)
{
	return t->by_hash ? "hashes" : "arrays";
}

const char *tracer_headers_kind(const struct tracer *t)
{
	return t->headers_kind;
}

bool tracer_had_code(const struct tracer *t)
{
	return compiler_had_code(t->compiler);
}

const char *tracer_cache_path(const struct tracer *t)
{
	return t->cache.dir < 0 ? NULL : t->cache.path;
}

const char *tracer_why_no_cache(const struct tracer *t)
{
	return t->no_cache         ? t->no_cache
	       : t->cache.unstored ? t->cache.unstored->message
				   : NULL;
}

struct error *tracer_take_ignored(struct tracer *t)
{
	return t->cache.ignored.len ? t->cache.ignored.data[--t->cache.ignored.len]
				    : NULL;
}

void tracer_destroy(struct tracer *t)
{
	_cleanup_(priority_restore) struct priority priority = {0};

	if (!t)
		return;
	priority_raise(&priority);
	if (t->control)
		tracer_freeze(t);
	tracer_detach(t);
	checks_destroy(t->checks);
	tracer_unwatch_rings(t);
	tracer_close_ring(t);
	tracer_close_traffic(t);
	miss_handler_destroy(t->handler);
	table_grower_destroy(t->grower);
	stack_tables_close(&t->stacks);
	journal_table_close(&t->journal);
	live_table_close(&t->live);
	vec_foreach (a, &t->allocators) {
		free(a->label);
		free(a->module);
	}
	vec_deinit(&t->allocators);
	mapped_close(t->control, sizeof(*t->control));
	mapped_close(t->sites_at, sites_at_bytes());
	if (t->source) {
		mapped_close(t->processes, processes_bytes(t));
		mapped_close(t->maps.counters, counters_bytes(t));
	}
	free(t->mode_state);
	compiler_destroy(t->compiler);
	source_destroy(t->source);
	cache_close(&t->cache);
	free(t->no_cache);
	drain_kept_deinit(&t->kept);
	used_slots_deinit(&t->used_slots);
	fence_close(&t->fence);
	free(t);
}

void tracer_tidy(struct tracer *t)
{
	const struct drain_resolver resolver = {tracer_catch_up, tracer_stack, t};
	struct error *err;

	if (!t->handler || !miss_handler_has_many_stacks(t->handler))
		return;
	tracer_poll(t);
	tracer_ask_mappings(t);
	/* The kept blocks have numbers that may be dropped. */
	drain_kept_drop(&t->kept);
	err = drain_ask_stacks(&t->maps, &resolver);
	if (!err)
		miss_handler_sweep(t->handler);
	/* It is tried again, here or with the next report. */
	error_destroy(err);
}
