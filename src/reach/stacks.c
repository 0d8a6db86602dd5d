// SPDX-License-Identifier: Apache-2.0
#include "reach/stacks.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "arch/words.h"
#include "process/procfs.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/units.h"

#define RED_ZONE_BYTES 128

/* A thread that runs is stopped for a moment if it stops within this time. */
#define STOP_NS UINT64_C(5000000)

/* A stack that is in use to this depth or more is not cut. */
#define DEPTH_MAX (UINT64_C(16) << 20)

/* A C library's data of a thread is less than this far from the thread pointer. */
#define CONTROL_BYTES UINT64_C(4096)

#define PIECE_BYTES   ((size_t)16 << 10)

/* The thread whose stack is cut. */
struct stack {
	const struct proc_mapping *mapping;
	uint64_t pointer;
	uint64_t thread_pointer; /* 0: unknown */
	uint64_t guard;          /* as in struct reach_words */
	uint64_t deadline_ns;
	int tid;
};

/* A copy of a part of the stack. */
struct window {
	uint64_t words[PIECE_BYTES / sizeof(uint64_t)];
	uint64_t start, end;
};

/* The index of the mapping with `address`, or the number of mappings. */
static size_t find_mapping(const struct proc_maps *maps, uint64_t address)
{
	size_t i = vec_count_up_to(&maps->mappings, start, address);

	return i && maps->mappings.data[i - 1].end > address ? i - 1 : maps->mappings.len;
}

/*
 * Let the window begin at or below `at`, and end at or before `end`. It begins with a
 * page: the words below `at` are likely to be looked at next, and cost no read of their
 * own. (A page below may never have been written.) False: it cannot be read, or it is too
 * late.
 */
static bool move_window(const struct stack *stack, uint64_t at, uint64_t end,
			struct window *window)
{
	uint64_t from = at / REACH_PAGE * REACH_PAGE;
	size_t size;

	if (from < stack->mapping->start)
		from = stack->mapping->start;
	size = end - from < PIECE_BYTES ? (size_t)(end - from) : PIECE_BYTES;

	const struct iovec here = {window->words, size};
	const struct iovec there = {(void *)(uintptr_t)from, size};

	window->start = window->end = from;
	if (clock_now_ns() > stack->deadline_ns ||
	    process_vm_readv(stack->tid, &here, 1, &there, 1, 0) != (ssize_t)size)
		return false;
	window->end += size;
	return true;
}

/* Make *low smaller if a word of the stack, from `at` to `end`, points to a lower address
 * of the mapping. False: it is not known. */
static bool find_lower(const struct stack *stack, uint64_t at, uint64_t end,
		       struct window *window, uint64_t *low)
{
	uint64_t start = stack->mapping->start;

	for (; at < end; at += sizeof(uint64_t)) {
		if ((at < window->start || at >= window->end) &&
		    !move_window(stack, at, end, window))
			return false;

		uint64_t word = window->words[(at - window->start) / sizeof(uint64_t)];
		uint64_t plain = arch_word_unmangled(word, stack->guard);

		if (word >= start && word < *low)
			*low = word;
		if (stack->guard && plain >= start && plain < *low)
			*low = plain;
	}
	return true;
}

static uint64_t below_red_zone(const struct stack *stack, uint64_t pointer)
{
	return pointer - stack->mapping->start > RED_ZONE_BYTES
		       ? (pointer - RED_ZONE_BYTES) / sizeof(uint64_t) * sizeof(uint64_t)
		       : stack->mapping->start;
}

/*
 * The lowest address that is in use. This may be less than the stack pointer: the thread
 * may run on a signal stack, or as a coroutine, in a local array of one of its own
 * functions, or in its thread-local data. What it has interrupted is then elsewhere in
 * the mapping, and a saved context in the part above the stack pointer (ucontext_t,
 * jmp_buf) points to it. Returns the start of the mapping if that is not known.
 */
static uint64_t lowest_used(const struct stack *stack)
{
	const struct proc_mapping *m = stack->mapping;
	uint64_t low = below_red_zone(stack, stack->pointer), end = m->end;
	struct window window = {.start = 0};

	if (stack->thread_pointer > stack->pointer &&
	    end - stack->thread_pointer > CONTROL_BYTES)
		end = (stack->thread_pointer + CONTROL_BYTES) / sizeof(uint64_t) *
		      sizeof(uint64_t);
	while (low < end) {
		uint64_t next = low;

		if (stack->pointer - low > DEPTH_MAX || end - low > DEPTH_MAX ||
		    !find_lower(stack, low, end, &window, &next))
			return m->start;
		if (next == low)
			break;
		end = low;
		low = below_red_zone(stack, next);
	}
	return low;
}

static struct error *cut_below(const struct stack *stack, struct reach_regions *regions)
{
	uint64_t start = stack->mapping->start, low = lowest_used(stack);

	return low > start ? reach_regions_cut(regions, start, low) : NULL;
}

static bool is_main_stack(const struct proc_mapping *m)
{
	return !strcmp(m->path, "[stack]");
}

/* Is it laid out like a stack: memory above an inaccessible page? */
static bool looks_like_stack(const struct proc_maps *maps, size_t i)
{
	const struct proc_mapping *m = &maps->mappings.data[i], *below = m - 1;

	return is_main_stack(m) ||
	       (i && !*m->path && !m->shared && below->end == m->start &&
		!below->readable && !below->writable);
}

/* Note that `tid` uses the mapping with `address`: owners[i] is the thread that uses the
 * mapping i, or -1 if several do. */
static void note_owner(const struct proc_maps *maps, uint64_t address, int tid,
		       int owners[])
{
	size_t i = find_mapping(maps, address);

	if (i < maps->mappings.len)
		owners[i] = owners[i] && owners[i] != tid ? -1 : tid;
}

/*
 * Did the C library map the stack for this thread alone? Then the thread's control block
 * has the address of the inaccessible page below (struct pthread of glibc: stackblock; of
 * musl: map_base). Of a stack that the program has made (pthread_attr_setstack(3)), glibc
 * has the lowest address, and musl none.
 */
static bool was_mapped_for(const struct reach_thread *t, const struct proc_mapping *m)
{
	uint64_t words[2 * CONTROL_BYTES / sizeof(uint64_t)];
	uint64_t from = t->thread_pointer - CONTROL_BYTES, to = from + sizeof(words);
	const struct proc_mapping *page = m - 1;

	from = from > m->start ? from : m->start;
	to = to < m->end ? to : m->end;

	const struct iovec here = {words, to - from};
	const struct iovec there = {(void *)(uintptr_t)from, to - from};

	if (process_vm_readv(t->tid, &here, 1, &there, 1, 0) != (ssize_t)(to - from))
		return false;
	for (size_t i = 0; i < (to - from) / sizeof(*words); i++)
		if (words[i] >= page->start && words[i] < page->end)
			return true;
	return false;
}

static bool is_own_stack(const struct reach_thread *t, int pid,
			 const struct proc_maps *maps, size_t i)
{
	if (t->tid == pid || is_main_stack(&maps->mappings.data[i]))
		return t->tid == pid && is_main_stack(&maps->mappings.data[i]);
	return looks_like_stack(maps, i) && t->thread_pointer > t->stack_pointer &&
	       t->thread_pointer < maps->mappings.data[i].end &&
	       was_mapped_for(t, &maps->mappings.data[i]);
}

struct error *reach_stacks_cut(const struct reach_threads *threads,
			       const struct proc_maps *maps, uint64_t guard,
			       uint64_t deadline_ns, struct reach_regions *regions)
{
	_cleanup_(freep) int *owners = calloc(maps->mappings.len + 1, sizeof(*owners));
	struct error *err = NULL;

	if (!owners)
		return error_no_memory();
	vec_foreach (t, &threads->list) {
		note_owner(maps, t->stack_pointer, t->tid, owners);
		note_owner(maps, t->thread_pointer, t->tid, owners);
	}
	vec_foreach (t, &threads->list) {
		size_t i = find_mapping(maps, t->stack_pointer);

		if (err || clock_now_ns() > deadline_ns)
			break;
		if (i == maps->mappings.len || owners[i] != t->tid ||
		    !is_own_stack(t, threads->pid, maps, i))
			continue;
		err = cut_below(&(struct stack){&maps->mappings.data[i], t->stack_pointer,
						t->thread_pointer, guard, deadline_ns,
						t->tid},
				regions);
	}
	return err;
}

/* The stack pointer of a thread that waits in the kernel; 0: it runs. */
static uint64_t waiting_at(int pid, int tid)
{
	_cleanup_(freep) char *text = NULL;
	char name[64], *space;
	uint64_t sp = 0;
	size_t size;

	snprintf(name, sizeof(name), "task/%d/syscall", tid);
	if (procfs_read(pid, name, PROCFS_SMALL_BYTES, &text, &size))
		return 0;
	/* The last two numbers are the stack pointer and the program counter. */
	space = strrchr(text, ' ');
	if (!space)
		return 0;
	*space = '\0';
	space = strrchr(text, ' ');
	if (!space || sscanf(space + 1, "0x%" SCNx64, &sp) != 1)
		return 0;
	return sp;
}

struct error *reach_stacks_guess(int pid, const struct proc_maps *maps,
				 uint64_t deadline_ns, struct reach_regions *regions)
{
	char path[64];
	struct error *err = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);

	_cleanup_(closedirp) DIR *dir = opendir(path);

	for (struct dirent *entry; dir && !err && (entry = readdir(dir));) {
		uint64_t tid, sp, now = clock_now_ns();
		size_t i;

		if (now > deadline_ns)
			break;
		if (!units_parse_integer(entry->d_name, 1, INT_MAX, &tid))
			continue;
		sp = waiting_at(pid, (int)tid);
		if (!sp)
			sp = reach_thread_stack_pointer(pid, (int)tid, now + STOP_NS);
		i = find_mapping(maps, sp);
		if (i < maps->mappings.len && looks_like_stack(maps, i))
			err = cut_below(&(struct stack){&maps->mappings.data[i], sp, 0, 0,
							deadline_ns, (int)tid},
					regions);
	}
	return err;
}
