// SPDX-License-Identifier: Apache-2.0
#include "allocator/scan_cache.h"

#include <stdlib.h>
#include <string.h>

#include "process/target_file.h"
#include "util/cleanup.h"

/* What was found in one file. */
struct scanned {
	struct target_file *file; /* shared */
	int64_t changed_ns;       /* target_file_changed() before the scan */
	struct allocators found;
};

struct scan_cache {
	VEC(struct scanned) list;
};

struct scan_cache *scan_cache_create(void)
{
	return calloc(1, sizeof(struct scan_cache));
}

void scan_cache_clear(struct scan_cache *cache)
{
	if (!cache)
		return;
	vec_foreach (scanned, &cache->list) {
		allocators_deinit(&scanned->found);
		target_file_release(scanned->file);
	}
	vec_deinit(&cache->list);
}

void scan_cache_destroy(struct scan_cache *cache)
{
	scan_cache_clear(cache);
	free(cache);
}

static bool copy_text(const char *from, char **to)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

/* Copy an allocator, mapped where `file` says. False: out of memory. */
static bool copy(const struct allocator *from, const struct allocator_file *file,
		 struct allocator *to)
{
	*to = (struct allocator){.file = target_file_share(file->file),
				 .module_start = file->module_start,
				 .text_start = file->text_start,
				 .text_end = file->text_end,
				 .places_left_out = from->places_left_out,
				 .has_targets_names = from->has_targets_names};
	return copy_text(file->module_path, &to->module_path) &&
	       copy_text(from->label, &to->label) &&
	       copy_text(from->build_id, &to->build_id) &&
	       copy_text(from->debug_path, &to->debug_path) &&
	       vec_copy(&from->functions, &to->functions) &&
	       vec_copy(&from->missing, &to->missing) &&
	       vec_copy(&from->hidden, &to->hidden);
}

static bool copy_from(const struct allocators *from, size_t first,
		      const struct allocator_file *file, struct allocators *to)
{
	for (size_t i = first; i < from->list.len; i++) {
		struct allocator one;

		if (copy(&from->list.data[i], file, &one) && vec_push(&to->list, one))
			continue;
		allocator_deinit(&one);
		return false;
	}
	return true;
}

/* Programs, and files that the user names, may have debug files of their process. The
 * functions of a prefix and USDT probes belong to one plan. */
static bool is_general(const struct allocator_file *file,
		       const struct allocator_options *options)
{
	return !file->is_executable && !file->is_named && !file->last_resort &&
	       !options->symbols_prefix && !options->otel;
}

static const struct scanned *find(const struct scan_cache *cache,
				  const struct target_file *file, int64_t changed_ns)
{
	vec_foreach (scanned, &cache->list)
		if (scanned->file == file && scanned->changed_ns == changed_ns)
			return scanned;
	return NULL;
}

/* Without memory, nothing is kept. */
static void keep(struct scan_cache *cache, const struct allocator_file *file,
		 int64_t changed_ns, const struct allocators *found, size_t first)
{
	struct scanned scanned = {.file = file->file, .changed_ns = changed_ns};

	if (copy_from(found, first, file, &scanned.found) &&
	    vec_push(&cache->list, scanned))
		target_file_share(file->file);
	else
		allocators_deinit(&scanned.found);
}

struct error *scan_cache_scan(struct scan_cache *cache, const struct allocator_file *file,
			      const struct allocator_options *options,
			      struct allocators *ret, char **why_none)
{
	size_t first = ret->list.len;
	const struct scanned *known;
	int64_t changed_ns;
	struct error *err;

	if (!cache || !is_general(file, options) ||
	    !target_file_changed(file->file, &changed_ns))
		return allocators_scan(file, options, ret, why_none);
	known = find(cache, file->file, changed_ns);
	*why_none = NULL;
	if (known)
		return copy_from(&known->found, 0, file, ret) ? NULL : error_no_memory();
	err = allocators_scan(file, options, ret, why_none);
	if (!err)
		keep(cache, file, changed_ns, ret, first);
	return err;
}
