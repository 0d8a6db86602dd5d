// SPDX-License-Identifier: Apache-2.0
#include "unwind/go_rows.h"

#include <stdlib.h>
#include <string.h>

#include "arch/go_code.h"
#include "unwind/stack_switch.h"
#include "unwind_step.h" /* of probes/ */

/* No real frame is deeper. */
#define DEPTH_MAX (1 << 30)

/* Reading a function's code takes as long as reading this many values. */
#define CODE_STEPS 16u

/* runtime.asmcgocall has a quarter of this size. */
#define SWITCHING_MAX_BYTES 1024u

/* --- loading ----------------------------------------------------------------------- */

/* Read the value that a relocation stores at `address`; 0: none. */
static struct error *relocated(const struct elf_image *image, uint64_t address,
			       uint64_t *ret)
{
	static const char *const names[] = {".rela.dyn"};
	struct elf_bytes bytes;
	struct error *err = elf_image_load_sections(image, names, 1, &bytes);

	*ret = err ? 0 : go_table_relocated(bytes.data, bytes.size_bytes, address);
	free(bytes.data);
	return err;
}

static struct error *has_mark(const struct elf_image *image, bool *ret)
{
	static const char *const marks[] = GO_TABLE_MARKS;
	struct elf_bytes bytes[GO_TABLE_MARK_COUNT];
	struct error *err =
		elf_image_load_sections(image, marks, GO_TABLE_MARK_COUNT, bytes);

	*ret = false;
	for (size_t i = 0; i < GO_TABLE_MARK_COUNT; i++) {
		*ret |= bytes[i].data != NULL;
		free(bytes[i].data);
	}
	return err;
}

/* Use the section's table; without a table no function is known. */
static struct error *use(struct go_rows *rows, const struct elf_image *image)
{
	const struct elf_bytes *b = &rows->bytes;
	size_t at = b->data ? go_table_search(b->data, b->size_bytes) : b->size_bytes;
	struct error *err = NULL;
	uint64_t text = 0;

	if (at == b->size_bytes)
		return NULL;
	if (image->header.e_type == ET_DYN)
		err = relocated(image, b->address + at + GO_TABLE_TEXT_AT, &text);
	if (!err && !go_table_init(&rows->table, b->data + at, b->size_bytes - at, text))
		rows->table.count = 0;
	return err;
}

struct error *go_rows_load(struct go_rows *rows, const struct elf_image *image)
{
	static const char *const sections[] = GO_TABLE_SECTIONS;
	struct error *err = NULL;
	bool is_marked = true;

	*rows = (struct go_rows){.bytes = {0}};
	for (size_t i = 0; !err && is_marked && i < GO_TABLE_SECTION_COUNT; i++) {
		err = elf_image_load_sections(image, &sections[i], 1, &rows->bytes);
		if (!err)
			err = use(rows, image);
		if (!err && rows->table.count)
			return NULL;
		go_rows_deinit(rows);
		if (!err && i + 2 == GO_TABLE_SECTION_COUNT)
			err = has_mark(image, &is_marked);
	}
	return err;
}

void go_rows_deinit(struct go_rows *rows)
{
	free(rows->bytes.data);
	*rows = (struct go_rows){.bytes = {0}};
}

/* --- code ------------------------------------------------------------------------- */

/* Copy code at `address`; false if not all of it is there. */
static bool read_code(const struct elf_image *image, uint64_t address, void *buffer,
		      size_t size)
{
	const Elf64_Phdr *p = elf_image_segment(image, address);

	return p && p->p_flags & PF_X && size <= p->p_filesz - (address - p->p_vaddr) &&
	       elf_image_read(image, p->p_offset + (address - p->p_vaddr), buffer, size);
}

/* Does the function save the frame pointer below the return address? `depth` is the
 * stack's depth after the first change of the stack pointer, which is at `address`. */
static bool saves_bp(const struct elf_image *image, uint64_t address, int32_t depth)
{
	uint8_t code[GO_SAVE_BYTES];

	return read_code(image, address - GO_SAVE_BEFORE, code, sizeof(code)) &&
	       go_saves_bp(code, depth);
}

/* --- rows ------------------------------------------------------------------------- */

static struct cfi_row row_at(int32_t depth)
{
	struct cfi_row row = {.is_signal_frame = false};

	row.cfa.how = CFI_REGISTER;
	row.cfa.reg = ARCH_SP;
	row.cfa.offset = (int64_t)depth + 8;
	row.registers[ARCH_PC].how = CFI_OFFSET;
	row.registers[ARCH_PC].offset = ARCH_RETURN_ADDRESS_OFFSET;
	return row;
}

/* Is it the outermost function of a goroutine or of a thread started by Go? */
static bool is_outermost(const struct go_rows *rows, const struct go_function *function)
{
	static const char *const names[] = {
		"runtime.goexit",      "runtime.goexit.abi0", "runtime.mstart",
		"runtime.mstart.abi0", "runtime.rt0_go",      "runtime.rt0_go.abi0",
		"runtime.mcall",       "runtime.morestack",   "runtime.morestack.abi0"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (go_table_name_is(&rows->table, function, names[i]))
			return true;
	return false;
}

/* Does the function switch to another stack, or to another function's frame? Go 1.16
 * does not mark these functions. */
static bool writes_sp(const struct go_rows *rows, const struct go_function *function)
{
	static const char *const names[] = {"runtime.asmcgocall", "runtime.systemstack",
					    "runtime.cgocallback",
					    "runtime.cgocallback_gofunc", "runtime.gogo"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (go_table_name_is(&rows->table, function, names[i]))
			return true;
	return function->writes_sp;
}

/* Give the rows of calls after which the code returns from another stack. Each row is
 * for the last byte of the call, where rows of return addresses are looked up. */
static void each_switch(const struct elf_image *image, const struct go_function *function,
			uint64_t end, cfi_row_fn *each, void *arg)
{
	uint8_t code[SWITCHING_MAX_BYTES];
	uint64_t size = function->end - function->start;

	if (size > sizeof(code) || !read_code(image, function->start, code, size))
		return;
	for (size_t at = 1; at < size && function->start + at <= end; at++) {
		uint64_t rule = stack_switch_rule(code + at, (size_t)size - at);
		struct cfi_row row = row_at(0);

		if (UNWIND_TYPE(rule) != UNWIND_SP_SWITCH)
			continue;
		row.cfa.how = CFI_STACK_SWITCH;
		row.cfa.offset = (int64_t)rule >> 32;
		each(arg, function->start + at - 1, function->start + at, &row);
	}
}

static void set_bp(struct cfi_row *row, bool is_saved)
{
	row->registers[ARCH_BP].how = is_saved ? CFI_OFFSET : CFI_UNDEFINED;
	row->registers[ARCH_BP].offset = -16;
}

void go_rows_each(const struct go_rows *rows, const struct elf_image *image,
		  const struct go_function *function, uint64_t end, cfi_row_fn *each,
		  void *arg, unsigned *ret_steps)
{
	struct go_values values = go_values(&rows->table, function, function->depths);
	bool has_saved_bp = false, is_first = true;
	struct cfi_row row = row_at(0);

	*ret_steps = 0;
	if (end > function->end)
		end = function->end;
	if (is_outermost(rows, function)) {
		row.registers[ARCH_PC].how = CFI_UNDEFINED;
		each(arg, function->start, end, &row);
		return;
	}
	if (writes_sp(rows, function)) {
		*ret_steps = SWITCHING_MAX_BYTES;
		each_switch(image, function, end, each, arg);
		return;
	}
	while (go_values_next(&values, function) && values.start < end) {
		int32_t depth = values.value;

		++*ret_steps;
		if (depth < 0 || depth > DEPTH_MAX || depth % 8)
			continue;
		row = row_at(depth);
		if (depth && is_first) {
			has_saved_bp = saves_bp(image, values.start, depth);
			*ret_steps += CODE_STEPS;
			is_first = false;
		}
		if (depth)
			set_bp(&row, has_saved_bp);
		each(arg, values.start, values.end < end ? values.end : end, &row);
	}
}
