// SPDX-License-Identifier: Apache-2.0
#include "dwarf/line_module.h"

#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dwarf/elf_names.h"
#include "dwarf/go_names.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct line_module *, line_module_destroy);

struct line_module {
	int fd; /* the file, until it is loaded; then -1 */
	char *path;
	bool is_loaded;
	uint64_t debug_bytes; /* taken of line_resources.memory_bytes */
	const char *missing;
	struct debug_elf *image;  /* the file itself; NULL: unusable */
	struct debug_found debug; /* its separate debug file, if it has one */
	struct debug_found alt;   /* the debug info's supplementary file */
	Dwarf *dwarf, *alt_dwarf;
	struct split_search *splits; /* finds units in .dwo files */
	struct dwarf_lookup *lookup;
	struct elf_names *names; /* of .gnu_debugdata */
	struct go_names *go;     /* used in place of debug info in a Go program */
};

struct error *line_module_create(int fd, const char *path, struct line_module **ret)
{
	_cleanup_(line_module_destroyp) struct line_module *module =
		calloc(1, sizeof(*module));

	if (!module) {
		close(fd);
		return error_no_memory();
	}
	module->fd = fd;
	module->path = strdup(path);
	if (!module->path)
		return error_no_memory();
	*ret = take(module);
	return NULL;
}

/* Drop the debug info; names stay. */
static void drop_dwarf(struct line_module *module)
{
	dwarf_lookup_destroy(module->lookup);
	module->lookup = NULL;
	split_search_destroy(module->splits);
	module->splits = NULL;
	dwarf_end(module->dwarf);
	module->dwarf = NULL;
	dwarf_end(module->alt_dwarf);
	module->alt_dwarf = NULL;
	debug_found_deinit(&module->debug);
	debug_found_deinit(&module->alt);
}

void line_module_destroy(struct line_module *module)
{
	if (!module)
		return;
	drop_dwarf(module);
	go_names_destroy(module->go);
	elf_names_destroy(module->names);
	debug_elf_close(module->image);
	closep(&module->fd);
	free(module->path);
	free(module);
}

static bool has_debug_info(const struct debug_elf *image)
{
	Elf_Scn *scn = debug_elf_section(image, ".debug_info");
	GElf_Shdr sh;

	if (!scn)
		scn = debug_elf_section(image, ".zdebug_info");
	return scn && gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NOBITS && sh.sh_size;
}

/* Do the string sections end with a NUL? libdw (at least 0.188) assumes so, and
 * otherwise reads beyond their end. */
static bool strings_end(const struct debug_elf *image)
{
	static const char *const names[] = {".debug_str", ".debug_line_str"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const Elf_Data *data = debug_elf_data(image, names[i]);

		if (data && data->d_size &&
		    ((const char *)data->d_buf)[data->d_size - 1] != '\0')
			return false;
	}
	return true;
}

/* Open the DWARF; libdw reads all debug sections of a file at once. */
static Dwarf *begin_dwarf(struct line_resources *resources, const struct debug_elf *image)
{
	Dwarf *dwarf;

	if (image->debug_bytes > resources->memory_bytes)
		return NULL;
	resources->memory_bytes -= image->debug_bytes;
	dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	/* Check now, since libdw has decompressed the sections. */
	if (dwarf && !strings_end(image)) {
		dwarf_end(dwarf);
		dwarf = NULL;
	}
	return dwarf;
}

/* Find and set the supplementary file. Without it the debug info is unusable: libdw
 * would open that file itself, by the name that the target gave it. */
static struct error *load_alt(struct line_module *module,
			      struct line_resources *resources)
{
	const char *slash = strrchr(module->path, '/');
	struct debug_found itself = {.image = NULL};
	struct build_id id = {.size = 0};
	struct error *err;
	const char *name;
	const void *bytes;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(module->dwarf, &name, &bytes);

	if (size <= 0 || size > BUILD_ID_MAX_BYTES) {
		if (size)
			module->missing = "its link to a supplementary file is damaged";
		return NULL;
	}
	memcpy(id.bytes, bytes, (size_t)size);
	id.size = (size_t)size;
	itself.directory =
		strndup(module->path, slash ? (size_t)(slash - module->path) : 0);
	if (!itself.directory)
		return error_no_memory();
	err = debug_search_find_alt(&resources->search,
				    module->debug.image ? &module->debug : &itself, name,
				    &id, &module->alt);
	free(itself.directory);
	if (err)
		return err;
	if (module->alt.image)
		module->alt_dwarf = begin_dwarf(resources, module->alt.image);
	if (module->alt_dwarf)
		dwarf_setalt(module->dwarf, module->alt_dwarf);
	else
		module->missing =
			"the supplementary file (dwz) of its debug info was not found";
	return NULL;
}

static struct error *load_dwarf(struct line_module *module,
				struct line_resources *resources)
{
	const struct debug_elf *image = module->image;
	struct error *err = NULL;

	if (!has_debug_info(image)) {
		err = debug_search_find(&resources->search, image, module->path,
					&module->debug);
		if (err)
			return err;
		image = module->debug.image;
	}
	if (!image) {
		module->missing = "no debug info";
		return NULL;
	}
	module->missing = "its debug info cannot be read";
	module->dwarf = begin_dwarf(resources, image);
	if (!module->dwarf)
		return NULL;
	module->missing = NULL;
	err = load_alt(module, resources);
	if (err || module->missing)
		return err;
	err = split_search_create(&resources->search, module->path,
				  module->debug.directory, &resources->memory_bytes,
				  &module->splits);
	if (err)
		return err;
	return dwarf_lookup_create(image, module->dwarf, module->splits,
				   &resources->budget, &module->lookup);
}

static struct error *load(struct line_module *module, struct line_resources *resources)
{
	int fd = module->fd;
	struct error *err;

	module->fd = -1;
	module->is_loaded = true;
	err = debug_elf_open(fd, &module->image);
	if (err && err->code != ERROR_NO_MEMORY) {
		error_destroy(err);
		module->missing = "the file cannot be read";
		return NULL;
	}
	if (!err)
		err = load_dwarf(module, resources);
	if (!err && module->missing) {
		drop_dwarf(module);
		err = elf_names_from_debugdata(module->image, &module->names);
		if (!err)
			err = go_names_create(module->image, &module->go);
		if (module->go)
			module->missing = NULL;
	}
	return err;
}

static struct error *find_name(const struct line_module *module, uint64_t address,
			       struct source_frames *ret)
{
	const char *name = elf_names_find(module->names, address, &ret->function_offset);
	struct source_frame frame = {.function = NULL};

	if (!name)
		return NULL;
	frame.function = strdup(name);
	if (!frame.function || !vec_push(&ret->list, frame)) {
		free(frame.function);
		return error_no_memory();
	}
	return NULL;
}

/* Find the frames of the code at `*given`, or if that is NULL at `file_offset`. */
static struct error *find(struct line_module *module, struct line_resources *resources,
			  const uint64_t *given, uint64_t file_offset,
			  struct source_frames *ret)
{
	uint64_t address = given ? *given : 0;
	struct error *err = NULL;

	if (!module->is_loaded)
		err = load(module, resources);
	if (err || !module->image ||
	    (!given && !debug_elf_address(module->image, file_offset, &address)))
		return err;
	if (module->lookup)
		return dwarf_lookup_find(module->lookup, address, ret);
	if (module->go)
		err = go_names_find(module->go, address, ret);
	return !err && module->names && !ret->list.len ? find_name(module, address, ret)
						       : err;
}

static struct error *find_and_count(struct line_module *module,
				    struct line_resources *resources,
				    const uint64_t *address, uint64_t file_offset,
				    struct source_frames *ret)
{
	uint64_t before = resources->memory_bytes;
	struct error *err;

	*ret = (struct source_frames){.function_offset = 0};
	err = find(module, resources, address, file_offset, ret);
	/* Lookups read debug info, also of split units, at its first use. */
	module->debug_bytes += before - resources->memory_bytes;
	return err;
}

struct error *line_module_find(struct line_module *module,
			       struct line_resources *resources, uint64_t file_offset,
			       struct source_frames *ret)
{
	return find_and_count(module, resources, NULL, file_offset, ret);
}

struct error *line_module_find_address(struct line_module *module,
				       struct line_resources *resources, uint64_t address,
				       struct source_frames *ret)
{
	return find_and_count(module, resources, &address, 0, ret);
}

uint64_t line_module_debug_bytes(const struct line_module *module)
{
	return module->debug_bytes;
}

bool line_module_is_loaded(const struct line_module *module)
{
	return module->is_loaded;
}

bool line_module_lacks_split(const struct line_module *module)
{
	return module->lookup && dwarf_lookup_lacks_split(module->lookup);
}

const char *line_module_path(const struct line_module *module)
{
	return module->path;
}

const char *line_module_missing(const struct line_module *module)
{
	return module->missing;
}
