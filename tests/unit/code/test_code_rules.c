// SPDX-License-Identifier: Apache-2.0
/* Unwind rules that are read from machine code: of handwritten functions, of random
 * bytes, and of this machine's C library, compared with its unwind information. */
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "code/code_rules.h"
#include "code/decode.h"
#include "unit/random.h"
#include "unwind/rules.h"
#include "util/hashmap.h"

#define CODE 0x1000u

static uint8_t image[0x3000];

/* An image whose code begins with `code`, followed by zeros. */
static struct cfi *image_of(const uint8_t *code, size_t size)
{
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	const Elf64_Phdr segment = {.p_type = PT_LOAD,
				    .p_flags = PF_R | PF_X,
				    .p_filesz = sizeof(image),
				    .p_memsz = sizeof(image)};
	struct cfi *cfi;

	REQUIRE(size <= sizeof(image) - CODE);
	memset(image, 0, sizeof(image));
	memcpy(image, &header, sizeof(header));
	memcpy(image + sizeof(header), &segment, sizeof(segment));
	memcpy(image + CODE, code, size);
	REQUIRE(!cfi_open_memory(image, sizeof(image), &cfi));
	return cfi;
}

static struct walk_code_rules rules_of(const char *code, size_t size)
{
	struct cfi *cfi = image_of((const uint8_t *)code, size);
	struct walk_code_rules rules;

	code_rules_read(cfi, CODE, &rules);
	cfi_close(cfi);
	return rules;
}

/* The rules of code in a string literal. */
#define RULES(code) rules_of(code, sizeof(code) - 1)

#define SP(cfa)     UNWIND_RULE(UNWIND_SP, cfa, 0, UNWIND_BP_SAME, 0)

static void check_only(struct walk_code_rules rules, uint64_t rule)
{
	CHECK_INT(rules.count, 1);
	CHECK_INT(rules.likely_count, 1);
	CHECK_INT(rules.rule[0], rule);
	CHECK(!rules.is_end);
}

/* Code after a call on another stack (test_stack_switch.c has more). */
static void switching(void)
{
	struct walk_code_rules rules = RULES("\x48\x8b\x7c\x24\x30\x48\x8b\x77\x08"
					     "\x48\x2b\x74\x24\x28\x64\x48\x89\x3c"
					     "\x25\xf8\xff\xff\xff\x48\x89\xf4\xc3");

	CHECK_INT(rules.switching,
		  UNWIND_RULE(UNWIND_SP_SWITCH, 48, 8, UNWIND_BP_SAME, 0));
	CHECK_INT(rules.count, 0);
	CHECK_INT(RULES("\xc3").switching, UNWIND_NONE);
}

static void frames(void)
{
	/* ret */
	check_only(RULES("\xc3"), SP(8));
	/* add rsp, 40; pop rbx; ret */
	check_only(RULES("\x48\x83\xc4\x28\x5b\xc3"), SP(56));
	/* pop rbx; pop rbp; pop r12; ret */
	check_only(RULES("\x5b\x5d\x41\x5c\xc3"),
		   UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_AT_CFA, -24));
	/* add rsp, 48; pop rbp; ret */
	check_only(RULES("\x48\x83\xc4\x30\x5d\xc3"),
		   UNWIND_RULE(UNWIND_SP, 64, 0, UNWIND_BP_BELOW, -16));
	/* leave; ret */
	check_only(RULES("\xc9\xc3"),
		   UNWIND_RULE(UNWIND_BP, 16, 0, UNWIND_BP_BELOW, -16));
	/* lea rsp, [rbp - 8]; pop rbx; pop rbp; ret */
	check_only(RULES("\x48\x8d\x65\xf8\x5b\x5d\xc3"),
		   UNWIND_RULE(UNWIND_BP, 16, 0, UNWIND_BP_BELOW, -16));
	/* An argument on the stack: call; add rsp, 8; ret */
	check_only(RULES("\xe8\0\0\0\0\x48\x83\xc4\x08\xc3"), SP(16));
}

/* From the first instruction on: a function pops what it has pushed. */
static void from_the_start(void)
{
	/* push rbp; mov rbp, rsp; sub rsp, 16; leave; ret */
	check_only(RULES("\x55\x48\x89\xe5\x48\x83\xec\x10\xc9\xc3"), SP(8));
	/* push rbx; push rbp; mov ebp, 1; pop rbp; pop rbx; ret */
	check_only(RULES("\x53\x55\xbd\x01\0\0\0\x5d\x5b\xc3"), SP(8));
}

static void branches(void)
{
	/* je +2; pop rbx; ret; pop rbx; ret */
	check_only(RULES("\x74\x02\x5b\xc3\x5b\xc3"), SP(16));
	/* A loop: dec eax; jne -4; pop rbx; ret */
	check_only(RULES("\xff\xc8\x75\xfc\x5b\xc3"), SP(16));
	/* jmp +1; ud2's first half; pop rbx; ret */
	check_only(RULES("\xeb\x01\x0f\x5b\xc3"), SP(16));
	/* An endless loop: jmp -2 */
	CHECK_INT(RULES("\xeb\xfe").count, 0);
	CHECK(!RULES("\xeb\xfe").is_end);
}

static void stubs(void)
{
	/* endbr64; jmp [rip + 0] */
	check_only(RULES("\xf3\x0f\x1e\xfa\xff\x25\0\0\0\0"), SP(8));
	/* push 3; jmp +0; push [rip + 0]; jmp [rip + 0] */
	check_only(RULES("\x68\x03\0\0\0\xe9\0\0\0\0\xff\x35\0\0\0\0\xff\x25\0\0\0\0"),
		   SP(8));
}

/* Code that overwrites bp, or whose stack pointer is unknown, yields no rule. */
static void no_rules(void)
{
	/* mov ebp, 1; ret */
	CHECK_INT(RULES("\xbd\x01\0\0\0\xc3").count, 0);
	/* mov rsp, rbx; ret */
	CHECK_INT(RULES("\x48\x89\xdc\xc3").count, 0);
	CHECK(RULES("\x48\x89\xdc\xc3").may_return);
	/* and rsp, -16; pop rbx; ret */
	CHECK_INT(RULES("\x48\x83\xe4\xf0\x5b\xc3").count, 0);
	/* The popped word was not saved on this path: sub rsp, 8; pop rbp; ret */
	CHECK_INT(RULES("\x48\x83\xec\x08\x5d\xc3").count, 0);
}

/* A path that leads only through a call with padding after it comes last. */
static void padding(void)
{
	/* jne +9; call; nop; pop rbx; pop rbx; ret; pop rbx; ret */
	struct walk_code_rules rules =
		RULES("\x75\x09\xe8\0\0\0\0\x90\x5b\x5b\xc3\x5b\xc3");

	CHECK_INT(rules.count, 2);
	CHECK_INT(rules.likely_count, 1);
	/* The order of the rules: the likely one first. */
	CHECK_INT(rules.rule[0], SP(16));
	CHECK_INT(rules.rule[1], SP(24));

	/* call; nop; ret */
	rules = RULES("\xe8\0\0\0\0\x90\xc3");
	CHECK_INT(rules.count, 1);
	CHECK_INT(rules.likely_count, 0);
	CHECK(!rules.may_return);
}

static void ends(void)
{
	/* mov edi, eax; xor eax, eax; mov al, 60; syscall; hlt */
	CHECK(RULES("\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4").is_end);
	/* hlt */
	CHECK(RULES("\xf4").is_end);
	/* Like the start of a context in glibc: mov rsp, rbx; test rdi, rdi; je +8; call;
	 * mov rdi, rax; call; hlt */
	CHECK(RULES("\x48\x89\xdc\x48\x85\xff\x74\x08\xe8\0\0\0\0\x48\x89\xc7\xe8\0\0\0\0"
		    "\xf4")
		      .is_end);
	/* One path returns: je +1; hlt; ret */
	CHECK(!RULES("\x74\x01\xf4\xc3").is_end);
	/* ud2 and int3 may also follow calls that do not return. */
	CHECK(!RULES("\xe8\0\0\0\0\x0f\x0b").is_end);
	CHECK(!RULES("\xe8\0\0\0\0\xcc").is_end);
	/* An unknown instruction: je +1; hlt; 0x06 */
	CHECK(!RULES("\x74\x01\xf4\x06").is_end);
}

/* Random bytes: it must end, and each rule must be valid. */
static void random_bytes(void)
{
	uint8_t code[0x2000];

	for (unsigned i = 0; i < 2000; i++) {
		struct walk_code_rules rules;

		for (size_t n = 0; n < sizeof(code); n++)
			code[n] = (uint8_t)random_below(i & 1 ? 256 : 0x90);

		struct cfi *cfi = image_of(code, sizeof(code));

		code_rules_read(cfi, CODE + random_below(sizeof(code)), &rules);
		CHECK(rules.likely_count <= rules.count);
		CHECK(rules.count <= WALK_CODE_RULES);
		CHECK(!rules.is_end || !rules.count);
		for (size_t n = 0; n < rules.count; n++)
			CHECK(unwind_can_step(rules.rule[n]) &&
			      !unwind_derefs(rules.rule[n]));
		cfi_close(cfi);
	}
}

/* Memory that is not in the image. */
static void nowhere(void)
{
	struct cfi *cfi = image_of((const uint8_t *)"\xc3", 1);
	struct walk_code_rules rules;

	code_rules_read(cfi, UINT64_MAX - 3, &rules);
	CHECK_INT(rules.count, 0);
	CHECK(!rules.is_end);
	/* The last byte of the code. */
	image[sizeof(image) - 1] = 0xc3;
	code_rules_read(cfi, sizeof(image) - 1, &rules);
	check_only(rules, SP(8));
	cfi_close(cfi);
}

/* --- a library with unwind information -------------------------------------------- */

struct counts {
	unsigned sites, right, wrong, none;
};

static void compare_site(const struct cfi *cfi, uint64_t address, struct counts *counts)
{
	struct walk_code_rules rules;
	struct cfi_row row;
	uint64_t wanted;

	if (cfi_find_row(cfi, address - 1, &row) != CFI_FOUND)
		return;
	wanted = rule_from_row(&row, address);
	if (!(wanted & UNWIND_PLAIN))
		return;
	counts->sites++;
	code_rules_read(cfi, address, &rules);
	if (!rules.count)
		counts->none++;
	for (size_t i = 0; i < rules.count; i++) {
		/* A rule relative to bp may be the same rule. */
		if (rules.rule[i] == wanted || UNWIND_TYPE(wanted) == UNWIND_BP ||
		    UNWIND_TYPE(rules.rule[i]) == UNWIND_BP) {
			counts->right++;
			return;
		}
	}
	counts->wrong += rules.count > 0;
}

/* Functions that are called at the very end of another function do not return. */
static struct hashmap ending;

static void look_at_call(const struct cfi *cfi, uint64_t at, const struct insn *insn,
			 bool ends, struct counts *counts)
{
	uint64_t target = insn->kind == INSN_CALL ? at + (uint64_t)insn->target : 0;

	if (!counts && ends && target)
		REQUIRE(hashmap_put(&ending, target, 1));
	else if (counts && !ends && (!target || !hashmap_get(&ending, target, NULL)))
		compare_site(cfi, at + insn->length, counts);
}

/* Compares the rules after each call of one function. `counts` NULL: only notes the
 * functions that are called at the end. */
static void look_at_function(const struct cfi *cfi, const struct cfi_fde *fde,
			     struct counts *counts)
{
	static uint8_t code[65536];
	size_t size = (size_t)(fde->end - fde->start);
	struct insn insn;

	if (size > sizeof(code) || !cfi_read_code(cfi, fde->start, code, size))
		return;
	for (size_t at = 0; at < size; at += insn.length) {
		insn_decode(code + at, size - at, &insn);
		if (!insn.length)
			return;
		if (insn.kind == INSN_CALL || insn.kind == INSN_CALL_INDIRECT)
			look_at_call(cfi, fde->start + at, &insn,
				     insn_skip_nops(code, size, at + insn.length) >= size,
				     counts);
	}
}

static void look_at_all(const struct cfi *cfi, struct counts *counts)
{
	struct cfi_fde fde;

	for (uint64_t at = 0; at < 0x200000;) {
		bool is_found = cfi_find_fde(cfi, at, &fde);

		if (is_found)
			look_at_function(cfi, &fde, counts);
		at = is_found ? fde.end : at + 16;
	}
}

static void the_c_library(void)
{
	int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
	struct counts counts = {0};
	struct cfi *cfi;

	if (fd < 0) {
		CHECK_SKIP_PART("no /lib/x86_64-linux-gnu/libc.so.6");
		return;
	}
	REQUIRE(!cfi_open_file(fd, &cfi));
	look_at_all(cfi, NULL);
	look_at_all(cfi, &counts);
	cfi_close(cfi);
	hashmap_deinit(&ending);
	printf("%u calls: %u right, %u wrong, %u without a rule\n", counts.sites,
	       counts.right, counts.wrong, counts.none);
	CHECK(counts.sites > 5000);
	/* The others end in _Unwind_Resume() or in endless loops. */
	CHECK(counts.right >= counts.sites * 97ull / 100);
}

int main(void)
{
	RUN(switching);
	RUN(frames);
	RUN(from_the_start);
	RUN(branches);
	RUN(stubs);
	RUN(no_rules);
	RUN(padding);
	RUN(ends);
	RUN(random_bytes);
	RUN(nowhere);
	RUN(the_c_library);
	return check_done();
}
