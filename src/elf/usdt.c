// SPDX-License-Identifier: Apache-2.0
#include "elf/usdt.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>

#include "elf/elf_file.h"
#include "elf/elf_here.h"

/* Format (SystemTap's wiki, "UserSpaceProbeImplementation"): note name "stapsdt", type
 * 3; three addresses, then three strings. */
#define NOTE_NAME "stapsdt"
#define NOTE_TYPE 3

struct note {
	uint64_t address, base, semaphore;
	const char *provider, *name, *args;
};

/* Get the file offset of `address` from the PT_LOADs. False: outside of them. */
static bool offset_of(struct elf_file *file, uint64_t address, bool executable,
		      uint64_t *ret)
{
	size_t count;
	GElf_Phdr ph;

	if (elf_getphdrnum(file->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(file->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    (executable && !(ph.p_flags & PF_X)) || address < ph.p_vaddr ||
		    address - ph.p_vaddr >= ph.p_filesz ||
		    ph.p_offset > file->size_bytes ||
		    address - ph.p_vaddr >= file->size_bytes - ph.p_offset)
			continue;
		*ret = ph.p_offset + (address - ph.p_vaddr);
		return true;
	}
	return false;
}

static Elf_Scn *find_section(struct elf_file *file, const char *wanted, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return NULL;
	while ((scn = elf_nextscn(file->elf, scn))) {
		const char *name = gelf_getshdr(scn, ret)
					   ? elf_strptr(file->elf, names, ret->sh_name)
					   : NULL;

		if (name && !strcmp(name, wanted))
			return scn;
	}
	return NULL;
}

/* The string at *at; moves *at past it. NULL: it does not end. */
static const char *take_string(const char **at, const char *end)
{
	const char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));

	if (nul)
		*at = nul + 1;
	return nul ? text : NULL;
}

static bool parse(const char *desc, size_t size, struct note *ret)
{
	const char *at = desc + 3 * sizeof(uint64_t), *end = desc + size;

	if (size < 3 * sizeof(uint64_t))
		return false;
	memcpy(&ret->address, desc, sizeof(uint64_t));
	memcpy(&ret->base, desc + 8, sizeof(uint64_t));
	memcpy(&ret->semaphore, desc + 16, sizeof(uint64_t));
	ret->provider = take_string(&at, end);
	ret->name = ret->provider ? take_string(&at, end) : NULL;
	ret->args = ret->name ? take_string(&at, end) : NULL;
	if (!ret->args)
		ret->args = "";
	return ret->name;
}

static void offer(struct nearest *nearest, const struct note *note)
{
	char both[NEAREST_NAME_MAX + 2];
	int len = snprintf(both, sizeof(both), "%s:%s", note->provider, note->name);

	if (nearest && len > 0)
		nearest_offer(nearest, both, (size_t)len);
}

static struct error *add(struct elf_file *file, struct note note, uint64_t base,
			 struct usdt_places *ret)
{
	/* Prelinking moves the code and this section by the same distance, but does not
	 * update the notes. */
	uint64_t moved = base && note.base ? base - note.base : 0;
	struct usdt_place place = {.address = note.address + moved};

	if (!offset_of(file, place.address, true, &place.file_offset))
		return NULL;
	if (note.semaphore &&
	    !offset_of(file, note.semaphore + moved, false, &place.semaphore))
		return NULL;
	usdt_args_parse(note.args, place.args, USDT_ARGS);
	return vec_push(&ret->list, place) ? NULL : error_no_memory();
}

struct error *elf_here_find_usdt(struct elf_file *file, const char *provider,
				 const char *name, struct nearest *nearest,
				 struct usdt_places *ret)
{
	struct error *err = elf_file_begin(file);
	size_t at = 0, name_at, desc_at;
	uint64_t base = 0;
	Elf_Data *data;
	GElf_Nhdr h;
	GElf_Shdr sh;

	if (err)
		return err;
	if (find_section(file, ".stapsdt.base", &sh))
		base = sh.sh_addr;
	data = elf_file_section_data(file, find_section(file, ".note.stapsdt", &sh));

	/* gelf_getnote() checks that name and description are within the data. */
	while (data && (at = gelf_getnote(data, at, &h, &name_at, &desc_at))) {
		const char *bytes = data->d_buf;
		struct note note;

		if (h.n_type != NOTE_TYPE || h.n_namesz != sizeof(NOTE_NAME) ||
		    memcmp(bytes + name_at, NOTE_NAME, sizeof(NOTE_NAME)) ||
		    !parse(bytes + desc_at, h.n_descsz, &note))
			continue;
		if (strcmp(note.provider, provider) || strcmp(note.name, name)) {
			offer(nearest, &note);
			continue;
		}
		if (ret->list.len >= USDT_PLACES_MAX)
			ret->left_out++;
		else
			err = add(file, note, base, ret);
		if (err)
			return err;
	}
	return NULL;
}
