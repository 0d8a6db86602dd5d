// SPDX-License-Identifier: Apache-2.0
#include "arch/x86_64_opcodes.h"

#include <stddef.h>
#include <string.h>

#define M      OPCODE_MODRM
#define I8     OPCODE_IMM8
#define IZ     OPCODE_IMM
#define BYTE   OPCODE_BYTE
#define W_RM   OPCODE_W_RM
#define W_REG  OPCODE_W_REG
#define W_LOW  OPCODE_W_LOW
#define W_RAX  OPCODE_W_RAX
#define W_RDX  OPCODE_W_RDX
#define GROUP  OPCODE_GROUP
#define OPAQUE OPCODE_OPAQUE
#define BAD    OPCODE_BAD

struct range {
	uint8_t first, last;
	uint16_t flags;
};

/* The one-byte opcodes from 0x50, in order. Opcodes that are missing are prefixes or
 * unknown. */
static const struct range one_byte[] = {
	{0x50, 0x5f, 0},              /* push, pop */
	{0x63, 0x63, M | W_REG},      /* movsxd */
	{0x68, 0x68, IZ},             /* push imm */
	{0x69, 0x69, M | IZ | W_REG}, /* imul */
	{0x6a, 0x6a, I8},             /* push imm8 */
	{0x6b, 0x6b, M | I8 | W_REG}, /* imul */
	{0x6c, 0x6f, OPAQUE},         /* ins, outs */
	{0x70, 0x7f, I8},             /* jcc */
	{0x80, 0x80, M | I8 | BYTE | GROUP},
	{0x81, 0x81, M | IZ | GROUP},
	{0x83, 0x83, M | I8 | GROUP},
	{0x84, 0x84, M | BYTE},                /* test */
	{0x85, 0x85, M},                       /* test */
	{0x86, 0x86, M | BYTE | W_RM | W_REG}, /* xchg */
	{0x87, 0x87, M | W_RM | W_REG},        /* xchg */
	{0x88, 0x88, M | BYTE | W_RM},         /* mov */
	{0x89, 0x89, M | W_RM},                /* mov */
	{0x8a, 0x8a, M | BYTE | W_REG},        /* mov */
	{0x8b, 0x8b, M | W_REG},               /* mov */
	{0x8d, 0x8d, M | W_REG},               /* lea */
	{0x8f, 0x8f, M | GROUP},               /* pop, XOP */
	{0x90, 0x97, W_RAX | W_LOW},           /* nop, xchg */
	{0x98, 0x98, W_RAX},                   /* cdqe */
	{0x99, 0x99, W_RDX},                   /* cqo */
	{0x9b, 0x9f, OPAQUE},                  /* fwait, pushf, popf, sahf, lahf */
	{0xa4, 0xa7, OPAQUE},                  /* movs, cmps */
	{0xa8, 0xa8, I8},                      /* test al */
	{0xa9, 0xa9, IZ},                      /* test eax */
	{0xaa, 0xaf, OPAQUE},                  /* stos, lods, scas */
	{0xb0, 0xb7, I8 | BYTE | W_LOW},       /* mov imm8 */
	{0xb8, 0xbf, IZ | W_LOW},              /* mov imm */
	{0xc0, 0xc0, M | I8 | BYTE | GROUP},   /* shifts */
	{0xc1, 0xc1, M | I8 | GROUP},
	{0xc3, 0xc3, 0},                     /* ret */
	{0xc6, 0xc6, M | I8 | BYTE | GROUP}, /* mov imm8 */
	{0xc7, 0xc7, M | IZ | GROUP},        /* mov imm */
	{0xc9, 0xc9, OPAQUE},                /* leave */
	{0xcc, 0xcc, OPAQUE},                /* int3 */
	{0xcd, 0xcd, I8 | OPAQUE},           /* int */
	{0xd0, 0xd0, M | BYTE | GROUP},      /* shifts */
	{0xd1, 0xd1, M | GROUP},
	{0xd2, 0xd2, M | BYTE | GROUP},
	{0xd3, 0xd3, M | GROUP},
	{0xd8, 0xdf, M | OPAQUE}, /* x87 */
	{0xe0, 0xe3, I8},         /* loop, jrcxz */
	{0xe8, 0xe9, IZ},         /* call, jmp */
	{0xeb, 0xeb, I8},         /* jmp */
	{0xf4, 0xf5, OPAQUE},     /* hlt, cmc */
	{0xf6, 0xf6, M | BYTE | GROUP},
	{0xf7, 0xf7, M | GROUP},
	{0xf8, 0xf9, OPAQUE}, /* clc, stc */
	{0xfc, 0xfd, OPAQUE}, /* cld, std */
	{0xfe, 0xfe, M | BYTE | GROUP},
	{0xff, 0xff, M | GROUP},
};

/* The opcodes after 0x0f, in order. Vector instructions listed as plain do not write a
 * general register with any prefix, unless a W_ flag says so. */
static const struct range two_bytes[] = {
	{0x00, 0x03, M | OPAQUE},
	{0x05, 0x05, 0},          /* syscall */
	{0x0b, 0x0b, OPAQUE},     /* ud2 */
	{0x0d, 0x0d, M},          /* prefetchw */
	{0x10, 0x17, M},          /* vector moves */
	{0x18, 0x18, M},          /* prefetch */
	{0x19, 0x1d, M | OPAQUE}, /* hints, MPX */
	{0x1e, 0x1e, M | OPAQUE}, /* endbr; rdssp writes */
	{0x1f, 0x1f, M | GROUP},  /* nop */
	{0x28, 0x2b, M},
	{0x2c, 0x2d, M | W_REG}, /* conversions to an integer */
	{0x2e, 0x2f, M},
	{0x31, 0x31, OPAQUE},    /* rdtsc */
	{0x40, 0x4f, M | W_REG}, /* cmov */
	{0x50, 0x50, M | W_REG}, /* movmskps */
	{0x51, 0x6f, M},
	{0x70, 0x73, M | I8},
	{0x74, 0x76, M},
	{0x77, 0x77, OPAQUE}, /* emms */
	{0x7c, 0x7d, M},
	{0x7e, 0x7e, M | W_RM}, /* movd; movq with f3: see x86_64_decode.c */
	{0x7f, 0x7f, M},
	{0x80, 0x8f, IZ},              /* jcc */
	{0x90, 0x9f, M | BYTE | W_RM}, /* setcc */
	{0xa2, 0xa2, OPAQUE},          /* cpuid */
	{0xa3, 0xa3, M},               /* bt */
	{0xa4, 0xa4, M | I8 | W_RM},   /* shld */
	{0xa5, 0xa5, M | W_RM},
	{0xab, 0xab, M | W_RM},      /* bts */
	{0xac, 0xac, M | I8 | W_RM}, /* shrd */
	{0xad, 0xad, M | W_RM},
	{0xae, 0xae, M | OPAQUE},              /* fences, fxsave, rdfsbase */
	{0xaf, 0xaf, M | W_REG},               /* imul */
	{0xb0, 0xb0, M | BYTE | W_RM | W_RAX}, /* cmpxchg */
	{0xb1, 0xb1, M | W_RM | W_RAX},
	{0xb3, 0xb3, M | W_RM},                /* btr */
	{0xb6, 0xb7, M | W_REG},               /* movzx */
	{0xb8, 0xb8, M | W_REG},               /* popcnt */
	{0xb9, 0xb9, M | OPAQUE},              /* ud1 */
	{0xba, 0xba, M | I8 | GROUP},          /* bt, bts, btr, btc */
	{0xbb, 0xbb, M | W_RM},                /* btc */
	{0xbc, 0xbf, M | W_REG},               /* bsf, bsr, tzcnt, lzcnt, movsx */
	{0xc0, 0xc0, M | BYTE | W_RM | W_REG}, /* xadd */
	{0xc1, 0xc1, M | W_RM | W_REG},
	{0xc2, 0xc2, M | I8},
	{0xc3, 0xc3, M},              /* movnti */
	{0xc4, 0xc4, M | I8},         /* pinsrw */
	{0xc5, 0xc5, M | I8 | W_REG}, /* pextrw */
	{0xc6, 0xc6, M | I8},
	{0xc7, 0xc7, M | OPAQUE}, /* cmpxchg16b, rdrand */
	{0xc8, 0xcf, W_LOW},      /* bswap */
	{0xd0, 0xd6, M},
	{0xd7, 0xd7, M | W_REG}, /* pmovmskb */
	{0xd8, 0xfe, M},
};

static uint16_t lookup(const struct range *table, size_t count, uint8_t opcode)
{
	size_t low = 0, high = count;

	while (low < high) {
		const struct range *middle = &table[(low + high) / 2];

		if (opcode < middle->first)
			high = (size_t)(middle - table);
		else if (opcode > middle->last)
			low = (size_t)(middle - table) + 1;
		else
			return middle->flags;
	}
	return BAD;
}

#define LOOKUP(table, opcode) lookup(table, sizeof(table) / sizeof((table)[0]), opcode)

/* add, or, adc, sbb, and, sub, xor, cmp. Each has the forms Eb,Gb Ev,Gv Gb,Eb Gv,Ev
 * AL,Ib eAX,Iz. */
static uint16_t arithmetic(uint8_t opcode)
{
	static const uint16_t forms[8] = {
		M | BYTE | W_RM,
		M | W_RM,
		M | BYTE | W_REG,
		M | W_REG,
		I8 | W_RAX,
		IZ | W_RAX,
		BAD,
		BAD,
	};
	uint16_t flags = forms[opcode & 7];

	/* cmp writes nothing */
	return opcode >= 0x38 ? flags & ~(W_RM | W_REG | W_RAX) : flags;
}

bool opcode_is_invalid(uint8_t opcode)
{
	static const uint8_t invalid[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e,
					  0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60,
					  0x61, 0x82, 0x9a, 0xce, 0xd4, 0xea};

	return memchr(invalid, opcode, sizeof(invalid));
}

uint16_t opcode_flags(uint8_t opcode, bool two_byte)
{
	if (two_byte)
		return LOOKUP(two_bytes, opcode);
	return opcode < 0x40 ? arithmetic(opcode) : LOOKUP(one_byte, opcode);
}

static uint16_t group_one_byte(uint8_t opcode, unsigned reg)
{
	switch (opcode) {
	case 0x80:
	case 0x81:
	case 0x83:
		return reg == 7 ? 0 : W_RM; /* cmp */
	case 0x8f:
		return reg ? BAD : OPAQUE;
	case 0xc6:
	case 0xc7:
		return reg ? BAD : W_RM; /* xabort, xbegin */
	case 0xf6:
	case 0xf7:
		if (reg < 2) /* test */
			return opcode == 0xf6 ? I8 : IZ;
		if (reg < 4)
			return W_RM;
		return opcode == 0xf6 ? W_RAX : W_RAX | W_RDX; /* mul, div */
	case 0xfe:
		return reg < 2 ? W_RM : BAD;
	case 0xff:
		if (reg < 2)
			return W_RM;
		return reg == 7 ? BAD : reg == 3 || reg == 5 ? OPAQUE : 0;
	default: /* shifts */
		return reg == 6 ? BAD : W_RM;
	}
}

uint16_t opcode_group(uint8_t opcode, bool two_byte, unsigned reg)
{
	if (!two_byte)
		return group_one_byte(opcode, reg);
	if (opcode == 0x1f)
		return reg ? OPAQUE : 0;
	return reg < 4 ? BAD : reg == 4 ? 0 : W_RM; /* 0f ba: bt, bts, btr, btc */
}
