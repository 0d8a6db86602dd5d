// SPDX-License-Identifier: Apache-2.0
#include "cli/modules.h"

#include <string.h>

#include "target/elf.h"
#include "target/target_file.h"
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

static const struct module_file *find_file(const struct modules *modules,
					   const struct proc_mapping *m)
{
	for (size_t i = 0; i < modules->files.len; i++) {
		const struct module_file *f = &modules->files.data[i];

		if (f->inode == m->inode && f->dev_major == m->dev_major &&
		    f->dev_minor == m->dev_minor)
			return f;
	}
	return NULL;
}

/* A file without a build-id, or one that cannot be read, has none: not an error. */
static char *read_build_id(const struct proc *proc, const struct proc_mapping *m)
{
	_cleanup_(target_file_releasep) struct target_file *from = NULL;
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_(error_destroyp) struct error *err =
		target_file_of_mapping(proc, m, &from);

	if (!err)
		err = elf_file_open_target(from, &file);

	const char *id = err ? NULL : elf_file_build_id(file);

	return id ? strdup(id) : NULL;
}

struct error *modules_refresh(struct modules *modules, const struct proc *proc)
{
	struct proc_maps maps = {0};
	struct error *err = proc_read_maps(proc, &maps);

	if (err && (err->code == ERROR_GONE || proc_has_exited(proc))) {
		error_destroy(err);
		return NULL;
	}
	if (err)
		return err;
	/* An exiting process has lost its mappings before it is seen to be gone. */
	if (!maps.mappings.len) {
		proc_maps_deinit(&maps);
		return NULL;
	}
	vec_foreach (m, &maps.mappings) {
		struct module_file file = {m->inode, m->dev_major, m->dev_minor, NULL};

		if (!is_module(m) || !m->inode || find_file(modules, m))
			continue;
		file.build_id = read_build_id(proc, m);
		if (!vec_push(&modules->files, file)) {
			free(file.build_id);
			proc_maps_deinit(&maps);
			return error_no_memory();
		}
	}
	proc_maps_deinit(&modules->maps);
	modules->maps = maps;
	return NULL;
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
