// SPDX-License-Identifier: Apache-2.0
#include "code/start.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "code/decode.h"
#include "process/target_elf.h"
#include "process/target_file.h"
#include "util/cleanup.h"

/* Longest distance of the preceding function, bytes. */
#define BEFORE_MAX (64u << 10)

/* Usual alignment of functions, unless the code is optimized for size. */
#define USUAL_ALIGNMENT 16

DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct cfi *, cfi_close);

void starts_init(struct starts *s, const struct cfi *cfi, int fd)
{
	*s = (struct starts){.cfi = cfi, .fd = fd, .image = {.fd = -1}};
}

void starts_deinit(struct starts *s)
{
	closep(&s->fd);
	elf_image_deinit(&s->image);
	for (size_t i = 0; i < 2; i++)
		free(s->tables[i].data);
}

/* Read the symbol tables. A table that cannot be read is not taken to be missing: it may
 * have the function that contains the address. */
static void read_tables(struct starts *s)
{
	static const uint32_t types[] = {SHT_DYNSYM, SHT_SYMTAB};
	struct error *err = NULL;
	int fd = s->fd;

	if (s->is_read)
		return;
	s->is_read = true;
	s->is_unread = fd < 0;
	s->fd = -1;
	if (fd >= 0)
		err = elf_image_init_file(&s->image, fd);
	for (size_t t = 0; t < 2 && s->image.fd >= 0 && !err; t++)
		err = elf_image_load_type(&s->image, types[t], &s->tables[t]);
	s->is_unread |= err && (err->code == ERROR_IO || err->code == ERROR_NO_MEMORY);
	error_destroy(err);
}

/* --- the file's own symbols --------------------------------------------------------- */

/* What the symbol tables say about an address. */
struct around {
	bool has_own;    /* a function with a size begins there */
	bool is_inside;  /* a function that begins before it extends past it */
	bool has_before; /* a function begins before it, in the same segment */
	uint64_t before; /* address of the last such function */
};

static bool is_code(const Elf64_Phdr *segment)
{
	return segment && segment->p_flags & PF_X;
}

static void look_at(const struct starts *s, const Elf64_Sym *symbol, uint64_t address,
		    struct around *ret)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
	    symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
	    symbol->st_shndx == SHN_COMMON)
		return;
	if (symbol->st_value == address)
		ret->has_own |= symbol->st_size != 0;
	if (symbol->st_value >= address ||
	    elf_image_segment(&s->image, symbol->st_value) !=
		    elf_image_segment(&s->image, address))
		return;
	ret->is_inside |= symbol->st_size > address - symbol->st_value;
	if (!ret->has_before || symbol->st_value > ret->before)
		ret->before = symbol->st_value;
	ret->has_before = true;
}

static struct around look_around(const struct starts *s, uint64_t address)
{
	struct around ret = {0};

	for (size_t t = 0; t < 2; t++) {
		const struct elf_bytes *table = &s->tables[t];

		for (size_t at = 0; at + sizeof(Elf64_Sym) <= table->size_bytes;
		     at += sizeof(Elf64_Sym)) {
			Elf64_Sym symbol;

			memcpy(&symbol, table->data + at, sizeof(symbol));
			look_at(s, &symbol, address, &ret);
		}
	}
	return ret;
}

/* --- the instructions before -------------------------------------------------------- */

/* Are all bytes the same padding byte, as between functions or sections? */
static bool is_padding(const uint8_t *code, size_t size)
{
	return insn_is_padding(*code) && !memcmp(code, code + 1, size - 1);
}

/* Does decoding from code[0] end exactly at the end of these bytes, or in padding? */
static bool ends_with_instruction(const uint8_t *code, size_t size)
{
	struct insn insn;
	size_t at = 0;

	while (at < size && !is_padding(code + at, size - at)) {
		insn_decode(code + at, size - at, &insn);
		if (!insn.length)
			return false;
		at += insn.length;
	}
	return true;
}

static bool is_led_to(const struct starts *s, const struct around *around,
		      uint64_t address)
{
	uint64_t distance = address - around->before;
	struct elf_bytes code;
	bool is_led;

	if (!around->has_before || distance > BEFORE_MAX)
		return address % USUAL_ALIGNMENT == 0;
	if (!arch.has_decoder)
		return address % arch.code_alignment == 0;
	error_destroy(elf_image_load(&s->image, around->before, distance, &code));
	is_led = code.data && code.size_bytes == distance &&
		 ends_with_instruction(code.data, code.size_bytes);
	free(code.data);
	return is_led;
}

/* --- the rule ----------------------------------------------------------------------- */

static const char *doubt_without_fde(struct starts *s, const struct elf_symbol *symbol)
{
	struct around around;

	read_tables(s);
	if (s->is_unread)
		return "the file cannot be read";
	if (!is_code(elf_image_segment(&s->image, symbol->address)))
		return "its symbol is outside of the file's code";
	around = look_around(s, symbol->address);
	if (!around.has_own)
		return "the file has neither unwind information nor a function symbol "
		       "with a size there";
	if (around.is_inside)
		return "the file has no unwind information there, and its symbol points "
		       "into another function";
	return is_led_to(s, &around, symbol->address)
		       ? NULL
		       : "the file has no unwind information there, and the code before "
			 "does not end where its symbol points";
}

const char *start_doubt(struct starts *s, const struct elf_symbol *symbol)
{
	struct cfi_fde fde;

	if (s->cfi && cfi_find_fde(s->cfi, symbol->address, &fde))
		return fde.start == symbol->address
			       ? NULL
			       : "by the file's unwind information its symbol points "
				 "into another function";
	return symbol->is_from_debug
		       ? "a debug file has its symbol, and the file's unwind information "
			 "has no function there"
		       : doubt_without_fde(s, symbol);
}

struct error *start_open_cfi(const struct target_file *file, struct cfi **ret)
{
	int fd = target_file_open(file);
	struct error *err;

	*ret = NULL;
	if (fd < 0)
		return error_errno(ERROR_IO, errno, "cannot open %s",
				   target_file_name(file));
	err = cfi_open_file(fd, ret);
	if (err && err->code != ERROR_IO && err->code != ERROR_NO_MEMORY) {
		error_destroy(err);
		return NULL;
	}
	return error_prefix(err, "%s", target_file_name(file));
}

struct error *start_reaches(const struct target_file *file, uint64_t start,
			    uint64_t address, bool *ret)
{
	_cleanup_(cfi_closep) struct cfi *cfi = NULL;
	struct error *err = start_open_cfi(file, &cfi);
	struct cfi_fde fde;

	*ret = !err && (!cfi || !cfi_find_fde(cfi, start, &fde) || address < fde.end);
	return err;
}

struct error *start_doubt_in(const struct target_file *file,
			     const struct elf_symbol *symbol, const char **ret)
{
	_cleanup_(cfi_closep) struct cfi *cfi = NULL;
	struct error *err = start_open_cfi(file, &cfi);
	struct starts starts;
	int fd;

	*ret = NULL;
	if (err)
		return err;
	fd = target_file_open(file);
	if (fd < 0)
		return error_errno(ERROR_IO, errno, "cannot open %s",
				   target_file_name(file));
	starts_init(&starts, cfi, fd);
	*ret = start_doubt(&starts, symbol);
	starts_deinit(&starts);
	return NULL;
}

struct error *start_find_function(const struct target_file *from, const char *name,
				  struct start_function *ret)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	struct elf_symbol symbol;
	struct error *err = target_elf_open_function(from, name, &file, &symbol);
	size_t size = sizeof(ret->code);
	const char *doubt = NULL;

	*ret = (struct start_function){0};
	if (!err && symbol.name)
		err = start_doubt_in(from, &symbol, &doubt);
	if (err || !symbol.name || doubt)
		return err;
	if (symbol.size_bytes && symbol.size_bytes < size)
		size = (size_t)symbol.size_bytes;
	ret->size = elf_file_read(file, symbol.file_offset, ret->code, size);
	if (ret->size)
		ret->offset = symbol.file_offset;
	return NULL;
}
