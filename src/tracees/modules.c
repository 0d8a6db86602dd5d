// SPDX-License-Identifier: Apache-2.0
#include "tracees/modules.h"

#include <stdlib.h>
#include <string.h>

#include "elf/elf.h"
#include "process/file_names.h"
#include "process/target_elf.h"
#include "process/target_file.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct target_file *, target_file_release);

void modules_init(struct modules *modules)
{
	*modules = (struct modules){0};
}

void modules_deinit(struct modules *modules)
{
	vec_foreach (file, &modules->files)
		free(file->build_id);
	vec_deinit(&modules->files);
	proc_maps_deinit(&modules->maps);
}

static bool is_module(const struct proc_mapping *m)
{
	return m->executable && m->path[0];
}

/* For bsearch(3) in the file list. */
static int compare_file(const void *key, const void *element)
{
	const struct module_file *f = element;
	const struct file_name one = file_name_of(key),
			       other = {f->inode, f->dev_major, f->dev_minor};

	return file_name_compare(&one, &other);
}

/* For qsort(3). */
static int compare_mappings(const void *a, const void *b)
{
	const struct proc_mapping *m = *(const struct proc_mapping *const *)b;
	const struct module_file file = {m->inode, m->dev_major, m->dev_minor, NULL};

	return compare_file(*(const struct proc_mapping *const *)a, &file);
}

static struct module_file *find_file(const struct modules *modules,
				     const struct proc_mapping *m)
{
	return modules->files.len ? bsearch(m, modules->files.data, modules->files.len,
					    sizeof(*modules->files.data), compare_file)
				  : NULL;
}

/* NULL if the file has no build-id or cannot be read; neither is an error. */
static char *read_build_id(const struct proc *proc, const struct proc_mapping *m)
{
	_cleanup_(target_file_releasep) struct target_file *from = NULL;
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_(error_destroyp) struct error *err =
		target_file_of_mapping(proc, m, &from);

	if (!err)
		err = target_elf_open(from, &file);

	const char *id = err ? NULL : elf_file_build_id(file);

	return id ? strdup(id) : NULL;
}

/* Add the file of the next mapping in order, unless it is the last one added. Its
 * build-id is taken from `old` if known there. */
static bool add_file(struct modules *modules, struct modules *old,
		     const struct proc *proc, const struct proc_mapping *m)
{
	struct module_file file = {m->inode, m->dev_major, m->dev_minor, NULL};
	struct module_file *known = find_file(old, m);

	if (modules->files.len &&
	    !compare_file(m, &modules->files.data[modules->files.len - 1]))
		return true;
	if (!vec_push(&modules->files, file))
		return false;
	modules->files.data[modules->files.len - 1].build_id =
		known ? take(known->build_id) : read_build_id(proc, m);
	return true;
}

/* List the files of the mappings, each once, in the order of compare_file(). */
static struct error *list_files(struct modules *modules, struct modules *old,
				const struct proc *proc)
{
	VEC(const struct proc_mapping *) mappings = {0};
	bool has_memory = true;

	vec_foreach (m, &modules->maps.mappings)
		if (is_module(m) && m->inode)
			has_memory = has_memory && vec_push(&mappings, m);
	if (mappings.len)
		qsort(mappings.data, mappings.len, sizeof(*mappings.data),
		      compare_mappings);
	for (size_t i = 0; i < mappings.len && has_memory; i++)
		has_memory = add_file(modules, old, proc, mappings.data[i]);
	vec_deinit(&mappings);
	return has_memory ? NULL : error_no_memory();
}

struct error *modules_refresh(struct modules *modules, const struct proc *proc)
{
	struct modules now = {0}, old;
	struct error *err = proc_read_maps(proc, &now.maps);

	if (err && (err->code == ERROR_GONE || proc_has_exited(proc))) {
		error_destroy(err);
		return NULL;
	}
	if (err)
		return err;
	/* An exiting process loses its mappings before its exit becomes visible. */
	if (!now.maps.mappings.len) {
		proc_maps_deinit(&now.maps);
		return NULL;
	}
	err = list_files(&now, modules, proc);
	old = *modules;
	*modules = now;
	modules_deinit(&old);
	return err;
}

static bool insert_mapping(struct modules *modules, const struct proc_mapping *m)
{
	size_t at = vec_count_up_to(&modules->maps.mappings, start, m->start);
	struct proc_mapping copy = *m;

	copy.path = strdup(m->path);
	if (!copy.path ||
	    !vec_reserve(&modules->maps.mappings, modules->maps.mappings.len + 1)) {
		free(copy.path);
		return false;
	}
	memmove(modules->maps.mappings.data + at + 1, modules->maps.mappings.data + at,
		(modules->maps.mappings.len - at) * sizeof(copy));
	modules->maps.mappings.data[at] = copy;
	modules->maps.mappings.len++;
	return true;
}

static bool insert_file(struct modules *modules, const struct proc_mapping *m,
			const char *build_id)
{
	struct module_file file = {m->inode, m->dev_major, m->dev_minor, NULL};
	struct module_file *known = find_file(modules, m);
	size_t at = modules->files.len;

	/* The build-id of an exiting process's file may not have been readable
	 * earlier. */
	if (known && (known->build_id || !build_id))
		return true;
	file.build_id = build_id ? strdup(build_id) : NULL;
	if ((build_id && !file.build_id) ||
	    !vec_reserve(&modules->files, modules->files.len + 1)) {
		free(file.build_id);
		return false;
	}
	if (known) {
		known->build_id = file.build_id;
		return true;
	}
	for (; at && compare_file(m, &modules->files.data[at - 1]) < 0; at--)
		modules->files.data[at] = modules->files.data[at - 1];
	modules->files.data[at] = file;
	modules->files.len++;
	return true;
}

/* The file may have been mapped as data when the mappings were read, and partly as code
 * later. */
static bool overlaps_code(const struct modules *modules, const struct proc_mapping *m)
{
	vec_foreach (known, &modules->maps.mappings)
		if (known->executable && known->start < m->end && m->start < known->end)
			return true;
	return false;
}

struct error *modules_add(struct modules *modules, const struct proc_mapping *m,
			  const char *build_id, bool *ret_added)
{
	*ret_added = !overlaps_code(modules, m);
	return (!*ret_added || insert_mapping(modules, m)) &&
			       insert_file(modules, m, build_id)
		       ? NULL
		       : error_no_memory();
}

struct error *modules_copy(const struct modules *modules,
			   struct snapshot_process *process)
{
	for (size_t i = 0; i < modules->maps.mappings.len; i++) {
		const struct proc_mapping *m = &modules->maps.mappings.data[i];
		const struct module_file *file = find_file(modules, m);
		const char *id = file ? file->build_id : NULL;
		struct snapshot_module module = {m->start, m->end, m->file_offset, NULL,
						 NULL};

		if (!is_module(m))
			continue;
		module.path = strdup(m->path);
		module.build_id = id ? strdup(id) : NULL;
		if (!module.path || (id && !module.build_id) ||
		    !vec_push(&process->modules, module)) {
			free(module.path);
			free(module.build_id);
			return error_no_memory();
		}
	}
	return NULL;
}
