// SPDX-License-Identifier: Apache-2.0
/* The kernel's memory in every format: alone, and in addition to a heap. */
#include "fixture.h"

#include <jansson.h>

static void add_class(struct fixture *f, const char *name, uint64_t live, uint64_t bytes)
{
	struct snapshot_kernel_class kind = {
		.name = strdup(name),
		.totals = {.allocations = live + 5,
			   .allocated_bytes = bytes + 500,
			   .frees = 5,
			   .freed_bytes = 500,
			   .frees_unknown = 7},
	};

	REQUIRE(kind.name && vec_push(&f->snap->kernel_classes, kind));
	f->snap->totals[BLOCK_KERNEL].allocations += live + 5;
	f->snap->totals[BLOCK_KERNEL].allocated_bytes += bytes + 500;
}

/* Adds three blocks of the kernel at the stacks 0 and 2: 4000 bytes and twice 64. */
static void fill(struct fixture *f, bool alone)
{
	fixture_init(f);
	fixture_fill(f);
	f->snap->kernel_traced = true;
	f->snap->heap_untraced = alone;
	if (alone)
		vec_deinit(&f->snap->blocks[BLOCK_HEAP]);
	fixture_block(f, BLOCK_KERNEL, 4000, 4321, 0);
	fixture_block(f, BLOCK_KERNEL, 64, 4321, 2);
	fixture_block(f, BLOCK_KERNEL, 64, 4321, 2);
	add_class(f, "slab", 2, 128);
	add_class(f, "pages", 1, 4000);
}

/* Make process 0 stand for the whole kernel. */
static void make_whole_kernel(struct fixture *f)
{
	struct snapshot_process *process = &f->snap->processes.data[0];

	free(process->command);
	process->pid = process->namespace_pid = 0;
	process->command = strdup("kernel");
	REQUIRE(process->command);
}

static void text(void)
{
	struct fixture f;

	fill(&f, true);

	_cleanup_(freep) char *one = fixture_render(&f, "text", NULL);

	CHECK_CONTAINS(one, "memtrace report 1 of the kernel for process ");
	CHECK_CONTAINS(one,
		       "  kernel      4.0 KiB (4128 bytes) live in 3 blocks allocated "
		       "since the attach\n");
	CHECK_CONTAINS(one, "  slab        128 B live in 2, 7 allocated, 5 freed, 7 "
			    "more frees\n");
	CHECK_CONTAINS(one, "\t4000 bytes in 1 allocations from stack");
	CHECK(!strstr(one, "  heap "));
	make_whole_kernel(&f);

	_cleanup_(freep) char *all = fixture_render(&f, "text", NULL);

	CHECK_CONTAINS(all, "memtrace report 1 of the kernel, ");
	fixture_deinit(&f);
}

static void json(void)
{
	struct fixture f;

	fill(&f, true);

	_cleanup_(freep) char *out = fixture_render(&f, "json", NULL);
	json_t *report = json_loads(out, 0, NULL), *kernel, *classes;

	REQUIRE(report);
	CHECK(json_is_null(json_object_get(report, "heap")));
	kernel = json_object_get(report, "kernel");
	CHECK_INT(json_integer_value(json_object_get(kernel, "live_bytes")), 4128);
	classes = json_object_get(kernel, "classes");
	CHECK_INT(json_array_size(classes), 2);
	CHECK_INT(json_integer_value(
			  json_object_get(json_array_get(classes, 1), "live_bytes")),
		  4000);
	json_decref(report);
	fixture_deinit(&f);
}

/* The kernel and a heap are separate sections. */
static void beside(void)
{
	struct fixture f;

	fill(&f, false);

	_cleanup_(freep) char *out = fixture_render(&f, "text", NULL);
	_cleanup_(freep) char *csv = fixture_render(&f, "csv", NULL);
	_cleanup_(freep) char *collapsed = fixture_render(&f, "collapsed", NULL);
	_cleanup_(freep) char *html = fixture_render(&f, "html", NULL);
	_cleanup_(freep) char *text = fixture_render(&f, "json", NULL);
	json_t *report = json_loads(text, 0, NULL);

	CHECK_CONTAINS(out, "memtrace report 1 of process ");
	CHECK_CONTAINS(out, "  heap        ");
	CHECK_CONTAINS(out, "  kernel      4.0 KiB (4128 bytes) live in 3 blocks");
	CHECK_CONTAINS(out, "stacks with outstanding allocations in the kernel:\n");
	CHECK_CONTAINS(csv, ",heap\r\n");
	CHECK_CONTAINS(csv, ",kernel\r\n");
	CHECK_CONTAINS(collapsed, "[kernel];");
	CHECK_CONTAINS(collapsed, "[heap];");
	CHECK_CONTAINS(html, "Live heap");
	CHECK_CONTAINS(html, "Live in the kernel");
	CHECK_CONTAINS(html, "<h3>Kernel</h3>");
	REQUIRE(report);
	CHECK(json_is_object(json_object_get(report, "heap")));
	CHECK_INT(json_integer_value(json_object_get(json_object_get(report, "kernel"),
						     "live_blocks")),
		  3);
	json_decref(report);
	fixture_deinit(&f);
}

int main(void)
{
	RUN(text);
	RUN(json);
	RUN(beside);
	return check_done();
}
