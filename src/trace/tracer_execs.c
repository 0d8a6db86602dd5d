// SPDX-License-Identifier: Apache-2.0
/* Processes that are not traced until they execute a program. The probes keep the table:
 * they add children, and remove what executes a program or ends (probes/process.c). */
#include <linux/bpf.h>

#include "bpf/syscall.h"
#include "trace/tracer_state.h"

struct error *tracer_await_exec(struct tracer *t, int pid, bool itself)
{
	uint32_t key = (uint32_t)pid,
		 how = itself ? ABI_AWAITED_ANY : ABI_AWAITED_CHILDREN;
	int err = sys_bpf_element(BPF_MAP_UPDATE_ELEM, t->exec_awaited, &key, &how);

	return err ? error_errno(ERROR_UNSUPPORTED, -err,
				 "process %d: cannot wait for the programs that it "
				 "executes; raise --max-processes",
				 pid)
		   : NULL;
}

void tracer_remove_awaited(struct tracer *t, int pid)
{
	uint32_t key = (uint32_t)pid;

	(void)sys_bpf_element(BPF_MAP_DELETE_ELEM, t->exec_awaited, &key, NULL);
}

bool tracer_awaits_exec(const struct tracer *t, int pid)
{
	uint32_t key = (uint32_t)pid, how;

	return !sys_bpf_element(BPF_MAP_LOOKUP_ELEM, t->exec_awaited, &key, &how);
}

bool tracer_awaits_any(const struct tracer *t)
{
	uint32_t key, how;
	const void *after = NULL;

	/* If the process of `key` ends meanwhile, the kernel begins again. */
	while (!sys_bpf_element(BPF_MAP_GET_NEXT_KEY, t->exec_awaited, after, &key)) {
		after = &key;
		if (!sys_bpf_element(BPF_MAP_LOOKUP_ELEM, t->exec_awaited, &key, &how) &&
		    how == ABI_AWAITED_ANY)
			return true;
	}
	return false;
}
