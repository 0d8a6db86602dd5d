// SPDX-License-Identifier: Apache-2.0
#include "diff/diff_modules.h"

#include <stdlib.h>
#include <string.h>

#include "util/path.h"
#include "util/string_table.h"

/* Of more files none is matched, since that takes quadratic time. */
#define FILES_MAX        2000
#define BY_FUNCTIONS_MAX 200 /* files */
#define FUNCTIONS_MAX    5000
#define SHARED_MIN       2

struct file {
	const char *path, *name, *build_id;
	VEC(uint32_t) functions; /* indexes of their names, each once, sorted */
	bool is_matched;         /* or has a namesake in the other report */
};

struct side {
	VEC(struct file) files;
	struct hashmap
		by_path; /* index of the path in matcher.texts -> index in `files` */
};

struct matcher {
	struct string_table texts; /* paths and names of functions */
	struct side old, new;
	struct matched_modules *pairs;
};

const char *diff_modules_words(enum module_match by)
{
	static const char *const words[MATCH_KINDS] = {
		[MATCH_PATH] = "another directory",
		[MATCH_BUILD_ID] = "the same build-id",
		[MATCH_VERSION] = "another version",
		[MATCH_FUNCTIONS] = "the same functions",
	};

	return words[by];
}

static bool is_version_char(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

size_t diff_modules_stem_len(const char *name)
{
	const char *so = strstr(name, ".so");
	size_t len = strlen(name);

	if (so && so != name && (so[3] == '\0' || so[3] == '.'))
		len = (size_t)(so - name);
	while (len > 1 && is_version_char(name[len - 1]))
		len--;
	return len;
}

/* --- the files of a report ------------------------------------------------------------
 */

static bool find_file(struct matcher *m, struct side *side,
		      const struct report_frame *frame, struct file **ret)
{
	const struct file new = {.path = frame->module,
				 .name = path_base_name(frame->module),
				 .build_id = frame->build_id};
	uint32_t text;
	uint64_t index;

	if (!string_table_add(&m->texts, frame->module, &text))
		return false;
	if (!hashmap_get(&side->by_path, text, &index)) {
		index = side->files.len;
		if (!vec_push(&side->files, new) ||
		    !hashmap_put(&side->by_path, text, index))
			return false;
	}
	*ret = &side->files.data[index];
	return true;
}

static bool add_frame(struct matcher *m, struct side *side,
		      const struct report_frame *frame)
{
	struct file *file;
	uint32_t function;

	if (!frame->module)
		return true;
	if (!find_file(m, side, frame, &file))
		return false;
	if (!frame->symbol || file->functions.len >= FUNCTIONS_MAX)
		return true;
	return string_table_add(&m->texts, frame->symbol, &function) &&
	       vec_push(&file->functions, function);
}

static int compare_numbers(const void *pa, const void *pb)
{
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	return a < b ? -1 : a > b;
}

static void sort_functions(struct file *file)
{
	size_t kept = 0;

	if (!file->functions.len)
		return;
	qsort(file->functions.data, file->functions.len, sizeof(*file->functions.data),
	      compare_numbers);
	vec_foreach (function, &file->functions) {
		if (!kept || file->functions.data[kept - 1] != *function)
			file->functions.data[kept++] = *function;
	}
	file->functions.len = kept;
}

static bool find_files(struct matcher *m, struct side *side, const struct report *report)
{
	bool *seen = calloc(report->frame_count + 1, sizeof(*seen));
	bool ok = seen != NULL;

	for (size_t s = 0; ok && s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t r = 0; ok && r < section->row_count; r++) {
			const struct report_row *row = &section->rows[r];

			for (size_t i = 0; ok && i < row->depth; i++) {
				const struct report_frame *frame = row->frames[i];

				if (!seen[frame->index])
					ok = add_frame(m, side, frame);
				seen[frame->index] = true;
			}
		}
	}
	free(seen);
	vec_foreach (file, &side->files)
		sort_functions(file);
	return ok;
}

/* --- pairs ----------------------------------------------------------------------------
 */

static bool pair(struct matcher *m, struct file *old, struct file *new,
		 enum module_match by)
{
	const struct matched_module made = {old->path, new->path, by};
	uint32_t index;

	old->is_matched = new->is_matched = true;
	/* Each old path is paired once, so both have the same index. */
	return string_table_add(&m->pairs->old, old->path, &index) &&
	       vec_push(&m->pairs->list, made);
}

static bool is_kernels(const char *path)
{
	return path[0] == '[';
}

/* Take files with one name in both reports for one, and list them if their directories
 * differ. */
static bool match_names(struct matcher *m)
{
	bool ok = true;

	vec_foreach (old, &m->old.files) {
		struct file *other = NULL;

		vec_foreach (new, &m->new.files) {
			if (strcmp(old->name, new->name) != 0)
				continue;
			if (!strcmp(old->path, new->path)) {
				old->is_matched = new->is_matched = true;
				other = NULL;
				break;
			}
			other = new;
		}
		if (other && !old->is_matched && !is_kernels(old->path)) {
			/* Several files may have the name. */
			ok = ok && pair(m, old, other, MATCH_PATH);
		}
		old->is_matched |= is_kernels(old->path);
	}
	return ok;
}

static bool has_build_id(const struct file *old, const struct file *new)
{
	return old->build_id && new->build_id && !strcmp(old->build_id, new->build_id);
}

static bool has_stem(const struct file *old, const struct file *new)
{
	size_t len = diff_modules_stem_len(old->name);

	return len == diff_modules_stem_len(new->name) &&
	       !memcmp(old->name, new->name, len);
}

/* Pair files if `fits` is true for them, unless another file fits as well. */
static bool match_by(struct matcher *m, enum module_match by,
		     bool (*fits)(const struct file *old, const struct file *new))
{
	vec_foreach (old, &m->old.files) {
		struct file *only = NULL;
		size_t count = 0, others = 0;

		if (old->is_matched)
			continue;
		vec_foreach (new, &m->new.files) {
			if (!new->is_matched && fits(old, new)) {
				only = new;
				count++;
			}
		}
		vec_foreach (other, &m->old.files)
			others += only && other != old && !other->is_matched &&
				  fits(other, only);
		if (count == 1 && !others && !pair(m, old, only, by))
			return false;
	}
	return true;
}

static size_t count_shared(const struct file *a, const struct file *b)
{
	size_t shared = 0;

	for (size_t i = 0, k = 0; i < a->functions.len && k < b->functions.len;) {
		uint32_t x = a->functions.data[i], y = b->functions.data[k];

		shared += x == y;
		i += x <= y;
		k += y <= x;
	}
	return shared;
}

static bool has_functions(const struct file *old, const struct file *new)
{
	size_t fewer = old->functions.len < new->functions.len ? old->functions.len
							       : new->functions.len;
	size_t shared = count_shared(old, new);

	return shared >= SHARED_MIN && 2 * shared >= fewer;
}

static void side_deinit(struct side *side)
{
	vec_foreach (file, &side->files)
		vec_deinit(&file->functions);
	vec_deinit(&side->files);
	hashmap_deinit(&side->by_path);
}

static bool match(struct matcher *m)
{
	if (m->old.files.len > FILES_MAX || m->new.files.len > FILES_MAX)
		return true;
	if (!match_names(m) || !match_by(m, MATCH_BUILD_ID, has_build_id) ||
	    !match_by(m, MATCH_VERSION, has_stem))
		return false;
	return m->old.files.len > BY_FUNCTIONS_MAX ||
	       m->new.files.len > BY_FUNCTIONS_MAX ||
	       match_by(m, MATCH_FUNCTIONS, has_functions);
}

struct error *diff_modules_match(const struct report *old, const struct report *new,
				 struct matched_modules *ret)
{
	struct matcher m = {.pairs = ret};
	bool ok;

	hashmap_init(&m.old.by_path, hashmap_seed());
	hashmap_init(&m.new.by_path, hashmap_seed());
	ok = find_files(&m, &m.old, old) && find_files(&m, &m.new, new) && match(&m);
	side_deinit(&m.old);
	side_deinit(&m.new);
	string_table_deinit(&m.texts);
	return ok ? NULL : error_no_memory();
}

void diff_modules_deinit(struct matched_modules *modules)
{
	vec_deinit(&modules->list);
	string_table_deinit(&modules->old);
}

const char *diff_modules_new_path(struct matched_modules *modules, const char *old)
{
	uint32_t index;

	return modules->list.len && string_table_add(&modules->old, old, &index) &&
			       index < modules->list.len
		       ? modules->list.data[index].new
		       : old;
}
