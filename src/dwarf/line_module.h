/* SPDX-License-Identifier: Apache-2.0 */
/* One file of a process and its debug info. */
#ifndef DWARF_LINE_MODULE_H
#define DWARF_LINE_MODULE_H

#include "dwarf/debug_search.h"
#include "dwarf/dwarf_lookup.h"

struct line_module;

/* Takes ownership of the file `fd`, also on failure. `path` is the target's name for
 * it. */
struct error *line_module_create(int fd, const char *path, struct line_module **ret)
	__attribute__((warn_unused_result));
void line_module_destroy(struct line_module *module);

/* Shared by the modules of one process. */
struct line_resources {
	struct debug_search search;
	struct dwarf_budget budget;
	uint64_t memory_bytes; /* still available for debug info */
};

/* The frames of the code at `file_offset`. The first call reads the debug info. Fails
 * only when out of memory. */
struct error *line_module_find(struct line_module *module,
			       struct line_resources *resources, uint64_t file_offset,
			       struct source_frames *ret)
	__attribute__((warn_unused_result));

/* The same for code at an address in the file's address space. */
struct error *line_module_find_address(struct line_module *module,
				       struct line_resources *resources, uint64_t address,
				       struct source_frames *ret)
	__attribute__((warn_unused_result));

/* The bytes of line_resources.memory_bytes that its debug info has taken. */
uint64_t line_module_debug_bytes(const struct line_module *module);

bool line_module_is_loaded(const struct line_module *module);
const char *line_module_path(const struct line_module *module);
/* True once a lookup needed split DWARF that was not found. The functions of such code,
 * inlined ones too, are missing, but its lines are not. */
bool line_module_lacks_split(const struct line_module *module);
/* Why the file has no lines, once it is loaded; NULL: it has lines. Static string. */
const char *line_module_missing(const struct line_module *module);

#endif
