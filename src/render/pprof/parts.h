/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the pprof renderer. Private to render/. */
#ifndef RENDER_PPROF_PARTS_H
#define RENDER_PPROF_PARTS_H

#include "profile.pb-c.h"
#include "render/gzip.h"
#include "render/names.h"
#include "render/pprof/pprof.h"
#include "util/hashmap.h"

/* Value types, in the order of the values in a sample. */
enum pprof_value {
	MAPPED_OBJECTS, /* these two only if mappings are traced */
	MAPPED_SPACE,
	KERNEL_OBJECTS, /* these two only if the kernel is traced */
	KERNEL_SPACE,
	PEAK_OBJECTS, /* these two only if what was live at the peak was counted */
	PEAK_SPACE,
	LOST_OBJECTS, /* these two only after a search for unreachable blocks */
	LOST_SPACE,
	ALLOC_OBJECTS, /* these two only if traffic is measured */
	ALLOC_SPACE,
	INUSE_OBJECTS,
	INUSE_SPACE,
	EVENTS, /* instead of INUSE_*, with an event */
	PPROF_VALUES,
};

/* Blocks that are equal in all of this share one sample. */
struct pprof_unit {
	uint64_t size_bytes;
	uint32_t tid;
	size_t place; /* location of the process, relative to the first location that is
			 not a frame */
};

/*
 * Several protobuf messages written one after the other form one message, whose
 * lists are concatenated (protobuf, "Encoding", last one wins). So the profile is written
 * in parts, each a Profile with one list entry, and is never held in memory as a whole.
 */
struct pprof_builder {
	const struct report *report;
	const struct pprof_options *options;
	struct names names;
	struct gzip gzip;
	bool keeps_packed;   /* nothing is written: `packed` is the whole profile */
	VEC(uint8_t) packed; /* packed parts that were not written yet */
	VEC(uint64_t) stack; /* location ids of the current row */
	VEC(uint8_t)
	sample;                       /* packed sample: first the location ids, then the
					 rest */
	size_t stack_bytes;           /* size of the location ids in `sample` */
	VEC(struct pprof_unit) units; /* blocks of the current row */
	name_parts parts;             /* processes of the current row */
	uint32_t *firsts;             /* by process: the first process with the same
					 name */
	uint64_t *functions;    /* by report_frame.index: function id if the frame has a
				   source file, else 0 */
	uint64_t *mappings;     /* by number across all processes, from 1: id */
	uint64_t *locations;    /* by place (see below): id */
	size_t folded;          /* call paths in the sample "[other]" */
	struct hashmap threads; /* tid -> index of its string */
	int64_t strings;        /* number of strings written so far */
	int64_t bytes, thread;  /* string indices of the labels */
	bool failed;            /* out of memory */
};

/* Is this one of the profile's value types? */
bool pprof_has_value(const struct pprof_builder *b, enum pprof_value value);

/* The types of a class: how many blocks or hits, and how many bytes. Hits have no bytes:
 * both are EVENTS. */
enum pprof_value pprof_objects(enum block_class class);
enum pprof_value pprof_weight(enum block_class class);

static inline int64_t pprof_clamp(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* Compress and write what is in `packed`. */
void pprof_flush(struct pprof_builder *b);

/* Room for `size` bytes of the profile; NULL: out of memory. */
uint8_t *pprof_extend(struct pprof_builder *b, size_t size);

/* Write one part of the profile. */
void pprof_write_part(struct pprof_builder *b, const Pprof__Profile *part);

/* Write a string and return its index. */
int64_t pprof_write_string(struct pprof_builder *b, const char *text);

/* The same for text that the target controls, which is escaped. NULL is the empty
 * string. */
int64_t pprof_write_text(struct pprof_builder *b, const char *text);

/*
 * Write the mappings, functions and locations. The places that have a location are the
 * frames by index, after them the notes, then the processes. Functions that were inlined
 * at an address are lines of a single location, innermost first.
 */
void pprof_write_code(struct pprof_builder *b);

/* Write the head: value types, times, the comment. */
void pprof_write_head(struct pprof_builder *b);

/* Write the samples of a row, after the code. */
void pprof_write_row(struct pprof_builder *b, const struct report_section *section,
		     const struct report_row *row);

/* Write the sample of the rows that are in `whole`, but not in the report. */
void pprof_write_other(struct pprof_builder *b, const struct report *whole);

/* False for an inlined frame, which is a line of the next frame's location. */
bool pprof_is_location(const struct pprof_builder *b, size_t index);

#endif
