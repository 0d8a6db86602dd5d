// SPDX-License-Identifier: Apache-2.0
/*
 * Counts the calls of a file's allocation functions from outside of the processes, where
 * a preloaded library would not see them: in programs that bring their own allocator.
 *
 *    outside FILE DIRECTORY
 *
 * Prints "ready" when every call in a process that maps the file is counted. Ends on
 * SIGTERM, and writes DIRECTORY/PID.0 for each process, as the preloaded counter does
 * (counter.h).
 *
 * The probes are where each function begins, and return probes: it takes the size from
 * the arguments and the block's address from the returned value, unlike memtrace, which
 * reads both inside the function.
 */
#include <bcc/bcc_common.h>
#include <bcc/bcc_syms.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/link.h"
#include "bpf/syscall.h"
#include "counter.h"
#include "outside.h"

static const struct {
	const char *name;
	uint32_t arguments; /* OUTSIDE_ARGS(), OUTSIDE_CALLER */
} functions[] = {
	{"malloc", OUTSIDE_ARGS(1, 0, 0, 0)},
	{"calloc", OUTSIDE_ARGS(2, 1, 0, 0) | OUTSIDE_CALLER},
	{"realloc", OUTSIDE_ARGS(2, 0, 1, 0) | OUTSIDE_CALLER},
	{"free", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"cfree", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"reallocarray", OUTSIDE_ARGS(3, 2, 1, 0) | OUTSIDE_CALLER},
	{"posix_memalign", OUTSIDE_ARGS(3, 0, 0, 1) | OUTSIDE_CALLER},
	{"aligned_alloc", OUTSIDE_ARGS(2, 0, 0, 0) | OUTSIDE_CALLER},
	{"memalign", OUTSIDE_ARGS(2, 0, 0, 0) | OUTSIDE_CALLER},
	{"valloc", OUTSIDE_ARGS(1, 0, 0, 0) | OUTSIDE_CALLER},
	{"pvalloc", OUTSIDE_ARGS(1, 0, 0, 0) | OUTSIDE_CALLER},
	/* Firefox */
	{"moz_arena_malloc", OUTSIDE_ARGS(2, 0, 0, 0)},
	{"moz_arena_calloc", OUTSIDE_ARGS(3, 2, 0, 0) | OUTSIDE_CALLER},
	{"moz_arena_realloc", OUTSIDE_ARGS(3, 0, 2, 0) | OUTSIDE_CALLER},
	{"moz_arena_free", OUTSIDE_ARGS(0, 0, 2, 0)},
	{"moz_arena_memalign", OUTSIDE_ARGS(3, 0, 0, 0) | OUTSIDE_CALLER},
	/* C++'s operators: new with and without nothrow, with an alignment or not */
	{"_Znwm", OUTSIDE_ARGS(1, 0, 0, 0) | OUTSIDE_CALLER},
	{"_Znam", OUTSIDE_ARGS(1, 0, 0, 0) | OUTSIDE_CALLER},
	{"_ZnwmRKSt9nothrow_t", OUTSIDE_ARGS(1, 0, 0, 0) | OUTSIDE_CALLER},
	{"_ZnamRKSt9nothrow_t", OUTSIDE_ARGS(1, 0, 0, 0) | OUTSIDE_CALLER},
	{"_ZnwmSt11align_val_t", OUTSIDE_ARGS(1, 0, 0, 0) | OUTSIDE_CALLER},
	{"_ZnamSt11align_val_t", OUTSIDE_ARGS(1, 0, 0, 0) | OUTSIDE_CALLER},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", OUTSIDE_ARGS(1, 0, 0, 0) | OUTSIDE_CALLER},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", OUTSIDE_ARGS(1, 0, 0, 0) | OUTSIDE_CALLER},
	{"_ZdlPv", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"_ZdaPv", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"_ZdlPvm", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"_ZdaPvm", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"_ZdlPvRKSt9nothrow_t", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"_ZdaPvRKSt9nothrow_t", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"_ZdlPvSt11align_val_t", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"_ZdaPvSt11align_val_t", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"_ZdlPvmSt11align_val_t", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"_ZdaPvmSt11align_val_t", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"_ZdlPvSt11align_val_tRKSt9nothrow_t", OUTSIDE_ARGS(0, 0, 1, 0)},
	{"_ZdaPvSt11align_val_tRKSt9nothrow_t", OUTSIDE_ARGS(0, 0, 1, 0)},
};

#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

struct places {
	uint64_t offsets[FUNCTIONS], cookies[FUNCTIONS];
	size_t count;
};

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("outside: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

/* --- attach ----------------------------------------------------------------------- */

/* Several functions may be one: the first counts. */
static void add_place(struct places *places, uint64_t offset, uint64_t cookie)
{
	for (size_t i = 0; i < places->count; i++) {
		if (places->offsets[i] == offset)
			return;
	}
	places->offsets[places->count] = offset;
	places->cookies[places->count++] = cookie;
}

/* *allocating: the functions that return blocks, and so need a return probe. */
static void find_functions(const char *file, struct places *all,
			   struct places *allocating)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		struct bcc_symbol symbol = {0};
		uint64_t cookie = functions[i].arguments | OUTSIDE_NUMBER(i);
		size_t before = all->count;

		if (bcc_resolve_symname(file, functions[i].name, 0, 0, NULL, &symbol))
			continue;
		add_place(all, symbol.offset, cookie);
		if (all->count > before && OUTSIDE_SIZE(cookie))
			add_place(allocating, symbol.offset, cookie);
		free((char *)symbol.module);
	}
	if (!allocating->count)
		fail("%s has no allocation function", file);
}

static int load(void *module, const char *name)
{
	static char log[1 << 16];
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = ATTACH_TYPE_UPROBE_MULTI, .log_buf = log,
		    .log_size = sizeof(log));
	int fd = bpf_prog_load(
		BPF_PROG_TYPE_KPROBE, name, "GPL", bpf_function_start(module, name),
		bpf_function_size(module, name) / sizeof(struct bpf_insn), &options);

	if (fd < 0)
		fail("the kernel refuses %s: %s\n%s", name, strerror(-fd), log);
	return fd;
}

static int attach(int program, const char *file, const struct places *places,
		  bool is_return)
{
	int link = link_uprobe_multi(program, ATTACH_TYPE_UPROBE_MULTI, file,
				     places->offsets, NULL, places->cookies,
				     places->count, is_return, 0);

	if (link < 0)
		fail("cannot attach to %s: %s", file, strerror(-link));
	return link;
}

/* --- write the counts ------------------------------------------------------------- */

/* Calls that have not returned: their threads ended first. */
static uint64_t count_unreturned(int calls)
{
	struct outside_call call, *previous = NULL;
	uint64_t n = 0;

	while (!bpf_map_get_next_key(calls, previous, &call)) {
		previous = &call;
		n++;
	}
	return n;
}

static void write_process(const char *directory, uint32_t pid,
			  const struct outside_sums *sums)
{
	struct counter_file counts = {.magic = COUNTER_MAGIC, .pid = pid};
	char path[PATH_MAX];

	counts.failures = sums->failures;
	counts.shards[0] = (struct counter_shard){
		.allocations = sums->allocations,
		.allocated_bytes = sums->allocated_bytes,
		.frees = sums->frees,
		.freed_bytes = sums->freed_bytes,
		.replaced = sums->replaced,
		.replaced_bytes = sums->replaced_bytes,
		.overflow = sums->overflow,
	};
	snprintf(path, sizeof(path), "%s/%u.0", directory, pid);
	FILE *file = fopen(path, "we");
	if (!file || fwrite(&counts, sizeof(counts), 1, file) != 1 || fclose(file))
		fail("cannot write %s", path);
}

static void write_counts(const char *directory, int processes, int calls)
{
	struct outside_sums sums;
	uint64_t replaced = 0;
	uint32_t pid, *previous = NULL;
	unsigned n = 0;

	while (!bpf_map_get_next_key(processes, previous, &pid)) {
		previous = &pid;
		if (bpf_map_lookup_elem(processes, &pid, &sums))
			fail("cannot read the counts of process %u", pid);
		write_process(directory, pid, &sums);
		replaced += sums.replaced;
		n++;
	}
	printf("%u processes, %" PRIu64
	       " addresses returned again without a free, %" PRIu64
	       " calls that did not return\n",
	       n, replaced, count_unreturned(calls));
}

int main(int argc, char **argv)
{
	const char *flags[] = {"-I" OUTSIDE_DIRECTORY, "-DMEMTRACE_LINUX_VERSION_CODE=0"};
	struct places all = {0}, allocating = {0};
	sigset_t signals;
	int signal;

	if (argc != 3 || *argv[2] != '/')
		fail("usage: outside FILE DIRECTORY, an absolute path");
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	find_functions(argv[1], &all, &allocating);
	setenv("BCC_KERNEL_SOURCE", KERNEL_HEADERS, 1);
	void *module = bpf_module_create_c(OUTSIDE_DIRECTORY "/outside_probes.c", 0,
					   flags, 2, false, NULL);
	if (!module)
		fail("cannot compile the probes");
	int link = attach(load(module, "on_entry"), argv[1], &all, false);
	int return_link = attach(load(module, "on_return"), argv[1], &allocating, true);
	puts("ready");
	fflush(stdout);
	sigwait(&signals, &signal);
	link_close_all((const int[]){link, return_link}, 2);
	write_counts(argv[2], bpf_table_fd(module, "processes"),
		     bpf_table_fd(module, "calls"));
	return 0;
}
