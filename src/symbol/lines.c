// SPDX-License-Identifier: Apache-2.0
#include "symbol/lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "symbol/line_module.h"
#include "target/living.h"
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
};

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
	_cleanup_(freep) char *path = NULL;
	_cleanup_(error_destroyp) struct error *err =
		proc_mapping_path(proc, mapping, &path);

	return err ? -1 : regular_file_open(path);
}

static bool is_known(const struct line_finder *finder, const struct proc_mapping *mapping)
{
	vec_foreach (range, &finder->ranges) {
		if (range->start == mapping->start && range->end == mapping->end &&
		    range->file_offset == mapping->file_offset &&
		    range->inode == mapping->inode)
			return true;
	}
	return false;
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
	struct error *err = NULL;
	size_t module;

	if (!mapping->executable || !mapping->inode || is_known(finder, mapping))
		return NULL;
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
				       }))
		return error_no_memory();
	return NULL;
}

static struct error *read_mappings(struct line_finder *finder)
{
	struct proc_maps maps = {0};
	struct error *err = proc_read_maps(finder->proc, &maps);

	vec_foreach (mapping, &maps.mappings) {
		if (!err)
			err = add_mapping(finder, mapping);
	}
	proc_maps_deinit(&maps);
	return err;
}

/*
 * libdw reads a table of lines onto the stack (MAX_STACK_ALLOC of dwarf_getsrclines.c)
 * and has no thought for who limits it. The limit counts whenever the first thread's
 * stack grows (acct_stack_growth(), mm/vma.c), and 128 MiB are kept free for that at
 * least (mmap_base(), mm/util.c and arch/x86/mm/mmap.c).
 */
#define STACK_BYTES (8u << 20)

static void raise_stack_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_BYTES)
		return;
	limit.rlim_cur = STACK_BYTES;
	/* More than the hard limit is for CAP_SYS_RESOURCE. */
	if (limit.rlim_max < STACK_BYTES)
		limit.rlim_max = STACK_BYTES;
	(void)setrlimit(RLIMIT_STACK, &limit);
}

struct error *line_finder_create(const struct proc *proc,
				 const struct line_options *options,
				 struct line_finder **ret)
{
	_cleanup_(line_finder_destroyp) struct line_finder *finder =
		calloc(1, sizeof(*finder));

	if (!finder)
		return error_no_memory();
	raise_stack_limit();
	finder->proc = proc;
	finder->options = *options;
	finder->resources = (struct line_resources){
		.search = {.root_fd = living_open(proc->pid, "root",
						  O_PATH | O_DIRECTORY | O_CLOEXEC),
			   .dirs = options->debug_dirs,
			   .debuginfod = options->debuginfod,
			   .wait = options->wait},
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
	if (finder->options.debuginfod && !line_module_is_loaded(module))
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

bool line_finder_missing(const struct line_finder *finder, size_t index,
			 struct line_missing *ret)
{
	const struct line_module *module;

	if (index >= finder->missing.len)
		return false;
	module = finder->modules.data[finder->missing.data[index]];
	*ret = (struct line_missing){
		.path = line_module_path(module),
		.why = line_module_missing(module),
	};
	return true;
}
