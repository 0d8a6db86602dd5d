// SPDX-License-Identifier: Apache-2.0
#include "dwarf/debug_search.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "util/cleanup.h"
#include "util/regular_file.h"
#include "util/strbuf.h"

/* Debug files found by checksum are read completely; the largest real ones have 2 GB. */
#define CHECKSUM_MAX_BYTES (UINT64_C(8) << 30)

/* The debug file that is searched for. */
struct wanted {
	const struct debug_search *search;
	struct build_id id;
	bool by_checksum; /* compare `checksum`: no build-id is known */
	uint32_t checksum;
	bool needs_debug_info;
	struct debug_found *found;
};

void debug_found_deinit(struct debug_found *found)
{
	debug_elf_close(found->image);
	free(found->directory);
	*found = (struct debug_found){.image = NULL};
}

static bool has_checksum(const struct debug_elf *image, uint32_t want)
{
	unsigned char bytes[16384];
	uint32_t crc = 0;
	off_t at = 0;
	ssize_t n;

	if (image->size_bytes > CHECKSUM_MAX_BYTES)
		return false;
	/* Stop at the initial size: the file may grow while it is read. */
	while ((uint64_t)at < image->size_bytes &&
	       (n = pread(image->fd, bytes, sizeof(bytes), at)) > 0) {
		crc = (uint32_t)crc32(crc, bytes, (uInt)n);
		at += n;
	}
	return crc == want;
}

static bool serves(const struct wanted *wanted, const struct debug_elf *image)
{
	struct build_id id;

	if (wanted->needs_debug_info && !debug_elf_section(image, ".debug_info") &&
	    !debug_elf_section(image, ".zdebug_info"))
		return false;
	if (wanted->by_checksum)
		return has_checksum(image, wanted->checksum);
	id = debug_elf_build_id(image);
	return id.size && id.size == wanted->id.size &&
	       !memcmp(id.bytes, wanted->id.bytes, id.size);
}

/* Take the file `fd` (-1: none) if it is the wanted one. */
static struct error *try_fd(struct wanted *wanted, int fd, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	struct debug_elf *image;
	struct error *err;

	if (fd < 0)
		return NULL;
	err = debug_elf_open(fd, &image);
	if (err)
		return error_only_no_memory(err);
	if (!serves(wanted, image)) {
		debug_elf_close(image);
		return NULL;
	}
	wanted->found->image = image;
	if (slash) {
		wanted->found->directory = strndup(path, (size_t)(slash - path));
		if (!wanted->found->directory)
			return error_no_memory();
	}
	return NULL;
}

/* Try a path in the target's root or in ours. Takes ownership of `path`. */
static struct error *try_path(struct wanted *wanted, struct strbuf *path, bool in_target)
{
	struct error *err = NULL;

	if (path->failed)
		err = error_no_memory();
	else if (!wanted->found->image && !(in_target && wanted->search->root_fd < 0))
		err = try_fd(wanted,
			     in_target ? regular_file_open_below(wanted->search->root_fd,
								 path->data)
				       : regular_file_open(path->data),
			     path->data);
	strbuf_deinit(path);
	return err;
}

static struct error *try_build_id(struct wanted *wanted, const char *dir, bool in_target)
{
	struct strbuf path = {0};

	if (wanted->id.size < 2)
		return NULL;
	strbuf_appendf(&path, "%s/.build-id/%02x/", dir, wanted->id.bytes[0]);
	for (size_t i = 1; i < wanted->id.size; i++)
		strbuf_appendf(&path, "%02x", wanted->id.bytes[i]);
	strbuf_append(&path, ".debug");
	return try_path(wanted, &path, in_target);
}

/* Search below each directory by build-id. */
static struct error *try_build_ids(struct wanted *wanted)
{
	struct error *err = NULL;

	for (const char *const *dir = wanted->search->dirs; !err && dir && *dir; dir++)
		err = try_build_id(wanted, *dir, false);
	if (!err)
		err = try_build_id(wanted, DEBUG_SYSTEM_DIR, true);
	return err ? err : try_build_id(wanted, DEBUG_SYSTEM_DIR, false);
}

static struct error *try_link(struct wanted *wanted, const char *dir, const char *of_file,
			      const char *after, const char *name, bool in_target)
{
	struct strbuf path = {0};

	strbuf_appendf(&path, "%s%s%s/%s", dir, of_file, after, name);
	return try_path(wanted, &path, in_target);
}

/* Search by the name in .gnu_debuglink; `of_file` is the directory of the file with
 * that section. */
static struct error *try_links(struct wanted *wanted, const char *of_file,
			       const char *name)
{
	struct error *err = NULL;

	for (int i = 0; !err && i < 2; i++) {
		bool in_target = i == 0;

		err = try_link(wanted, "", of_file, "", name, in_target);
		if (!err)
			err = try_link(wanted, "", of_file, "/.debug", name, in_target);
		if (!err)
			err = try_link(wanted, DEBUG_SYSTEM_DIR, of_file, "", name,
				       in_target);
	}
	for (const char *const *dir = wanted->search->dirs; !err && dir && *dir; dir++) {
		err = try_link(wanted, *dir, of_file, "", name, false);
		if (!err)
			err = try_link(wanted, *dir, "", "", name, false);
	}
	return err;
}

static bool is_file_name(const char *name)
{
	return name && *name && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

struct error *debug_search_find(const struct debug_search *search,
				const struct debug_elf *file, const char *path,
				struct debug_found *ret)
{
	struct wanted wanted = {
		.search = search,
		.id = debug_elf_build_id(file),
		.needs_debug_info = true,
		.found = ret,
	};
	const char *slash = strrchr(path, '/');
	_cleanup_(freep) char *directory =
		strndup(path, slash ? (size_t)(slash - path) : 0);
	GElf_Word checksum = 0;
	const char *link = dwelf_elf_gnu_debuglink(file->elf, &checksum);
	struct error *err;

	*ret = (struct debug_found){.image = NULL};
	if (!directory)
		return error_no_memory();
	wanted.checksum = checksum;
	wanted.by_checksum = !wanted.id.size;
	err = try_build_ids(&wanted);
	if (!err && is_file_name(link))
		err = try_links(&wanted, directory, link);
	if (!err && !ret->image && search->fetch && wanted.id.size)
		err = try_fd(&wanted, search->fetch(search->fetch_arg, &wanted.id), NULL);
	if (err)
		debug_found_deinit(ret);
	return err;
}

struct error *debug_search_find_alt(const struct debug_search *search,
				    const struct debug_found *from, const char *name,
				    const struct build_id *id, struct debug_found *ret)
{
	struct wanted wanted = {
		.search = search,
		.id = *id,
		.needs_debug_info = true,
		.found = ret,
	};
	struct strbuf path = {0};
	struct error *err;

	*ret = (struct debug_found){.image = NULL};
	if (name[0] != '/' && from->directory)
		strbuf_appendf(&path, "%s/", from->directory);
	strbuf_append(&path, name);
	/* A relative name is relative to the file that has it. */
	if (name[0] == '/' || from->directory) {
		struct strbuf copy = {0};

		strbuf_append(&copy, strbuf_text(&path));
		err = try_path(&wanted, &copy, true);
		if (!err)
			err = try_path(&wanted, &path, false);
	} else {
		err = NULL;
	}
	strbuf_deinit(&path);
	if (!err)
		err = try_build_ids(&wanted);
	if (!err && !ret->image && search->fetch)
		err = try_fd(&wanted, search->fetch(search->fetch_arg, id), NULL);
	if (err)
		debug_found_deinit(ret);
	return err;
}
