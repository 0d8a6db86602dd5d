// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_cache.h"

#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

/* Bound on cached allocators. The oldest entry is replaced first. */
#define CACHE_OBJECTS 32

/* Code that an analysis has read, with its contents then. */
struct kept_code {
	uint64_t file_offset;
	size_t size;
	uint8_t *bytes; /* owned */
};

/* One allocator of one file. */
struct kept {
	struct elf_identity file;
	bool has_process;      /* the file was mapped by a process when analyzed */
	bool asked_of_returns; /* the sites depend on site_refused_return() ... */
	const char *refusal;   /* ... and this was its result */
	VEC(struct kept_code) code;
	/* The sites and skipped functions; only label and functions of its allocator
	 * are set. */
	struct plan_object object;
};

struct plan_cache {
	struct kept *object[CACHE_OBJECTS]; /* NULL: none */
	size_t next;                        /* the slot to use next */
};

struct plan_cache *plan_cache_create(void)
{
	return calloc(1, sizeof(struct plan_cache));
}

static void kept_destroy(struct kept *kept)
{
	if (!kept)
		return;
	vec_foreach (code, &kept->code)
		free(code->bytes);
	vec_deinit(&kept->code);
	plan_object_deinit(&kept->object);
	free(kept);
}

DEFINE_CLEANUP(struct kept *, kept_destroy);

void plan_cache_destroy(struct plan_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < CACHE_OBJECTS; i++)
		kept_destroy(cache->object[i]);
	free(cache);
}

/* --- is it the same? ---------------------------------------------------------------- */

static bool same_function(const struct allocator_function *a,
			  const struct allocator_function *b)
{
	return a->function == b->function && a->symbol.address == b->symbol.address &&
	       a->symbol.size_bytes == b->symbol.size_bytes &&
	       a->symbol.file_offset == b->symbol.file_offset &&
	       a->symbol.type == b->symbol.type;
}

static bool is_of(const struct kept *kept, const struct elf_identity *file,
		  const struct site_target *target, const struct allocator *allocator)
{
	const struct allocator *known = &kept->object.allocator;

	if (!elf_identity_equals(&kept->file, file) ||
	    strcmp(known->label, allocator->label) != 0 ||
	    kept->has_process != !!target->proc ||
	    known->functions.len != allocator->functions.len ||
	    (kept->asked_of_returns && kept->refusal != site_refused_return(target)))
		return false;
	for (size_t i = 0; i < known->functions.len; i++)
		if (!same_function(&known->functions.data[i],
				   &allocator->functions.data[i]))
			return false;
	return true;
}

/* Compare the code: someone with write access to the file can hide that it has
 * changed. */
static bool has_code(const struct kept_code *code, struct elf_file *file,
		     const struct site_target *target, const struct allocator *allocator)
{
	_cleanup_(freep) uint8_t *bytes = malloc(code->size);

	return bytes &&
	       elf_file_read(file, code->file_offset, bytes, code->size) == code->size &&
	       !memcmp(bytes, code->bytes, code->size) &&
	       !site_text_check(target, allocator, code->file_offset, code->bytes,
				code->size);
}

static bool is_unchanged(const struct kept *kept, struct elf_file *file,
			 const struct site_target *target,
			 const struct allocator *allocator)
{
	vec_foreach (code, &kept->code)
		if (!has_code(code, file, target, allocator))
			return false;
	return true;
}

/* --- to take and to keep ------------------------------------------------------------ */

/* On failure `to` is valid, with a part of the sites. */
static bool copy_sites(const struct plan_object *from, struct plan_object *to)
{
	vec_foreach (site, &from->sites) {
		struct plan_site copy = *site;

		if (!return_sites_copy(&site->returns, &copy.returns) ||
		    !vec_push(&to->sites, copy)) {
			return_sites_deinit(&copy.returns);
			return false;
		}
	}
	vec_foreach (skip, &from->skipped)
		if (!vec_push(&to->skipped, *skip))
			return false;
	return true;
}

static bool read_code(struct kept *kept, struct elf_file *file,
		      const struct site_checks *checks)
{
	vec_foreach (range, &checks->ranges) {
		struct kept_code code = {range->file_offset, range->size,
					 malloc(range->size)};

		if (!code.bytes ||
		    elf_file_read(file, code.file_offset, code.bytes, code.size) !=
			    code.size ||
		    !vec_push(&kept->code, code)) {
			free(code.bytes);
			return false;
		}
	}
	return true;
}

static bool fill(struct kept *kept, struct elf_file *file,
		 const struct site_target *target, const struct plan_object *object)
{
	kept->file = elf_file_identity(file);
	kept->has_process = target->proc;
	kept->asked_of_returns = target->returns && target->returns->is_asked;
	kept->refusal = kept->asked_of_returns ? target->returns->refusal : NULL;
	kept->object.allocator.label = strdup(object->allocator.label);
	if (!kept->object.allocator.label)
		return false;
	vec_foreach (function, &object->allocator.functions)
		if (!vec_push(&kept->object.allocator.functions, *function))
			return false;
	return copy_sites(object, &kept->object) && read_code(kept, file, target->checks);
}

/* Can the sites serve other processes? Function names given by the user, and arguments
 * of USDT probes, belong to one process's plan. */
static bool is_general(const struct allocator *allocator)
{
	vec_foreach (found, &allocator->functions)
		if (found->function->effect == EFFECT_ALLOC_USDT ||
		    found->function->effect == EFFECT_FREE_USDT)
			return false;
	return !allocator->prefixed;
}

bool plan_cache_find(const struct plan_cache *cache, struct elf_file *file,
		     const struct site_target *target, struct plan_object *object)
{
	const struct elf_identity identity = elf_file_identity(file);

	if (!is_general(&object->allocator))
		return false;
	for (size_t i = 0; i < CACHE_OBJECTS; i++) {
		const struct kept *kept = cache->object[i];

		if (!kept || !is_of(kept, &identity, target, &object->allocator) ||
		    !is_unchanged(kept, file, target, &object->allocator))
			continue;
		if (copy_sites(&kept->object, object))
			return true;
		plan_object_drop_sites(object);
	}
	return false;
}

void plan_cache_add(struct plan_cache *cache, struct elf_file *file,
		    const struct site_target *target, const struct plan_object *object)
{
	_cleanup_(kept_destroyp) struct kept *kept = NULL;

	if (target->checks->has_failed || !is_general(&object->allocator))
		return;
	kept = calloc(1, sizeof(*kept));
	if (!kept || !fill(kept, file, target, object))
		return;
	kept_destroy(cache->object[cache->next]);
	cache->object[cache->next] = take(kept);
	cache->next = (cache->next + 1) % CACHE_OBJECTS;
}
