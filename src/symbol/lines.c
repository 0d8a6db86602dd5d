// SPDX-License-Identifier: Apache-2.0
#include "symbol/lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "symbol/line_module.h"
#include "target/living.h"
#include "target/target_file.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/escape.h"
#include "util/path.h"
#include "util/regular_file.h"

/* Some 30 seconds of work, should debug info be made to waste time: the program with the
 * most, a browser, takes a tenth of it for all that a report shows. */
#define BUDGET_STEPS (UINT64_C(512) << 20)

/* Silence on the terminal that is not noticed, and a rest that ends it. */
#define QUIET_MS 1000
#define REST_MS  200

struct line_range {
	uint64_t start, end, file_offset; /* of the mapping */
	uint64_t inode;
	size_t module;
	bool is_mapped; /* when the mappings were read last */
};

/* So many ranges are kept that are not mapped any more: they may be on stacks. Then half
 * of them go, the oldest first, with the files that nothing else is of. */
#define GONE_MAX 512

struct line_finder {
	const struct proc *proc;
	struct line_options options;
	struct line_resources resources;
	VEC(struct line_range) ranges; /* newest last */
	VEC(struct line_module *) modules;
	VEC(size_t) missing; /* modules */
	const struct line_module *reading;
	uint64_t busy_since_ms, busy_until_ms, shown_ms;
};

DEFINE_CLEANUP(struct target_file *, target_file_release);
DEFINE_CLEANUP(struct line_finder *, line_finder_destroy);

static uint64_t monotonic_ms(void)
{
	return clock_now_ns() / 1000000;
}

static void show_progress(struct line_finder *finder)
{
	_cleanup_(strbuf_deinit) struct strbuf phase = {0};
	const char *path = line_module_path(finder->reading);

	if (!finder->options.progress)
		return;
	finder->shown_ms = monotonic_ms();
	strbuf_append(&phase, "reading debug info of ");
	escape_text(&phase, path_base_name(path));
	finder->options.progress(finder->options.progress_arg, strbuf_text(&phase));
}

/* Time passes: say so when it has been a second, and not too often. */
static void tick(void *arg)
{
	struct line_finder *finder = arg;
	uint64_t now_ms = monotonic_ms();

	if (now_ms - finder->busy_since_ms >= QUIET_MS &&
	    now_ms - finder->shown_ms >= REST_MS)
		show_progress(finder);
}

/* The mapping's file, opened for reading; -1 when it is not there or not a file. */
static int open_mapping(const struct proc *proc, const struct proc_mapping *mapping)
{
	_cleanup_(target_file_releasep) struct target_file *file = NULL;
	_cleanup_(error_destroyp) struct error *err =
		target_file_of_mapping(proc, mapping, &file);

	return err ? -1 : target_file_open(file);
}

static struct line_range *find_range(struct line_finder *finder,
				     const struct proc_mapping *mapping)
{
	vec_foreach (range, &finder->ranges) {
		if (range->start == mapping->start && range->end == mapping->end &&
		    range->file_offset == mapping->file_offset &&
		    range->inode == mapping->inode)
			return range;
	}
	return NULL;
}

/* The module that the same file already is: mapped next to it, as linkers do. */
static bool find_module(const struct line_finder *finder,
			const struct proc_mapping *mapping, size_t *ret)
{
	for (size_t i = finder->ranges.len; i-- > 0;) {
		const struct line_range *range = &finder->ranges.data[i];
		const char *path = line_module_path(finder->modules.data[range->module]);

		if (range->inode == mapping->inode && !strcmp(path, mapping->path)) {
			*ret = range->module;
			return true;
		}
	}
	return false;
}

static struct error *add_module(struct line_finder *finder,
				const struct proc_mapping *mapping, size_t *ret)
{
	int fd = open_mapping(finder->proc, mapping);
	struct line_module *module;
	struct error *err;

	*ret = finder->modules.len;
	if (fd < 0)
		return NULL;
	err = line_module_create(fd, mapping->path, &module);
	if (err)
		return err;
	if (!vec_push(&finder->modules, module)) {
		line_module_destroy(module);
		return error_no_memory();
	}
	return NULL;
}

static struct error *add_mapping(struct line_finder *finder,
				 const struct proc_mapping *mapping)
{
	struct line_range *known;
	struct error *err = NULL;
	size_t module;

	if (!mapping->executable || !mapping->inode)
		return NULL;
	known = find_range(finder, mapping);
	if (known) {
		known->is_mapped = true;
		return NULL;
	}
	if (!find_module(finder, mapping, &module))
		err = add_module(finder, mapping, &module);
	if (err || module == finder->modules.len)
		return err;
	if (!vec_push(&finder->ranges, (struct line_range){
					       .start = mapping->start,
					       .end = mapping->end,
					       .file_offset = mapping->file_offset,
					       .inode = mapping->inode,
					       .module = module,
					       .is_mapped = true,
				       }))
		return error_no_memory();
	return NULL;
}

/* Take the oldest out of the ranges that are not mapped any more. */
static void drop_ranges(struct line_finder *finder, size_t count)
{
	size_t kept = 0;

	vec_foreach (range, &finder->ranges) {
		if (range->is_mapped || !count) {
			finder->ranges.data[kept++] = *range;
			continue;
		}
		count--;
	}
	finder->ranges.len = kept;
}

/* Module `from` has the number `to` from now on. */
static void renumber_module(struct line_finder *finder, size_t from, size_t to)
{
	finder->modules.data[to] = finder->modules.data[from];
	vec_foreach (range, &finder->ranges)
		if (range->module == from)
			range->module = to;
	vec_foreach (missing, &finder->missing)
		if (*missing == from)
			*missing = to;
}

static void drop_module(struct line_finder *finder, size_t module)
{
	size_t kept = 0;

	vec_foreach (missing, &finder->missing)
		if (*missing != module)
			finder->missing.data[kept++] = *missing;
	finder->missing.len = kept;
	finder->resources.memory_bytes +=
		line_module_debug_bytes(finder->modules.data[module]);
	line_module_destroy(finder->modules.data[module]);
}

static bool has_range(const struct line_finder *finder, size_t module)
{
	vec_foreach (range, &finder->ranges)
		if (range->module == module)
			return true;
	return false;
}

static void drop_modules(struct line_finder *finder)
{
	size_t kept = 0;

	finder->reading = NULL;
	for (size_t i = 0; i < finder->modules.len; i++) {
		if (has_range(finder, i))
			renumber_module(finder, i, kept++);
		else
			drop_module(finder, i);
	}
	finder->modules.len = kept;
}

static void drop_gone(struct line_finder *finder)
{
	size_t gone = 0;

	vec_foreach (range, &finder->ranges)
		gone += !range->is_mapped;
	if (gone <= GONE_MAX)
		return;
	drop_ranges(finder, gone - GONE_MAX / 2);
	drop_modules(finder);
}

static struct error *read_mappings(struct line_finder *finder)
{
	struct proc_maps maps = {0};
	struct error *err = proc_read_maps(finder->proc, &maps);

	if (err)
		return err;
	vec_foreach (range, &finder->ranges)
		range->is_mapped = false;
	vec_foreach (mapping, &maps.mappings) {
		if (!err)
			err = add_mapping(finder, mapping);
	}
	drop_gone(finder);
	proc_maps_deinit(&maps);
	return err;
}

struct error *line_finder_create(const struct proc *proc,
				 const struct line_options *options,
				 struct line_finder **ret)
{
	_cleanup_(line_finder_destroyp) struct line_finder *finder =
		calloc(1, sizeof(*finder));

	if (!finder)
		return error_no_memory();
	finder->proc = proc;
	finder->options = *options;
	finder->resources = (struct line_resources){
		.search = {.root_fd = living_open(proc->pid, "root",
						  O_PATH | O_DIRECTORY | O_CLOEXEC),
			   .dirs = options->debug_dirs,
			   .fetch = options->fetch,
			   .fetch_arg = options->fetch_arg},
		.budget = {.steps = BUDGET_STEPS, .tick = tick, .tick_arg = finder},
		.memory_bytes = debug_elf_max_bytes(),
	};

	struct error *err = read_mappings(finder);

	if (err)
		return err;
	*ret = take(finder);
	return NULL;
}

void line_finder_destroy(struct line_finder *finder)
{
	if (!finder)
		return;
	vec_foreach (module, &finder->modules)
		line_module_destroy(*module);
	vec_deinit(&finder->modules);
	vec_deinit(&finder->ranges);
	vec_deinit(&finder->missing);
	closep(&finder->resources.search.root_fd);
	free(finder);
}

void line_finder_mappings_changed(struct line_finder *finder)
{
	/* Code that cannot be looked at now has no lines. */
	error_destroy(read_mappings(finder));
}

/* Work that follows other work within a moment is one wait for the person. */
static void begin_work(struct line_finder *finder, const struct line_module *module)
{
	uint64_t now_ms = monotonic_ms();

	finder->reading = module;
	if (now_ms - finder->busy_until_ms > REST_MS)
		finder->busy_since_ms = now_ms;
	/* A server may take long, and nothing ticks then. */
	if (finder->options.fetch && !line_module_is_loaded(module))
		show_progress(finder);
	else
		tick(finder);
}

struct error *line_finder_find(struct line_finder *finder, uint64_t address,
			       struct source_frames *ret)
{
	*ret = (struct source_frames){.function_offset = 0};
	for (size_t i = finder->ranges.len; i-- > 0;) {
		const struct line_range *range = &finder->ranges.data[i];

		if (address < range->start || address >= range->end)
			continue;

		struct line_module *module = finder->modules.data[range->module];
		bool is_new = !line_module_is_loaded(module);
		bool lacked_split = line_module_lacks_split(module);

		begin_work(finder, module);

		struct error *err = line_module_find(
			module, &finder->resources,
			address - range->start + range->file_offset, ret);

		finder->busy_until_ms = monotonic_ms();
		if (!err &&
		    ((is_new && line_module_missing(module)) ||
		     (!lacked_split && line_module_lacks_split(module))) &&
		    !vec_push(&finder->missing, range->module)) {
			source_frames_deinit(ret);
			err = error_no_memory();
		}
		return err;
	}
	return NULL;
}

bool line_finder_next_missing(struct line_finder *finder, struct line_missing *ret)
{
	const struct line_module *module;

	if (!finder->missing.len)
		return false;
	module = finder->modules.data[finder->missing.data[0]];
	*ret = (struct line_missing){
		.path = line_module_path(module),
		.why = line_module_missing(module),
	};
	finder->missing.len--;
	memmove(finder->missing.data, finder->missing.data + 1,
		finder->missing.len * sizeof(*finder->missing.data));
	return true;
}
