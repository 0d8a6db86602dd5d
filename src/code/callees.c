// SPDX-License-Identifier: Apache-2.0
#include "code/callees.h"

#include <elf.h>
#include <string.h>

#include "code/decode.h"
#include "allocator/allocator.h"

struct known_name {
	const char *name;
	enum callee_kind kind;
};

/* ISO C, POSIX, the LSB core specification (__stack_chk_fail, __*_chk), the Itanium C++
 * ABI (__cxa_*, _Unwind_Resume) and libstdc++. */
static const struct known_name known_names[] = {
	{"memset", CALLEE_FIRST},
	{"memcpy", CALLEE_FIRST},
	{"memmove", CALLEE_FIRST},
	{"__memset_chk", CALLEE_FIRST},
	{"__memcpy_chk", CALLEE_FIRST},
	{"__memmove_chk", CALLEE_FIRST},
	{"__stack_chk_fail", CALLEE_ENDS},
	{"__chk_fail", CALLEE_ENDS},
	{"__fortify_fail", CALLEE_ENDS},
	{"__libc_fatal", CALLEE_ENDS},
	{"__assert_fail", CALLEE_ENDS},
	{"abort", CALLEE_ENDS},
	{"exit", CALLEE_ENDS},
	{"_exit", CALLEE_ENDS},
	{"__cxa_throw", CALLEE_ENDS},
	{"__cxa_rethrow", CALLEE_ENDS},
	{"_Unwind_Resume", CALLEE_ENDS},
	{"_ZSt9terminatev", CALLEE_ENDS},
	{"_ZSt17__throw_bad_allocv", CALLEE_ENDS},
	{"__cxa_throw_bad_array_new_length", CALLEE_ENDS},
};

#define KNOWN_COUNT (sizeof(known_names) / sizeof(known_names[0]))

_Static_assert(KNOWN_COUNT <= CALLEES_KNOWN_MAX, "all of them have room");

static const struct known_name *by_name(const char *name)
{
	for (size_t i = 0; name && i < KNOWN_COUNT; i++)
		if (!strcmp(name, known_names[i].name))
			return &known_names[i];
	return NULL;
}

static bool is_allocation(const char *name)
{
	for (size_t i = 0; i < alloc_family_count; i++)
		for (const struct alloc_function *f = alloc_families[i].functions;
		     f->name; f++)
			if (!strcmp(f->name, name))
				return true;
	return false;
}

/* Find the known functions that the file defines itself. */
static struct error *find_known(struct callees *c)
{
	const char *names[KNOWN_COUNT];
	struct elf_symbol found[KNOWN_COUNT];
	struct error *err;

	for (size_t i = 0; i < KNOWN_COUNT; i++)
		names[i] = known_names[i].name;
	err = elf_file_find_functions(c->file, names, KNOWN_COUNT, found);
	for (size_t i = 0; !err && i < KNOWN_COUNT; i++)
		if (found[i].name && !found[i].is_ambiguous &&
		    found[i].type != STT_GNU_IFUNC)
			c->known[c->known_count++] =
				(struct callee){known_names[i].kind, found[i].address};
	return err;
}

struct error *callees_init(struct callees *ret, struct elf_file *file, uint64_t text_bias)
{
	struct error *err;

	*ret = (struct callees){.file = file, .text_bias = text_bias};
	err = elf_links_read(file, &ret->links);
	/* Without links, calls through the linkage table have unknown callees. */
	err = error_only_no_memory(err);
	if (!err)
		err = find_known(ret);
	if (err)
		callees_deinit(ret);
	return err;
}

void callees_deinit(struct callees *callees)
{
	elf_links_deinit(&callees->links);
}

size_t callees_read(const struct callees *callees, uint64_t address, uint8_t *ret,
		    size_t size)
{
	return elf_file_read(callees->file, address - callees->text_bias, ret, size);
}

struct callee callees_through(const struct callees *callees, uint64_t slot)
{
	const struct elf_link *link = elf_links_find(&callees->links, slot);
	const struct known_name *known = link ? by_name(link->name) : NULL;

	if (known)
		return (struct callee){known->kind, 0};
	if (link && link->address)
		return (struct callee){CALLEE_HERE, link->address};
	if (link && link->name && !is_allocation(link->name))
		return (struct callee){CALLEE_ELSEWHERE, 0};
	return (struct callee){CALLEE_OTHER, 0};
}

/* Longest stub: endbr64, then a jump with a bnd prefix. */
#define STUB_MAX 16

/* Is there a stub at `address`: only a jump through a word? */
static bool is_stub(const struct callees *callees, uint64_t address, uint64_t *slot)
{
	uint8_t code[STUB_MAX];
	size_t size = callees_read(callees, address, code, sizeof(code)), at = 0;
	struct insn insn;

	insn_decode(code, size, &insn);
	if (insn.kind == INSN_ENDBR) {
		at = insn.length;
		insn_decode(code + at, size - at, &insn);
	}
	*slot = address + at + (uint64_t)(int64_t)insn.displacement;
	return insn.kind == INSN_JMP_INDIRECT && insn.base == INSN_BASE_PC &&
	       !insn.is_indexed;
}

struct callee callees_at(const struct callees *callees, uint64_t address)
{
	uint64_t slot;

	for (size_t i = 0; i < callees->known_count; i++)
		if (callees->known[i].address == address)
			return callees->known[i];
	if (is_stub(callees, address, &slot))
		return callees_through(callees, slot);
	return (struct callee){CALLEE_HERE, address};
}
