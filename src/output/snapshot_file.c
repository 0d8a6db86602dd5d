// SPDX-License-Identifier: Apache-2.0
#include "output/snapshot_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "report/recorded.h"
#include "report/recorded_debug.h"
#include "snapshot/file.h"
#include "util/cleanup.h"

static struct error *open_file(const char *path, FILE **ret, uint64_t *ret_size)
{
	/* Non-blocking, because opening a FIFO would wait for a writer. */
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT && !strcmp(path, "-"))
		return error_create(
			ERROR_MALFORMED,
			"does not exist: a snapshot cannot be read from standard "
			"input");
	if (fd < 0 || fstat(fd, &st))
		return error_errno(ERROR_IO, errno, "cannot be read");
	if (S_ISDIR(st.st_mode))
		return error_create(ERROR_MALFORMED, "is a directory: name a file in it");
	if (!S_ISREG(st.st_mode))
		return error_create(ERROR_MALFORMED,
				    "is not a regular file: write the snapshot to a "
				    "file first");
	*ret_size = (uint64_t)st.st_size;
	*ret = fdopen(fd, "r");
	if (!*ret)
		return error_no_memory();
	fd = -1;
	return NULL;
}

/* Create the frame caches. Names stay as they were shown when recorded. */
static struct error *make_caches(struct snapshot_file *file, bool with_lines,
				 struct debug_store *store)
{
	size_t count = file->snap->processes.len;
	struct error *err = NULL;

	file->symbolizers = calloc(count + 1, sizeof(struct symbolizer *));
	file->frames = calloc(count + 1, sizeof(struct frame_cache *));
	if (!file->symbolizers || !file->frames)
		return error_no_memory();
	for (size_t i = 0; !err && i < count; i++) {
		err = report_recorded_symbolizer(file->snap, (uint32_t)i, with_lines,
						 &file->symbolizers[i]);
		if (!err && store)
			err = report_debug_symbolizer(file->snap, (uint32_t)i,
						      take(file->symbolizers[i]), store,
						      with_lines, &file->symbolizers[i]);
		if (err || !file->symbolizers[i])
			continue;
		file->frames[i] = frame_cache_create(file->symbolizers[i]);
		if (!file->frames[i])
			return error_no_memory();
		frame_cache_keep_mangled(file->frames[i]);
	}
	return err;
}

/* Put the option and the path in front of the error message. */
static struct error *name_file(const struct snapshot_file *file, struct error *err)
{
	struct error *named;

	if (!err || err->code == ERROR_NO_MEMORY)
		return err;
	named = error_create(err->code, "%s %s %s", file->option, file->path,
			     err->message);
	error_destroy(err);
	return named;
}

struct error *snapshot_file_open(const char *option, const char *path,
				 struct snapshot_file *ret)
{
	*ret = (struct snapshot_file){.option = option, .path = path};
	return name_file(ret, open_file(path, &ret->in, &ret->size_bytes));
}

struct error *snapshot_file_load(struct snapshot_file *file, bool with_lines,
				 struct debug_store *store)
{
	struct error *err =
		file->is_quick
			? snapshot_read_quickly(file->in, file->size_bytes, &file->snap)
			: snapshot_read(file->in, file->size_bytes, &file->snap);

	fclosep(&file->in);
	file->in = NULL;
	return err ? name_file(file, err) : make_caches(file, with_lines, store);
}

void snapshot_file_deinit(struct snapshot_file *file)
{
	for (size_t i = 0; file->frames && i < file->snap->processes.len; i++)
		frame_cache_destroy(file->frames[i]);
	for (size_t i = 0; file->symbolizers && i < file->snap->processes.len; i++)
		symbolizer_destroy(file->symbolizers[i]);
	free(file->frames);
	free(file->symbolizers);
	snapshot_destroy(file->snap);
	fclosep(&file->in);
	*file = (struct snapshot_file){.snap = NULL};
}
