// SPDX-License-Identifier: Apache-2.0
/* What the kernel and the options allow. */
#include "trace/tracer_state.h"

const struct attach_ops *tracer_preferred_ops(const struct tracer *t)
{
	return t->config->attach == ATTACH_PERF || !t->features.uprobe_multi
		       ? &attach_perf_event
		       : &attach_uprobe_multi;
}

bool tracer_uses_sessions(const struct tracer *t, const struct attach_ops *ops)
{
	/* Kernels with sessions have atomics, and the session programs rely on them: not
	 * with hashes. */
	return t->features.sessions && ops == &attach_uprobe_multi && !t->by_hash;
}

bool tracer_uses_may_goto(const struct tracer *t, const struct attach_ops *ops)
{
	/* Kernels that need perf events or hashes do not have may_goto. If the user
	 * requests one of those, do without may_goto, too, so that this can be tested on
	 * newer kernels. */
	return t->features.may_goto && ops == &attach_uprobe_multi && !t->by_hash;
}

bool tracer_takes_bodies(const struct trace_config *config,
			 const struct kernel_features *features)
{
	/* Without may_goto the kernel would have to verify one more program that walks
	 * stacks frame by frame. */
	return config->attach != ATTACH_PERF && config->tables != TABLES_HASHES &&
	       features->uprobe_multi && features->cookies && features->atomics &&
	       features->may_goto;
}

bool tracer_uses_bodies(const struct tracer *t, const struct attach_ops *ops)
{
	return ops == &attach_uprobe_multi &&
	       tracer_takes_bodies(t->config, &t->features);
}

bool tracer_sees_results(const struct tracer *tracer)
{
	return tracer_uses_bodies(tracer, tracer->attachment.ops);
}

bool tracer_has_checks(const struct tracer *t)
{
	return tracer_can(t, MODE_FUNCTIONS) &&
	       tracer_takes_bodies(t->config, &t->features);
}
