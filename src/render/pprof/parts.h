/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the pprof renderer. Private to render/. */
#ifndef RENDER_PPROF_PARTS_H
#define RENDER_PPROF_PARTS_H

#include "profile.pb-c.h"
#include "render/gzip.h"
#include "render/names.h"
#include "util/hashmap.h"

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
	struct names names;
	struct gzip gzip;
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
	struct hashmap threads; /* tid -> index of its string */
	int64_t strings;        /* number of strings written so far */
	int64_t bytes, thread;  /* string indices of the labels */
	bool failed;            /* out of memory */
};

/* Write one part of the profile. */
void pprof_write_part(struct pprof_builder *b, const Pprof__Profile *part);

/* Write a string and return its index. */
int64_t pprof_write_string(struct pprof_builder *b, const char *text);

/* The same for text that the target controls, which is escaped. NULL is the empty
 * string. */
int64_t pprof_write_text(struct pprof_builder *b, const char *text);

/*
 * Write the mappings, functions and locations. The id of a frame's location is its index
 * plus 1. After the frames come the locations of the notes, then of the processes.
 * Functions that were inlined at an address are lines of a single location, innermost
 * first.
 */
void pprof_write_code(struct pprof_builder *b);

/* False for an inlined frame, which is a line of the next frame's location. */
bool pprof_is_location(const struct pprof_builder *b, size_t index);

#endif
