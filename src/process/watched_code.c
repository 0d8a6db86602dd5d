// SPDX-License-Identifier: Apache-2.0
#include "process/watched_code.h"

#include <stdlib.h>
#include <string.h>

#include "util/hashmap.h"

#define BYTES_MAX ((size_t)16 << 20)

/* Bound on mappings per process. The target chooses their number, real programs have
 * fewer, and watched_code_list() is slow with many. */
#define MAPPINGS_MAX 1024

struct process {
	int pid;
	uint64_t exited_ns; /* time of exit, CLOCK_MONOTONIC; 0: it runs */
	struct watched_code *code;
};

struct watched_codes {
	struct watched_codes_options options;
	size_t bytes;
	VEC(struct process) list;
	struct hashmap by_pid; /* index into `list` */
	bool has_exited;       /* some processes in `list` have exited */
};

/* --- code ------------------------------------------------------------------------- */

static struct watched_code *code_create(size_t *all_bytes)
{
	struct watched_code *code =
		*all_bytes < BYTES_MAX ? calloc(1, sizeof(*code)) : NULL;

	if (!code)
		return NULL;
	code->owners = 1;
	code->all_bytes = all_bytes;
	code->size_bytes = sizeof(*code);
	*all_bytes += code->size_bytes;
	return code;
}

static struct watched_code *code_share(struct watched_code *code)
{
	code->owners++;
	return code;
}

void watched_code_release(struct watched_code *code)
{
	if (!code || --code->owners)
		return;
	*code->all_bytes -= code->size_bytes;
	vec_foreach (m, &code->mappings)
		free(m->path);
	vec_deinit(&code->mappings);
	free(code);
}

/* Add a copy of the mapping. False: a limit is reached or memory is out. */
static bool code_add(struct watched_code *code, const struct watched_mapping *m)
{
	size_t bytes = sizeof(*m) + strlen(m->path) + 1;
	struct watched_mapping copy = *m;

	if (code->mappings.len == MAPPINGS_MAX || *code->all_bytes + bytes > BYTES_MAX)
		return false;
	copy.path = strdup(m->path);
	if (!copy.path || !vec_push(&code->mappings, copy)) {
		free(copy.path);
		return false;
	}
	code->size_bytes += bytes;
	*code->all_bytes += bytes;
	return true;
}

/* Make `code` writable: a shared one is replaced by a copy. Takes one reference and
 * returns one. NULL: a limit is reached or memory is out. */
static struct watched_code *code_own(struct watched_code *code)
{
	struct watched_code *copy;

	if (code->owners == 1)
		return code;
	copy = code_create(code->all_bytes);
	if (!copy)
		return NULL;
	copy->since_ns = code->since_ns;
	copy->has_our_root = code->has_our_root;
	vec_foreach (m, &code->mappings) {
		if (code_add(copy, m))
			continue;
		watched_code_release(copy);
		return NULL;
	}
	watched_code_release(code);
	return copy;
}

static int compare_starts(const void *pa, const void *pb)
{
	const struct watched_mapping *a = *(const struct watched_mapping *const *)pa;
	const struct watched_mapping *b = *(const struct watched_mapping *const *)pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

static bool is_hidden(const struct watched_code *code, size_t i)
{
	const struct watched_mapping *m = &code->mappings.data[i];

	for (size_t j = i + 1; j < code->mappings.len; j++) {
		const struct watched_mapping *later = &code->mappings.data[j];

		if (later->start < m->end && m->start < later->end)
			return true;
	}
	return false;
}

bool watched_code_list(const struct watched_code *code, struct watched_mappings *ret)
{
	*ret = (struct watched_mappings){.list = {0}};
	for (size_t i = 0; i < code->mappings.len; i++) {
		if (!is_hidden(code, i) &&
		    !vec_push(&ret->list, &code->mappings.data[i])) {
			watched_mappings_deinit(ret);
			return false;
		}
	}
	if (ret->list.len)
		qsort(ret->list.data, ret->list.len, sizeof(*ret->list.data),
		      compare_starts);
	return true;
}

void watched_mappings_deinit(struct watched_mappings *mappings)
{
	vec_deinit(&mappings->list);
}

/* --- processes -------------------------------------------------------------------- */

struct watched_codes *watched_codes_create(const struct watched_codes_options *options)
{
	struct watched_codes *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return NULL;
	codes->options = *options;
	hashmap_init(&codes->by_pid, hashmap_seed());
	return codes;
}

static void remove_all(struct watched_codes *codes)
{
	vec_foreach (p, &codes->list)
		watched_code_release(p->code);
	codes->list.len = 0;
	codes->has_exited = false;
	hashmap_deinit(&codes->by_pid);
}

void watched_codes_destroy(struct watched_codes *codes)
{
	if (!codes)
		return;
	remove_all(codes);
	vec_deinit(&codes->list);
	free(codes);
}

static struct process *find(const struct watched_codes *codes, int pid)
{
	uint64_t at;

	return hashmap_get(&codes->by_pid, (uint64_t)pid, &at) ? &codes->list.data[at]
							       : NULL;
}

/* Set the code of a process. Takes ownership of `code`; NULL: unknown. */
static void set(struct watched_codes *codes, int pid, struct watched_code *code)
{
	struct process *known = find(codes, pid);

	if (known) {
		watched_code_release(known->code);
		known->code = code;
		known->exited_ns = 0;
		return;
	}
	if (!code)
		return;
	if (vec_push(&codes->list, (struct process){.pid = pid, .code = code})) {
		if (hashmap_put(&codes->by_pid, (uint64_t)pid, codes->list.len - 1))
			return;
		codes->list.len--;
	}
	watched_code_release(code);
}

/* Start an empty record for a process without one. NULL: not wanted, or memory is out. */
static struct watched_code *begin(struct watched_codes *codes, int pid)
{
	const struct watched_codes_options *options = &codes->options;
	struct watched_code *code =
		options->is_wanted(options->arg, pid) ? code_create(&codes->bytes) : NULL;

	if (code)
		code->has_our_root = options->has_our_root(options->arg, pid);
	return code;
}

static void forked(struct watched_codes *codes, const struct watch_event *event)
{
	const struct process *parent = find(codes, event->parent);

	set(codes, event->pid,
	    parent && parent->code ? code_share(parent->code)
				   : begin(codes, event->parent));
}

static void executed(struct watched_codes *codes, const struct watch_event *event)
{
	const struct process *p = find(codes, event->pid);
	bool has_our_root = p && p->code && p->code->has_our_root;
	struct watched_code *code =
		p && p->code ? code_create(&codes->bytes) : begin(codes, event->pid);

	if (code) {
		code->since_ns = event->time_ns;
		code->has_our_root |= has_our_root;
	}
	set(codes, event->pid, code);
}

static void mapped(struct watched_codes *codes, const struct watch_event *event)
{
	const struct watched_mapping m = {
		.start = event->start,
		.end = event->end,
		.file_offset = event->file_offset,
		.name = {event->inode, event->dev_major, event->dev_minor},
		.time_ns = event->time_ns,
		.path = (char *)(uintptr_t)event->path,
	};
	struct process *p = find(codes, event->pid);
	struct watched_code *own;

	if (!event->inode || event->start >= event->end || !p || !p->code ||
	    !p->code->since_ns)
		return;
	own = code_own(p->code);
	if (own)
		p->code = own;
	/* An incomplete list would be taken for a complete one: drop it. */
	if (!own || !code_add(own, &m))
		set(codes, event->pid, NULL);
}

static bool is_program(const struct proc_mapping *m, const char *executable)
{
	return executable && !strcmp(m->path, executable);
}

/* Add the program's code mappings, or all others. False: too many, or memory is out. */
static bool add_listed(struct watched_code *code, const struct proc_maps *maps,
		       const char *executable, bool of_program)
{
	vec_foreach (m, &maps->mappings) {
		const struct watched_mapping reported = {
			.start = m->start,
			.end = m->end,
			.file_offset = m->file_offset,
			.name = file_name_of(m),
			.time_ns = code->since_ns,
			.path = m->path,
		};

		if (m->executable && m->inode &&
		    is_program(m, executable) == of_program && !code_add(code, &reported))
			return false;
	}
	return true;
}

void watched_codes_begin_with(struct watched_codes *codes, int pid,
			      const struct proc_maps *maps, const char *executable,
			      uint64_t time_ns)
{
	const struct process *known = find(codes, pid);
	struct watched_code *code;

	if (known && known->code && known->code->since_ns)
		return;
	code = begin(codes, pid);
	if (!code)
		return;
	code->since_ns = time_ns;
	if (add_listed(code, maps, executable, true) &&
	    add_listed(code, maps, executable, false))
		set(codes, pid, code);
	else
		watched_code_release(code);
}

void watched_codes_hear(struct watched_codes *codes, const struct watch_event *event)
{
	struct process *p;

	switch (event->kind) {
	case WATCH_FORK:
		forked(codes, event);
		break;
	case WATCH_EXEC:
		executed(codes, event);
		break;
	case WATCH_MAP:
		mapped(codes, event);
		break;
	case WATCH_EXIT:
		p = find(codes, event->pid);
		if (p) {
			p->exited_ns = event->time_ns;
			codes->has_exited = true;
		}
		break;
	case WATCH_LOST:
		remove_all(codes);
		break;
	}
}

struct watched_code *watched_codes_get(const struct watched_codes *codes, int pid)
{
	const struct process *p = find(codes, pid);

	return p && p->code && p->code->since_ns ? code_share(p->code) : NULL;
}

void watched_codes_sweep(struct watched_codes *codes, uint64_t before_ns)
{
	size_t kept = 0;

	if (!codes->has_exited)
		return;
	codes->has_exited = false;
	hashmap_deinit(&codes->by_pid);
	vec_foreach (p, &codes->list) {
		bool is_of_use = p->code && (!p->exited_ns || p->exited_ns >= before_ns);

		codes->has_exited |= is_of_use && p->exited_ns;
		/* If the index has no memory for it, the process cannot be found any
		 * more. */
		if (is_of_use && hashmap_put(&codes->by_pid, (uint64_t)p->pid, kept))
			codes->list.data[kept++] = *p;
		else
			watched_code_release(p->code);
	}
	codes->list.len = kept;
}
