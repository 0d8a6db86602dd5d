/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tracepoints through which the running kernel reports its allocations, and where
 * each has the address and the size: in its arguments, as given by the kernel's BTF, or
 * in its record, as given by the format file in tracefs. The tracepoints and their
 * contents have changed from release to release (include/trace/events/kmem.h, percpu.h
 * and vmalloc.h), so all of this is looked up in the running kernel.
 */
#ifndef KERNEL_HEAP_KERNEL_POINTS_H
#define KERNEL_HEAP_KERNEL_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"
#include "util/vec.h"

struct btf;

/* Kinds of kernel memory, by allocator. The numbers equal enum abi_kernel_class. */
enum kernel_class {
	KERNEL_SLAB,    /* kmalloc and kmem_cache_alloc */
	KERNEL_PAGES,   /* pages, except those that the other three allocators use */
	KERNEL_PERCPU,  /* one copy for each processor */
	KERNEL_VMALLOC, /* vmalloc, and kvmalloc of large sizes */
	KERNEL_CLASS_COUNT,
};

/* "slab", "pages", "percpu", "vmalloc". Static string. */
const char *kernel_class_name(enum kernel_class kind);

/* The tracepoints that a class needs, for messages. Static string. */
const char *kernel_class_points(enum kernel_class kind);

/* Where a number is: `bytes` (1, 2, 4 or 8) at `offset` of the program's context. */
struct kernel_value {
	uint32_t offset;
	uint8_t bytes; /* 0: no such value */
	/* If not 0, the value is a pointer, and the number has this size and is at this
	 * offset from the pointer. */
	uint8_t behind_bytes;
	uint32_t behind_offset;
};

struct kernel_point {
	enum kernel_class kind;
	bool is_allocation;          /* false: it frees */
	bool size_is_order;          /* 2^size pages */
	bool is_raw;                 /* a raw tracepoint; false: one with a record */
	const char *category, *name; /* static strings */
	struct kernel_value address, size; /* frees have no size */
	struct kernel_value failed; /* if its value is not 0, the allocation failed */
};

struct kernel_points {
	VEC(struct kernel_point) list;
	bool is_seen[KERNEL_CLASS_COUNT]; /* its allocations and frees are reported */
};

/* Find the tracepoints. With `by_record`, use only tracepoints with a record. Classes
 * whose tracepoints are missing are left out. Returns ERROR_UNSUPPORTED if there are no
 * tracepoints at all, or ERROR_PERMISSION. */
struct error *kernel_points_find(bool by_record, struct kernel_points *ret)
	__attribute__((warn_unused_result));
void kernel_points_deinit(struct kernel_points *points);

/* Print the tracepoints for people, one per line. */
void kernel_points_print(const struct kernel_points *points, FILE *out);

/*
 * Find the field `name` in a tracepoint's format file (kernel/trace/trace_events.c,
 * f_show()). `text` has `len` bytes, with lines "field:TYPE NAME; offset:N; size:N;
 * signed:N;". Returns false if the field does not exist, is not a number, or is beyond
 * the part of the record that programs can read. `text` may be anything: only complete
 * lines of that form count.
 */
bool kernel_format_field(const char *text, size_t len, const char *name,
			 struct kernel_value *ret);

/*
 * Find the argument `name` of a tracepoint in the context of a raw tracepoint's program:
 * each argument has 8 bytes there, and ret->bytes is the size of its type. The BTF of the
 * function __traceiter_POINT has the arguments after one of its own
 * (include/linux/tracepoint.h). Returns false if the kernel's BTF does not have it.
 */
bool kernel_argument(const struct btf *btf, const char *point, const char *name,
		     struct kernel_value *ret);

/* Find the member `member` of the struct `type` that the argument `name` points to. */
bool kernel_argument_member(const struct btf *btf, const char *point, const char *name,
			    const char *type, const char *member,
			    struct kernel_value *ret);

#endif
