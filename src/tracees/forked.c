// SPDX-License-Identifier: Apache-2.0
#include "tracees/forked.h"

#include "util/cleanup.h"
#include "util/say_note.h"
#include "util/strbuf.h"

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

void forked_say(const struct children *children)
{
	_cleanup_(strbuf_deinit) struct strbuf pids = {0};
	size_t count = children->pids.len;

	if (!count)
		return;
	for (size_t i = 0; i < count && i < NAMED_MAX; i++)
		strbuf_appendf(&pids, "%s%d", i ? "," : "", children->pids.data[i]);
	say_note("--follow-forks does not trace %zu child process%s that %s%s%s; name "
		 "them with --pid too, or use --lib FILE",
		 count, count == 1 ? "" : "es",
		 count == 1 ? "runs already: pid " : "run already: pids ",
		 strbuf_text(&pids), count > NAMED_MAX ? ",..." : "");
}
