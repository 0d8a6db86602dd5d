// SPDX-License-Identifier: Apache-2.0
#include "code/place.h"

#include <string.h>

#include "code/decode.h"

#define WALK_MAX 24 /* instructions */

/* The state before the instruction at `offset`. */
struct walk {
	const uint8_t *code;
	size_t offset;
	struct insn insn;
	int64_t sp_delta;
	uint8_t holds[INSN_REGISTERS]; /* the argument in each register, or NOTHING */
	uint8_t tested;                /* argument tested by the previous instruction */
	bool past_syscall, past_null;
};

#define NOTHING PLACE_NO_REGISTER

static const uint8_t argument_register[PLACE_ARGUMENTS] = {
	INSN_RDI, INSN_RSI, INSN_RDX, INSN_RCX, 8, 9,
};

/* The best sites found so far. */
struct sites {
	struct place entry, both; /* emulated sites; reason NULL: none */
	bool has_return;
	uint32_t return_delta; /* first emulated site for a return probe */
};

unsigned place_kernel_emulates(unsigned major, unsigned minor)
{
	unsigned version = major << 16 | (minor & 0xffff), emulated = 0;

	if (version >= (3u << 16 | 16))
		emulated |= PLACE_BRANCH;
	if (version >= (4u << 16 | 16))
		emulated |= PLACE_PUSH;
	if (version >= (6u << 16 | 16))
		emulated |= PLACE_NOPS;
	return emulated;
}

/* Record the target of a branch at `offset`, `distance` bytes from there. `lowest` is
 * the lowest target other than the first byte: a jump to the first byte is a new call
 * of the function. */
static void note_target(size_t *lowest, size_t offset, int64_t distance)
{
	int64_t to = (int64_t)offset + distance;

	if (to > 0 && (uint64_t)to < *lowest)
		*lowest = (size_t)to;
}

static int64_t rel32(const uint8_t *bytes)
{
	return (int32_t)(bytes[0] | bytes[1] << 8 | bytes[2] << 16 |
			 (uint32_t)bytes[3] << 24);
}

/* Record all targets that the bytes at `offset` could have as a branch. */
static void note_any_target(size_t *lowest, const uint8_t *code, size_t size,
			    size_t offset)
{
	const uint8_t *c = code + offset;
	size_t left = size - offset;

	if (left >= 2 &&
	    ((c[0] & 0xf0) == 0x70 || c[0] == 0xeb || (c[0] >= 0xe0 && c[0] <= 0xe3)))
		note_target(lowest, offset + 2, (int8_t)c[1]);
	if (left >= 5 && (c[0] == 0xe8 || c[0] == 0xe9))
		note_target(lowest, offset + 5, rel32(c + 1));
	if (left >= 6 && ((c[0] == 0x0f && (c[1] & 0xf0) == 0x80) ||
			  (c[0] == 0xc7 && c[1] == 0xf8))) /* xbegin */
		note_target(lowest, offset + 6, rel32(c + 2));
}

/* The lowest offset, other than 0, that something in the function jumps to.
 * Instructions are read in sequence. After one of unknown length, an instruction may
 * begin at each byte. */
static size_t lowest_target(const uint8_t *code, size_t size)
{
	size_t lowest = SIZE_MAX, offset = 0;
	struct insn insn;

	while (offset < size) {
		insn_decode(code + offset, size - offset, &insn);
		if (!insn.length)
			break;
		if (insn.kind == INSN_JCC || insn.kind == INSN_LOOP ||
		    insn.kind == INSN_JMP || insn.kind == INSN_CALL)
			note_target(&lowest, offset, insn.target);
		offset += insn.length;
	}
	for (; offset < size; offset++)
		note_any_target(&lowest, code, size, offset);
	return lowest;
}

/* Is it one of the kernel's x86_nops[] (arch/x86/include/asm/nops.h)? */
static bool is_kernel_nop(const uint8_t *code, size_t length)
{
	static const uint8_t nops[7][8] = {
		{0x66, 0x90},
		{0x0f, 0x1f, 0x00},
		{0x0f, 0x1f, 0x40, 0x00},
		{0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
		{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	};

	return length >= 2 && length <= 8 && !memcmp(code, nops[length - 2], length);
}

/* Since 6.18 the kernel replaces a probed five-byte nop by a call, which writes below
 * the stack pointer. The function may have data there (the red zone, psABI 3.2.2),
 * except at its beginning. */
static bool may_become_call(const uint8_t *code, size_t offset, const struct insn *insn)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return insn->length == 5 && offset != 0 &&
	       (offset != sizeof(endbr64) || memcmp(code, endbr64, sizeof(endbr64)));
}

const char *place_emulated(const uint8_t *function, size_t offset,
			   const struct insn *insn, unsigned kernel)
{
	const uint8_t *code = function + offset;

	if (insn->kind == INSN_NOP && kernel & PLACE_NOPS &&
	    is_kernel_nop(code, insn->length))
		return may_become_call(function, offset, insn) ? NULL : "nop, emulated";
	if (insn->prefixed)
		return NULL;

	switch (insn->kind) {
	case INSN_NOP:
		return kernel & PLACE_BRANCH && code[0] == 0x90 ? "nop, emulated" : NULL;
	case INSN_PUSH:
		/* push_setup_xol_ops() does not know REX.W etc. */
		return kernel & PLACE_PUSH && (insn->length == 1 || code[0] == 0x41)
			       ? "push, emulated"
			       : NULL;
	case INSN_JCC:
		return kernel & PLACE_BRANCH ? "conditional jump, emulated" : NULL;
	case INSN_JMP:
		return kernel & PLACE_BRANCH ? "jump, emulated" : NULL;
	case INSN_CALL:
		return kernel & PLACE_CALL ? "call, emulated" : NULL;
	default:
		return NULL;
	}
}

/* Find the registers of the arguments, preferring their original ones. */
static void find_arguments(const struct walk *walk, uint8_t ret[PLACE_ARGUMENTS])
{
	for (unsigned n = 0; n < PLACE_ARGUMENTS; n++) {
		ret[n] = PLACE_NO_REGISTER;
		for (unsigned reg = INSN_REGISTERS; reg-- > 0;)
			if (walk->holds[reg] == n)
				ret[n] = (uint8_t)reg;
		if (walk->holds[argument_register[n]] == n)
			ret[n] = argument_register[n];
	}
}

static void judge(const struct walk *walk, const struct place_request *request,
		  struct sites *sites)
{
	struct place place = {
		.entry_delta = (uint32_t)walk->offset,
		.sp_delta = (int32_t)walk->sp_delta,
		.emulated = true,
		.reason = place_emulated(walk->code, walk->offset, &walk->insn,
					 request->emulated),
	};

	if (!place.reason)
		return;
	/* A return probe depends on the stack pointer only. */
	if (walk->sp_delta == 0 && !sites->has_return) {
		sites->has_return = true;
		sites->return_delta = place.entry_delta;
	}

	find_arguments(walk, place.arg_reg);
	for (unsigned n = 0; n < PLACE_ARGUMENTS; n++)
		if (request->arguments & 1u << n && place.arg_reg[n] == PLACE_NO_REGISTER)
			return;
	if (walk->past_syscall && !request->past_syscall)
		return;
	if (!sites->entry.reason)
		sites->entry = place;
	if (walk->sp_delta == 0 && !sites->both.reason)
		sites->both = place;
}

/* free(pointer): is it the je that skips the whole function for NULL? */
static bool is_null_check(const struct walk *walk)
{
	const uint8_t *code = walk->code + walk->offset;
	bool je = code[0] == 0x74 || (code[0] == 0x0f && code[1] == 0x84);

	return walk->insn.kind == INSN_JCC && je && walk->tested == 0 && !walk->past_null;
}

/* Update the state for the instruction. False: the straight line ends with it. */
static bool step(struct walk *walk, bool frees)
{
	const struct insn *insn = &walk->insn;
	uint8_t copied = NOTHING, tested = NOTHING;

	switch (insn->kind) {
	case INSN_COPY:
		copied = walk->holds[insn->from];
		break;
	case INSN_TEST:
		if (insn->from == insn->to)
			tested = walk->holds[insn->from];
		break;
	case INSN_PLAIN:
	case INSN_ENDBR:
	case INSN_NOP:
	case INSN_PUSH:
		break;
	case INSN_SYSCALL:
		walk->past_syscall = true;
		break;
	case INSN_JCC:
		if (!frees || !is_null_check(walk))
			return false;
		walk->past_null = true;
		break;
	default:
		return false;
	}

	for (unsigned reg = 0; reg < INSN_REGISTERS; reg++)
		if (insn->writes & 1u << reg)
			walk->holds[reg] = NOTHING;
	if (insn->kind == INSN_COPY)
		walk->holds[insn->to] = copied;
	walk->tested = tested;
	walk->sp_delta -= insn->sp_change;
	walk->offset += insn->length;
	/* If the stack pointer is above the return address, nothing more is known of
	 * it. */
	return walk->sp_delta >= 0 && walk->sp_delta <= INT32_MAX;
}

static void walk_line(const uint8_t *code, size_t size,
		      const struct place_request *request, struct sites *sites)
{
	struct walk walk = {.code = code, .tested = NOTHING};
	size_t end = lowest_target(code, size);

	memset(walk.holds, NOTHING, sizeof(walk.holds));
	for (unsigned n = 0; n < PLACE_ARGUMENTS; n++)
		walk.holds[argument_register[n]] = (uint8_t)n;

	for (unsigned i = 0; i < WALK_MAX && walk.offset < size; i++) {
		if (walk.offset >= end)
			return;
		insn_decode(code + walk.offset, size - walk.offset, &walk.insn);
		judge(&walk, request, sites);
		if (!step(&walk, request->frees))
			return;
	}
}

/* Both probes share a breakpoint at the first instruction. */
static struct place first_instruction(const char *reason)
{
	struct place place = {.reason = reason};

	memcpy(place.arg_reg, argument_register, sizeof(place.arg_reg));
	return place;
}

bool place_choose(const uint8_t *code, size_t size, const struct place_request *request,
		  struct place *ret)
{
	struct sites sites = {0};
	struct insn first;

	walk_line(code, size, request, &sites);
	if (request->wants_return && sites.both.reason) {
		*ret = sites.both;
		ret->return_delta = ret->entry_delta;
		ret->return_emulated = true;
		return true;
	}
	if (sites.entry.reason && (!request->wants_return || sites.has_return)) {
		*ret = sites.entry;
		if (request->wants_return) {
			ret->return_delta = sites.return_delta;
			ret->return_emulated = true;
		}
		return true;
	}

	insn_decode(code, size, &first);
	if (!size || first.no_probe) {
		*ret = (struct place){.reason = "the kernel takes no probe at the first "
						"instruction"};
		return false;
	}
	*ret = first_instruction(
		sites.entry.reason ? "first instruction: no emulated one before the "
				     "stack pointer moves"
				   : "first instruction: nothing better proven");
	return true;
}
