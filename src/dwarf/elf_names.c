// SPDX-License-Identifier: Apache-2.0
#include "dwarf/elf_names.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/vec.h"

#define UNPACK_MEMORY_MAX_BYTES (UINT64_C(64) << 20)
#define UNPACKED_MAX_BYTES      ((size_t)256 << 20)

/* The size of a symbol table, or of its names. libelf reads each of them as a whole. */
#define TABLE_MAX_BYTES (UINT64_C(256) << 20)

/* No compiler makes longer names, but a hostile file may. */
#define COMPARED_MAX 65536

struct named {
	uint64_t address, size_bytes;
	const char *name; /* in the image */
};

struct elf_names {
	struct debug_elf *image;
	VEC(struct named) functions; /* by address */
};

DEFINE_CLEANUP(struct elf_names *, elf_names_destroy);

static int compare(const void *pa, const void *pb)
{
	const struct named *a = pa, *b = pb;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	/* Of aliases the larger one wins, then the name decides, for a stable choice. */
	if (a->size_bytes != b->size_bytes)
		return a->size_bytes < b->size_bytes ? -1 : 1;
	return strncmp(b->name, a->name, COMPARED_MAX);
}

/* False when out of memory. */
static bool add_symbols(struct elf_names *names, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t count = data ? data->d_size / sizeof(Elf64_Sym) : 0;
	GElf_Sym sym;

	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF ||
		    (GELF_ST_TYPE(sym.st_info) != STT_FUNC &&
		     GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC))
			continue;
		name = elf_strptr(names->image->elf, sh->sh_link, sym.st_name);
		if (!name || !*name)
			continue;
		if (!vec_push(&names->functions, (struct named){
							 .address = sym.st_value,
							 .size_bytes = sym.st_size,
							 .name = name,
						 }))
			return false;
	}
	return true;
}

/* Is the table's size realistic? A sparse file may claim any size. */
static bool is_moderate(const struct elf_names *names, const GElf_Shdr *sh)
{
	Elf_Scn *strings = elf_getscn(names->image->elf, sh->sh_link);
	GElf_Shdr of_strings;

	return strings && gelf_getshdr(strings, &of_strings) &&
	       sh->sh_size <= TABLE_MAX_BYTES && of_strings.sh_size <= TABLE_MAX_BYTES;
}

static struct error *read_tables(struct elf_names *names, unsigned type)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(names->image->elf, scn))) {
		/* libelf divides by sh_entsize. */
		if (gelf_getshdr(scn, &sh) && sh.sh_type == type &&
		    sh.sh_entsize == sizeof(Elf64_Sym) && is_moderate(names, &sh) &&
		    !add_symbols(names, scn, &sh))
			return error_no_memory();
	}
	return NULL;
}

struct error *elf_names_create(struct debug_elf *image, struct elf_names **ret)
{
	_cleanup_(elf_names_destroyp) struct elf_names *names = calloc(1, sizeof(*names));

	if (!names) {
		debug_elf_close(image);
		return error_no_memory();
	}
	names->image = image;

	struct error *err = read_tables(names, SHT_SYMTAB);

	if (!err && !names->functions.len)
		err = read_tables(names, SHT_DYNSYM);
	if (err)
		return err;
	if (names->functions.len)
		qsort(names->functions.data, names->functions.len,
		      sizeof(*names->functions.data), compare);
	*ret = take(names);
	return NULL;
}

void elf_names_destroy(struct elf_names *names)
{
	if (!names)
		return;
	vec_deinit(&names->functions);
	debug_elf_close(names->image);
	free(names);
}

const char *elf_names_find(const struct elf_names *names, uint64_t address,
			   uint64_t *ret_offset)
{
	size_t low = vec_count_up_to(&names->functions, address, address);

	if (!low)
		return NULL;

	const struct named *found = &names->functions.data[low - 1];

	/* Assembly may leave the size at 0. */
	if (found->size_bytes && address - found->address >= found->size_bytes)
		return NULL;
	*ret_offset = address - found->address;
	return found->name;
}

const char *elf_names_find_at(const struct elf_names *names, uint64_t file_offset,
			      uint64_t *ret_offset)
{
	uint64_t address;

	return debug_elf_address(names->image, file_offset, &address)
		       ? elf_names_find(names, address, ret_offset)
		       : NULL;
}

/* Decompress an xz stream into memory from malloc. NULL if it is damaged or too large. */
static void *unpack(const Elf_Data *packed, size_t *ret_size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t cap = packed->d_size < UNPACKED_MAX_BYTES / 4 ? packed->d_size * 4
							     : UNPACKED_MAX_BYTES;
	_cleanup_(freep) unsigned char *bytes = malloc(cap ? cap : 1);
	lzma_ret status;

	if (!bytes || lzma_stream_decoder(&stream, UNPACK_MEMORY_MAX_BYTES, 0) != LZMA_OK)
		return NULL;
	stream.next_in = packed->d_buf;
	stream.avail_in = packed->d_size;
	stream.next_out = bytes;
	stream.avail_out = cap;
	while ((status = lzma_code(&stream, LZMA_FINISH)) == LZMA_OK) {
		unsigned char *larger;

		if (stream.avail_out || cap >= UNPACKED_MAX_BYTES)
			break;
		larger = realloc(bytes, cap * 2);
		if (!larger)
			break;
		bytes = larger;
		stream.next_out = bytes + cap;
		stream.avail_out = cap;
		cap *= 2;
	}
	*ret_size = (size_t)stream.total_out;
	lzma_end(&stream);
	return status == LZMA_STREAM_END ? take(bytes) : NULL;
}

struct error *elf_names_from_debugdata(const struct debug_elf *image,
				       struct elf_names **ret)
{
	const Elf_Data *packed = debug_elf_data(image, ".gnu_debugdata");
	struct debug_elf *inner;
	struct error *err;
	size_t size;
	void *bytes;

	*ret = NULL;
	bytes = packed ? unpack(packed, &size) : NULL;
	if (!bytes)
		return NULL;
	err = debug_elf_from_memory(bytes, size, &inner);
	return err ? error_only_no_memory(err) : elf_names_create(inner, ret);
}
