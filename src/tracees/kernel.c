// SPDX-License-Identifier: Apache-2.0
#include "tracees/kernel.h"

#include <string.h>

#include "tracees/tracees_private.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/say_note.h"

/* --- kernel functions ------------------------------------------------------------- */

/*
 * Functions by name, up to a dot added by the compiler (".isra.0"). A name that ends with
 * '*' matches a prefix. From mm/slub.c, mm/slab.c, mm/slab_common.c, mm/percpu-vm.c,
 * mm/percpu-km.c and mm/vmalloc.c of Linux 5.10 to 6.18. Callers are listed for functions
 * that the compiler may inline into them.
 */
static const struct {
	enum kernel_place place;
	const char *name;
} functions[] = {
	{KERNEL_PLACE_SLAB, "___slab_alloc"},
	{KERNEL_PLACE_SLAB, "new_slab"},
	{KERNEL_PLACE_SLAB, "allocate_slab"},
	{KERNEL_PLACE_SLAB, "alloc_slab_page"},
	{KERNEL_PLACE_SLAB, "cache_grow_begin"},
	{KERNEL_PLACE_SLAB, "kmalloc_order"},
	{KERNEL_PLACE_SLAB, "kmalloc_large_node"},
	{KERNEL_PLACE_SLAB, "__kmalloc_large_node"},
	{KERNEL_PLACE_SLAB, "___kmalloc_large_node"},
	{KERNEL_PLACE_PERCPU, "pcpu_alloc_pages"},
	{KERNEL_PLACE_PERCPU, "pcpu_populate_chunk"},
	{KERNEL_PLACE_PERCPU, "pcpu_create_chunk"},
	{KERNEL_PLACE_VMALLOC, "__vmalloc_node_range"},
	{KERNEL_PLACE_VMALLOC, "__vmalloc_node_range_noprof"},
	/* Interrupts: arch/x86/include/asm/idtentry.h; softirqs: kernel/softirq.c. */
	{KERNEL_PLACE_INTERRUPT, "asm_common_interrupt"},
	{KERNEL_PLACE_INTERRUPT, "asm_sysvec_*"},
	{KERNEL_PLACE_INTERRUPT, "__do_softirq"},
	{KERNEL_PLACE_INTERRUPT, "handle_softirqs"},
	/* Tracing: kernel/trace/bpf_trace.c, kernel/events/core.c,
	 * include/trace/bpf_probe.h. */
	{KERNEL_PLACE_TRACE, "bpf_trace_run*"},
	{KERNEL_PLACE_TRACE, "__bpf_trace_*"},
	{KERNEL_PLACE_TRACE, "__traceiter_*"},
	{KERNEL_PLACE_TRACE, "__probestub_*"},
	{KERNEL_PLACE_TRACE, "trace_call_bpf"},
	{KERNEL_PLACE_TRACE, "perf_trace_*"},
};

static bool is_called(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	if (wanted[len - 1] == '*')
		return !strncmp(name, wanted, len - 1);
	return !strncmp(name, wanted, len) && (!name[len] || name[len] == '.');
}

static bool add_function(const char *name, uint64_t start, uint64_t end, void *arg)
{
	struct kernel_trace *trace = arg;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		enum kernel_place place = functions[i].place;
		struct kernel_range range = {start, end};
		size_t len = trace->places[place].len;

		if (!is_called(name, functions[i].name))
			continue;
		/* The functions come in address order: merge adjacent ones. */
		if (len && trace->places[place].data[len - 1].end >= start) {
			if (trace->places[place].data[len - 1].end < end)
				trace->places[place].data[len - 1].end = end;
			return true;
		}
		return vec_push(&trace->places[place], range);
	}
	return true;
}

struct error *kernel_find_places(const struct kernel_names *names,
				 struct kernel_trace *ret)
{
	return kernel_names_each(names, add_function, ret) ? NULL : error_no_memory();
}

/* --- the run ---------------------------------------------------------------------- */

struct error *kernel_open(struct tracees *ts, int pid, struct kernel_trace *ret)
{
	struct tracee *t;
	struct error *err;

	*ret = (struct kernel_trace){.pid = pid};
	err = pid ? tracee_create(pid, NULL, NULL, &t) : tracee_create_kernel(&t);
	if (err)
		return err;
	t->asked_for = true;
	err = tracees_add(ts, t);
	return err ? err : kernel_find_places(ts->kernel, ret);
}

/* The line about what is traced. */
static void say_traced(const struct tracees *ts, const struct kernel_trace *trace,
		       const char *classes)
{
	const char *end = ts->options->with_kernel ? "" : "; Ctrl-C ends";

	if (trace->pid) {
		_cleanup_(freep) char *command = escape_dup(ts->list.data[0]->command);

		say_note("tracing the kernel for pid %d (%s): %s%s", trace->pid,
			 command ? command : "?", classes, end);
	} else {
		say_note("tracing the kernel: %s%s", classes, end);
	}
}

void kernel_say_tracing(const struct tracees *ts, const struct tracer *tracer,
			const struct kernel_trace *trace)
{
	_cleanup_(strbuf_deinit) struct strbuf classes = {0};

	for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++) {
		if (!tracer_sees_class(tracer, i))
			say_note("no %s: this kernel lacks some of the tracepoints %s",
				 kernel_class_name(i), kernel_class_points(i));
		else if (i != KERNEL_VMALLOC || trace->places[KERNEL_PLACE_VMALLOC].len)
			strbuf_appendf(&classes, "%s%s", classes.len ? ", " : "",
				       kernel_class_name(i));
	}
	if (!trace->places[KERNEL_PLACE_SLAB].len)
		say_note("the kernel hides its addresses (sysctl kernel.kptr_restrict): "
			 "its functions have no names, pages of slabs and per-CPU memory "
			 "are counted as pages, and memtrace cannot distinguish "
			 "interrupts from the code that they interrupt");
	say_traced(ts, trace, strbuf_text(&classes));
}
