// SPDX-License-Identifier: Apache-2.0
/* --replay of a generated snapshot of a large program, in each format. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "snapshot/file.h"

#define STACKS     100000
#define BLOCKS     1000000
#define CALLS      30000 /* distinct return addresses, CALLS_EACH in each function */
#define CALLS_EACH 3
#define DEPTH_MIN  8
#define DEPTH_MAX  32
#define RUNS       3

#define CODE_AT    UINT64_C(0x55d0c0000000)
#define CALL_BYTES 0x40
#define TIMEOUT_S  60

/* xorshift64 (Marsaglia, 2003), always with the same seed. */
static uint64_t random_number(void)
{
	static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void need(bool ok)
{
	if (!ok)
		die("out of memory");
}

/* Give the call a source line; every eighth also gets an inlined function. */
static void add_name(struct snapshot *snap, size_t call)
{
	size_t function = call / CALLS_EACH;
	char text[128];
	struct snapshot_name name = {
		.address = CODE_AT + call * CALL_BYTES,
		.offset = (call % CALLS_EACH + 1) * CALL_BYTES,
		.first_source = (uint32_t)snap->sources.len,
		.source_count = call % 8 ? 1 : 2,
	};
	struct snapshot_source source = {.line = (uint32_t)(call % 5000 + 1),
					 .column = (uint32_t)(call % 80 + 1)};

	snprintf(text, sizeof(text), "server::module_%zu::Handler::process_%zu(Request&)",
		 function % 100, function);
	need(string_table_add(&snap->strings, text, &name.symbol));
	snprintf(text, sizeof(text), "/srv/app/lib/libmodule_%zu.so", function % 100);
	need(string_table_add(&snap->strings, text, &name.module));
	snprintf(text, sizeof(text), "/home/build/src/module_%zu/handler_%zu.cpp",
		 function % 100, function % 1000);
	need(string_table_add(&snap->strings, text, &source.file));
	source.function = name.symbol;
	if (name.source_count == 2) {
		struct snapshot_source inlined = source;

		inlined.inlined = true;
		need(string_table_add(&snap->strings,
				      "std::vector<int>::push_back(int&&)",
				      &inlined.function) &&
		     vec_push(&snap->sources, inlined));
	}
	need(vec_push(&snap->sources, source) && vec_push(&snap->names, name));
}

/* Each new stack shares its outer frames with an earlier one, as the stacks of a program
 * form a tree. */
static void add_stack(struct snapshot *snap)
{
	struct snapshot_stack stack = {
		.first_frame = (uint32_t)snap->frames.len,
		.depth =
			(uint16_t)(DEPTH_MIN + random_number() % (DEPTH_MAX - DEPTH_MIN)),
	};
	const struct snapshot_stack *model =
		snap->stacks.len ? &snap->stacks.data[random_number() % snap->stacks.len]
				 : &stack;
	size_t own = snap->stacks.len ? 1 + random_number() % 8 : stack.depth;

	for (size_t i = 0; i < stack.depth; i++) {
		size_t to_root = stack.depth - 1u - i;
		uint64_t address = CODE_AT + random_number() % CALLS * CALL_BYTES;

		if (i >= own && to_root < model->depth)
			address = snap->frames.data[model->first_frame + model->depth -
						    1 - to_root];
		need(vec_push(&snap->frames, address));
	}
	need(vec_push(&snap->stacks, stack));
}

static void add_blocks(struct snapshot *snap)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		struct snapshot_block block = {
			.address = UINT64_C(0x7f0000000000) + i * 64,
			.size_bytes = 16 + random_number() % 1000,
			.time_ns = snap->attached_ns + i * 50000,
			.stack = (uint32_t)(i < STACKS ? i : random_number() % STACKS),
			.tid = (uint32_t)(1000 + random_number() % 16),
		};

		need(vec_push(&snap->blocks[BLOCK_HEAP], block));
	}
}

/* What --save stores beside the blocks. */
static void add_measures(struct snapshot *snap)
{
	for (size_t i = 0; i < STACKS; i++) {
		struct snapshot_traffic traffic = {
			.allocations = 10 + random_number() % 1000,
			.peak_time_ns = snap->attached_ns + random_number() % 60000000000,
		};
		struct snapshot_lifetimes lifetimes = {.count = {0}};
		struct snapshot_path_sizes sizes = {.count = {0}};
		struct snapshot_trend trend = {
			.intervals = 12,
			.grew = (uint32_t)(random_number() % 13),
			.slope_bytes_per_s = (double)(random_number() % 100000) / 7,
			/* One stack in a hundred seems to leak. */
			.determination = i % 100 ? 0.5 : 0.99,
			.stands = 1,
		};

		traffic.allocated_bytes = traffic.allocations * 300;
		traffic.frees = traffic.allocations / 2;
		traffic.freed_bytes = traffic.frees * 300;
		traffic.temporary = traffic.frees / 3;
		traffic.peak_count = 2 * traffic.frees / 3;
		traffic.peak_bytes = traffic.peak_count * 300;
		for (size_t k = 0; k < 6; k++)
			lifetimes.count[random_number() % 16] += traffic.frees / 6;
		sizes.count[6] = traffic.frees;
		sizes.count[9] = traffic.allocations - traffic.frees;
		need(vec_push(&snap->traffic, traffic) &&
		     vec_push(&snap->lifetimes, lifetimes) &&
		     vec_push(&snap->path_sizes, sizes) &&
		     vec_push(&snap->trends[BLOCK_HEAP], trend));
	}
	snap->has_traffic = snap->has_lifetimes = snap->has_trends = true;
}

static void make_file(const char *path)
{
	struct snapshot *snap = snapshot_create();
	struct snapshot_process *process = snap ? snapshot_add_process(snap, 1000) : NULL;
	FILE *out = fopen(path, "we");
	struct error *err;

	if (!out)
		die("cannot write %s", path);
	need(process);
	process->command = strdup("server");
	snap->wall_ns = UINT64_C(1767323045000000000);
	snap->attached_ns = UINT64_C(1000000000);
	snap->time_ns = UINT64_C(61000000000);
	snap->totals[BLOCK_HEAP].allocations = BLOCKS;
	for (size_t i = 0; i < CALLS; i++)
		add_name(snap, i);
	for (size_t i = 0; i < STACKS; i++)
		add_stack(snap);
	add_blocks(snap);
	add_measures(snap);
	err = snapshot_write(snap, out);
	if (err || fclose(out))
		die("cannot write %s", path);
	snapshot_destroy(snap);
}

struct figures {
	double ms, cpu_ms, mb; /* until the end; processor time; peak resident memory */
};

static double timeval_ms(const struct timeval *t)
{
	return (double)t->tv_sec * 1e3 + (double)t->tv_usec / 1e3;
}

/* The medians of RUNS runs. */
static struct figures measure(const char *file, const char *const options[])
{
	double ms[RUNS], cpu_ms[RUNS], mb[RUNS];

	for (size_t run = 0; run < RUNS; run++) {
		const char *argv[16] = {MEMTRACE_BINARY, "--replay", file};
		struct rusage usage;
		size_t n = 3;

		for (size_t i = 0; options[i]; i++)
			argv[n++] = options[i];

		struct child child = child_start(argv);
		struct text text = child_read_burst(&child, TIMEOUT_S, TIMEOUT_S * 1000);
		uint64_t end_ns = child_wait(&child, TIMEOUT_S, &usage);

		ms[run] = (double)(end_ns - child.started_ns) / 1e6;
		cpu_ms[run] = timeval_ms(&usage.ru_utime) + timeval_ms(&usage.ru_stime);
		mb[run] = (double)usage.ru_maxrss * 1024 / 1e6;
		text_deinit(&text);
	}
	return (struct figures){median(ms, RUNS), median(cpu_ms, RUNS), median(mb, RUNS)};
}

void section_replay(void)
{
	static const struct {
		const char *name;
		const char *options[8];
	} runs[] = {
		{"text, 10 stacks", {NULL}},
		{"text, all", {"--top", "0", NULL}},
		{"text, all and blocks", {"--top", "0", "-a", NULL}},
		{"json", {"--top", "0", "--format", "json", NULL}},
		{"csv", {"-f", "--csv", "OUT", NULL}},
		{"collapsed", {"-f", "--flamegraph", "OUT", NULL}},
		{"svg", {"-f", "--flame", "OUT", NULL}},
		{"pprof", {"-f", "--pprof", "OUT", NULL}},
		{"html", {"-f", "--html", "OUT", NULL}},
		{"snapshot", {"-f", "--save", "OUT", NULL}},
	};
	char dir[] = "/tmp/memtrace-bench-XXXXXX", file[64], out[64];
	struct stat st;
	double base_ms = 0;

	if (!mkdtemp(dir))
		die("cannot make a directory in /tmp");
	snprintf(file, sizeof(file), "%s/snapshot.mts", dir);
	snprintf(out, sizeof(out), "%s/out", dir);

	uint64_t start_ns = now_ns();

	make_file(file);
	printf("\n%d stacks, %d blocks: made and written in %.0f ms, ", STACKS, BLOCKS,
	       (double)(now_ns() - start_ns) / 1e6);
	if (!stat(file, &st))
		printf("%.1f MB\n", (double)st.st_size / 1e6);
	printf("%-24s %10s %10s %10s %10s\n", "replay of it", "ms", "cpu ms", ": first",
	       "peak MB");
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		const char *options[8];
		struct figures f;

		for (size_t k = 0; k < 8; k++) {
			const char *word = runs[i].options[k];

			options[k] = word && !strcmp(word, "OUT") ? out : word;
		}
		f = measure(file, options);
		unlink(out);
		base_ms = i ? base_ms : f.cpu_ms;
		printf("%-24s %10.0f %10.0f %10.2f %10.0f\n", runs[i].name, f.ms,
		       f.cpu_ms, f.cpu_ms / base_ms, f.mb);
		fflush(stdout);
	}
	unlink(file);
	rmdir(dir);
}
