// SPDX-License-Identifier: Apache-2.0
/* Intel SDM volume 2, chapter 2 and the opcode maps of appendix A; 64-bit mode. */
#include "arch/insn.h"

#include "arch/x86_64_opcodes.h"

struct decoder {
	const uint8_t *code;
	size_t size, at;
	uint8_t rex;                            /* 0: none */
	bool p66, f2, f3, lock, seg, fsgs, p67; /* seg: es, cs, ss, ds */
	uint16_t flags;
	uint8_t opcode;
	uint8_t mod, reg, rm; /* extended by REX */
	bool sp_based;        /* the memory operand is rsp and a constant */
	uint8_t base;         /* base of the memory operand, as insn.base */
	bool is_indexed;
	int32_t displacement;
	int64_t immediate;
};

static bool w(const struct decoder *d)
{
	return d->rex & 8;
}

static bool next(struct decoder *d, uint8_t *ret)
{
	if (d->at >= d->size)
		return false;
	*ret = d->code[d->at++];
	return true;
}

/* Read a signed little-endian number. */
static bool number(struct decoder *d, unsigned bytes, int64_t *ret)
{
	uint64_t value = 0;

	if (d->size - d->at < bytes)
		return false;
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)d->code[d->at++] << (8 * i);
	if (bytes && bytes < 8 && value >> (8 * bytes - 1))
		value |= ~(uint64_t)0 << (8 * bytes);
	*ret = (int64_t)value;
	return true;
}

static bool prefixes(struct decoder *d)
{
	uint8_t byte;

	for (;;) {
		if (!next(d, &byte))
			return false;
		switch (byte) {
		case 0x66:
			d->p66 = true;
			break;
		case 0xf2:
			d->f2 = true;
			break;
		case 0xf3:
			d->f3 = true;
			break;
		case 0xf0:
			d->lock = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			d->seg = true;
			break;
		case 0x64:
		case 0x65:
			d->fsgs = true;
			break;
		case 0x67:
			d->p67 = true;
			break;
		default:
			/* REX is valid only directly before the opcode. */
			if ((byte & 0xf0) == 0x40) {
				d->rex = byte;
				if (!next(d, &byte))
					return false;
			}
			d->opcode = byte;
			return true;
		}
	}
}

/* ModRM, SIB and displacement (SDM volume 2, tables 2-2 and 2-3). */
static bool modrm(struct decoder *d)
{
	uint8_t byte, sib = 0;
	unsigned size = 0;
	int64_t displacement = 0;

	if (!next(d, &byte))
		return false;
	d->flags |= OPCODE_MODRM;
	d->mod = byte >> 6;
	d->reg = (byte >> 3 & 7) | (d->rex & 4) << 1;
	d->rm = (byte & 7) | (d->rex & 1) << 3;
	if (d->mod == 3)
		return true;

	bool has_sib = (byte & 7) == 4;

	if (has_sib && !next(d, &sib))
		return false;
	if (d->mod == 1)
		size = 1;
	else if (d->mod == 2 || (has_sib ? sib & 7 : byte & 7) == 5)
		size = 4;
	if (!number(d, size, &displacement))
		return false;
	/* SIB 0x24: no index, base rsp. REX.X or REX.B would select others. */
	d->sp_based = has_sib && (sib & 0x3f) == 0x24 && !(d->rex & 3);
	d->displacement = (int32_t)displacement;
	d->is_indexed = has_sib && ((sib >> 3 & 7) != 4 || d->rex & 2);
	d->base = (uint8_t)((has_sib ? sib & 7 : byte & 7) | (d->rex & 1) << 3);
	if (d->mod == 0 && (has_sib ? sib & 7 : byte & 7) == 5)
		d->base = has_sib ? INSN_BASE_NONE : INSN_BASE_PC;
	return true;
}

/* Decode the operands after the opcode. */
static bool operands(struct decoder *d, bool two)
{
	if (d->flags & OPCODE_MODRM) {
		if (!modrm(d))
			return false;
		if (d->flags & OPCODE_GROUP)
			d->flags |= opcode_group(d->opcode, two, d->reg & 7);
	}
	if (d->flags & OPCODE_BAD)
		return false;

	unsigned size = d->flags & OPCODE_IMM8     ? 1
			: !(d->flags & OPCODE_IMM) ? 0
			: d->p66 && !w(d)          ? 2
						   : 4;

	if (!two && (d->opcode & 0xf8) == 0xb8 && w(d))
		size = 8;
	return number(d, size, &d->immediate);
}

static uint16_t bit(const struct decoder *d, unsigned reg)
{
	if (d->flags & OPCODE_BYTE && !d->rex && reg >= 4)
		reg -= 4;
	return (uint16_t)(1u << reg);
}

static uint16_t writes(const struct decoder *d)
{
	uint16_t mask = 0;

	if (d->flags & OPCODE_W_RM && d->mod == 3)
		mask |= bit(d, d->rm);
	if (d->flags & OPCODE_W_REG)
		mask |= bit(d, d->reg);
	if (d->flags & OPCODE_W_LOW)
		mask |= bit(d, (d->opcode & 7) | (d->rex & 1) << 3);
	if (d->flags & OPCODE_W_RAX)
		mask |= 1u << INSN_RAX;
	if (d->flags & OPCODE_W_RDX)
		mask |= 1u << INSN_RDX;
	return mask;
}

static void branch(const struct decoder *d, enum insn_kind kind, struct insn *ret)
{
	/* A branch with operand size 16: Intel ignores the prefix, AMD does not. */
	if (d->p66 && !w(d)) {
		ret->kind = INSN_UNKNOWN;
		return;
	}
	ret->kind = kind;
	ret->target = (int64_t)d->at + d->immediate;
}

/* Get the change of rsp by a one-byte opcode that writes it. False: not a constant. */
static bool sp_change(const struct decoder *d, int32_t *ret)
{
	bool immediate = d->opcode == 0x81 || d->opcode == 0x83;

	if (!w(d) || d->p66)
		return false;
	if (immediate && (d->reg & 7) == 0)
		*ret = (int32_t)d->immediate;
	else if (immediate && (d->reg & 7) == 5 && d->immediate != INT32_MIN)
		*ret = (int32_t)-d->immediate;
	else if (d->opcode == 0x8d && d->sp_based)
		*ret = d->displacement;
	else
		return false;
	return true;
}

static void push_or_pop(const struct decoder *d, struct insn *ret)
{
	unsigned reg = (d->opcode & 7) | (d->rex & 1) << 3;

	ret->writes = 1u << INSN_RSP;
	if (d->p66) { /* 16-bit operand */
		ret->kind = INSN_OPAQUE;
	} else if (d->opcode >= 0x58) {
		ret->kind = reg == INSN_RSP ? INSN_OPAQUE : INSN_PLAIN;
		ret->writes |= 1u << reg;
		ret->sp_change = 8;
	} else {
		ret->kind = INSN_PUSH;
		ret->from = (uint8_t)reg;
		ret->sp_change = -8;
	}
}

/* Describe a push of a constant or of memory. */
static void push_value(const struct decoder *d, struct insn *ret)
{
	ret->kind = d->p66 ? INSN_OPAQUE : INSN_PLAIN;
	ret->writes = 1u << INSN_RSP;
	ret->sp_change = -8;
}

/* Describe a jump, call or return. False: it is something else. */
static bool describe_transfer(const struct decoder *d, struct insn *ret)
{
	uint8_t opcode = d->opcode;

	if ((opcode & 0xf0) == 0x70) {
		branch(d, INSN_JCC, ret);
	} else if (opcode >= 0xe0 && opcode <= 0xe3) {
		branch(d, INSN_LOOP, ret);
		ret->writes = opcode == 0xe3 ? 0 : 1u << INSN_RCX; /* jrcxz only reads */
	} else if (opcode == 0xe9 || opcode == 0xeb) {
		branch(d, INSN_JMP, ret);
	} else if (opcode == 0xe8) {
		branch(d, INSN_CALL, ret);
		ret->writes = 1u << INSN_RSP;
	} else if (opcode == 0xff && (d->reg & 7) == 2) {
		ret->kind = INSN_CALL_INDIRECT;
		ret->writes = 1u << INSN_RSP;
	} else if (opcode == 0xff && (d->reg & 7) == 4) {
		ret->kind = INSN_JMP_INDIRECT;
	} else if (opcode == 0xc3) {
		ret->kind = INSN_RET;
		ret->writes = 1u << INSN_RSP;
	} else {
		return false;
	}
	return true;
}

static void describe_one_byte(const struct decoder *d, struct insn *ret)
{
	bool registers = d->mod == 3 && w(d);

	if (describe_transfer(d, ret))
		return;
	ret->no_probe |= d->opcode == 0xcc || d->opcode == 0xf4 || /* int3, hlt */
			 (d->opcode == 0x90 && d->rex & 1);
	/* Hints (pause, xacquire) and string instructions. */
	if (d->f2 || d->f3) {
		ret->kind = INSN_OPAQUE;
		return;
	}
	if (d->opcode >= 0x50 && d->opcode <= 0x5f) {
		push_or_pop(d, ret);
	} else if (d->opcode == 0x68 || d->opcode == 0x6a ||
		   (d->opcode == 0xff && (d->reg & 7) == 6)) {
		push_value(d, ret);
	} else if (d->opcode == 0x85 && registers) {
		ret->kind = INSN_TEST;
		ret->from = d->reg;
		ret->to = d->rm;
	} else if ((d->opcode == 0x89 || d->opcode == 0x8b) && registers) {
		ret->kind = INSN_COPY;
		ret->from = d->opcode == 0x89 ? d->reg : d->rm;
		ret->to = d->opcode == 0x89 ? d->rm : d->reg;
	} else if (d->opcode == 0x8d && d->mod == 3) {
		ret->kind = INSN_UNKNOWN;
	} else if (d->opcode == 0x90 && !(d->rex & 1)) {
		ret->kind = INSN_NOP;
		ret->writes = 0;
	}
}

static void describe_two_byte(const struct decoder *d, struct insn *ret)
{
	if ((d->opcode & 0xf0) == 0x80) {
		branch(d, INSN_JCC, ret);
	} else if (d->opcode == 0x05) {
		ret->kind = INSN_SYSCALL;
		ret->writes = 1u << INSN_RAX | 1u << INSN_RCX | 1u << 11;
		ret->no_probe = true;
	} else if (d->opcode == 0x1e) { /* f3 0f 1e fa */
		if (d->f3 && !d->rex && d->mod == 3 && d->reg == 7 && d->rm == 2)
			ret->kind = INSN_ENDBR;
	} else if (d->opcode == 0x1f) {
		if (ret->kind == INSN_PLAIN)
			ret->kind = INSN_NOP;
	} else if (d->opcode == 0x7e) {
		if (d->f3 && !d->p66 && !w(d)) /* movq xmm, xmm */
			ret->writes = 0;
	} else if (d->opcode == 0xb8 && !d->f3) { /* with f3: popcnt */
		ret->kind = INSN_UNKNOWN;
	}
}

/* Decode the length of VEX and EVEX instructions (SDM volume 2, 2.3 and 2.7) from the
 * opcode map. */
static bool vector(struct decoder *d)
{
	uint8_t payload, map = 1, opcode;
	unsigned more = d->opcode == 0xc5 ? 0 : d->opcode == 0xc4 ? 1 : 2;

	if (d->rex || d->p66 || d->f2 || d->f3 || d->lock || !next(d, &payload))
		return false;
	if (d->opcode != 0xc5)
		map = payload & (d->opcode == 0xc4 ? 0x1f : 7);
	for (; more; more--)
		if (!next(d, &payload))
			return false;
	if (map < 1 || map > 3 || !next(d, &opcode))
		return false;
	/* vzeroupper has no ModRM. */
	if (!(map == 1 && opcode == 0x77 && d->opcode != 0x62) && !modrm(d))
		return false;
	if (map == 3 || (map == 1 && opcode_flags(opcode, true) & OPCODE_IMM8))
		return next(d, &payload);
	return true;
}

/* Decode the opcodes 0f 38 and 0f 3a. */
static bool three_byte(struct decoder *d)
{
	bool immediate = d->opcode == 0x3a;

	return next(d, &d->opcode) && modrm(d) && (!immediate || next(d, &d->opcode));
}

static bool is_transfer(enum insn_kind kind)
{
	return kind >= INSN_SYSCALL;
}

/* Describe the opcode with its prefixes. May find that it is INSN_UNKNOWN. */
static void describe(const struct decoder *d, bool two, struct insn *ret)
{
	ret->kind = d->flags & OPCODE_OPAQUE ? INSN_OPAQUE : INSN_PLAIN;
	ret->writes = writes(d);
	if (two)
		describe_two_byte(d, ret);
	else
		describe_one_byte(d, ret);
	if (ret->kind == INSN_UNKNOWN || is_transfer(ret->kind))
		return;
	/* lock needs a memory operand. */
	if (d->p67 || (d->lock && (!(d->flags & OPCODE_MODRM) || d->mod == 3)))
		ret->kind = INSN_OPAQUE;
	/* A frame of unknown size, or a write to half of rsp. */
	if (ret->writes & 1u << INSN_RSP && !ret->sp_change &&
	    (two || !sp_change(d, &ret->sp_change)))
		ret->kind = INSN_OPAQUE;
}

/* --- values ------------------------------------------------------------------------- */

static void set_value(struct insn *ret, unsigned reg, int64_t value)
{
	ret->has_value = true;
	ret->to = (uint8_t)reg;
	ret->value = value;
}

/* Describe mov, lea, xor of a register with itself, and leave: source and destination. */
static void describe_moves(const struct decoder *d, struct insn *ret)
{
	bool is_memory = d->mod != 3, wide = w(d) && !d->p66;
	unsigned low = (d->opcode & 7) | (d->rex & 1) << 3;

	if (d->opcode >= 0xb8 && d->opcode <= 0xbf && !d->p66) {
		/* Without REX.W the upper half becomes 0. */
		set_value(ret, low, wide ? d->immediate : (uint32_t)d->immediate);
	} else if ((d->opcode == 0x31 || d->opcode == 0x33) && !is_memory &&
		   d->reg == d->rm && !d->p66) {
		set_value(ret, d->rm, 0);
		ret->zeroes = d->at == 2; /* no prefix */
	} else if (d->opcode == 0xc7 && wide && !is_memory) {
		set_value(ret, d->rm, d->immediate);
	} else if (d->opcode == 0xc7 && wide) {
		ret->memory = INSN_MEMORY_SET;
		ret->value = d->immediate;
	} else if (d->opcode == 0x83 && (d->reg & 7) == 1 && !is_memory && wide &&
		   d->immediate == -1) { /* or $-1 */
		set_value(ret, d->rm, -1);
	} else if ((d->opcode == 0x89 || d->opcode == 0x8b) && !is_memory && !wide &&
		   !d->p66) {
		ret->copies_half = true;
		ret->from = d->opcode == 0x89 ? d->reg : d->rm;
		ret->to = d->opcode == 0x89 ? d->rm : d->reg;
	} else if (d->opcode == 0x89 && is_memory && wide) {
		ret->memory = INSN_MEMORY_STORE;
		ret->from = d->reg;
	} else if (d->opcode == 0x8b && is_memory && wide) {
		ret->memory = INSN_MEMORY_LOAD;
		ret->to = d->reg;
	} else if (d->opcode == 0x8d && wide && !d->p67) {
		ret->memory = INSN_MEMORY_ADDRESS;
		ret->to = d->reg;
	}
}

/* Describe instructions that compute rsp from rbp: leave; mov and lea into rsp. */
static void describe_frame_end(const struct decoder *d, struct insn *ret)
{
	if (d->p66 || d->f2 || d->f3 || d->p67)
		return;
	if (d->opcode == 0xc9) {
		ret->sp_from_bp = ret->is_leave = true;
	} else if (w(d) && d->opcode == 0x8d && d->reg == INSN_RSP &&
		   d->base == INSN_RBP && !d->is_indexed) {
		ret->sp_from_bp = true;
		ret->displacement = d->displacement;
	} else if (w(d) && d->mod == 3 &&
		   ((d->opcode == 0x89 && d->rm == INSN_RSP && d->reg == INSN_RBP) ||
		    (d->opcode == 0x8b && d->reg == INSN_RSP && d->rm == INSN_RBP))) {
		ret->sp_from_bp = true;
	}
}

/* Describe the memory operand, if any. Operands relative to fs and gs are left out:
 * they are not on the stack. */
static void describe_memory(const struct decoder *d, struct insn *ret)
{
	ret->base = INSN_BASE_NONE;
	if (!(d->flags & OPCODE_MODRM) || d->mod == 3 || d->fsgs)
		return;
	ret->memory = INSN_MEMORY_OTHER;
	ret->base = d->base;
	ret->is_indexed = d->is_indexed;
	ret->displacement = d->displacement;
	if (d->base == INSN_BASE_PC)
		ret->displacement += (int32_t)d->at;
}

/* Describe products of two registers: mul and imul with rax, and two-operand imul. */
static void describe_product(const struct decoder *d, bool two, struct insn *ret)
{
	bool by_rax =
		!two && d->opcode == 0xf7 && ((d->reg & 7) == 4 || (d->reg & 7) == 5);

	if (d->mod != 3 || !w(d) || d->p66 || d->f2 || d->f3 || d->lock ||
	    !(by_rax || (two && d->opcode == 0xaf)))
		return;
	ret->multiplies = true;
	ret->from = d->rm;
	ret->to = by_rax ? INSN_RAX : d->reg;
}

/* Describe what the instruction does to values, for code/values.h. */
static void describe_values(const struct decoder *d, bool two, struct insn *ret)
{
	describe_memory(d, ret);
	describe_product(d, two, ret);
	if (two || (d->fsgs && d->flags & OPCODE_MODRM && d->mod != 3))
		return;
	/* movs and stos write to the address in rdi. */
	if (d->opcode == 0xa4 || d->opcode == 0xa5 || d->opcode == 0xaa ||
	    d->opcode == 0xab) {
		ret->memory = INSN_MEMORY_OTHER;
		ret->base = INSN_RDI;
	}
	if (d->opcode >= 0x58 && d->opcode <= 0x5f && ret->kind == INSN_PLAIN) {
		ret->memory = INSN_MEMORY_LOAD;
		ret->to = (uint8_t)((d->opcode & 7) | (d->rex & 1) << 3);
		ret->base = INSN_RSP;
	} else if (ret->kind == INSN_PLAIN && !d->lock) {
		describe_moves(d, ret);
	}
	describe_frame_end(d, ret);
}

/* Does the opaque instruction change rsp? */
static bool moves_sp(const struct decoder *d, bool two, const struct insn *insn)
{
	uint8_t opcode = d->opcode;

	if (insn->kind != INSN_OPAQUE || insn->sp_from_bp)
		return false;
	if (insn->writes & 1u << INSN_RSP)
		return true;
	/* push and pop with other prefixes, of memory and of the flags; leave; far
	 * call. */
	return !two &&
	       ((opcode >= 0x50 && opcode <= 0x5f) || opcode == 0x68 || opcode == 0x6a ||
		opcode == 0x8f || opcode == 0x9c || opcode == 0x9d || opcode == 0xc9 ||
		(opcode == 0xff && ((d->reg & 7) == 3 || (d->reg & 7) == 6)));
}

static bool decode(struct decoder *d, struct insn *ret)
{
	bool two;

	if (!prefixes(d))
		return false;
	ret->prefixed =
		d->p66 || d->f2 || d->f3 || d->lock || d->seg || d->fsgs || d->p67;
	ret->no_probe = d->lock || d->seg;
	ret->is_invalid = opcode_is_invalid(d->opcode);
	ret->kind = INSN_OPAQUE;
	if (d->opcode == 0x62 || d->opcode == 0xc4 || d->opcode == 0xc5) {
		bool scales = d->opcode == 0x62; /* a one-byte displacement is scaled */

		if (!vector(d))
			return false;
		describe_memory(d, ret);
		ret->is_indexed |= scales && d->mod == 1;
		return true;
	}

	two = d->opcode == 0x0f;
	if (two) {
		if (!next(d, &d->opcode))
			return false;
		if (d->opcode == 0x38 || d->opcode == 0x3a) {
			if (!three_byte(d))
				return false;
			describe_memory(d, ret);
			return true;
		}
	}
	d->flags = opcode_flags(d->opcode, two);
	if (!operands(d, two))
		return false;
	describe(d, two, ret);
	describe_values(d, two, ret);
	if (ret->kind == INSN_JCC)
		ret->condition = d->opcode & 0xf;
	ret->moves_sp = moves_sp(d, two, ret);
	ret->traps = two ? d->opcode == 0x0b : d->opcode == 0xf4;
	/* Without a prefix. */
	ret->halts = d->at == 1 && d->opcode == 0xf4;
	ret->is_breakpoint = d->at == 1 && d->opcode == 0xcc;
	return ret->kind != INSN_UNKNOWN;
}

void insn_decode(const uint8_t *code, size_t size, struct insn *ret)
{
	struct decoder d = {
		.code = code,
		.size = size < INSN_LENGTH_MAX ? size : INSN_LENGTH_MAX,
	};

	*ret = (struct insn){0};
	if (!decode(&d, ret)) {
		*ret = (struct insn){.no_probe = ret->no_probe,
				     .is_invalid = ret->is_invalid};
		return;
	}
	ret->length = (uint8_t)d.at;
	if (ret->kind == INSN_OPAQUE) {
		ret->writes = 0;
		ret->sp_change = 0;
	}
}
