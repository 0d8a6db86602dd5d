// SPDX-License-Identifier: Apache-2.0
#include "report/recorded.h"

#include <stdlib.h>
#include <string.h>

#include "report/lenders.h"
#include "report/name_book.h"
#include "util/bisect.h"
#include "util/cleanup.h"
#include "util/hashmap.h"

/* Looking up lines can take long, so report progress after this many frames. */
#define PROGRESS_FRAMES 1024

/* The most sources of a name, on average, that frames are made for in advance. */
#define SOURCES_MAX 8

/* --- recording -------------------------------------------------------------------- */

static bool *find_used_stacks(const struct snapshot *snap)
{
	/* One more, because calloc(0) may return NULL. */
	bool *used = calloc(snap->stacks.len + 1, sizeof(*used));

	if (!used)
		return NULL;
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++) {
		vec_foreach (block, &snap->blocks[i]) {
			if (block->stack < snap->stacks.len)
				used[block->stack] = true;
		}
	}
	for (size_t i = 0; i < snap->traffic.len && i < snap->stacks.len; i++)
		used[i] = used[i] || snap->traffic.data[i].allocations;
	return used;
}

/* For each process: does it have stacks that need names? */
static bool *find_processes(const struct snapshot *snap, const bool *used)
{
	bool *has_stacks = calloc(snap->processes.len + 1, sizeof(*has_stacks));

	for (size_t i = 0; has_stacks && i < snap->stacks.len; i++)
		if (used[i] && snap->stacks.data[i].process < snap->processes.len)
			has_stacks[snap->stacks.data[i].process] = true;
	return has_stacks;
}

/* Add the addresses of the process's stacks, each once. */
static struct error *push_addresses(struct snapshot *snap, uint32_t process,
				    const bool *used)
{
	struct hashmap seen;
	bool ok = true;

	/* There are so few return addresses that a weak seed is enough. */
	hashmap_init(&seen, snap->wall_ns);
	for (size_t i = 0; ok && i < snap->stacks.len; i++) {
		const struct snapshot_stack *stack = &snap->stacks.data[i];
		bool is_whole = stack->first_frame <= snap->frames.len &&
				stack->depth <= snap->frames.len - stack->first_frame;

		if (!used[i] || stack->process != process || !is_whole)
			continue;
		for (size_t k = 0; ok && k < stack->depth; k++) {
			const struct snapshot_name name = {
				.process = process,
				.address = snap->frames.data[stack->first_frame + k],
			};

			if (!hashmap_get(&seen, name.address, NULL))
				ok = hashmap_put(&seen, name.address, 0) &&
				     vec_push(&snap->names, name);
		}
	}
	hashmap_deinit(&seen);
	return ok ? NULL : error_no_memory();
}

static int compare_names(const void *pa, const void *pb)
{
	const struct snapshot_name *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static bool push_source(struct snapshot *snap, const struct source_frame *frame)
{
	struct snapshot_source source = {
		.line = frame->line, .column = frame->column, .inlined = frame->inlined};

	return string_table_add(&snap->strings, frame->function, &source.function) &&
	       string_table_add(&snap->strings, frame->file, &source.file) &&
	       vec_push(&snap->sources, source);
}

/* If no process has a frame for the address, *ret_is_known is false and nothing is
 * recorded. */
static struct error *record_name(struct snapshot *snap, struct lenders *lenders,
				 struct snapshot_name *name, bool *ret_is_known)
{
	const struct frame *frame;
	struct error *err = lenders_name(lenders, name->process, name->address, &frame);

	*ret_is_known = !err && frame;
	if (!*ret_is_known)
		return err;
	name->offset = frame->offset;
	name->first_source = (uint32_t)snap->sources.len;
	name->source_count = (uint32_t)frame->sources.list.len;
	if (!string_table_add(&snap->strings, frame->symbol, &name->symbol) ||
	    !string_table_add(&snap->strings, frame->module, &name->module))
		return error_no_memory();
	vec_foreach (source, &frame->sources.list) {
		if (!push_source(snap, source))
			return error_no_memory();
	}
	return NULL;
}

struct error *report_record_names(struct snapshot *snap,
				  struct frame_cache *const frames[],
				  void (*progress)(void *arg, const char *phase),
				  void *arg)
{
	_cleanup_(freep) bool *used = find_used_stacks(snap);
	_cleanup_(freep) bool *has_stacks = used ? find_processes(snap, used) : NULL;
	_cleanup_(lenders_deinit) struct lenders lenders;
	struct error *err = has_stacks ? NULL : error_no_memory();
	size_t kept = 0;

	lenders_init(&lenders, snap, frames);
	/* A snapshot from a file already has its names. */
	if (!err && snap->strings.is_fixed)
		return NULL;
	snap->names.len = snap->sources.len = 0;
	for (uint32_t i = 0; !err && i < snap->processes.len; i++) {
		if (has_stacks[i])
			err = push_addresses(snap, i, used);
	}
	if (!err && snap->names.len)
		qsort(snap->names.data, snap->names.len, sizeof(*snap->names.data),
		      compare_names);
	for (size_t i = 0; !err && i < snap->names.len; i++) {
		struct snapshot_name *name = &snap->names.data[i];
		bool is_known;
		char phase[64];

		if (progress && i && !(i % PROGRESS_FRAMES)) {
			snprintf(phase, sizeof(phase), "naming frames for --save, %zu %%",
				 i * 100 / snap->names.len);
			progress(arg, phase);
		}
		err = record_name(snap, &lenders, name, &is_known);
		if (is_known)
			snap->names.data[kept++] = *name;
	}
	snap->names.len = kept;
	return err;
}

/* Look up book->fresh. */
static struct error *name_fresh(struct snapshot *snap, struct frame_cache *const frames[],
				struct name_book *book)
{
	_cleanup_(lenders_deinit) struct lenders lenders;
	struct error *err = NULL;
	size_t kept = 0;

	lenders_init(&lenders, snap, frames);
	for (size_t i = 0; !err && i < book->fresh.len; i++) {
		struct snapshot_name *name = &book->fresh.data[i];
		bool is_known;

		err = record_name(&book->store, &lenders, name, &is_known);
		if (is_known)
			book->fresh.data[kept++] = *name;
	}
	book->fresh.len = kept;
	return err;
}

struct error *report_record_kept_names(struct snapshot *snap,
				       struct frame_cache *const frames[],
				       struct name_book *book)
{
	_cleanup_(freep) bool *used = find_used_stacks(snap);
	struct error *err = NULL;

	if (!used || !name_book_begin(book, snap, frames) ||
	    !name_book_find_fresh(book, snap, used))
		err = error_no_memory();
	if (!err)
		err = name_fresh(snap, frames, book);
	if (!err && !name_book_finish(book, snap))
		err = error_no_memory();
	if (err)
		name_book_clear(book);
	return err;
}

struct error *report_rename(const struct snapshot *snap,
			    struct frame_cache *const frames[], struct snapshot *ret)
{
	const struct snapshot empty = {.wall_ns = 0};

	*ret = *snap;
	memcpy(&ret->names, &empty.names, sizeof(ret->names));
	memcpy(&ret->sources, &empty.sources, sizeof(ret->sources));
	ret->strings = (struct string_table){.is_hashed = false};
	return report_record_names(ret, frames, NULL, NULL);
}

void report_renamed_deinit(struct snapshot *renamed)
{
	vec_deinit(&renamed->names);
	vec_deinit(&renamed->sources);
	string_table_deinit(&renamed->strings);
}

/* --- reading a record ------------------------------------------------------------- */

struct recorded_symbolizer {
	struct symbolizer base;
	const struct snapshot *snap;
	const struct snapshot_name *names;
	size_t count;
	/* What a frame cache would make of the names. The strings are the snapshot's. */
	struct frame *frames;
	size_t frame_count;
	struct source_frame *sources; /* that the lists of `frames` point into */
};

/* Find the name for `call`, the last byte of the call; names have return addresses. */
static const struct snapshot_name *find(const struct symbolizer *self, uint64_t call)
{
	const struct recorded_symbolizer *recorded =
		(const struct recorded_symbolizer *)self;
	/* The first name with an address above `call`. */
	size_t low = bisect(recorded->count, i, recorded->names[i].address <= call);

	if (low < recorded->count && recorded->names[low].address == call + 1)
		return &recorded->names[low];
	/* No byte precedes a return address of 0. */
	return !call && low && !recorded->names[low - 1].address
		       ? &recorded->names[low - 1]
		       : NULL;
}

/* Copy a text; *ret is NULL if the index has no text. Returns false if memory is out. */
static bool copy_text(const struct snapshot *snap, uint32_t index, char **ret)
{
	const char *text = string_table_get(&snap->strings, index);

	*ret = text ? strdup(text) : NULL;
	return *ret || !text;
}

static struct error *recorded_resolve(struct symbolizer *self, uint64_t address,
				      struct symbol *ret)
{
	const struct snapshot *snap = ((struct recorded_symbolizer *)self)->snap;
	const struct snapshot_name *name = find(self, address);

	*ret = (struct symbol){0};
	if (!name)
		return NULL;
	ret->offset = name->offset - (name->address ? 1 : 0);
	if (copy_text(snap, name->symbol, &ret->name) &&
	    copy_text(snap, name->module, &ret->module))
		return NULL;
	symbol_deinit(ret);
	return error_no_memory();
}

static struct error *recorded_find_sources(struct symbolizer *self, uint64_t address,
					   struct source_frames *ret)
{
	const struct snapshot *snap = ((struct recorded_symbolizer *)self)->snap;
	const struct snapshot_name *name = find(self, address);

	*ret = (struct source_frames){.function_offset = 0};
	for (size_t i = 0; name && i < name->source_count; i++) {
		const struct snapshot_source *source =
			&snap->sources.data[name->first_source + i];
		struct source_frame frame = {.line = source->line,
					     .column = source->column,
					     .inlined = source->inlined};

		if (!copy_text(snap, source->function, &frame.function) ||
		    !copy_text(snap, source->file, &frame.file) ||
		    !vec_push(&ret->list, frame)) {
			free(frame.function);
			free(frame.file);
			source_frames_deinit(ret);
			return error_no_memory();
		}
	}
	return NULL;
}

static const struct frame *recorded_frames(struct symbolizer *self, size_t *ret_count)
{
	const struct recorded_symbolizer *recorded = (struct recorded_symbolizer *)self;

	*ret_count = recorded->frame_count;
	return recorded->frames;
}

static void recorded_destroy(struct symbolizer *self)
{
	struct recorded_symbolizer *recorded = (struct recorded_symbolizer *)self;

	free(recorded->frames);
	free(recorded->sources);
	free(self);
}

static const struct symbolizer_ops names_and_lines = {
	.resolve = recorded_resolve,
	.find_sources = recorded_find_sources,
	.known_frames = recorded_frames,
	.destroy = recorded_destroy,
};

static const struct symbolizer_ops names_only = {
	.resolve = recorded_resolve,
	.known_frames = recorded_frames,
	.destroy = recorded_destroy,
};

/* Fill the sources of a name, from `to` on. */
static void fill_sources(const struct snapshot *snap, const struct snapshot_name *name,
			 struct source_frame *to, struct source_frames *ret)
{
	for (size_t i = 0; i < name->source_count; i++) {
		const struct snapshot_source *source =
			&snap->sources.data[name->first_source + i];

		to[i] = (struct source_frame){
			.function = (char *)string_table_get(&snap->strings,
							     source->function),
			.file = (char *)string_table_get(&snap->strings, source->file),
			.line = source->line,
			.column = source->column,
			.inlined = source->inlined,
		};
	}
	ret->list.data = to;
	ret->list.len = name->source_count;
}

static struct frame known_frame(const struct snapshot *snap,
				const struct snapshot_name *name)
{
	return (struct frame){
		.address = name->address,
		.symbol = string_table_get(&snap->strings, name->symbol),
		.module = string_table_get(&snap->strings, name->module),
	};
}

/* The same as frame_look_up() and the cache make of the answers above. */
static void finish_frame(const struct snapshot_name *name, struct frame *frame)
{
	const struct source_frames *sources = &frame->sources;
	bool has_symbol = frame->symbol;

	if (!has_symbol && sources->list.len)
		frame->symbol = sources->list.data[sources->list.len - 1].function;
	/* Recorded sources have no offset in the function. It counts as 0 at the last
	 * byte of the call, and the return address is one byte after that. */
	if (!has_symbol && frame->symbol)
		frame->offset = 1;
	else if (frame->symbol || frame->module)
		frame->offset = name->offset;
}

/* Make the frames, so that nothing is copied for each when it is asked for. */
static bool make_frames(struct recorded_symbolizer *self, bool with_lines)
{
	size_t sources = 0;

	for (size_t i = 0; with_lines && i < self->count; i++)
		sources += self->names[i].source_count;
	/* In a damaged file names may share their sources. */
	if (sources / SOURCES_MAX > self->count)
		return true;
	/* One more, because malloc(0) may return NULL. */
	self->frames = malloc((self->count + 1) * sizeof(*self->frames));
	self->sources = malloc((sources + 1) * sizeof(*self->sources));
	if (!self->frames || !self->sources)
		return false;
	sources = 0;
	for (size_t i = 0; i < self->count; i++) {
		const struct snapshot_name *name = &self->names[i];
		struct frame *frame = &self->frames[self->frame_count];

		/* No byte precedes it: it is left to the functions above. */
		if (!name->address)
			continue;
		*frame = known_frame(self->snap, name);
		if (with_lines) {
			fill_sources(self->snap, name, &self->sources[sources],
				     &frame->sources);
			sources += name->source_count;
		}
		finish_frame(name, frame);
		self->frame_count++;
	}
	return true;
}

/* The index of the first name of a process, or of a later one. */
static size_t first_name(const struct snapshot *snap, uint32_t process)
{
	return bisect(snap->names.len, i, snap->names.data[i].process < process);
}

struct error *report_recorded_symbolizer(const struct snapshot *snap, uint32_t process,
					 bool with_lines, struct symbolizer **ret)
{
	struct recorded_symbolizer *recorded;
	size_t first = first_name(snap, process);
	size_t count = first_name(snap, process + 1) - first;

	*ret = NULL;
	if (!count)
		return NULL;
	recorded = malloc(sizeof(*recorded));
	if (!recorded)
		return error_no_memory();
	*recorded = (struct recorded_symbolizer){
		.base = {.ops = with_lines ? &names_and_lines : &names_only},
		.snap = snap,
		.names = snap->names.data + first,
		.count = count,
	};
	if (!make_frames(recorded, with_lines)) {
		recorded_destroy(&recorded->base);
		return error_no_memory();
	}
	*ret = &recorded->base;
	return NULL;
}
