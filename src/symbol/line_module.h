/* SPDX-License-Identifier: Apache-2.0 */
/* One file of a process and its debug info. Private to lines.c. */
#ifndef SYMBOL_LINE_MODULE_H
#define SYMBOL_LINE_MODULE_H

#include "symbol/debug_search.h"
#include "symbol/dwarf_lookup.h"

struct line_module;

/* The file `fd`, taken over, also after an error; `path` is the target's name for it. */
struct error *line_module_create(int fd, const char *path, struct line_module **ret)
	__attribute__((warn_unused_result));
void line_module_destroy(struct line_module *module);

/* What modules of one process share. */
struct line_resources {
	struct debug_search search;
	struct dwarf_budget budget;
	uint64_t memory_bytes; /* that debug info may still take */
};

/* The frames at `file_offset` of the file, the debug info being read when this is the
 * first time. Fails only when memory is out. */
struct error *line_module_find(struct line_module *module,
			       struct line_resources *resources, uint64_t file_offset,
			       struct source_frames *ret)
	__attribute__((warn_unused_result));

/* How much of line_resources.memory_bytes its debug info has taken. */
uint64_t line_module_debug_bytes(const struct line_module *module);

bool line_module_is_loaded(const struct line_module *module);
const char *line_module_path(const struct line_module *module);
/* True when there were lines of code whose functions, the inlined ones too, are in split
 * DWARF that was not found. */
bool line_module_lacks_split(const struct line_module *module);
/* Why there are no lines, once it was loaded; NULL when there are. Static string. */
const char *line_module_missing(const struct line_module *module);

#endif
