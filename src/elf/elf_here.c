// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_here.h"

#include <gelf.h>
#include <string.h>

#include <zlib.h>

#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

/* Largest debug file that is read whole for its checksum. The largest real ones have 2
 * GB. */
#define CHECKSUM_MAX_BYTES ((uint64_t)8 << 30)

static struct error *has_symbol_table(struct elf_file *file, bool *ret)
{
	struct error *err = elf_file_begin(file);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	*ret = false;
	while (!err && !*ret && (scn = elf_nextscn(file->elf, scn)))
		*ret = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB;
	return err;
}

/* --- debug files ------------------------------------------------------------------- */

/* Format: a file name, its NUL, padding to four bytes, and the checksum. */
static void parse_debuglink(const Elf_Data *data, struct elf_debuglink *ret)
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

static struct error *read_debuglink(struct elf_file *file, struct elf_debuglink *ret)
{
	struct error *err = elf_file_begin(file);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	*ret = (struct elf_debuglink){{0}, 0};
	if (err || elf_getshdrstrndx(file->elf, &names))
		return err;
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
	return NULL;
}

/* Read the build-id from note sections. The program headers of a debug file may be
 * copies from the stripped file, with offsets that are wrong in the debug file. */
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
		crc = (uint32_t)crc32(crc, bytes, (uInt)n);
		at += n;
	}
	return crc;
}

static bool serves(const struct elf_file *file, struct elf_file *debug,
		   const struct elf_debuglink *link)
{
	bool has_symbols = false;

	error_destroy(has_symbol_table(debug, &has_symbols));
	if (!has_symbols)
		return false;
	read_build_id(debug);
	if (file->build_id[0])
		return !strcmp(file->build_id, debug->build_id);
	return link->name[0] && debug->size_bytes <= CHECKSUM_MAX_BYTES &&
	       checksum(debug) == link->checksum;
}

static struct error *try_debug(struct elf_file *file, int fd,
			       const struct elf_debuglink *link, bool *ret_serves)
{
	_cleanup_(elf_file_closep) struct elf_file *debug = NULL;
	struct error *err = elf_file_open_as(fd, "debug file", file->tables, &debug);

	*ret_serves = !err && serves(file, debug, link);
	if (*ret_serves) {
		elf_file_close(file->debug);
		file->debug = take(debug);
	}
	return err;
}

static void close_here(struct elf_file *file)
{
	elf_file_close(file->debug);
	elf_end(file->elf);
}

const struct elf_tables elf_tables_here = {
	.find_functions = elf_here_find_functions,
	.offer_functions = elf_here_offer_functions,
	.read_links = elf_here_read_links,
	.find_usdt = elf_here_find_usdt,
	.has_symbols = has_symbol_table,
	.read_debuglink = read_debuglink,
	.try_debug = try_debug,
	.close = close_here,
};
