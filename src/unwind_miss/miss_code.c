// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/miss_code.h"

#include <stdlib.h>
#include <string.h>

#include "process/proc.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/fd_table.h"

/* How long a process is left alone after its mappings could not be read or had nothing
 * new. */
#define LOOK_PAUSE_NS 50000000

/* How late the kernel's reports may be read while other processes are busy. */
#define WATCH_REST_MS 1000

/* Reading the mappings of one process takes at most a fifth of a processor, after a burst
 * of 0.1 s: some programs change their code all the time. */
#define READ_SHARE    5
#define READ_AHEAD_NS UINT64_C(500000000)

/* Processes whose code is kept, and reported mappings that are kept for processes that
 * were never asked for. Beyond these limits nothing is kept. */
#define PROCESSES_MAX 65536
#define NOTED_MAX     262144

struct code_event {
	struct watch_event event; /* the path is owned */
};

struct error *miss_code_init(struct miss_code *code, image_closed_fn *closed, void *arg)
{
	/* On failure, mappings are read whenever they may have changed. */
	error_destroy(watch_create(&code->watch));
	/* A miss or the dynamic linker makes the miss handler read the watch at once. */
	if (code->watch)
		watch_rest_at_most(code->watch, WATCH_REST_MS);
	return image_store_create(closed, arg, &code->store);
}

static void code_event_deinit(struct code_event *e)
{
	free((void *)(uintptr_t)e->event.path);
}

static bool code_event_copy(const struct watch_event *event, struct code_event *ret)
{
	ret->event = *event;
	ret->event.path = strdup(event->path);
	return ret->event.path;
}

static void drop_noted(struct miss_code *code, struct process_code *p)
{
	code->noted_count -= p->noted.len;
	vec_foreach (e, &p->noted)
		code_event_deinit(e);
	vec_deinit(&p->noted);
}

static void destroy(struct miss_code *code, struct process_code *p)
{
	drop_noted(code, p);
	images_destroy(p->images);
	free(p);
	code->count--;
}

void miss_code_deinit(struct miss_code *code)
{
	for (size_t i = 0; i < CODE_BUCKETS; i++) {
		while (code->buckets[i]) {
			struct process_code *p = code->buckets[i];

			code->buckets[i] = p->next;
			destroy(code, p);
		}
	}
	vec_deinit(&code->parents);
	vec_deinit(&code->mapped);
	image_store_destroy(code->store);
	watch_destroy(code->watch);
}

/* --- the list --------------------------------------------------------------------- */

static struct process_code **place(struct miss_code *code, int pid)
{
	struct process_code **at = &code->buckets[(unsigned)pid % CODE_BUCKETS];

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	return at;
}

void miss_code_remove(struct miss_code *code, int pid)
{
	struct process_code **at = place(code, pid), *p = *at;

	if (!p)
		return;
	*at = p->next;
	destroy(code, p);
}

/* Takes ownership of `images`. */
static struct process_code *add(struct miss_code *code, int pid, struct images *images)
{
	struct process_code *p =
		code->count < PROCESSES_MAX ? calloc(1, sizeof(*p)) : NULL;

	miss_code_remove(code, pid);
	if (!p) {
		images_destroy(images);
		return NULL;
	}
	*p = (struct process_code){.pid = pid, .images = images, .slot = CODE_NO_SLOT};
	*place(code, pid) = p;
	code->count++;
	return p;
}

/* Add a process without code. */
static struct process_code *add_new(struct miss_code *code, int pid)
{
	struct images *images;
	struct error *err = images_create(code->store, &images);

	error_destroy(err);
	return err ? NULL : add(code, pid, images);
}

/* --- reports of the kernel -------------------------------------------------------- */

/* Add a mapping. Returns true if it was unknown. */
static bool map(struct miss_code *code, struct process_code *p,
		const struct proc_mapping *m, struct images_time time, bool is_found)
{
	uint64_t tag = p->slot == CODE_NO_SLOT ? 0 : code->tag(code->arg, p->slot);
	struct images_change change = {0};
	struct error *err = images_add(p->images, p->pid, m, time, tag, &change);

	/* Too many mappings: most are probably unmapped by now, which the kernel does not
	 * report. End them all; walks in code that is still mapped make the mappings be
	 * read again. */
	if (err && err->code == ERROR_UNSUPPORTED)
		images_end(p->images, time.since_ns);
	error_destroy(err);
	if (change.is_replaced && p->slot != CODE_NO_SLOT)
		code->on_replaced(code->arg, p->slot,
				  &(const struct code_replaced){
					  .start = m->start,
					  .end = m->end,
					  .tag = change.tag,
					  .was_ns = change.last_ns,
					  .is_ns = time.since_ns,
					  .is_found = is_found,
				  });
	else if (change.is_replaced && code->on_replaced_unmet)
		code->on_replaced_unmet(code->arg, p->pid);
	return change.is_new;
}

static void note_change(struct process_code *p, uint64_t time_ns)
{
	if (p->changed_ns < time_ns)
		p->changed_ns = time_ns;
}

static void map_reported(struct miss_code *code, struct process_code *p,
			 const struct watch_event *event)
{
	const struct proc_mapping m = {
		.start = event->start,
		.end = event->end,
		.file_offset = event->file_offset,
		.inode = event->inode,
		.dev_major = event->dev_major,
		.dev_minor = event->dev_minor,
		.path = (char *)(uintptr_t)event->path,
	};

	/* Without memory the first walk in this code is a miss. */
	if (map(code, p, &m, images_since(event->time_ns), false)) {
		note_change(p, event->time_ns);
		if (!p->is_mapped)
			p->is_mapped = vec_push(&code->mapped, p->pid);
	}
}

/* Only record the report: no file is opened for a process that is never asked for, as
 * most are. */
static void note_mapping(struct miss_code *code, struct process_code *p,
			 const struct watch_event *event)
{
	struct code_event copy = {0};

	if (code->noted_count < NOTED_MAX && code_event_copy(event, &copy) &&
	    vec_push(&p->noted, copy)) {
		code->noted_count++;
		return;
	}
	code_event_deinit(&copy);
	p->must_read = true;
}

/* The process is asked for: apply the recorded reports. */
static void map_noted(struct miss_code *code, struct process_code *p)
{
	vec_foreach (e, &p->noted)
		map_reported(code, p, &e->event);
	drop_noted(code, p);
	p->is_noted = false;
}

static void executed(struct miss_code *code, const struct watch_event *event)
{
	struct process_code *p = *place(code, event->pid);

	if (!p && code->scope == SCOPE_ALL) {
		p = add_new(code, event->pid);
		if (p)
			p->is_noted = true;
	}
	if (!p)
		return;
	images_end(p->images, event->time_ns);
	drop_noted(code, p);
	p->ended_ns = event->time_ns;
	note_change(p, event->time_ns);
	p->slot = CODE_NO_SLOT;
	p->exited_ns = p->moves = 0;
	p->must_read = p->is_doubtful = false;
}

bool miss_code_may_have_moved(const struct miss_code *code, const struct process_code *p)
{
	return code->moves(code->arg, p->pid) != p->moves;
}

static void forked(struct miss_code *code, const struct watch_event *event)
{
	const struct process_code *parent = *place(code, event->parent);
	struct process_code *child = NULL, *own = *place(code, event->pid);
	struct images *images;
	struct error *err;
	bool has_moved;

	/* The mappings of a process with this pid are being read, so the entry must not
	 * be freed. */
	if (own && own->is_reading) {
		executed(code, event);
		own->must_read = true;
		return;
	}

	/* The pid may have been used before. */
	miss_code_remove(code, event->pid);
	if (!parent || (parent->must_read && !parent->is_reading) ||
	    code->scope == SCOPE_PROCESSES)
		return;
	err = images_copy(parent->images, event->time_ns, &images);
	if (!err)
		child = add(code, event->pid, images);
	error_destroy(err);
	if (!child)
		return;
	child->is_noted = parent->is_noted;
	child->must_read = parent->must_read;
	/* Mappings that the parent has moved are moved in the child, too. */
	has_moved = !parent->is_noted && miss_code_may_have_moved(code, parent);
	child->is_doubtful = parent->is_doubtful || has_moved;
	/* Without memory its next fork reports it again. */
	if (has_moved)
		(void)!vec_push(&code->parents, parent->pid);
	vec_foreach (e, &parent->noted)
		note_mapping(code, child, &e->event);
}

static void suspect_all(struct miss_code *code)
{
	for (size_t i = 0; i < CODE_BUCKETS; i++)
		for (struct process_code *p = code->buckets[i]; p; p = p->next)
			p->must_read = true;
}

static bool apply(void *arg, const struct watch_event *event)
{
	struct miss_code *code = arg;
	struct process_code *p = *place(code, event->pid);
	const struct process_code *parent =
		event->kind == WATCH_FORK ? *place(code, event->parent) : NULL;
	bool concerns = (p && !p->is_noted) || (parent && !parent->is_noted);

	switch (event->kind) {
	case WATCH_FORK:
		forked(code, event);
		break;
	case WATCH_EXEC:
		executed(code, event);
		break;
	case WATCH_MAP:
		if (p && p->is_noted)
			note_mapping(code, p, event);
		else if (p)
			map_reported(code, p, event);
		break;
	case WATCH_EXIT:
		if (p)
			p->exited_ns = event->time_ns;
		break;
	case WATCH_LOST:
		suspect_all(code);
		break;
	}
	return concerns;
}

void miss_code_catch_up(struct miss_code *code)
{
	if (code->watch)
		watch_read(code->watch, apply, code);
}

struct process_code *miss_code_next_mapped(struct miss_code *code)
{
	while (code->mapped.len) {
		struct process_code *p =
			*place(code, code->mapped.data[--code->mapped.len]);

		/* Its entry may be gone, or be another process's by now. */
		if (!p || !p->is_mapped)
			continue;
		p->is_mapped = false;
		return p;
	}
	return NULL;
}

/* --- reading of mappings ---------------------------------------------------------- */

struct error *miss_code_mappings(int pid, struct proc_maps *ret)
{
	struct proc *proc = NULL;
	struct error *err;

	fd_table_hold();
	err = proc_open(pid, &proc);
	if (!err)
		err = proc_read_maps(proc, ret);
	proc_close(proc);
	fd_table_release();
	return err;
}

/*
 * Since when the mappings that were just read have existed. If no change was reported,
 * unknown code is taken to be older than all known code; otherwise to exist since now, or
 * since the change. Code that replaced other code may have done so at any time since the
 * last reading.
 */
static struct images_time time_of(const struct process_code *p,
				  const struct code_change *change, uint64_t now_ns)
{
	struct images_time time = {now_ns, p->read_ns, p->ended_ns};

	if (!p->must_read)
		return time;
	time.unless_known_ns = now_ns;
	if (change && change->since_ns) {
		time.since_ns = time.unless_known_ns = change->since_ns;
		time.after_ns = change->after_ns ? change->after_ns : p->read_ns;
	}
	return time;
}

static bool is_early(const struct process_code *p)
{
	uint64_t now_ns = clock_now_ns();

	return now_ns < p->next_read_ns ||
	       budget_is_spent(&p->reading, now_ns, READ_AHEAD_NS);
}

/* If a process has more mappings of code than images.h has room for, take those at the
 * lowest and the highest addresses: the kernel puts the program and its initial libraries
 * there. Leaves some room for mappings that are reported later. */
#define TAKEN_MAX 16384

struct taking {
	size_t count, at; /* mappings of code; how many of them were looked at */
};

static size_t count_code(const struct proc_maps *maps)
{
	size_t count = 0;

	vec_foreach (m, &maps->mappings)
		count += m->executable;
	return count;
}

/* Is the next mapping of code among those to take? */
static bool is_taken(struct taking *taking)
{
	size_t at = taking->at++;

	return at < TAKEN_MAX / 2 || at + TAKEN_MAX / 2 >= taking->count;
}

/* Take either the mappings of files or the anonymous ones. Returns true if one of them
 * was unknown. */
static bool take_mappings(struct miss_code *code, struct process_code *p,
			  const struct proc_maps *maps, struct images_time time,
			  bool of_files)
{
	struct taking taking = {.count = count_code(maps)};
	bool is_new = false;

	vec_foreach (m, &maps->mappings)
		if (m->executable && is_taken(&taking) && (m->inode != 0) == of_files)
			is_new |= map(code, p, m, time, !p->must_read);
	return is_new;
}

/* Read the mappings. Returns false on failure. */
static bool read_maps(struct miss_code *code, struct process_code *p,
		      const struct code_change *change, bool *is_new)
{
	uint64_t now_ns = clock_now_ns(), cpu_ns = clock_thread_cpu_ns();
	uint64_t ended_ns = p->ended_ns;
	uint64_t moves = code->moves(code->arg, p->pid);
	bool is_first = !p->read_ns;
	struct proc_maps maps = {0};
	struct error *err = miss_code_mappings(p->pid, &maps);

	/* Apply reports that came meanwhile. After an exec the result is outdated, and
	 * the new program's code is fully reported. Forked children must get a copy. */
	p->is_reading = true;
	miss_code_catch_up(code);
	p->is_reading = false;
	if (!err && ended_ns == p->ended_ns) {
		struct images_time time = time_of(p, change, now_ns);

		/* Files first: anonymous code may belong to files next to it. */
		*is_new |= take_mappings(code, p, &maps, time, true);
		*is_new |= take_mappings(code, p, &maps, time, false);
		/* A first reading finds what has been there since the start, unless
		 * reports were lost. */
		if (*is_new && (!is_first || p->must_read))
			note_change(p, now_ns);
		p->must_read = false;
		p->read_ns = now_ns;
		p->moves = moves;
		p->is_doubtful = false;
	}
	proc_maps_deinit(&maps);
	if (!err) {
		/* The first reading also opens the files, so it is not charged. */
		if (!is_first)
			budget_spend(&p->reading, now_ns, clock_thread_cpu_ns() - cpu_ns,
				     READ_SHARE);
		return true;
	}
	p->next_read_ns = clock_now_ns() + LOOK_PAUSE_NS;
	error_destroy(err);
	return false;
}

struct process_code *miss_code_of(struct miss_code *code, int pid, uint32_t slot,
				  bool is_alive, const struct code_change *change)
{
	struct code_change since = *change;
	struct process_code *p;
	bool is_first, is_new = false, must_wait;

	miss_code_catch_up(code);
	p = *place(code, pid);
	is_first = !p;
	if (!p && is_alive)
		p = add_new(code, pid);
	if (!p)
		return NULL;
	if (is_alive)
		p->slot = slot;
	if (p->is_noted)
		map_noted(code, p);
	/* If more was missed than this change, its times do not apply to everything. */
	if (p->must_read)
		since.after_ns = since.since_ns = 0;
	must_wait = is_early(p);
	/* The kernel has probably reported all changes except moves. */
	if (must_wait && !since.is_moved)
		since.is_unreported = false;
	p->must_read |=
		!is_first && (since.is_unreported || (!code->watch && since.is_any));
	if (is_alive && (is_first || p->must_read) && (!must_wait || !code->watch) &&
	    !read_maps(code, p, &since, &is_new) && is_first) {
		miss_code_remove(code, pid);
		return NULL;
	}
	return p;
}

bool miss_code_look(struct miss_code *code, struct process_code *p)
{
	bool is_new = false;

	if (!is_early(p))
		read_maps(code, p, NULL, &is_new);
	return is_new;
}

bool miss_code_look_again(struct miss_code *code, struct process_code *p)
{
	bool is_new;

	if (clock_now_ns() < p->next_look_ns || is_early(p))
		return false;
	is_new = miss_code_look(code, p);
	if (!is_new)
		p->next_look_ns = clock_now_ns() + LOOK_PAUSE_NS;
	return is_new;
}

void miss_code_prune(struct miss_code *code, uint64_t before_ns)
{
	for (size_t i = 0; i < CODE_BUCKETS; i++) {
		for (struct process_code *p = code->buckets[i], *next; p; p = next) {
			next = p->next;
			if (p->slot == CODE_NO_SLOT && p->exited_ns &&
			    p->exited_ns < before_ns)
				miss_code_remove(code, p->pid);
			else
				images_prune(p->images, before_ns);
		}
	}
}
