/* SPDX-License-Identifier: Apache-2.0 */
/* The target's executable mappings with their build-ids, as last seen. */
#ifndef CLI_MODULES_H
#define CLI_MODULES_H

#include <stdbool.h>

#include "snapshot/snapshot.h"
#include "target/proc.h"

/* A build-id is read once for each file. */
struct module_file {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	char *build_id; /* or NULL */
};

struct modules {
	struct proc_maps maps;
	VEC(struct module_file) files;
};

void modules_init(struct modules *modules);
void modules_deinit(struct modules *modules);

/* Look again; what was seen last stays when the target has exited. */
struct error *modules_refresh(struct modules *modules, const struct proc *proc)
	__attribute__((warn_unused_result));

/* Copy them into `process`, in address order. */
struct error *modules_copy(const struct modules *modules,
			   struct snapshot_process *process)
	__attribute__((warn_unused_result));

#endif
