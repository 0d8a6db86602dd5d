// SPDX-License-Identifier: Apache-2.0
/* Changes of a process's code, by probes of the functions that make them. */
#include "bpf/tracer_state.h"
#include "target/linker.h"
#include "target/proc.h"
#include "util/cleanup.h"

/* What a process has of its own to look for. */
struct mapped {
	struct proc *proc;
	struct proc_maps maps;
	struct auxv auxv;
};

static void mapped_deinit(struct mapped *mapped)
{
	proc_maps_deinit(&mapped->maps);
	proc_close(mapped->proc);
}

static struct error *mapped_init(struct mapped *mapped, int pid)
{
	struct error *err = proc_open(pid, &mapped->proc);

	auxv_read(pid, &mapped->auxv);
	return err ? err : proc_read_maps(mapped->proc, &mapped->maps);
}

static const struct proc_mapping *find_linker(const struct mapped *mapped)
{
	vec_foreach (m, &mapped->maps.mappings)
		if (mapped->auxv.linker_base && m->start == mapped->auxv.linker_base &&
		    m->inode)
			return m;
	return NULL;
}

static bool is_watched(const struct probed_files *watched,
		       const struct attached_site *site)
{
	vec_foreach (s, &watched->list)
		if (s->pid == site->pid && s->file == site->file)
			return true;
	return false;
}

/* Attach these probes to their function in the file of a mapping, if their programs are
 * loaded, and it is there and has not got them. */
static struct error *watch(struct tracer *t, const struct mapped *mapped,
			   const struct proc_mapping *m, struct attach_probe probes[],
			   size_t count, struct probed_files *watched)
{
	struct attached_site site = {
		.pid = t->options.scope == SCOPE_PROCESSES ? mapped->proc->pid : 0};
	_cleanup_(freep) char *path = NULL;
	struct error *err = NULL;
	uint64_t offset = 0;

	for (size_t i = 0; i < count; i++)
		if (probes[i].program < 0)
			return NULL;
	if (m)
		err = proc_mapping_path(mapped->proc, m, &path);
	if (!err && path)
		err = file_numbers_get(&t->files, path, &site.file);
	if (err || !site.file || is_watched(watched, &site))
		return err;
	err = linker_find_function(path, probes[0].function, &offset);
	for (size_t i = 0; i < count; i++) {
		probes[i].path = path;
		probes[i].offset = offset;
	}
	if (!err && offset)
		err = tracer_attach_probes(t, site.pid, probes, count);
	if (!err && !vec_push(&watched->list, site))
		err = error_no_memory();
	return err;
}

void tracer_watch_code(struct tracer *t, int pid)
{
	struct mapped mapped = {0};
	struct attach_probe notice = {.function = LINKER_NOTICE};
	struct attach_probe moves[] = {{.function = "mremap"},
				       {.function = "mremap", .is_return = true}};
	struct error *err;

	tracer_load_code_programs(t);
	notice.program = t->programs[PROGRAM_CODE_CHANGE];
	moves[0].program = t->programs[PROGRAM_MOVE];
	moves[1].program = t->programs[PROGRAM_MOVED];
	err = mapped_init(&mapped, pid);
	if (!err) {
		error_destroy(
			watch(t, &mapped, find_linker(&mapped), &notice, 1, &t->linkers));
		error_destroy(watch(t, &mapped,
				    linker_find_libc(&mapped.maps, &mapped.auxv), moves,
				    2, &t->libcs));
	}
	error_destroy(err);
	mapped_deinit(&mapped);
}

static void forget(struct probed_files *watched, int pid)
{
	size_t kept = 0;

	vec_foreach (site, &watched->list)
		if (site->pid != pid)
			watched->list.data[kept++] = *site;
	watched->list.len = kept;
}

void tracer_unwatch_code(struct tracer *t, int pid)
{
	forget(&t->linkers, pid);
	forget(&t->libcs, pid);
}
