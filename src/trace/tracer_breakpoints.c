// SPDX-License-Identifier: Apache-2.0
/* Records where this tracer's probes have put breakpoints into memory. */
#include <string.h>

#include "attach/attach_wide.h"
#include "trace/tracer_state.h"
#include "process/live_thread.h"
#include "util/cleanup.h"
#include "util/priority.h"

static struct plan_breakpoints *find_file(struct tracer *t, uint64_t file)
{
	vec_foreach (own, &t->breakpoints)
		if (own->file == file)
			return &own->at;
	return NULL;
}

bool tracer_note_breakpoint(struct tracer *t, uint64_t file, uint64_t offset)
{
	struct plan_breakpoints *at = find_file(t, file);

	if (!at) {
		if (!vec_push(&t->breakpoints, ((struct own_breakpoints){.file = file})))
			return false;
		at = &t->breakpoints.data[t->breakpoints.len - 1].at;
	}
	vec_foreach (known, &at->offsets)
		if (*known == offset)
			return true;
	return vec_push(&at->offsets, offset);
}

static struct error *note_all(struct tracer *t, const struct attach_probe probes[],
			      size_t count)
{
	uint64_t file = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_same = i && !strcmp(probes[i].path, probes[i - 1].path);
		struct error *err =
			is_same ? NULL
				: file_numbers_get(&t->files, probes[i].path, &file);

		if (err)
			return err;
		if (file && !tracer_note_breakpoint(t, file, probes[i].offset))
			return error_no_memory();
	}
	return NULL;
}

static const struct attach_probe *find_return(const struct attach_probe probes[],
					      size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (probes[i].is_return || probes[i].is_session)
			return &probes[i];
	return NULL;
}

/* If the main thread of a process has exited, its probes may have to be in all processes
 * (attach_hold.h). */
static struct error *check_return(const struct tracer *t, int pid,
				  const struct attach_probe *probe)
{
	int within = pid && !live_thread_has_lost_first(pid) ? pid : 0;
	const char *refusal =
		t->setup.refuse_returns
			? t->setup.refuse_returns(t->setup.refuse_arg, within)
			: NULL;

	return refusal ? error_create(ERROR_UNSAFE,
				      "%s would have a return probe, which is not safe: "
				      "%s",
				      probe->function, refusal)
		       : NULL;
}

struct error *tracer_attach_probes(struct tracer *t, int pid,
				   const struct attach_probe probes[], size_t count)
{
	const struct attach_probe *returning = find_return(probes, count);
	_cleanup_(priority_restore) struct priority priority = {0};
	struct attachment *attachment = &t->attachment;
	struct error *err = returning ? check_return(t, pid, returning) : NULL;

	if (!err && returning && !tracer_has_return_probes(t, pid) &&
	    !vec_push(&t->returning, pid))
		err = error_no_memory();
	if (!err && !pid)
		err = attach_wide_check(attachment, probes, count);
	priority_raise(&priority);
	if (!err)
		err = attachment->ops->attach(attachment, pid, probes, count,
					      t->features.cookies);
	return err ? err : note_all(t, probes, count);
}

bool tracer_has_return_probes(const struct tracer *t, int pid)
{
	vec_foreach (returning, &t->returning)
		if (*returning == pid)
			return true;
	return false;
}

void tracer_remove_returns(struct tracer *t, int pid)
{
	size_t kept = 0;

	vec_foreach (returning, &t->returning)
		if (*returning != pid)
			t->returning.data[kept++] = *returning;
	t->returning.len = kept;
}

const struct plan_breakpoints *tracer_breakpoints(void *tracer, const char *path)
{
	struct tracer *t = tracer;
	uint64_t file = file_numbers_known(&t->files, path);

	return file ? find_file(t, file) : NULL;
}

void tracer_drop_breakpoints(struct tracer *t, uint64_t file)
{
	size_t kept = 0;

	vec_foreach (own, &t->breakpoints) {
		if (own->file == file)
			vec_deinit(&own->at.offsets);
		else
			t->breakpoints.data[kept++] = *own;
	}
	t->breakpoints.len = kept;
}

void tracer_close_breakpoints(struct tracer *t)
{
	vec_foreach (own, &t->breakpoints)
		vec_deinit(&own->at.offsets);
	vec_deinit(&t->breakpoints);
	vec_deinit(&t->returning);
}
