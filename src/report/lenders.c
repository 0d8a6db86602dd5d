// SPDX-License-Identifier: Apache-2.0
#include "report/lenders.h"

#include <string.h>

#include "util/text_hash.h"

void lenders_init(struct lenders *lenders, const struct snapshot *snap,
		  struct frame_cache *const caches[])
{
	*lenders = (struct lenders){.snap = snap, .caches = caches};
	hashmap_init(&lenders->by_build_id, hashmap_seed());
}

void lenders_deinit(struct lenders *lenders)
{
	hashmap_deinit(&lenders->by_build_id);
	vec_deinit(&lenders->list);
}

/* The processes that map a file with the module's build-id; NULL: none. */
static struct lender *find(const struct lenders *lenders,
			   const struct snapshot_module *module)
{
	struct lender *found;
	uint64_t at;

	if (!hashmap_get(&lenders->by_build_id, text_hash(module->build_id), &at))
		return NULL;
	found = &lenders->list.data[at];
	/* Another build-id may have the same hash. */
	return strcmp(found->modules[0]->build_id, module->build_id) ? NULL : found;
}

/* Returns false if memory is out. */
static bool add(struct lenders *lenders, uint32_t process,
		const struct snapshot_module *module)
{
	struct lender *known = find(lenders, module);

	if (!known) {
		if (!vec_push(&lenders->list, (struct lender){.count = 0}) ||
		    !hashmap_put(&lenders->by_build_id, text_hash(module->build_id),
				 lenders->list.len - 1))
			return false;
		known = &lenders->list.data[lenders->list.len - 1];
	}
	if (known->count == LENDERS_MAX)
		return true;
	known->modules[known->count] = module;
	known->processes[known->count++] = process;
	return true;
}

/* Add running processes first, because their symbols can still be read. */
static bool fill(struct lenders *lenders)
{
	const struct snapshot *snap = lenders->snap;

	for (int exited = 0; exited <= 1; exited++) {
		for (uint32_t i = 0; i < snap->processes.len; i++) {
			const struct snapshot_process *process = &snap->processes.data[i];

			if (process->exited != exited || !lenders->caches[i])
				continue;
			vec_foreach (module, &process->modules)
				if (module->build_id && !add(lenders, i, module))
					return false;
		}
	}
	return true;
}

/* Find the frame of the call at `call`, which is in `module`, in another process that
 * knows the function. *ret is NULL if none knows it. */
static struct error *ask(struct lenders *lenders, const struct snapshot_module *module,
			 uint64_t call, const struct frame **ret)
{
	uint64_t offset = call - module->start + module->file_offset;
	struct error *err = NULL;
	struct lender *known;

	*ret = NULL;
	if (!module->build_id)
		return NULL;
	if (!lenders->is_filled && !fill(lenders))
		return error_no_memory();
	lenders->is_filled = true;
	known = find(lenders, module);
	for (unsigned i = 0; known && i < known->count && !err && !*ret; i++) {
		const struct snapshot_module *there = known->modules[i];
		uint64_t at = offset - there->file_offset;

		if (offset < there->file_offset || at >= there->end - there->start)
			continue;
		/* A return address follows the last byte of the call. */
		err = frame_cache_get(lenders->caches[known->processes[i]],
				      there->start + at + 1, ret);
		if (!err && *ret && !(*ret)->symbol)
			*ret = NULL;
	}
	return err;
}

bool frame_is_known(const struct frame *frame)
{
	return frame && (frame->symbol || frame->module);
}

struct error *lenders_name(struct lenders *lenders, uint32_t process, uint64_t address,
			   const struct frame **ret)
{
	const struct snapshot *snap = lenders->snap;
	const struct snapshot_process *owner = snapshot_process(snap, process);
	/* Last byte of the call, which precedes the return address. */
	uint64_t call = address ? address - 1 : 0;
	const struct snapshot_module *module =
		owner ? snapshot_find_module(owner, call) : NULL;
	const struct frame *lent = NULL;
	struct error *err = NULL;

	*ret = NULL;
	if (owner && lenders->caches[process])
		err = frame_cache_get(lenders->caches[process], address, ret);
	if (!err && module && !frame_is_known(*ret))
		err = ask(lenders, module, call, &lent);
	if (lent)
		*ret = lent;
	return err;
}
