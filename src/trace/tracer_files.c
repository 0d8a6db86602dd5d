// SPDX-License-Identifier: Apache-2.0
/*
 * Removes probes from files that no traced process maps any more. Closing a link takes
 * the kernel 0.1 s, so a thread closes many at a time while the main thread goes on.
 *
 * The numbers of a file and of its sites are released only after its probes are gone:
 * running probes still use the old numbers, and until then the kernel may put breakpoints
 * into new mappings of the file.
 */
#include <pthread.h>

#include "trace/tracer_state.h"
#include "process/target_file.h"
#include "util/cleanup.h"

/* Files that may wait for the removal of their probes before the main thread waits,
 * too. */
#define WAITING_MAX 64

/* Files whose probes are being removed. */
struct leaving {
	pthread_t thread;
	bool is_done; /* set by the thread */
	struct attachment links;
	VEC(uint64_t) files;   /* file numbers */
	VEC(unsigned) numbers; /* site numbers */
};

static void leaving_destroy(struct leaving *leaving)
{
	if (!leaving)
		return;
	if (leaving->links.ops)
		leaving->links.ops->detach(&leaving->links);
	vec_deinit(&leaving->files);
	vec_deinit(&leaving->numbers);
	free(leaving);
}

static bool has_file(const struct leaving *leaving, uint64_t file)
{
	if (leaving)
		vec_foreach (number, &leaving->files)
			if (*number == file)
				return true;
	return false;
}

/* --- numbers ---------------------------------------------------------------------- */

static void mark_numbers(const struct leaving *leaving, bool used[])
{
	if (leaving)
		vec_foreach (number, &leaving->numbers)
			used[*number] = true;
}

void tracer_mark_leaving_sites(const struct tracer *t, bool used[])
{
	mark_numbers(t->waiting, used);
	mark_numbers(t->leaving, used);
}

static bool is_probed(const struct probed_files *files, uint64_t file)
{
	vec_foreach (site, &files->list)
		if (site->file == file)
			return true;
	return false;
}

/* Does anything still use the number of the file? */
static bool is_needed(const struct tracer *t, uint64_t file)
{
	vec_foreach (site, &t->sites)
		if (site->file == file)
			return true;
	return checks_have_failed(t->checks, file) || is_probed(&t->linkers, file) ||
	       is_probed(&t->libcs, file) || has_file(t->waiting, file) ||
	       has_file(t->leaving, file);
}

static void drop_if_unneeded(struct tracer *t, uint64_t file)
{
	if (!file || is_needed(t, file))
		return;
	/* The checks have its descriptor, also for processes that have ended. */
	checks_remove_file(t->checks, -1, file);
	tracer_drop_breakpoints(t, file);
	file_numbers_drop(&t->files, file);
}

void tracer_drop_unneeded(struct tracer *t, const struct plan *plan)
{
	vec_foreach (object, &plan->objects)
		drop_if_unneeded(t, tracer_file(t, object->allocator.file));
}

uint64_t tracer_file(const struct tracer *t, const struct target_file *file)
{
	return file_numbers_known(&t->files, target_file_link(file));
}

/* --- the thread ------------------------------------------------------------------- */

static void *close_links(void *arg)
{
	struct leaving *leaving = arg;

	leaving->links.ops->detach(&leaving->links);
	__atomic_store_n(&leaving->is_done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Start a thread for the waiting files. If that fails, do the work here. */
static void start(struct tracer *t)
{
	struct leaving *leaving = take(t->waiting);

	if (pthread_create(&leaving->thread, NULL, close_links, leaving) == 0) {
		t->leaving = leaving;
		return;
	}
	leaving->links.ops->detach(&leaving->links);
	vec_foreach (file, &leaving->files)
		drop_if_unneeded(t, *file);
	leaving_destroy(leaving);
}

static void join(struct tracer *t)
{
	struct leaving *leaving = take(t->leaving);

	pthread_join(leaving->thread, NULL);
	vec_foreach (file, &leaving->files)
		drop_if_unneeded(t, *file);
	leaving_destroy(leaving);
}

void tracer_poll_files(struct tracer *t)
{
	bool is_full = t->waiting && t->waiting->files.len >= WAITING_MAX;

	if (t->leaving &&
	    (is_full || __atomic_load_n(&t->leaving->is_done, __ATOMIC_SEQ_CST)))
		join(t);
	if (!t->leaving && t->waiting)
		start(t);
}

/* Move all links to `to`, so that they are closed together. Without memory they stay. */
static void give_to(struct attachment *links, struct attachment *to)
{
	if (!vec_reserve(&to->list, to->list.len + links->list.len) ||
	    !vec_reserve(&to->places, to->places.len + links->places.len))
		return;
	(void)vec_copy(&links->list, &to->list);
	(void)vec_copy(&links->places, &to->places);
	links->list.len = links->places.len = 0;
}

void tracer_end_files(struct tracer *t)
{
	struct leaving *waiting = take(t->waiting);

	if (waiting)
		give_to(&waiting->links, &t->attachment);
	leaving_destroy(waiting);
	if (t->leaving)
		join(t);
}

/* --- detaching -------------------------------------------------------------------- */

static bool note(struct leaving *leaving, const struct tracer *t, int pid, uint64_t file)
{
	if (!vec_push(&leaving->files, file))
		return false;
	vec_foreach (site, &t->sites)
		if (site->pid == pid && site->file == file && !site->meaning &&
		    !vec_push(&leaving->numbers, site->number))
			return false;
	return true;
}

static void remove_sites(struct tracer *t, int pid, uint64_t file)
{
	size_t kept = 0;

	vec_foreach (site, &t->sites)
		if (site->pid != pid || site->file != file)
			t->sites.data[kept++] = *site;
	t->sites.len = kept;
}

struct error *tracer_detach_file(struct tracer *t, int pid, uint64_t file)
{
	if (t->run.scope != SCOPE_PROCESSES)
		pid = 0;
	if (!file || !t->attachment.ops || checks_have_failed(t->checks, file))
		return NULL;
	if (!t->waiting) {
		t->waiting = calloc(1, sizeof(*t->waiting));
		if (!t->waiting)
			return error_no_memory();
		t->waiting->links.ops = t->attachment.ops;
	}
	if (!note(t->waiting, t, pid, file) ||
	    !attachment_take_file(&t->attachment, pid, file, &t->waiting->links))
		return error_no_memory();
	remove_sites(t, pid, file);
	checks_remove_file(t->checks, pid, file);
	tracer_poll_files(t);
	return NULL;
}
