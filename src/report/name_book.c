// SPDX-License-Identifier: Apache-2.0
#include "report/name_book.h"

#include <stdlib.h>
#include <string.h>

#include "util/mix.h"
#include "util/text_hash.h"

struct name_book *name_book_create(void)
{
	struct name_book *book = calloc(1, sizeof(*book));

	if (book)
		book->seed = hashmap_seed();
	return book;
}

void name_book_destroy(struct name_book *book)
{
	if (!book)
		return;
	name_book_clear(book);
	vec_deinit(&book->sources);
	vec_deinit(&book->named);
	vec_deinit(&book->seen);
	vec_deinit(&book->fresh);
	free(book);
}

void name_book_clear(struct name_book *book)
{
	vec_foreach (seen, &book->seen)
		hashmap_deinit(seen);
	book->seen.len = book->named.len = book->sources.len = 0;
	vec_deinit(&book->store.names);
	vec_deinit(&book->store.sources);
	string_table_deinit(&book->store.strings);
}

/* --- are the names still right? ----------------------------------------------------- */

static struct name_source source_of(const struct name_book *book,
				    const struct snapshot_process *process,
				    const struct frame_cache *cache)
{
	uint64_t hash = book->seed;

	vec_foreach (module, &process->modules) {
		hash = mix(mix(mix(hash, module->start), module->end),
			   module->file_offset);
		hash = mix(hash, text_hash(module->path));
		hash = mix(hash, module->build_id ? text_hash(module->build_id) : 0);
	}
	return (struct name_source){.version = cache ? frame_cache_version(cache) : 0,
				    .modules = hash,
				    .pid = process->pid,
				    .exited = process->exited};
}

static bool is_same(const struct name_source *a, const struct name_source *b)
{
	return a->version == b->version && a->modules == b->modules && a->pid == b->pid &&
	       a->exited == b->exited;
}

/* A process may lend its names to others, so one that changes concerns all. */
bool name_book_begin(struct name_book *book, const struct snapshot *snap,
		     struct frame_cache *const frames[])
{
	size_t count = snap->processes.len;
	bool same = book->sources.len == count;

	if (!vec_reserve(&book->sources, count) || !vec_reserve(&book->seen, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct name_source now =
			source_of(book, &snap->processes.data[i], frames[i]);

		same = same && is_same(&now, &book->sources.data[i]);
		book->sources.data[i] = now;
	}
	if (!same)
		name_book_clear(book);
	book->sources.len = count;
	while (book->seen.len < count)
		hashmap_init(&book->seen.data[book->seen.len++], book->seed);
	return true;
}

/* --- new stacks --------------------------------------------------------------------- */

/* Never 0. */
static uint64_t stack_hash(const struct name_book *book, const struct snapshot *snap,
			   const struct snapshot_stack *stack)
{
	const uint64_t *frames = snap->frames.data + stack->first_frame;
	uint64_t hash = mix(book->seed, stack->process);

	for (size_t i = 0; i < stack->depth; i++)
		hash = mix(hash, frames[i]);
	return hash | 1;
}

static bool add_stack(struct name_book *book, const struct snapshot *snap,
		      const struct snapshot_stack *stack)
{
	struct hashmap *seen = &book->seen.data[stack->process];

	for (size_t i = 0; i < stack->depth; i++) {
		const struct snapshot_name name = {
			.process = stack->process,
			.address = snap->frames.data[stack->first_frame + i],
		};

		if (!hashmap_get(seen, name.address, NULL) &&
		    (!hashmap_put(seen, name.address, 0) ||
		     !vec_push(&book->fresh, name)))
			return false;
	}
	return true;
}

static int compare(const void *pa, const void *pb)
{
	const struct snapshot_name *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

bool name_book_find_fresh(struct name_book *book, const struct snapshot *snap,
			  const bool *used)
{
	size_t known = book->named.len, count = snap->stacks.len;

	book->fresh.len = 0;
	if (!vec_reserve(&book->named, count))
		return false;
	if (count > known)
		memset(book->named.data + known, 0,
		       (count - known) * sizeof(*book->named.data));
	book->named.len = count;
	for (size_t i = 0; i < count; i++) {
		const struct snapshot_stack *stack = &snap->stacks.data[i];
		uint64_t hash;

		if (!used[i] || stack->process >= snap->processes.len ||
		    stack->first_frame > snap->frames.len ||
		    stack->depth > snap->frames.len - stack->first_frame)
			continue;
		hash = stack_hash(book, snap, stack);
		if (book->named.data[i] == hash)
			continue;
		if (!add_stack(book, snap, stack))
			return false;
		book->named.data[i] = hash;
	}
	if (book->fresh.len)
		qsort(book->fresh.data, book->fresh.len, sizeof(*book->fresh.data),
		      compare);
	return true;
}

/* --- all names ---------------------------------------------------------------------- */

/* Merge from the end, where there is room. */
static bool merge_fresh(struct name_book *book)
{
	size_t old = book->store.names.len, fresh = book->fresh.len;
	struct snapshot_name *names;

	if (!vec_reserve(&book->store.names, old + fresh))
		return false;
	names = book->store.names.data;
	book->store.names.len = old + fresh;
	while (fresh) {
		const struct snapshot_name *next = &book->fresh.data[fresh - 1];

		if (old && compare(&names[old - 1], next) > 0) {
			names[old + fresh - 1] = names[old - 1];
			old--;
		} else {
			names[old + fresh - 1] = *next;
			fresh--;
		}
	}
	return true;
}

bool name_book_finish(struct name_book *book, struct snapshot *snap)
{
	return merge_fresh(book) && vec_copy(&book->store.names, &snap->names) &&
	       vec_copy(&book->store.sources, &snap->sources) &&
	       string_table_copy(&book->store.strings, &snap->strings);
}
