// SPDX-License-Identifier: Apache-2.0
#include "dwarf/dwarf_lookup.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf/dwarf_unit.h"
#include "util/cleanup.h"
#include "util/hashmap.h"
#include "util/strbuf.h"

/* Longer strings are cut. */
#define TEXT_MAX_BYTES 65536

/* The size of one line program: the largest of real units have 4 MB. A row takes libdw
 * some 40 bytes of memory, and one byte of program can make a row. */
#define LINES_MAX_BYTES (UINT64_C(16) << 20)

/* How many ranges are compared. Ranges of units overlap only by mistake or by malice. */
#define OVERLAPS_MAX 16u

struct unit_range {
	uint64_t low, high;
	size_t unit;
};

struct dwarf_lookup {
	const struct debug_elf *image;
	Dwarf *dwarf;
	struct split_search *splits;
	bool lacks_split;
	struct dwarf_budget *budget;
	/* Offsets of line programs already run, and the bytes of line programs that may
	 * still be run: real ones do not overlap, so that all fit in their section. */
	struct hashmap line_programs;
	uint64_t line_bytes;
	VEC(struct dwarf_unit) units;
	VEC(struct unit_range) ranges; /* by low */
	struct hashmap scoped;         /* address of a DIE to an index into `names` */
	VEC(char *) names;             /* with scopes */
};

DEFINE_CLEANUP(struct dwarf_lookup *, dwarf_lookup_destroy);

void source_frames_deinit(struct source_frames *frames)
{
	vec_foreach (frame, &frames->list) {
		free(frame->function);
		free(frame->file);
	}
	vec_deinit(&frames->list);
}

struct indexing {
	struct dwarf_lookup *lookup;
	bool failed;
};

static bool add_unit_range(void *arg, uint64_t low, uint64_t high)
{
	struct indexing *indexing = arg;
	struct dwarf_lookup *lookup = indexing->lookup;

	/* The linker sets the address of discarded code to 0. */
	if (!low)
		return true;
	if (!dwarf_budget_spend(lookup->budget, DWARF_RANGE_STEPS))
		return false;
	indexing->failed =
		!vec_push(&lookup->ranges, (struct unit_range){
						   .low = low,
						   .high = high,
						   .unit = lookup->units.len - 1,
					   });
	return !indexing->failed;
}

static bool add_unit(struct indexing *indexing, Dwarf_Off offset)
{
	struct dwarf_lookup *lookup = indexing->lookup;
	Dwarf_Die die;

	if (!dwarf_offdie(lookup->dwarf, offset, &die))
		return true;
	if (dwarf_tag(&die) != DW_TAG_compile_unit &&
	    dwarf_tag(&die) != DW_TAG_skeleton_unit)
		return true;
	if (!vec_push(&lookup->units, (struct dwarf_unit){.die = offset}))
		return false;
	dwarf_each_range(&lookup->units.data[lookup->units.len - 1], &die, lookup->budget,
			 add_unit_range, indexing);
	return !indexing->failed;
}

static int compare_ranges(const void *pa, const void *pb)
{
	const struct unit_range *a = pa, *b = pb;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high > b->high ? -1 : 1;
	return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static struct error *index_units(struct dwarf_lookup *lookup)
{
	struct indexing indexing = {.lookup = lookup};
	Dwarf_Off offset = 0, next;
	size_t header_bytes;

	while (!dwarf_next_unit(lookup->dwarf, offset, &next, &header_bytes, NULL, NULL,
				NULL, NULL, NULL, NULL)) {
		if (next <= offset || !dwarf_budget_spend(lookup->budget, 1))
			break;
		if (!add_unit(&indexing, offset + header_bytes))
			return error_no_memory();
		offset = next;
	}
	if (lookup->ranges.len)
		qsort(lookup->ranges.data, lookup->ranges.len,
		      sizeof(*lookup->ranges.data), compare_ranges);
	return NULL;
}

struct error *dwarf_lookup_create(const struct debug_elf *image, Dwarf *dwarf,
				  struct split_search *splits,
				  struct dwarf_budget *budget, struct dwarf_lookup **ret)
{
	_cleanup_(dwarf_lookup_destroyp) struct dwarf_lookup *lookup =
		calloc(1, sizeof(*lookup));
	const Elf_Data *lines = debug_elf_data(image, ".debug_line");

	if (!lookup)
		return error_no_memory();
	hashmap_init(&lookup->line_programs, hashmap_seed());
	hashmap_init(&lookup->scoped, hashmap_seed());
	lookup->image = image;
	lookup->dwarf = dwarf;
	lookup->splits = splits;
	lookup->budget = budget;
	lookup->line_bytes = lines ? lines->d_size : 0;

	struct error *err = index_units(lookup);

	if (err)
		return err;
	*ret = take(lookup);
	return NULL;
}

void dwarf_lookup_destroy(struct dwarf_lookup *lookup)
{
	if (!lookup)
		return;
	vec_foreach (unit, &lookup->units) {
		vec_deinit(&unit->functions);
		split_unit_destroy(unit->split);
	}
	vec_deinit(&lookup->units);
	vec_deinit(&lookup->ranges);
	vec_foreach (name, &lookup->names)
		free(*name);
	vec_deinit(&lookup->names);
	hashmap_deinit(&lookup->scoped);
	hashmap_deinit(&lookup->line_programs);
	free(lookup);
}

bool dwarf_lookup_lacks_split(const struct dwarf_lookup *lookup)
{
	return lookup->lacks_split;
}

/* The unit with the smallest range around the address, or NULL. */
static struct dwarf_unit *find_unit(const struct dwarf_lookup *lookup, uint64_t address)
{
	const struct unit_range *ranges = lookup->ranges.data, *found = NULL;
	size_t low = vec_count_up_to(&lookup->ranges, low, address);

	for (size_t i = 0; i < OVERLAPS_MAX && i < low; i++) {
		const struct unit_range *range = &ranges[low - 1 - i];

		if (address < range->high &&
		    (!found || range->high - range->low < found->high - found->low))
			found = range;
	}
	return found ? &lookup->units.data[found->unit] : NULL;
}

/* The length of the line program at `offset` (DWARF 5, section 7.4); UINT64_MAX: none. */
static uint64_t line_program_bytes(const struct dwarf_lookup *lookup, uint64_t offset)
{
	const Elf_Data *lines = debug_elf_data(lookup->image, ".debug_line");
	uint32_t length;
	uint64_t length64;

	if (!lines || offset > lines->d_size || lines->d_size - offset < 12)
		return UINT64_MAX;
	memcpy(&length, (const char *)lines->d_buf + offset, sizeof(length));
	if (length != UINT32_MAX)
		return length;
	memcpy(&length64, (const char *)lines->d_buf + offset + 4, sizeof(length64));
	return length64;
}

/* May libdw run the unit's line program? */
static bool may_run_lines(struct dwarf_lookup *lookup, struct dwarf_unit *unit,
			  Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset;
	uint64_t bytes;

	if (unit->lines_checked)
		return unit->has_lines;
	unit->lines_checked = true;
	if (!dwarf_attr(die, DW_AT_stmt_list, &attr) || dwarf_formudata(&attr, &offset))
		return false;
	unit->has_lines = hashmap_get(&lookup->line_programs, offset, NULL);
	if (unit->has_lines)
		return true;
	bytes = line_program_bytes(lookup, offset);
	if (bytes > LINES_MAX_BYTES || bytes > lookup->line_bytes ||
	    !dwarf_budget_spend(lookup->budget, bytes) ||
	    !hashmap_put(&lookup->line_programs, offset, bytes))
		return false;
	lookup->line_bytes -= bytes;
	unit->has_lines = true;
	return true;
}

/* Sets *failed when out of memory. */
static char *copy_text(const char *text, bool *failed)
{
	char *copy = text ? strndup(text, TEXT_MAX_BYTES) : NULL;

	*failed = *failed || (text && !copy);
	return copy;
}

/* The path, made absolute by the compilation directory: libdw leaves it relative if the
 * line table does not repeat that directory. */
static char *copy_path(Dwarf_Die *unit, const char *path, bool *failed)
{
	Dwarf_Attribute attr;
	const char *directory;
	struct strbuf text = {0};
	char *copy;

	if (!path || path[0] == '/' || !dwarf_attr(unit, DW_AT_comp_dir, &attr) ||
	    !(directory = dwarf_formstring(&attr)) || directory[0] != '/' ||
	    strnlen(directory, TEXT_MAX_BYTES) == TEXT_MAX_BYTES)
		return copy_text(path, failed);
	strbuf_appendf(&text, "%s/%.*s", directory, TEXT_MAX_BYTES, path);
	copy = strbuf_steal(&text);
	*failed = *failed || !copy;
	return copy;
}

static unsigned small(uint64_t n)
{
	return n <= INT32_MAX ? (unsigned)n : 0;
}

/* Set the source line of the code itself. */
static bool set_line(Dwarf_Die *unit, uint64_t address, struct source_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	bool failed = false;
	int number;

	if (!line)
		return true;
	frame->file = copy_path(unit, dwarf_linesrc(line, NULL, NULL), &failed);
	if (!dwarf_lineno(line, &number) && number > 0)
		frame->line = (unsigned)number;
	if (!dwarf_linecol(line, &number) && number > 0)
		frame->column = (unsigned)number;
	return !failed;
}

/* Set the place at which an inlined function was called. */
static bool set_call(Dwarf_Die *unit, bool has_lines, Dwarf_Die *call,
		     struct source_frame *frame)
{
	uint64_t index = dwarf_number(call, DW_AT_call_file);
	bool failed = false, is_given = dwarf_hasattr(call, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;

	frame->line = small(dwarf_number(call, DW_AT_call_line));
	frame->column = small(dwarf_number(call, DW_AT_call_column));
	if (has_lines && is_given && !dwarf_getsrcfiles(unit, &files, &count) &&
	    index < count)
		frame->file =
			copy_path(unit, dwarf_filesrc(files, index, NULL, NULL), &failed);
	return !failed;
}

/* The name with its scopes, borrowed from the lookup; NULL when out of memory. */
static const char *scoped_name(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
			       const struct dwarf_name *name)
{
	uint64_t key = (uintptr_t)name->origin.addr, index;
	char *made;

	if (hashmap_get(&lookup->scoped, key, &index))
		return lookup->names.data[index];
	made = dwarf_scoped_name(unit, name, lookup->budget);
	if (made && vec_push(&lookup->names, made)) {
		/* A name that the map does not find is only made again. */
		(void)!hashmap_put(&lookup->scoped, key, lookup->names.len - 1);
		return made;
	}
	free(made);
	return NULL;
}

static char *copy_name(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
		       Dwarf_Die *function, bool *failed)
{
	const struct dwarf_name name = dwarf_function_name(unit, function);
	const char *scoped;

	if (!name.text || name.is_linkage || !unit->has_scopes)
		return copy_text(name.text, failed);
	scoped = scoped_name(lookup, unit, &name);
	*failed = *failed || !scoped;
	return copy_text(scoped, failed);
}

static struct source_frame *add_frame(struct dwarf_lookup *lookup,
				      struct source_frames *frames,
				      const struct dwarf_unit *unit, Dwarf_Die *function,
				      bool inlined)
{
	struct source_frame frame = {.inlined = inlined};
	bool failed = false;

	frame.function = copy_name(lookup, unit, function, &failed);
	if (failed || !vec_push(&frames->list, frame)) {
		free(frame.function);
		return NULL;
	}
	return &frames->list.data[frames->list.len - 1];
}

/* Add all frames. The place of each outer frame is the call of the next inner one. */
static struct error *add_frames(struct dwarf_lookup *lookup, struct source_frames *ret,
				const struct dwarf_unit *unit, Dwarf_Die *unit_die,
				uint64_t address, Dwarf_Die *function,
				struct dwarf_inlines *inlines)
{
	size_t count = inlines->dies.len;

	for (size_t i = 0; i <= count; i++) {
		Dwarf_Die *die =
			i < count ? &inlines->dies.data[count - 1 - i] : function;
		struct source_frame *frame = add_frame(lookup, ret, unit, die, i < count);

		if (!frame)
			return error_no_memory();
		if (i == 0 ? unit->has_lines && !set_line(unit_die, address, frame)
			   : !set_call(unit_die, unit->has_lines,
				       &inlines->dies.data[count - i], frame))
			return error_no_memory();
	}
	return NULL;
}

/* Code outside functions, such as hand-written assembly, has only a line. */
static struct error *add_line_alone(struct source_frames *ret, Dwarf_Die *unit,
				    uint64_t address)
{
	struct source_frame frame = {.line = 0};

	if (!set_line(unit, address, &frame))
		return error_no_memory();
	if (frame.file && !vec_push(&ret->list, frame)) {
		free(frame.file);
		return error_no_memory();
	}
	return NULL;
}

/* Read the unit's functions, which may be in a split unit. */
static struct error *read_unit(struct dwarf_lookup *lookup, struct dwarf_unit *unit,
			       Dwarf_Die *die)
{
	struct split_skeleton skeleton;
	struct error *err;

	if (!unit->is_scanned && split_skeleton_read(lookup->image, die, &skeleton)) {
		err = split_search_find(lookup->splits, &skeleton, lookup->budget,
					&unit->split);
		if (err)
			return err;
		lookup->lacks_split |= !unit->split;
	}
	return dwarf_unit_scan(unit, lookup->dwarf, lookup->budget);
}

static struct error *find(struct dwarf_lookup *lookup, uint64_t address,
			  struct source_frames *ret)
{
	struct dwarf_unit *unit = find_unit(lookup, address);
	const struct dwarf_function *function;
	struct dwarf_inlines inlines = {0};
	Dwarf_Die unit_die, die;
	struct error *err;

	if (!unit || !dwarf_offdie(lookup->dwarf, unit->die, &unit_die))
		return NULL;
	err = read_unit(lookup, unit, &unit_die);
	if (err)
		return err;

	bool has_lines = may_run_lines(lookup, unit, &unit_die);

	function = dwarf_unit_function(unit, address);
	if (!function || !dwarf_unit_die(unit, lookup->dwarf, function->die, &die))
		return has_lines ? add_line_alone(ret, &unit_die, address) : NULL;
	/* A part that the compiler moved before the function's start counts from the
	 * part's own start. */
	ret->function_offset =
		address - (function->start <= address ? function->start : function->low);
	err = dwarf_find_inlines(unit, &die, lookup->budget, address, &inlines);
	if (!err)
		err = add_frames(lookup, ret, unit, &unit_die, address, &die, &inlines);
	vec_deinit(&inlines.dies);
	return err;
}

struct error *dwarf_lookup_find(struct dwarf_lookup *lookup, uint64_t address,
				struct source_frames *ret)
{
	*ret = (struct source_frames){.function_offset = 0};

	struct error *err = find(lookup, address, ret);
	uint64_t bytes = 0;

	vec_foreach (frame, &ret->list)
		bytes += (frame->function ? strlen(frame->function) : 0) +
			 (frame->file ? strlen(frame->file) : 0);
	/* Long texts in many frames would fill the memory. */
	if (err || !dwarf_budget_spend(lookup->budget, bytes))
		source_frames_deinit(ret);
	return err;
}
