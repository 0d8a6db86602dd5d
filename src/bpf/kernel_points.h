/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tracepoints by which the running kernel tells of its allocations, and where each
 * has the address and the size: in the arguments of the tracepoint, by the kernel's type
 * information (BTF), or in its record, by the format file of tracefs. Which tracepoints
 * there are, and what they tell, has changed from release to release
 * (include/trace/events/kmem.h, percpu.h and vmalloc.h), so nothing of it is assumed.
 */
#ifndef BPF_KERNEL_POINTS_H
#define BPF_KERNEL_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"
#include "util/vec.h"

struct btf;

/* What the kernel allocates, by the allocator that it asks. The numbers are those of
 * enum abi_kernel_class. */
enum kernel_class {
	KERNEL_SLAB,    /* kmalloc and kmem_cache_alloc */
	KERNEL_PAGES,   /* pages, but for those that the other three have asked for */
	KERNEL_PERCPU,  /* a copy for each processor */
	KERNEL_VMALLOC, /* vmalloc and kvmalloc of much */
	KERNEL_CLASS_COUNT,
};

/* "slab", "pages", "percpu", "vmalloc". Static string. */
const char *kernel_class_name(enum kernel_class kind);

/* The tracepoints that a class needs, for people. Static string. */
const char *kernel_class_points(enum kernel_class kind);

/* Where a number is: `bytes` of 1, 2, 4 or 8 at `offset` of what the program is given. */
struct kernel_value {
	uint32_t offset;
	uint8_t bytes; /* 0: there is no such value */
	/* Not 0: it is a pointer, and the number is so many bytes at this offset behind
	 * it. */
	uint8_t behind_bytes;
	uint32_t behind_offset;
};

struct kernel_point {
	enum kernel_class kind;
	bool is_allocation;                /* else it frees */
	bool size_is_order;                /* 2^size pages */
	bool is_raw;                       /* a raw tracepoint; else one with a record */
	const char *category, *name;       /* static strings */
	struct kernel_value address, size; /* of what frees there is no size */
	struct kernel_value failed;        /* not 0: there is no address */
};

struct kernel_points {
	VEC(struct kernel_point) list;
	bool is_seen[KERNEL_CLASS_COUNT]; /* allocations and frees of it */
};

/*
 * Find them. With `by_record` as tracepoints with a record only. A class without its
 * tracepoints is left out. ERROR_UNSUPPORTED: there is none at all; ERROR_PERMISSION.
 */
struct error *kernel_points_find(bool by_record, struct kernel_points *ret)
	__attribute__((warn_unused_result));
void kernel_points_deinit(struct kernel_points *points);

/* Print them for people, a line each. */
void kernel_points_print(const struct kernel_points *points, FILE *out);

/*
 * The field `name` of a tracepoint's record, from the `len` bytes of its format file
 * (kernel/trace/trace_events.c, f_show()): lines "field:TYPE NAME; offset:N; size:N;
 * signed:N;". False: there is none that is a number, or it is not in the file's first
 * part. Whatever the text is, only complete lines of that form count.
 */
bool kernel_format_field(const char *text, size_t len, const char *name,
			 struct kernel_value *ret);

/*
 * The argument `name` of a tracepoint, as a raw tracepoint's program is given it: 8 bytes
 * for each argument, of which its type has so many. By the function __traceiter_POINT,
 * which has the tracepoint's arguments behind one of its own
 * (include/linux/tracepoint.h). False: the kernel's types do not have it.
 */
bool kernel_argument(const struct btf *btf, const char *point, const char *name,
		     struct kernel_value *ret);

/* The member `member` of the struct `type` that is behind the argument `name`. */
bool kernel_argument_member(const struct btf *btf, const char *point, const char *name,
			    const char *type, const char *member,
			    struct kernel_value *ret);

#endif
