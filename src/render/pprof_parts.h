/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a profile have in common. Private to render/. */
#ifndef RENDER_PPROF_PARTS_H
#define RENDER_PPROF_PARTS_H

#include "profile.pb-c.h"
#include "render/gzip.h"
#include "render/names.h"
#include "util/hashmap.h"

/* What makes a sample of its own. */
struct pprof_unit {
	uint64_t size_bytes;
	uint32_t tid;
	size_t place; /* of its process among the locations of no frames */
};

/*
 * Messages that are written one behind the other are one message, whose lists are the
 * lists of all of them (protobuf, "Encoding", last one wins). So the profile is written
 * in parts, each a Profile with one entry of a list, and never lies in memory whole.
 */
struct pprof_builder {
	const struct report *report;
	struct names names;
	struct gzip gzip;
	VEC(uint8_t) packed;          /* parts that were not written yet */
	VEC(uint64_t) stack;          /* location ids of the row */
	VEC(uint8_t) sample;          /* a sample: with these, then what is its own */
	size_t stack_bytes;           /* of these in `sample` */
	VEC(struct pprof_unit) units; /* blocks of one row */
	name_parts parts;             /* of that row */
	uint32_t *firsts;             /* by process: the first one with the same name */
	uint64_t *functions;    /* by report_frame.index, of frames with a file; else 0 */
	struct hashmap threads; /* tid: index of its string */
	int64_t strings;        /* how many were written */
	int64_t bytes, thread;  /* strings of labels */
	bool failed;            /* memory is out */
};

/* Write a part. */
void pprof_write_part(struct pprof_builder *b, const Pprof__Profile *part);

/* Write a string; its index. */
int64_t pprof_write_string(struct pprof_builder *b, const char *text);

/* The same for text of the target's choosing. NULL is the empty string. */
int64_t pprof_write_text(struct pprof_builder *b, const char *text);

/*
 * Write the mappings, functions and locations. The id of a location is the index of its
 * frame and 1; behind these are the notes and then the processes. Functions that were
 * inlined at an address are lines of its one location, innermost first.
 */
void pprof_write_code(struct pprof_builder *b);

/* False for a frame that is a line of the location of the next one. */
bool pprof_is_location(const struct pprof_builder *b, size_t index);

#endif
