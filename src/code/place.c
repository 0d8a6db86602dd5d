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
	INSN_ARGUMENT_0, INSN_ARGUMENT_1, INSN_ARGUMENT_2,
	INSN_ARGUMENT_3, INSN_ARGUMENT_4, INSN_ARGUMENT_5,
};

/* The best sites found so far. */
struct sites {
	struct place entry, both; /* emulated sites; reason NULL: none */
	bool has_return;
	uint32_t return_delta; /* first emulated site for a return probe */
};

/* Record the target of a branch at `offset`, `distance` bytes from there. `lowest` is
 * the lowest target other than the first byte: a jump to the first byte is a new call
 * of the function. */
static void note_target(size_t *lowest, size_t offset, int64_t distance)
{
	int64_t to = (int64_t)offset + distance;

	if (to > 0 && (uint64_t)to < *lowest)
		*lowest = (size_t)to;
}

/* The lowest offset, other than 0, that something in the function jumps to.
 * Instructions are read in sequence. After one of unknown length, an instruction may
 * begin at each byte. */
static size_t lowest_target(const uint8_t *code, size_t size)
{
	size_t lowest = SIZE_MAX, offset = 0;
	struct insn insn;
	int64_t distance;

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
		if (insn_branch_target(code + offset, size - offset, &distance))
			note_target(&lowest, offset, distance);
	return lowest;
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
		.reason = emulated_reason(walk->code, walk->offset, &walk->insn,
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

/* free(pointer): is it the jump that skips the whole function for NULL? */
static bool is_null_check(const struct walk *walk)
{
	const struct insn *insn = &walk->insn;

	return insn->kind == INSN_JCC && insn->condition == INSN_EQUAL &&
	       !insn->prefixed && walk->tested == 0 && !walk->past_null;
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
		return true;
	}
	if (sites.entry.reason && (!request->wants_return || sites.has_return)) {
		*ret = sites.entry;
		if (request->wants_return)
			ret->return_delta = sites.return_delta;
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
