// SPDX-License-Identifier: Apache-2.0
#include "tracees/watched_files.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "elf/elf.h"
#include "process/target_elf.h"
#include "process/target_file.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/text_hash.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct target_file *, target_file_release);

void watched_files_init(struct watched_files *files, int root_fd,
			struct elf_reader *reader)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*files = (struct watched_files){
		.root_fd = root_fd,
		.reader = reader,
		.realtime_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec -
			       (int64_t)clock_now_ns(),
	};
	hashmap_init(&files->by_name, hashmap_seed());
}

static void file_destroy(struct watched_file *file)
{
	free(file->path);
	free(file->build_id);
	free(file);
}

void watched_files_deinit(struct watched_files *files)
{
	vec_foreach (file, &files->list)
		file_destroy(*file);
	vec_deinit(&files->list);
	hashmap_deinit(&files->by_name);
}

static uint64_t hash_of(const struct watched_mapping *m)
{
	return text_hash_more(TEXT_HASH_BEGIN ^ m->name.inode, m->path);
}

/* Look up the file by its path. */
static void look_for(const struct watched_files *files, struct watched_file *file)
{
	_cleanup_(target_file_releasep) struct target_file *found = NULL;
	_cleanup_(elf_file_closep) struct elf_file *elf = NULL;
	_cleanup_(error_destroyp) struct error *err =
		target_file_below(files->root_fd, file->path, files->reader, &found);
	struct file_names names;

	if (err || !target_file_is(found, &file->reported, &names) ||
	    !target_file_changed(found, &file->changed_ns))
		return;
	file->is_found = true;
	file->listed = names.listed;
	/* No build-id if the file has none or cannot be read. */
	err = target_elf_open(found, &elf);
	if (!err && elf_file_build_id(elf))
		file->build_id = strdup(elf_file_build_id(elf));
}

/* Returns NULL if the limit is reached or memory is out. */
static struct watched_file *add(struct watched_files *files,
				const struct watched_mapping *m)
{
	struct watched_file *file =
		files->list.len < WATCHED_FILES_MAX ? calloc(1, sizeof(*file)) : NULL;

	if (file)
		file->path = strdup(m->path);
	if (!file || !file->path || !vec_push(&files->list, file)) {
		if (file)
			file_destroy(file);
		return NULL;
	}
	file->reported = file->listed = m->name;
	look_for(files, file);
	/* If memory is out, the file is looked up again next time. */
	(void)!hashmap_put(&files->by_name, hash_of(m), files->list.len - 1);
	return file;
}

const struct watched_file *watched_files_get(struct watched_files *files,
					     const struct watched_mapping *m)
{
	struct watched_file *file = NULL;
	uint64_t at;

	if (hashmap_get(&files->by_name, hash_of(m), &at))
		file = files->list.data[at];
	/* Also add it if another file has the same hash. */
	if (!file || !file_name_is(&file->reported, &m->name) ||
	    strcmp(file->path, m->path) != 0)
		file = add(files, m);
	return file && file->is_found &&
			       file->changed_ns <=
				       (int64_t)m->time_ns + files->realtime_ns
		       ? file
		       : NULL;
}
