// SPDX-License-Identifier: Apache-2.0
#include "tracees/tracee.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/clock.h"

DEFINE_CLEANUP(struct tracee *, tracee_destroy);

struct error *tracee_create(int pid, struct elf_reader *elf_reader,
			    struct opened_files *opened, struct tracee **ret)
{
	_cleanup_(tracee_destroyp) struct tracee *t = calloc(1, sizeof(*t));
	struct error *err;

	if (!t)
		return error_no_memory();
	t->pid = pid;
	t->image_ns = clock_now_ns();
	modules_init(&t->modules);
	err = proc_open(pid, &t->proc);
	if (err)
		return err;
	t->proc->elf_reader = elf_reader;
	t->proc->opened = opened;
	snprintf(t->command, sizeof(t->command), "%s", t->proc->command);
	t->has_our_root = proc_has_our_root(pid);
	t->image = proc_image(t->proc);
	err = modules_refresh(&t->modules, t->proc);
	if (err && (err->code == ERROR_NO_MEMORY || err->code == ERROR_PERMISSION))
		return err;
	t->maps_failed = err;
	t->maps_late = err && err->saved_errno == ETIMEDOUT;
	proc_rest(t->proc);
	/* Not an error yet: tracee_plan() fails if the mappings are needed. */
	error_destroy(err);
	*ret = take(t);
	return NULL;
}

struct error *tracee_create_kernel(struct tracee **ret)
{
	struct tracee *t = calloc(1, sizeof(*t));

	if (!t)
		return error_no_memory();
	snprintf(t->command, sizeof(t->command), "kernel");
	modules_init(&t->modules);
	*ret = t;
	return NULL;
}

struct error *tracee_create_gone(const struct tracer_process *process,
				 struct tracee **ret)
{
	struct tracee *t = calloc(1, sizeof(*t));

	if (!t)
		return error_no_memory();
	t->pid = process->pid;
	snprintf(t->command, sizeof(t->command), "%s", process->command);
	modules_init(&t->modules);
	t->slot = process->slot;
	t->is_traced = true;
	t->exited = true;
	*ret = t;
	return NULL;
}

static void drop_names(struct tracee *t)
{
	frame_cache_destroy(t->frames);
	symbolizer_destroy(t->symbolizer);
	t->frames = NULL;
	t->symbolizer = t->user = NULL;
	t->may_lack_names = false;
}

void tracee_destroy(struct tracee *t)
{
	if (!t)
		return;
	drop_names(t);
	watched_code_release(t->reported_code);
	vec_deinit(&t->ranges);
	vec_deinit(&t->files);
	vec_deinit(&t->families);
	proc_maps_deinit(&t->planned);
	modules_deinit(&t->modules);
	proc_close(t->proc);
	proc_close(t->named);
	free(t);
}

/* With --kernel, all frames are the kernel's. */
static struct error *open_kernel_symbols(struct tracee *t)
{
	struct error *err =
		t->symbolizer ? NULL
			      : symbolizer_with_kernel(NULL, t->kernel, &t->symbolizer);

	if (!err && !t->frames && !(t->frames = frame_cache_create(t->symbolizer)))
		err = error_no_memory();
	return err;
}

struct error *tracee_open_symbols(struct tracee *t, const struct options *options,
				  struct reader *reader)
{
	struct symbolizer *user;
	struct error *err;

	if (!trace_mode_can(&options->trace, MODE_PROCESSES))
		return open_kernel_symbols(t);
	if (t->symbolizer || !t->proc || (t->exited && !t->proc->stand_in))
		return NULL;
	/* Its names cannot be read: try again when its mappings could be read. */
	if (t->maps_late && !t->exited)
		return NULL;
	err = reader_symbolizer_create(reader, t->proc, &user);
	/* The process has exited, and nothing can be read any more. */
	if (!err && reader_is_unopened(user) && proc_has_lost_memory(t->proc)) {
		symbolizer_destroy(user);
		return NULL;
	}
	if (!err && t->kernel)
		err = symbolizer_with_kernel(user, t->kernel, &t->symbolizer);
	else if (!err)
		t->symbolizer = user;
	if (err)
		return err;
	t->user = user;
	/* Then some of its files may not have been opened. */
	t->may_lack_names = proc_has_lost_memory(t->proc);
	t->frames = frame_cache_create(t->symbolizer);
	if (!t->frames)
		return error_no_memory();
	if (options->no_demangle)
		frame_cache_keep_mangled(t->frames);
	return NULL;
}

struct error *tracee_try_symbols(struct tracee *t, const struct options *options,
				 struct reader *reader)
{
	return error_only_no_memory(tracee_open_symbols(t, options, reader));
}

/* For qsort(3) and bsearch(3). */
static int compare_files(const void *pa, const void *pb)
{
	return file_name_compare(&((const struct tracee_file *)pa)->name,
				 &((const struct tracee_file *)pb)->name);
}

static struct tracee_file *find_file(const struct tracee *t, const struct proc_mapping *m)
{
	const struct tracee_file key = {.name = file_name_of(m)};

	return t->files.len ? bsearch(&key, t->files.data, t->files.len, sizeof(key),
				      compare_files)
			    : NULL;
}

static void remove_range(struct tracee *t, uint64_t start)
{
	size_t kept = 0;

	vec_foreach (range, &t->ranges)
		if (range->start != start)
			t->ranges.data[kept++] = *range;
	t->ranges.len = kept;
}

/* Drop files that are not mapped any more. */
static struct error *remove_unmapped(struct tracee *t, const struct proc_maps *maps)
{
	_cleanup_(freep) bool *is_mapped = calloc(t->files.len + 1, sizeof(*is_mapped));
	size_t kept = 0;

	if (!is_mapped)
		return error_no_memory();
	for (size_t i = 0; i < maps->mappings.len; i++) {
		const struct proc_mapping *m = &maps->mappings.data[i];
		const struct tracee_file *file = m->executable ? find_file(t, m) : NULL;

		if (file)
			is_mapped[file - t->files.data] = true;
	}
	for (size_t i = 0; i < t->files.len; i++) {
		if (is_mapped[i])
			t->files.data[kept++] = t->files.data[i];
		else
			remove_range(t, t->files.data[i].range.start);
	}
	t->files.len = kept;
	return NULL;
}

/* The mapping where the allocator's code begins; NULL: it is not mapped. */
static const struct proc_mapping *find_code(const struct proc_maps *maps,
					    const struct allocator *allocator)
{
	size_t i = vec_count_up_to(&maps->mappings, start, allocator->text_start);

	return i && maps->mappings.data[i - 1].start == allocator->text_start
		       ? &maps->mappings.data[i - 1]
		       : NULL;
}

/* Add one range for each file, even if the file contains several allocators. */
static bool add_range(struct tracee *t, struct code_range range)
{
	vec_foreach (known, &t->ranges)
		if (known->start == range.start)
			return true;
	return vec_push(&t->ranges, range);
}

static bool add_file(struct tracee *t, struct tracee_file file)
{
	if (!vec_push(&t->files, file))
		return false;
	qsort(t->files.data, t->files.len, sizeof(file), compare_files);
	return true;
}

static bool add_files(struct tracee *t, const struct proc_maps *maps,
		      const struct plan *plan)
{
	vec_foreach (object, &plan->objects) {
		const struct allocator *allocator = &object->allocator;
		const struct proc_mapping *m = find_code(maps, allocator);
		const struct code_range range = {allocator->text_start,
						 allocator->text_end};

		if (!add_range(t, range))
			return false;
		if (m && !find_file(t, m) &&
		    !add_file(t, (struct tracee_file){file_name_of(m), range, 0}))
			return false;
	}
	return true;
}

/* Plan with these mappings, which are now owned by the tracee. */
static struct error *plan_with(struct tracee *t, struct proc_maps maps,
			       const struct plan_options *options, struct plan **ret)
{
	const struct event_options event_options = {
		.is_shared = options->is_shared,
		.has_others = options->has_others,
		.others = options->others,
		.is_probed = options->is_probed,
		.probed_arg = options->breakpoints_arg,
	};
	struct plan_options here = *options;
	struct error *err, *removal_error;

	here.known = &t->planned;
	err = here.event
		      ? plan_build_event(here.event, t->proc, &maps, &event_options, ret)
		      : plan_build(t->proc, &maps, &here, ret);
	proc_maps_deinit(&t->planned);
	t->planned = maps;
	proc_rest(t->proc);
	removal_error = remove_unmapped(t, &t->planned);
	if (!err && (removal_error || !add_files(t, &t->planned, *ret))) {
		plan_destroy(*ret);
		err = error_no_memory();
	}
	error_destroy(removal_error);
	return err;
}

struct error *tracee_plan(struct tracee *t, const struct plan_options *options,
			  struct plan **ret)
{
	struct proc_maps maps = {0};
	struct error *err = proc_read_maps(t->proc, &maps);

	t->maps_failed = err && err->code != ERROR_GONE && err->code != ERROR_NO_MEMORY;
	return err ? err : plan_with(t, maps, options, ret);
}

struct error *tracee_plan_first(struct tracee *t, const struct plan_options *options,
				struct plan **ret)
{
	struct proc_maps maps = {0};
	struct error *err;

	if (!t->modules.maps.mappings.len)
		return tracee_plan(t, options, ret);
	err = proc_maps_copy(&t->modules.maps, &maps);
	if (!err)
		return plan_with(t, maps, options, ret);
	proc_maps_deinit(&maps);
	return err;
}

static bool is_code(const struct proc_mapping *m)
{
	return m->executable && m->inode;
}

/* The next mapping of file code at index *at or later; NULL: no more. */
static const struct proc_mapping *next_code(const struct proc_maps *maps, size_t *at)
{
	while (*at < maps->mappings.len) {
		const struct proc_mapping *m = &maps->mappings.data[(*at)++];

		if (is_code(m))
			return m;
	}
	return NULL;
}

static bool is_same_code(const struct proc_mapping *a, const struct proc_mapping *b)
{
	const struct file_name one = file_name_of(a), other = file_name_of(b);

	return a->start == b->start && a->end == b->end &&
	       a->file_offset == b->file_offset && file_name_is(&one, &other);
}

bool tracee_has_other_code(const struct tracee *t)
{
	size_t now_at = 0, then_at = 0;

	for (;;) {
		const struct proc_mapping *now = next_code(&t->modules.maps, &now_at);
		const struct proc_mapping *then = next_code(&t->planned, &then_at);

		if (!now || !then)
			return now || then;
		if (!is_same_code(now, then))
			return true;
	}
}

static bool is_of_file(const struct proc_mapping *m)
{
	if (m->path[0] == '[')
		return strcmp(m->path, "[heap]") != 0 && strncmp(m->path, "[stack", 6) &&
		       strncmp(m->path, "[anon", 5);
	return m->inode && !m->deleted && !m->writable &&
	       strncmp(m->path, "/memfd:", 7) != 0 && strncmp(m->path, "/dev/", 5) != 0;
}

bool tracee_may_compile(const struct tracee *t)
{
	vec_foreach (m, &t->modules.maps.mappings)
		if (m->executable && !is_of_file(m))
			return true;
	return !t->modules.maps.mappings.len;
}

/* A report often follows a look at the processes at once: read it only once for both. */
#define MEMORY_RECENT_NS UINT64_C(20000000)

void tracee_refresh_memory(struct tracee *t)
{
	uint64_t now_ns = clock_now_ns();
	struct proc_memory memory;
	struct error *err;

	if (t->memory_ns && now_ns - t->memory_ns < MEMORY_RECENT_NS)
		return;
	err = proc_read_memory(t->proc, &memory);
	/* Once the process has exited, the last values stay. */
	if (!err && memory.vm_rss_bytes) {
		t->is_stopped = memory.stop.kind == STOP_SIGNAL ||
				stop_state_lasts(&t->memory.stop, &memory.stop);
		t->memory = memory;
		t->memory_ns = now_ns;
	}
	error_destroy(err);
}

struct error *tracee_refresh(struct tracee *t)
{
	struct error *err;

	if (t->exited || !t->proc)
		return NULL;
	tracee_refresh_memory(t);
	if (!t->maps_changed && !t->maps_late)
		return NULL;
	if (t->frames && t->maps_changed)
		frame_cache_mappings_changed(t->frames);
	err = modules_refresh(&t->modules, t->proc);
	proc_rest(t->proc);
	t->wants_plan |= t->maps_late && !err;
	t->maps_changed = false;
	t->maps_late = err && err->saved_errno == ETIMEDOUT;
	return err;
}

void tracee_replace(struct tracee *t, struct proc *stand_in)
{
	drop_names(t);
	proc_close(t->named);
	t->named = NULL;
	proc_close(t->proc);
	t->proc = stand_in;
}

void tracee_take_names(struct tracee *heir, struct tracee *from)
{
	modules_deinit(&heir->modules);
	heir->modules = from->modules;
	modules_init(&from->modules);
	heir->symbolizer = take(from->symbolizer);
	heir->user = take(from->user);
	heir->frames = take(from->frames);
	heir->may_lack_names = from->may_lack_names;
	heir->named = from->named ? take(from->named) : take(from->proc);
}

bool tracee_check_exit(struct tracee *t)
{
	if (!t->exited && t->proc && proc_has_exited(t->proc))
		t->exited = true;
	return t->exited;
}

struct error *tracee_describe(const struct tracee *t, struct snapshot_process *ret)
{
	const char *executable = t->proc ? t->proc->executable : NULL;

	ret->command = strdup(t->command);
	ret->executable = executable ? strdup(executable) : NULL;
	ret->exited = t->exited;
	if (t->proc && t->proc->namespace_pid)
		ret->namespace_pid = t->proc->namespace_pid;
	ret->memory = (struct snapshot_memory){
		.vm_size_bytes = t->memory.vm_size_bytes,
		.vm_rss_bytes = t->memory.vm_rss_bytes,
		.vm_data_bytes = t->memory.vm_data_bytes,
		.vm_hwm_bytes = t->memory.vm_hwm_bytes,
		.rss_anon_bytes = t->memory.rss_anon_bytes,
		.rss_file_bytes = t->memory.rss_file_bytes,
		.rss_shmem_bytes = t->memory.rss_shmem_bytes,
	};
	if (!ret->command || (executable && !ret->executable))
		return error_no_memory();
	return modules_copy(&t->modules, ret);
}
