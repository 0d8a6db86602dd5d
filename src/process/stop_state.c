// SPDX-License-Identifier: Apache-2.0
#include "process/stop_state.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "process/procfs.h"

struct stop_state stop_state_parse(const char *status)
{
	static const char key[] = "\nState:\t";
	/* Newlines are escaped in the name of the thread, which comes first. */
	const char *state = strstr(status, key);
	uint64_t debugger = 0, wanted = 0, unwanted = 0;

	if (state)
		state += strlen(key);
	if (!state || (*state != 'T' && *state != 't'))
		return (struct stop_state){.kind = STOP_NONE};
	procfs_status_number(state, "TracerPid:", 10, &debugger);
	procfs_status_number(state, "voluntary_ctxt_switches:", 10, &wanted);
	procfs_status_number(state, "nonvoluntary_ctxt_switches:", 10, &unwanted);
	if (*state == 't' && debugger == (uint64_t)getpid())
		return (struct stop_state){.kind = STOP_NONE};
	return (struct stop_state){
		.kind = *state == 'T' ? STOP_SIGNAL : STOP_DEBUGGER,
		.debugger = debugger <= INT_MAX ? (int)debugger : 0,
		.switches = wanted + unwanted,
	};
}

bool stop_state_lasts(const struct stop_state *first, const struct stop_state *second)
{
	return first->kind && first->kind == second->kind &&
	       first->debugger == second->debugger && first->switches == second->switches;
}
