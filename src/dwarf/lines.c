// SPDX-License-Identifier: Apache-2.0
#include "dwarf/lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dwarf/line_module.h"
#include "process/live_thread.h"
#include "process/target_file.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/ends_first.h"
#include "util/escape.h"
#include "util/hashmap.h"
#include "util/path.h"
#include "util/text_hash.h"

/* Bounds the work for malicious debug info to some 30 seconds. The program with the
 * most debug info, a browser, takes a tenth of it for all stacks of a report. */
#define BUDGET_STEPS (UINT64_C(512) << 20)

/* Progress is shown after QUIET_MS of work, and at most once every REST_MS. A break of
 * REST_MS ends the work. */
#define QUIET_MS 1000
#define REST_MS  200

/* How many files are open at a time. Real programs have some hundred. */
#define FILES_MAX 1024

/* How many unmapped ranges are kept, since they may still be on stacks. Beyond that
 * half of them are dropped, the oldest first, with files that have no other range. */
#define GONE_MAX 512

struct line_file {
	struct line_module *module; /* NULL: cannot be opened; only until the end of
				       read_mappings() */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	size_t ranges; /* that lie in the file; used by drop_files() */
};

struct line_range {
	uint64_t start, end, file_offset; /* of the mapping */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	struct line_file *file; /* NULL: not open, has no lines */
	bool is_kept;           /* still mapped when the mappings were read again */
};

struct line_ranges {
	VEC(struct line_range) list;
};

struct line_finder {
	const struct proc *proc;
	struct line_options options;
	struct line_resources resources;
	struct line_ranges mapped; /* by address, without overlaps */
	struct line_ranges gone;   /* unmapped, newest last */
	VEC(struct line_file *) files;
	struct hashmap by_identity; /* hash_file() to an index into `files` */
	VEC(struct line_file *) missing;
	size_t left_out;
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

/* Show progress once the work has taken a second, but not too often. */
static void tick(void *arg)
{
	struct line_finder *finder = arg;
	uint64_t now_ms = monotonic_ms();

	if (now_ms - finder->busy_since_ms >= QUIET_MS &&
	    now_ms - finder->shown_ms >= REST_MS)
		show_progress(finder);
}

/* The mapping's file, opened for reading; -1: missing, or not a regular file. */
static int open_mapping(const struct proc *proc, const struct proc_mapping *mapping)
{
	_cleanup_(target_file_releasep) struct target_file *file = NULL;
	_cleanup_(error_destroyp) struct error *err =
		target_file_of_mapping(proc, mapping, &file);

	return err ? -1 : target_file_open(file);
}

/* --- files ----------------------------------------------------------------------------
 */

static uint64_t hash_file(const struct proc_mapping *mapping)
{
	uint64_t hash = mapping->inode ^ (uint64_t)mapping->dev_major << 32 ^
			(uint64_t)mapping->dev_minor << 44;

	return text_hash_more(hash, mapping->path);
}

static bool is_of(const struct line_file *file, const struct proc_mapping *mapping)
{
	return file->inode == mapping->inode && file->dev_major == mapping->dev_major &&
	       file->dev_minor == mapping->dev_minor &&
	       (!file->module || !strcmp(line_module_path(file->module), mapping->path));
}

static void destroy_file(struct line_file *file)
{
	if (!file)
		return;
	line_module_destroy(file->module);
	free(file);
}

DEFINE_CLEANUP(struct line_file *, destroy_file);

/* Add a file; without a module if it cannot be opened. */
static struct error *add_file(struct line_finder *finder,
			      const struct proc_mapping *mapping, struct line_file **ret)
{
	_cleanup_(destroy_filep) struct line_file *file = calloc(1, sizeof(*file));
	int fd = file ? open_mapping(finder->proc, mapping) : -1;
	struct error *err = NULL;

	if (!file)
		return error_no_memory();
	file->dev_major = mapping->dev_major;
	file->dev_minor = mapping->dev_minor;
	file->inode = mapping->inode;
	if (fd >= 0)
		err = line_module_create(fd, mapping->path, &file->module);
	if (err)
		return err;
	if (!vec_push(&finder->files, file))
		return error_no_memory();
	*ret = take(file);
	return hashmap_put(&finder->by_identity, hash_file(mapping),
			   finder->files.len - 1)
		       ? NULL
		       : error_no_memory();
}

/* Set the file of the range, or none if there are too many. A target can give two files
 * the same hash; such a file may be opened twice. */
static struct error *set_file(struct line_finder *finder,
			      const struct proc_mapping *mapping,
			      struct line_range *range)
{
	uint64_t index;

	if (hashmap_get(&finder->by_identity, hash_file(mapping), &index) &&
	    is_of(finder->files.data[index], mapping)) {
		range->file = finder->files.data[index];
		return NULL;
	}
	if (finder->files.len < FILES_MAX)
		return add_file(finder, mapping, &range->file);
	finder->left_out++;
	return NULL;
}

static void count_ranges(struct line_ranges *ranges)
{
	vec_foreach (range, &ranges->list) {
		if (range->file && !range->file->module)
			range->file = NULL;
		if (range->file)
			range->file->ranges++;
	}
}

static void drop_file(struct line_finder *finder, struct line_file *file)
{
	size_t kept = 0;

	vec_foreach (missing, &finder->missing)
		if (*missing != file)
			finder->missing.data[kept++] = *missing;
	finder->missing.len = kept;
	if (file->module)
		finder->resources.memory_bytes += line_module_debug_bytes(file->module);
	destroy_file(file);
}

static bool index_file(struct line_finder *finder, size_t index)
{
	const struct line_file *file = finder->files.data[index];
	const struct proc_mapping mapping = {
		.inode = file->inode,
		.dev_major = file->dev_major,
		.dev_minor = file->dev_minor,
		.path = (char *)line_module_path(file->module),
	};

	return hashmap_put(&finder->by_identity, hash_file(&mapping), index);
}

/* Drop files without ranges, and files that could not be opened. */
static struct error *drop_files(struct line_finder *finder)
{
	size_t kept = 0;
	bool ok = true;

	finder->reading = NULL;
	vec_foreach (file, &finder->files)
		(*file)->ranges = 0;
	count_ranges(&finder->mapped);
	count_ranges(&finder->gone);
	vec_foreach (file, &finder->files) {
		if ((*file)->ranges)
			finder->files.data[kept++] = *file;
		else
			drop_file(finder, *file);
	}
	finder->files.len = kept;
	hashmap_deinit(&finder->by_identity);
	for (size_t i = 0; ok && i < kept; i++)
		ok = index_file(finder, i);
	return ok ? NULL : error_no_memory();
}

/* --- mappings -------------------------------------------------------------------------
 */

/* The range at `address`, or NULL. */
static struct line_range *find_mapped(const struct line_finder *finder, uint64_t address)
{
	size_t count = vec_count_up_to(&finder->mapped.list, start, address);
	struct line_range *range = count ? &finder->mapped.list.data[count - 1] : NULL;

	return range && address < range->end ? range : NULL;
}

/* If the range was already mapped, keep its file, if it has one. */
static void keep_known(const struct line_finder *finder, struct line_range *range)
{
	struct line_range *known = find_mapped(finder, range->start);

	if (!known || known->start != range->start || known->end != range->end ||
	    known->file_offset != range->file_offset || known->inode != range->inode ||
	    known->dev_major != range->dev_major || known->dev_minor != range->dev_minor)
		return;
	known->is_kept = true;
	range->file = known->file;
}

/* The code mappings of a process that belong to files. */
struct file_code {
	struct line_ranges ranges;
	VEC(const struct proc_mapping *) mappings; /* one for each range */
};

static struct error *collect(const struct line_finder *finder,
			     const struct proc_maps *maps, struct file_code *ret)
{
	vec_foreach (mapping, &maps->mappings) {
		struct line_range range = {
			.start = mapping->start,
			.end = mapping->end,
			.file_offset = mapping->file_offset,
			.inode = mapping->inode,
			.dev_major = mapping->dev_major,
			.dev_minor = mapping->dev_minor,
		};

		if (!mapping->executable || !mapping->inode)
			continue;
		keep_known(finder, &range);
		if (!vec_push(&ret->ranges.list, range) ||
		    !vec_push(&ret->mappings, mapping))
			return error_no_memory();
	}
	return NULL;
}

/* Open the files of new ranges. */
static struct error *set_files(struct line_finder *finder, struct file_code *code)
{
	size_t count = code->ranges.list.len;
	struct error *err = NULL;

	finder->left_out = 0;
	for (size_t n = 0; n < count && !err; n++) {
		size_t i = ends_first(n, count);

		if (!code->ranges.list.data[i].file)
			err = set_file(finder, code->mappings.data[i],
				       &code->ranges.list.data[i]);
	}
	return err;
}

/* Keep unmapped ranges, within limits. */
static struct error *add_gone(struct line_finder *finder)
{
	size_t dropped;

	vec_foreach (range, &finder->mapped.list)
		if (range->file && !range->is_kept &&
		    !vec_push(&finder->gone.list, *range))
			return error_no_memory();
	if (finder->gone.list.len <= GONE_MAX)
		return NULL;
	dropped = finder->gone.list.len - GONE_MAX / 2;
	finder->gone.list.len -= dropped;
	memmove(finder->gone.list.data, finder->gone.list.data + dropped,
		finder->gone.list.len * sizeof(*finder->gone.list.data));
	return NULL;
}

static struct error *take_mappings(struct line_finder *finder,
				   const struct proc_maps *maps, struct file_code *code)
{
	struct error *err;

	vec_foreach (range, &finder->mapped.list)
		range->is_kept = false;
	err = collect(finder, maps, code);
	if (!err)
		err = set_files(finder, code);
	if (!err)
		err = add_gone(finder);
	if (!err) {
		vec_deinit(&finder->mapped.list);
		finder->mapped = code->ranges;
		code->ranges = (struct line_ranges){0};
	}
	/* Even after an error no range may refer to a file without a module. */
	if (err)
		error_destroy(drop_files(finder));
	else
		err = drop_files(finder);
	return err;
}

/* Take the mappings in `text`, or read them if it is NULL. */
static struct error *read_mappings(struct line_finder *finder,
				   const struct maps_text *text)
{
	struct file_code code = {.mappings = {0}};
	struct proc_maps maps = {0};
	struct error *err = text ? proc_parse_maps(finder->proc, text, &maps)
				 : proc_read_maps(finder->proc, &maps);

	if (err)
		return err;
	err = take_mappings(finder, &maps, &code);
	vec_deinit(&code.ranges.list);
	vec_deinit(&code.mappings);
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
	hashmap_init(&finder->by_identity, hashmap_seed());
	finder->resources = (struct line_resources){
		.search = {.root_fd = live_thread_open(proc->pid, "root",
						       O_PATH | O_DIRECTORY | O_CLOEXEC),
			   .dirs = options->debug_dirs,
			   .fetch = options->fetch,
			   .fetch_arg = options->fetch_arg},
		.budget = {.steps = BUDGET_STEPS, .tick = tick, .tick_arg = finder},
		.memory_bytes = debug_elf_max_bytes(),
	};

	struct error *err = read_mappings(finder, finder->options.maps);

	finder->options.maps = NULL;
	if (err)
		return err;
	*ret = take(finder);
	return NULL;
}

void line_finder_destroy(struct line_finder *finder)
{
	if (!finder)
		return;
	vec_foreach (file, &finder->files)
		destroy_file(*file);
	vec_deinit(&finder->files);
	hashmap_deinit(&finder->by_identity);
	vec_deinit(&finder->mapped.list);
	vec_deinit(&finder->gone.list);
	vec_deinit(&finder->missing);
	closep(&finder->resources.search.root_fd);
	free(finder);
}

void line_finder_mappings_changed(struct line_finder *finder)
{
	/* If the mappings cannot be read, new code has no lines. */
	error_destroy(read_mappings(finder, NULL));
}

/* Work that soon follows other work counts as part of the same wait of the user. */
static void begin_work(struct line_finder *finder, const struct line_module *module)
{
	uint64_t now_ms = monotonic_ms();

	finder->reading = module;
	if (now_ms - finder->busy_until_ms > REST_MS)
		finder->busy_since_ms = now_ms;
	/* Show progress now: a server may take long, and tick() is not called then. */
	if (finder->options.fetch && !line_module_is_loaded(module))
		show_progress(finder);
	else
		tick(finder);
}

/* The newest range that contains or contained `address`; NULL: none. */
static const struct line_range *find_range(const struct line_finder *finder,
					   uint64_t address)
{
	const struct line_range *range = find_mapped(finder, address);

	for (size_t i = finder->gone.list.len; !range && i-- > 0;) {
		const struct line_range *gone = &finder->gone.list.data[i];

		if (address >= gone->start && address < gone->end)
			range = gone;
	}
	return range;
}

struct error *line_finder_find(struct line_finder *finder, uint64_t address,
			       struct source_frames *ret)
{
	const struct line_range *range = find_range(finder, address);
	struct line_module *module = range && range->file ? range->file->module : NULL;
	bool is_new, lacked_split;
	struct error *err;

	*ret = (struct source_frames){.function_offset = 0};
	if (!module)
		return NULL;
	is_new = !line_module_is_loaded(module);
	lacked_split = line_module_lacks_split(module);
	begin_work(finder, module);
	err = line_module_find(module, &finder->resources,
			       address - range->start + range->file_offset, ret);
	finder->busy_until_ms = monotonic_ms();
	if (!err &&
	    ((is_new && line_module_missing(module)) ||
	     (!lacked_split && line_module_lacks_split(module))) &&
	    !vec_push(&finder->missing, range->file)) {
		source_frames_deinit(ret);
		err = error_no_memory();
	}
	return err;
}

uint64_t line_finder_left_out(const struct line_finder *finder)
{
	return finder->left_out;
}

bool line_finder_next_missing(struct line_finder *finder, struct line_missing *ret)
{
	const struct line_module *module;

	if (!finder->missing.len)
		return false;
	module = finder->missing.data[0]->module;
	*ret = (struct line_missing){
		.path = line_module_path(module),
		.why = line_module_missing(module),
	};
	finder->missing.len--;
	memmove(finder->missing.data, finder->missing.data + 1,
		finder->missing.len * sizeof(*finder->missing.data));
	return true;
}
