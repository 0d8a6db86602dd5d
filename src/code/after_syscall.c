// SPDX-License-Identifier: Apache-2.0
#include "code/after_syscall.h"

#include "arch/arch.h"
#include "code/decode.h"
#include "code/start.h"
#include "elf/elf.h"
#include "process/target_elf.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

/* Does control always continue at the next instruction? */
static bool goes_on(const struct insn *insn)
{
	switch (insn->kind) {
	case INSN_PLAIN:
	case INSN_NOP:
	case INSN_COPY:
	case INSN_TEST:
	case INSN_PUSH:
		return !insn->traps;
	default:
		return false;
	}
}

size_t after_syscall(const uint8_t *code, size_t size)
{
	struct insn insn;
	size_t next = 0;

	for (size_t at = 0; at < size; at += insn.length) {
		insn_decode(code + at, size - at, &insn);
		if (insn.kind == INSN_UNKNOWN || (insn.kind == INSN_SYSCALL && next))
			return 0;
		if (insn.kind == INSN_SYSCALL)
			next = at + insn.length;
	}
	if (!next)
		return 0;
	for (size_t at = next; at < size; at += insn.length) {
		insn_decode(code + at, size - at, &insn);
		if (insn.kind == INSN_JCC && !insn.no_probe)
			return at;
		if (!goes_on(&insn))
			break;
	}
	insn_decode(code + next, size - next, &insn);
	return insn.kind == INSN_UNKNOWN || insn.no_probe ? 0 : next;
}

struct error *syscall_function_find(const struct target_file *from, const char *name,
				    struct syscall_function *ret)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	struct elf_symbol symbol;
	struct error *err = target_elf_open_function(from, name, &file, &symbol);

	const char *doubt = NULL;

	*ret = (struct syscall_function){0};
	if (!err && symbol.name)
		err = start_doubt_in(from, &symbol, &doubt);
	if (err || !symbol.name || symbol.size_bytes > sizeof(ret->code) || doubt)
		return err;
	ret->size = elf_file_read(file, symbol.file_offset, ret->code,
				  (size_t)symbol.size_bytes);
	if (arch.has_decoder)
		ret->after = after_syscall(ret->code, ret->size);
	if (ret->after)
		ret->offset = symbol.file_offset;
	return NULL;
}
