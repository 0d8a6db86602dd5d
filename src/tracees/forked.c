// SPDX-License-Identifier: Apache-2.0
#include "tracees/forked.h"

/* At most this many pids are printed. */
#define NAMED_MAX 8

struct error *forked_find(const struct options *options, struct children *ret)
{
	struct error *err = NULL;

	*ret = (struct children){0};
	if (options->follow_forks && options->pid_count && !options->follow_exec_of)
		err = children_find(options->pids, options->pid_count, ret);
	/* The line is only a hint, so it may be missing. */
	return error_only_no_memory(err);
}

void forked_say(const struct children *children, FILE *out)
{
	size_t count = children->pids.len;

	if (!count)
		return;
	fprintf(out,
		"memtrace: --follow-forks does not trace %zu child process%s that %s",
		count, count == 1 ? "" : "es",
		count == 1 ? "runs already: pid " : "run already: pids ");
	for (size_t i = 0; i < count && i < NAMED_MAX; i++)
		fprintf(out, "%s%d", i ? "," : "", children->pids.data[i]);
	fprintf(out, "%s; name them with --pid too, or use --lib FILE\n",
		count > NAMED_MAX ? ",..." : "");
}
