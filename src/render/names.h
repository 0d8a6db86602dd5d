/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distinct names of a report's frames: frames that differ only in their address share
 * a name. Also has names for other steps of a call path: the reason why a stack ends
 * early or is missing, and the class and process of its blocks. Private to render/.
 */
#ifndef RENDER_NAMES_H
#define RENDER_NAMES_H

#include "report/report.h"
#include "util/vec.h"

/* Names of steps in a call path that are not frames. */
enum name_note {
	NOTE_CLASS, /* first of BLOCK_CLASS_COUNT notes, one for each enum block_class */
	NOTE_NO_STACK = NOTE_CLASS + BLOCK_CLASS_COUNT,
	NOTE_NO_FRAMES,
	NOTE_NO_PROCESS,
	NOTE_OTHER, /* call paths without names of their own */
	NOTE_END,   /* first of STACK_END_COUNT notes, one for each enum stack_end */
	NOTE_PROCESSES = NOTE_END + STACK_END_COUNT,
	NOTE_COUNT,
};

/* All text is escaped (util/escape.h): valid UTF-8 without control characters. */
struct name {
	char *text;     /* the symbol, "[module]" or "[unknown]"; never empty */
	char *module;   /* base name of the module's path, or "" */
	bool is_symbol; /* `text` is the name of a symbol */
};

struct names {
	VEC(struct name) list; /* sorted by text, then by module; the index is the id */
	/* Indexed by report_frame.index; NULL: no row has the frame. */
	const struct report_frame **frames;
	const struct snapshot_process **owners; /* by report_frame.index: process of the
						   frame; NULL: not known */
	uint32_t *ids; /* ids by report_frame.index, followed by notes and processes */
	const struct snapshot *snapshot;
	size_t frame_count;
	bool with_pids; /* names of processes include the pid */
};

/* Collect the names of all rows. `ret` refers to the report. The caller calls
 * names_deinit() on it, also after an error. Fails only if out of memory. */
struct error *names_init(struct names *ret, const struct report *report)
	__attribute__((warn_unused_result));
void names_deinit(struct names *names);

/* The id of a frame of the report, or of a note. */
uint32_t names_frame(const struct names *names, const struct report_frame *frame);
uint32_t names_note(const struct names *names, enum name_note note);

/* The id of a process of the snapshot: "command (pid)" with group_by_process, else
 * "command", shared by processes that run the same command. NULL: the id of
 * NOTE_NO_PROCESS. */
uint32_t names_process(const struct names *names, const struct snapshot_process *process);

/* The blocks of a row in all processes of one name. */
struct name_part {
	uint32_t name;    /* id of names_process() */
	uint32_t process; /* index of one of these processes in the snapshot, or
			     SNAPSHOT_NO_PROCESS */
	uint64_t size_bytes, count;
};

typedef VEC(struct name_part) name_parts;

/* Split a row by names of its processes. Replaces the contents of `ret`. `ret` is empty
 * if the row belongs to one process or to none. */
struct error *names_split(const struct names *names, const struct report_row *row,
			  name_parts *ret) __attribute__((warn_unused_result));

/* The note for the outermost end of the row's frames. Returns false if its stack is
 * complete. */
bool names_end(const struct report_row *row, enum name_note *ret);

#endif
