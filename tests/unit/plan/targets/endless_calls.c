// SPDX-License-Identifier: Apache-2.0
/*
 * A library for unit.plan.work. Each of its functions calls 8,000 others, each call
 * followed by a nop. Whether a callee returns can only be known by reading it, and each
 * goes on for up to 64 KiB. x86-64.
 */
__asm__("	.text\n"
	"	.macro busy name\n"
	"	.globl \\name\n"
	"	.type \\name, @function\n"
	"\\name:\n"
	"	.cfi_startproc\n"
	"	.set at, 0\n"
	"	.rept 8000\n"
	"	call nops + at\n"
	"	nop\n"
	"	.set at, at + 1\n"
	"	.endr\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size \\name, . - \\name\n"
	"	.endm\n"
	"	.type nops, @function\n"
	"nops:\n"
	"	.cfi_startproc\n"
	"	.fill 65000, 1, 0x90\n"
	"	.cfi_endproc\n"
	"	.size nops, . - nops\n"
	"	busy malloc\n"
	"	busy calloc\n"
	"	busy realloc\n"
	"	busy memalign\n"
	"	busy aligned_alloc\n"
	"	busy posix_memalign\n"
	"	busy free\n"
	"	busy _Znwm\n"
	"	busy _ZdlPv\n"
	"	.section .note.GNU-stack, \"\", @progbits\n");
