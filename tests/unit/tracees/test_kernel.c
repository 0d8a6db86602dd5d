// SPDX-License-Identifier: Apache-2.0
/* --kernel: its options, and the kernel functions that memtrace looks up. */
#include "unit/options/options_check.h"

#include "tracees/kernel.h"
#include "unit/symbol/kernel_names_text.h"
#include "util/cleanup.h"

static void options_of_kernel(void)
{
	struct options options;

	REQUIRE(!parse_list(ARGV("--kernel"), &options));
	CHECK(options.trace.mode == TRACE_MODE_KERNEL);
	CHECK_INT(options.pid_count, 0);
	CHECK_INT(trace_config_depth(&options.trace, false), 64);
	PARSE(&options, "-k", "--save=a", "--stack-depth=9", "--sample-every=4");
	CHECK(options.trace.mode == TRACE_MODE_KERNEL && !options.trace.traffic);
	CHECK_INT(options.trace.stack_depth, 9);
	PARSE(&options, "--top=3");
	CHECK(options.trace.mode != TRACE_MODE_KERNEL);
}

static void beside_a_process(void)
{
	struct options options;

	PARSE(&options, "--with-kernel", "--traffic");
	CHECK(options.with_kernel && options.trace.traffic &&
	      options.trace.mode != TRACE_MODE_KERNEL);
}

static void check_range(const struct kernel_trace *trace, enum kernel_place place,
			size_t i, uint64_t start, uint64_t end)
{
	REQUIRE(i < trace->places[place].len);
	CHECK_INT(trace->places[place].data[i].start, start);
	CHECK_INT(trace->places[place].data[i].end, end);
}

static void kernel_functions_are_found_by_name(void)
{
#define AT(n) UINT64_C(0xffffffff810000##n)
	struct kernel_names *names =
		read_text("ffffffff81000010 T asm_common_interrupt\n"
			  "ffffffff81000020 T asm_sysvec_apic_timer_interrupt\n"
			  "ffffffff81000030 T asm_exc_page_fault\n"
			  "ffffffff81000040 t allocate_slab.isra.0\n"
			  "ffffffff81000050 t allocate_slabs\n"
			  "ffffffff81000060 t ___slab_alloc\n"
			  "ffffffff81000060 t an_alias\n"
			  "ffffffff81000070 T __vmalloc_node_range_noprof\n"
			  "ffffffff81000080 T pcpu_nr_pages\n"
			  "ffffffff81000090 T bpf_trace_run3\n"
			  "ffffffff810000a0 T new_slab\n");
	struct kernel_trace trace = {.pid = 0};

	REQUIRE(!kernel_find_places(names, &trace));
	/* Adjacent ranges are merged. */
	CHECK_INT(trace.places[KERNEL_PLACE_INTERRUPT].len, 1);
	check_range(&trace, KERNEL_PLACE_INTERRUPT, 0, AT(10), AT(30));
	/* The compiler's suffixes are ignored, other names are not. The end of the last
	 * function is unknown. */
	CHECK_INT(trace.places[KERNEL_PLACE_SLAB].len, 2);
	check_range(&trace, KERNEL_PLACE_SLAB, 0, AT(40), AT(50));
	check_range(&trace, KERNEL_PLACE_SLAB, 1, AT(60), AT(70));
	check_range(&trace, KERNEL_PLACE_VMALLOC, 0, AT(70), AT(80));
	check_range(&trace, KERNEL_PLACE_TRACE, 0, AT(90), AT(a0));
	CHECK_INT(trace.places[KERNEL_PLACE_PERCPU].len, 0);
	kernel_trace_deinit(&trace);
	kernel_names_destroy(names);

	/* Hidden addresses. */
	names = read_text("0000000000000000 t ___slab_alloc\n0000000000000000 T next\n");
	REQUIRE(!kernel_find_places(names, &trace));
	for (size_t i = 0; i < KERNEL_PLACE_COUNT; i++)
		CHECK_INT(trace.places[i].len, 0);
	kernel_trace_deinit(&trace);
	kernel_names_destroy(names);
}

int main(void)
{
	RUN(options_of_kernel);
	RUN(beside_a_process);
	RUN(kernel_functions_are_found_by_name);
	return check_done();
}
