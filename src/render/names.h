/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The different names of a report's frames, each one time: what frames that differ only
 * in their address have in common. And names for what is no frame: why a stack ends
 * early, that there is none, which class and process its blocks are of. Private to
 * render/.
 */
#ifndef RENDER_NAMES_H
#define RENDER_NAMES_H

#include "report/report.h"
#include "util/vec.h"

/* Names that stand in a call path beside those of frames. */
enum name_note {
	NOTE_HEAP,
	NOTE_MAPPINGS,
	NOTE_EVENTS,
	NOTE_KERNEL,
	NOTE_NO_STACK,
	NOTE_NO_FRAMES,
	NOTE_NO_PROCESS,
	NOTE_END, /* the first of STACK_END_COUNT notes, one for each enum stack_end */
	NOTE_PROCESSES = NOTE_END + STACK_END_COUNT,
	NOTE_COUNT,
};

/* All text is escaped (util/escape.h): valid UTF-8 without control characters. */
struct name {
	char *text;     /* the symbol, "[module]" or "[unknown]"; never empty */
	char *module;   /* the last part of the module's path, or "" */
	bool is_symbol; /* text is a symbol's name */
};

struct names {
	VEC(struct name) list; /* sorted by text, then by module; its index is an id */
	/* By report_frame.index; NULL where no row has that frame. */
	const struct report_frame **frames;
	const struct snapshot_process **owners; /* NULL: not known */
	uint32_t *ids; /* by report_frame.index, then notes, then processes */
	const struct snapshot *snapshot;
	size_t frame_count;
	bool with_pids; /* in the names of processes */
};

/* Gather the names of all rows. `ret` refers to the report; it is the caller's to
 * deinit, also after an error. Fails only when memory is out. */
struct error *names_init(struct names *ret, const struct report *report)
	__attribute__((warn_unused_result));
void names_deinit(struct names *names);

/* The id of a frame of that report, or of a note. */
uint32_t names_frame(const struct names *names, const struct report_frame *frame);
uint32_t names_note(const struct names *names, enum name_note note);

/* The id of one of the snapshot's processes, of NOTE_NO_PROCESS for NULL: "command (pid)"
 * with group_by_process, else "command", which those that run the same share. */
uint32_t names_process(const struct names *names, const struct snapshot_process *process);

/* What those processes of a row hold that have the same name. */
struct name_part {
	uint32_t name;    /* id of names_process() */
	uint32_t process; /* index into the snapshot's processes: one that has the name;
			     or SNAPSHOT_NO_PROCESS */
	uint64_t size_bytes, count;
};

typedef VEC(struct name_part) name_parts;

/* Fill `ret`, which may have parts of an earlier row, with those of `row`, by name; none
 * of a row that is of one process or of none. */
struct error *names_split(const struct names *names, const struct report_row *row,
			  name_parts *ret) __attribute__((warn_unused_result));

/* The note that belongs at the outermost end of the row's frames; false when its stack
 * is whole. */
bool names_end(const struct report_row *row, enum name_note *ret);

#endif
