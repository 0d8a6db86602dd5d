// SPDX-License-Identifier: Apache-2.0
/* Processes that return probes could kill. */
#include "tracees/tracees_private.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/say_error.h"

struct error *tracees_name_unsafe(struct error *err, const struct tracee *t)
{
	_cleanup_(freep) char *command = escape_dup(t->command);

	return error_prefix(err, "pid %d (%s) is not traced", t->pid,
			    command ? command : "?");
}

void tracees_say_left_out(struct error *err)
{
	if (err)
		say_error("", err, "");
	error_destroy(err);
}

bool tracees_drop_unsafe(struct tracees *ts, struct tracee *t)
{
	bool counts_hits = trace_mode_can(&ts->options->trace, MODE_HITS);
	const char *refusal;

	/* Probes that hit all processes that map a file cannot be removed from one of
	 * them. */
	if (ts->returns.is_wide || !t->is_traced ||
	    !tracer_has_return_probes(ts->tracer, t->pid))
		return false;
	/* If no probes are inside functions, or for an event, a refused process is not
	 * probed where others are, so check it alone. */
	refusal = tracer_sees_results(ts->tracer) && !counts_hits
			  ? return_probes_refuse_together(&ts->returns, t->pid)
			  : return_probes_refuse(&ts->returns, t->pid);
	if (!refusal)
		return false;
	tracer_detach_process(ts->tracer, t->pid);
	tracees_note(ts, t,
		     "has lost its probes, because return probes are not safe any more: "
		     "%s; %s",
		     refusal,
		     counts_hits ? "the event is not counted there from now on"
				 : "some allocations and frees were missed");
	/* Let the next plan cover all files again. */
	proc_maps_deinit(&t->planned);
	return true;
}
