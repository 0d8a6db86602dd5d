// SPDX-License-Identifier: Apache-2.0
/*
 * What tracing costs each kind of allocation in each of the usual allocators, and how
 * much of that single-stepped instructions cost. In each round all ways of tracing take
 * turns on one process. Each round starts with another way.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "empty_probes.h"
#include "library_path.h"
#include "table.h"
#include "tool.h"

#define ROUNDS       7
#define COUNT_BARE   2000000
#define COUNT_TRACED 60000
#define COUNT_PEER   20000

static const struct {
	const char *name; /* the operation's name in allocations.c */
	const char *text;
} operations[] = {
	{"malloc", "malloc, free"},
	{"calloc", "calloc, free"},
	{"realloc", "malloc, realloc to 8x, free"},
	{"memalign", "posix_memalign, free"},
	{"new", "operator new, delete"},
};

#define OPERATIONS (sizeof(operations) / sizeof(*operations))

/* NULL: the C library of the program */
static const char *const libraries[] = {NULL, "libjemalloc.so.2",
					"libtcmalloc_minimal.so.4", "libmimalloc.so.2"};

#define LIBRARIES (sizeof(libraries) / sizeof(*libraries))

enum way {
	BARE,
	EMPTY,
	INSIDE,
	STEPPED,
	PEER,
	BEFORE,
	NOW,
	WAYS
};

struct allocator_run {
	char *path;                  /* of the library, owned; NULL: none is preloaded */
	const char *peer_options[3]; /* NULL-terminated */
	bool has[WAYS];
	double ns[WAYS][OPERATIONS][ROUNDS];
};

static void perform(struct target *target, unsigned long count, double ns[OPERATIONS])
{
	for (size_t i = 0; i < OPERATIONS; i++) {
		/* Warm up. */
		target_allocate(target, operations[i].name, count / 20);
		ns[i] = target_allocate(target, operations[i].name, count);
	}
}

static void perform_with_empty(struct target *target, enum way way, double ns[OPERATIONS])
{
	pid_t pid = target->child.pid;
	struct empty_probes *probes = way == EMPTY    ? empty_probes_attach(pid)
				      : way == INSIDE ? inside_probes_attach(pid)
						      : stepped_probes_attach(pid);

	perform(target, COUNT_TRACED, ns);
	empty_probes_detach(probes);
}

static void perform_traced(const struct allocator_run *run, struct target *target,
			   enum way way, double ns[OPERATIONS])
{
	static const char *const none[] = {NULL};
	enum tool tool = way == PEER     ? TOOL_MEMLEAK
			 : way == BEFORE ? TOOL_BEFORE
					 : TOOL_MEMTRACE;
	struct tracing tracing =
		tool_start(tool, target, way == PEER ? run->peer_options : none);

	perform(target, way == PEER ? COUNT_PEER : COUNT_TRACED, ns);
	tool_stop(&tracing);
}

static void measure(struct allocator_run *run, struct target *target, enum way way,
		    unsigned round)
{
	double ns[OPERATIONS];

	if (way == BARE)
		perform(target, COUNT_BARE, ns);
	else if (way < PEER)
		perform_with_empty(target, way, ns);
	else
		perform_traced(run, target, way, ns);
	for (size_t i = 0; i < OPERATIONS; i++)
		run->ns[way][i][round] = ns[i];
}

/* memleak-bpfcc traces a library other than libc only if it is named with -O, and fails
 * unless the library has all its functions. */
static bool try_peer(struct allocator_run *run)
{
	struct target target = target_start_allocations(run->path);
	char why[256];

	if (run->path) {
		run->peer_options[0] = "-O";
		run->peer_options[1] = run->path;
	}

	bool ok = tool_can_trace(TOOL_MEMLEAK, &target, run->peer_options, why,
				 sizeof(why));

	if (!ok)
		printf("memleak-bpfcc cannot trace %s: %s\n", run->path, why);
	target_stop(&target);
	return ok;
}

static void measure_rounds(struct allocator_run *run)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct target target = target_start_allocations(run->path);

		for (unsigned i = 0; i < WAYS; i++) {
			enum way way = (i + round) % WAYS;

			if (run->has[way])
				measure(run, &target, way, round);
		}
		target_stop(&target);
	}
}

/* memleak-bpfcc has no probes on C++ operators; the last operation uses them. They are
 * traced only where they call malloc. */
static bool is_untraced(const struct allocator_run *run, enum way way, size_t operation)
{
	return way == PEER && run->path && operation == OPERATIONS - 1;
}

static void print_rows(struct allocator_run *run)
{
	for (size_t i = 0; i < OPERATIONS; i++) {
		double m[WAYS];

		for (unsigned way = 0; way < WAYS; way++)
			m[way] = run->has[way] && !is_untraced(run, way, i)
					 ? median(run->ns[way][i], ROUNDS)
					 : NAN;
		table_comparison(&(struct comparison){
			.name = operations[i].text,
			.bare = m[BARE],
			.empty = m[EMPTY],
			.inside = m[INSIDE],
			.stepped = m[STEPPED] - m[BARE],
			.peer = m[PEER],
			.before = m[BEFORE],
			.now = m[NOW],
			.has_before = run->has[BEFORE],
		});
	}
}

static void one_allocator(const char *library, bool has_peer)
{
	struct allocator_run run = {.path = library ? library_path(library) : NULL};

	if (library && !run.path) {
		printf("%s is not measured: it is not installed\n", library);
		return;
	}
	for (unsigned way = 0; way < WAYS; way++)
		run.has[way] = true;
	run.has[BEFORE] = tool_has_before();
	run.has[PEER] = has_peer && try_peer(&run);
	measure_rounds(&run);
	table_comparison_head(library ? library : "the C library", run.has[BEFORE]);
	print_rows(&run);
	free(run.path);
}

void section_allocators(const struct peers *peers)
{
	const bool has_peer = peers->has[TOOL_MEMLEAK];
	printf("\nAllocations in a loop, ns; each column of probes includes what is "
	       "bare\n");
	for (size_t i = 0; i < LIBRARIES; i++)
		one_allocator(libraries[i], has_peer);
}
