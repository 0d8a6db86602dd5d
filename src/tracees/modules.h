/* SPDX-License-Identifier: Apache-2.0 */
/* The target's executable mappings with their build-ids, as last read. */
#ifndef TRACEES_MODULES_H
#define TRACEES_MODULES_H

#include <stdbool.h>

#include "snapshot/snapshot.h"
#include "process/proc.h"

/* A mapped file. Its build-id is read once, when the file first appears in the
 * mappings. */
struct module_file {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	char *build_id; /* NULL: none, or not readable */
};

struct modules {
	struct proc_maps maps;
	VEC(struct module_file) files; /* the files of `maps`, each once; sorted */
};

void modules_init(struct modules *modules);
void modules_deinit(struct modules *modules);

/* Read the mappings again. If the target has exited, the previous ones stay. Drops
 * files that are not mapped any more. */
struct error *modules_refresh(struct modules *modules, const struct proc *proc)
	__attribute__((warn_unused_result));

/* Add a code mapping that was not read from /proc but reported by the kernel, and the
 * build-id of its file (NULL: none, or not known). Both are copied. A mapping that
 * overlaps known code is not added, and a known build-id is not replaced. *ret_added: the
 * mapping was added. */
struct error *modules_add(struct modules *modules, const struct proc_mapping *mapping,
			  const char *build_id, bool *ret_added)
	__attribute__((warn_unused_result));

/* Copy the modules into `process`, in address order. */
struct error *modules_copy(const struct modules *modules,
			   struct snapshot_process *process)
	__attribute__((warn_unused_result));

#endif
