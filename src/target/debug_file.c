// SPDX-License-Identifier: Apache-2.0
#include "target/debug_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/elf_file.h"
#include "util/cleanup.h"
#include "util/crc32.h"
#include "util/regular_file.h"
#include "util/strbuf.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

/* A debug file whose checksum has to be read whole; the largest real ones have 2 GB. */
#define CHECKSUM_MAX_BYTES ((uint64_t)8 << 30)

struct debuglink {
	char name[256]; /* "" when there is none */
	uint32_t checksum;
};

bool debug_file_is_needless(struct elf_file *file)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(file->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

/* A file name, its NUL, padding to four bytes, and the checksum. */
static void parse_debuglink(const Elf_Data *data, struct debuglink *ret)
{
	const char *name = data->d_buf;
	size_t length = name ? strnlen(name, data->d_size) : 0;
	size_t at = (length + 4) & ~(size_t)3;

	if (!length || length >= sizeof(ret->name) || memchr(name, '/', length) ||
	    !strcmp(name, ".") || !strcmp(name, "..") || at > data->d_size ||
	    data->d_size - at < sizeof(ret->checksum))
		return;
	memcpy(ret->name, name, length + 1);
	memcpy(&ret->checksum, name + at, sizeof(ret->checksum));
}

static void read_debuglink(struct elf_file *file, struct debuglink *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return;
	while (!ret->name[0] && (scn = elf_nextscn(file->elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_PROGBITS
					   ? elf_strptr(file->elf, names, sh.sh_name)
					   : NULL;
		const Elf_Data *data = name && !strcmp(name, ".gnu_debuglink")
					       ? elf_file_section_data(file, scn)
					       : NULL;

		if (data)
			parse_debuglink(data, ret);
	}
}

/* Program headers of a debug file may be those of the file that it was made from, with
 * offsets that are not its own; its note section is where the header says. */
static void read_build_id(struct elf_file *debug)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	debug->build_id[0] = '\0';
	while (!debug->build_id[0] && (scn = elf_nextscn(debug->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE)
			elf_file_parse_notes(debug, sh.sh_offset, sh.sh_size,
					     sh.sh_addralign);
}

static uint32_t checksum(struct elf_file *file)
{
	unsigned char bytes[16384];
	uint32_t crc = 0;
	uint64_t at = 0;
	size_t n;

	while ((n = elf_file_read_at(file, at, bytes, sizeof(bytes)))) {
		crc = crc32_update(crc, bytes, n);
		at += n;
	}
	return crc;
}

static bool serves(const struct elf_file *file, struct elf_file *debug,
		   const struct debuglink *link)
{
	if (!debug_file_is_needless(debug))
		return false;
	read_build_id(debug);
	if (file->build_id[0])
		return !strcmp(file->build_id, debug->build_id);
	return link->name[0] && debug->size_bytes <= CHECKSUM_MAX_BYTES &&
	       checksum(debug) == link->checksum;
}

/* Try one path below `root_fd`; the file keeps the debug file when it serves. */
static struct error *try_path(struct elf_file *file, int root_fd,
			      const struct debuglink *link, struct strbuf *path,
			      char **ret_path)
{
	int fd;
	_cleanup_(elf_file_closep) struct elf_file *debug = NULL;
	_cleanup_(error_destroyp) struct error *err = NULL;

	if (path->failed)
		return error_no_memory();
	fd = regular_file_open_below(root_fd, path->data);
	if (fd < 0)
		return NULL;
	err = elf_file_open_fd(fd, path->data, &debug);
	if (err)
		return err->code == ERROR_NO_MEMORY ? take(err) : NULL;
	if (!serves(file, debug, link))
		return NULL;
	*ret_path = strbuf_steal(path);
	if (!*ret_path)
		return error_no_memory();
	file->debug = take(debug);
	return NULL;
}

#define TRIES          4
#define TRIES_IN_DEBUG 2 /* the first ones, all below DEBUG_SYSTEM_DIR */

/* The path of try number `n`; false when there is no such try. */
static bool path_of(const struct elf_file *file, const char *directory,
		    const struct debuglink *link, unsigned n, struct strbuf *ret)
{
	static const char *const before[] = {DEBUG_SYSTEM_DIR, "", ""};
	static const char *const after[] = {"", "", "/.debug"};

	if (n == 0) {
		if (strlen(file->build_id) <= 2)
			return false;
		strbuf_appendf(ret, DEBUG_SYSTEM_DIR "/.build-id/%.2s/%s.debug",
			       file->build_id, file->build_id + 2);
		return true;
	}
	if (!link->name[0])
		return false;
	strbuf_appendf(ret, "%s%s%s/%s", before[n - 1], directory, after[n - 1],
		       link->name);
	return true;
}

static struct error *try_root(struct elf_file *file, int root_fd, unsigned tries,
			      const char *directory, const struct debuglink *link,
			      char **ret_path)
{
	struct error *err = NULL;

	for (unsigned n = 0; n < tries && !err && !*ret_path; n++) {
		_cleanup_(strbuf_deinit) struct strbuf path = {0};

		if (path_of(file, directory, link, n, &path))
			err = try_path(file, root_fd, link, &path, ret_path);
	}
	return err;
}

struct error *debug_file_find(struct elf_file *file, int root_fd, const char *module_path,
			      struct debug_file *ret)
{
	const char *slash = strrchr(module_path, '/');
	_cleanup_(freep) char *directory =
		strndup(module_path, slash ? (size_t)(slash - module_path) : 0);
	_cleanup_(closep) int own_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct debuglink link = {{0}, 0};
	struct error *err = NULL;

	*ret = (struct debug_file){0};
	if (!directory)
		return error_no_memory();
	read_debuglink(file, &link);
	if (own_fd >= 0)
		err = try_root(file, own_fd, TRIES_IN_DEBUG, directory, &link,
			       &ret->path);
	if (!err && !ret->path && root_fd >= 0) {
		err = try_root(file, root_fd, TRIES, directory, &link, &ret->path);
		ret->is_targets = ret->path;
	}
	return err;
}
