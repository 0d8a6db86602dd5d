/* SPDX-License-Identifier: Apache-2.0 */
/* The target's executable mappings with their build-ids, as last seen. */
#ifndef CLI_MODULES_H
#define CLI_MODULES_H

#include <stdbool.h>

#include "snapshot/snapshot.h"
#include "target/proc.h"

/* A build-id is read once, when the file is first seen among the mappings. */
struct module_file {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	char *build_id; /* or NULL */
};

struct modules {
	struct proc_maps maps;
	VEC(struct module_file) files; /* of the maps, each once; sorted */
};

void modules_init(struct modules *modules);
void modules_deinit(struct modules *modules);

/* Read the mappings again. The last ones stay if the target has exited. Files that are
 * not mapped any more are dropped. */
struct error *modules_refresh(struct modules *modules, const struct proc *proc)
	__attribute__((warn_unused_result));

/* Add a mapping of code that was not read but told of, and the build-id of its file
 * (NULL: it has none, or is not known). Both are copied. What was read stays, but for
 * build-ids that could not be: *ret_added says whether the mapping lies beside all of
 * that. */
struct error *modules_add(struct modules *modules, const struct proc_mapping *mapping,
			  const char *build_id, bool *ret_added)
	__attribute__((warn_unused_result));

/* Copy them into `process`, in address order. */
struct error *modules_copy(const struct modules *modules,
			   struct snapshot_process *process)
	__attribute__((warn_unused_result));

#endif
