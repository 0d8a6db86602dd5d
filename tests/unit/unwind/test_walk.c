// SPDX-License-Identifier: Apache-2.0
/* Unwinds handmade stacks in a handmade image: each possible end, and each unusual
 * frame. */
#include "unit/unwind/section.h"

#include "unwind/elf_image.h"
#include "unwind/rules.h"
#include "unwind/walk.h"

/* Functions of the image. */
#define PLAIN      0x1000 /* CFA = rsp + 16; 0x100 bytes */
#define OUTERMOST  0x1100 /* the return address is undefined */
#define BY_RBX     0x1140 /* CFA = rbx + 8 */
#define SAVES_RBX  0x1180 /* CFA = rsp + 24, rbx at CFA - 16 */
#define CIRCLE     0x11c0 /* CFA = *rsp */
#define MALFORMED  0x1200
#define TRAMPOLINE 0x1300 /* rt_sigreturn, without an FDE */
#define ENTRY      0x1400 /* the entry point, without an FDE */
#define UNKNOWN    0x1800 /* code without an FDE */
#define TABLES     0x2000

#define BIAS       0x550000000000u
#define STACK      0x7000u

#define CAPACITY   64

static uint8_t image[0x4000];
static struct cfi *cfi;
static uint64_t words[1024]; /* the stack */
static struct walk_frame frames[CAPACITY];
static struct walk walk;

/* --- the image -------------------------------------------------------------------- */

static void put_function(struct built_section *s, size_t cie, uint64_t start,
			 uint64_t size, const uint8_t *program, size_t program_size)
{
	uint64_t address[2] = {start, size};

	put_fde(s, cie, (const uint8_t *)address, sizeof(address), program, program_size);
}

static void make_image(void)
{
	static const uint8_t sigreturn[] = ARCH_SIGRETURN_CODE;
	static const uint8_t header[] = {1, 0x1b, 0xff, 0xff, 0x04, 0, 0, 0};
	static struct built_section s;
	const Elf64_Ehdr ehdr = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_entry = ENTRY,
		.e_phoff = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	const Elf64_Phdr segments[2] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_filesz = sizeof(image),
		 .p_memsz = sizeof(image)},
		{.p_type = PT_GNU_EH_FRAME,
		 .p_offset = TABLES,
		 .p_vaddr = TABLES,
		 .p_filesz = sizeof(header),
		 .p_memsz = sizeof(header)},
	};
	size_t cie = put_cie(&s, 1, "", NULL, 0);

	put_function(&s, cie, PLAIN, 0x100, BYTES(0x0e, 16));
	put_function(&s, cie, OUTERMOST, 0x40, BYTES(0x07, 16));
	put_function(&s, cie, BY_RBX, 0x40, BYTES(0x0d, 3));
	put_function(&s, cie, SAVES_RBX, 0x40, BYTES(0x0e, 24, 0x83, 2));
	put_function(&s, cie, CIRCLE, 0x40, BYTES(0x0f, 3, 0x77, 0, 0x06));
	put_function(&s, cie, MALFORMED, 0x40, BYTES(0x3f));
	put_number(&s, 0, 4);
	memcpy(image, &ehdr, sizeof(ehdr));
	memcpy(image + sizeof(ehdr), segments, sizeof(segments));
	memcpy(image + TRAMPOLINE, sigreturn, sizeof(sigreturn));
	memcpy(image + TABLES, header, sizeof(header));
	memcpy(image + TABLES + sizeof(header), s.bytes, s.size);
	REQUIRE(!cfi_open_memory(image, sizeof(image), &cfi));
}

static bool find(void *argument, uint64_t pc, struct walk_code *ret)
{
	(void)argument;
	*ret = (struct walk_code){.cfi = cfi, .bias = BIAS};
	return pc >= BIAS && pc - BIAS < sizeof(image);
}

/* --- walks ------------------------------------------------------------------------ */

static void walk_from(uint64_t pc, uint64_t bp, bool is_interrupted)
{
	struct unwind_registers registers = {.known = 1u << ARCH_PC | 1u << ARCH_SP |
						      1u << ARCH_BP};
	const struct stack_copy stack = {STACK, words, sizeof(words), NULL};

	registers.value[ARCH_PC] = BIAS + pc;
	registers.value[ARCH_SP] = STACK;
	registers.value[ARCH_BP] = bp;
	walk = (struct walk){.frames = frames, .capacity = CAPACITY};
	walk_stack(&registers, is_interrupted, &stack, find, NULL, &walk);
}

/* Makes the n-th word of the stack a return address. */
static void returns_to(size_t n, uint64_t pc)
{
	words[n] = BIAS + pc;
}

static void start_stack(void)
{
	memset(words, 0, sizeof(words));
}

static void check_walk(enum walk_end end, size_t count, bool is_approximate)
{
	CHECK_INT(walk.end, end);
	CHECK_INT(walk.count, count);
	CHECK_INT(walk.is_approximate, is_approximate);
}

static void check_pc(size_t i, uint64_t pc, uint64_t rule)
{
	REQUIRE(i < walk.count);
	CHECK_INT(frames[i].pc, BIAS + pc);
	CHECK_INT(frames[i].rule, rule);
}

#define RULE_PLAIN UNWIND_RULE(UNWIND_SP, 16, 0, UNWIND_BP_SAME, 0)

static void complete(void)
{
	start_stack();
	returns_to(1, PLAIN + 0x100); /* the call is its last instruction */
	returns_to(3, OUTERMOST + 5);
	walk_from(PLAIN + 0x20, 0x77, false);
	check_walk(WALK_COMPLETE, 3, false);
	check_pc(0, PLAIN + 0x20, RULE_PLAIN);
	check_pc(1, PLAIN + 0x100, RULE_PLAIN);
	check_pc(2, OUTERMOST + 5, UNWIND_RULE_END);
	CHECK_INT(frames[1].sp, STACK + 16);
	CHECK_INT(frames[2].sp, STACK + 32);
	CHECK_INT(frames[2].bp, 0x77);

	/* As an interrupted pc it is the next function's first instruction. */
	walk_from(PLAIN + 0x100, 0, true);
	check_walk(WALK_COMPLETE, 1, false);
	check_pc(0, PLAIN + 0x100, UNWIND_RULE_END);
	CHECK(frames[0].is_interrupted);

	/* A return address of 0, and code at the entry point. */
	start_stack();
	walk_from(PLAIN + 1, 0, false);
	check_walk(WALK_COMPLETE, 1, false);
	returns_to(1, ENTRY + 8);
	walk_from(PLAIN + 1, 0, false);
	check_walk(WALK_COMPLETE, 2, false);
	check_pc(1, ENTRY + 8, UNWIND_RULE_END);
}

static void other_registers(void)
{
	start_stack();
	/* In SAVES_RBX, which has saved rbx in the word below. */
	returns_to(2, BY_RBX + 4);
	words[1] = STACK + 6 * 8;
	returns_to(6, OUTERMOST + 5); /* CFA = rbx + 8 */
	walk_from(SAVES_RBX + 4, 0, false);
	check_walk(WALK_COMPLETE, 3, false);
	check_pc(1, BY_RBX + 4, UNWIND_RULE_SLOW);
	CHECK_INT(frames[2].sp, STACK + 7 * 8);

	/* Without the callee that saved rbx, it is unknown. */
	walk_from(BY_RBX + 4, 0, false);
	check_walk(WALK_NO_REGISTER, 1, false);
}

static void without_cfi(void)
{
	start_stack();
	words[8] = STACK + 20 * 8; /* a frame record */
	returns_to(9, UNKNOWN + 4);
	words[20] = 0;
	returns_to(21, UNKNOWN + 8);
	walk_from(UNKNOWN, STACK + 8 * 8, false);
	check_walk(WALK_COMPLETE, 3, true);
	check_pc(0, UNKNOWN, UNWIND_RULE_FP);
	check_pc(2, UNKNOWN + 8, UNWIND_RULE_FP);
	CHECK_INT(frames[1].sp, STACK + 10 * 8);

	/* Not a frame record: below the stack pointer, unaligned, too far away. */
	walk_from(UNKNOWN, STACK - 8, false);
	check_walk(WALK_NO_CFI, 1, true);
	walk_from(UNKNOWN, STACK + 4, false);
	check_walk(WALK_NO_CFI, 1, true);
	walk_from(UNKNOWN, STACK + UNWIND_MAX_FRAME_BYTES, false);
	check_walk(WALK_NO_CFI, 1, true);
	/* The same for a malformed program and for code without an image. */
	walk_from(MALFORMED + 1, STACK - 8, false);
	check_walk(WALK_NO_CFI, 1, true);
	walk_from(sizeof(image) + 5, STACK - 8, false);
	check_walk(WALK_NO_CFI, 1, true);
	/* After a guessed frame other registers are unknown. */
	returns_to(9, BY_RBX + 4);
	walk_from(UNKNOWN, STACK + 8 * 8, false);
	check_walk(WALK_NO_REGISTER, 2, true);
}

/* Functions whose machine code yields rules. */
#define GIVES_BACK      0x1900 /* CFA = rsp + 24, bp at CFA - 16 */
#define TWO_WAYS        0x1a00 /* CFA = rsp + 8 or rsp + 32 */
#define HALTS           0x1b00 /* ends the thread */
#define EXITS           0x1c00 /* it never returns */
#define RETURNS         0x1d00 /* returns, but fits no rule */

#define RULE_GIVES_BACK UNWIND_RULE(UNWIND_SP, 24, 0, UNWIND_BP_BELOW, -16)

static void read_code(const struct cfi *of, uint64_t address, struct walk_code_rules *ret)
{
	CHECK(of == cfi);
	*ret = (struct walk_code_rules){.is_end = address >> 8 == HALTS >> 8};
	ret->may_return = address >> 8 == RETURNS >> 8;
	if (address >> 8 == GIVES_BACK >> 8) {
		ret->count = ret->likely_count = 1;
		ret->rule[0] = RULE_GIVES_BACK;
	} else if (address >> 8 == TWO_WAYS >> 8) {
		ret->count = ret->likely_count = 2;
		ret->rule[0] = UNWIND_RULE(UNWIND_SP, 8, 0, UNWIND_BP_SAME, 0);
		ret->rule[1] = UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_SAME, 0);
	}
}

static void walk_with_code(uint64_t pc, uint64_t bp, const struct stack_copy *stack)
{
	struct unwind_registers registers = {.known = 1u << ARCH_PC | 1u << ARCH_SP |
						      1u << ARCH_BP};

	registers.value[ARCH_PC] = BIAS + pc;
	registers.value[ARCH_SP] = STACK;
	registers.value[ARCH_BP] = bp;
	walk = (struct walk){
		.frames = frames, .capacity = CAPACITY, .read_code = read_code};
	walk_stack(&registers, false, stack, find, NULL, &walk);
}

/* Makes a return address with a call before it: call rel32, call [rax + 8]. */
static uint64_t called_at(uint64_t pc, bool is_indirect)
{
	if (is_indirect)
		memcpy(image + pc - 3, "\xff\x50\x08", 3);
	else
		image[pc - 5] = 0xe8;
	return BIAS + pc;
}

static void by_code(void)
{
	const struct stack_copy stack = {STACK, words, sizeof(words), NULL};

	start_stack();
	words[1] = 0x4321; /* the caller's bp */
	words[2] = called_at(TWO_WAYS + 16, false);
	words[3] = BIAS + UNKNOWN + 80; /* no call before it */
	words[6] = called_at(PLAIN + 0x20, true);
	words[8] = BIAS + OUTERMOST + 5;
	walk_with_code(GIVES_BACK + 4, 0x77, &stack);
	check_walk(WALK_COMPLETE, 4, true);
	check_pc(0, GIVES_BACK + 4, RULE_GIVES_BACK);
	check_pc(1, TWO_WAYS + 16, UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_SAME, 0));
	check_pc(2, PLAIN + 0x20, RULE_PLAIN);
	CHECK_INT(frames[1].bp, 0x4321);
	CHECK_INT(frames[1].sp, STACK + 24);

	/* The end of a coroutine, which no function has called. */
	words[2] = BIAS + HALTS + 32;
	walk_with_code(GIVES_BACK + 4, 0x77, &stack);
	check_walk(WALK_COMPLETE, 2, true);
	check_pc(1, HALTS + 32, UNWIND_RULE_END);

	/* Not a return address: the frame pointer is used instead. */
	words[2] = BIAS + UNKNOWN + 80;
	walk_with_code(GIVES_BACK + 4, 4, &stack);
	check_walk(WALK_NO_CFI, 1, true);
	check_pc(0, GIVES_BACK + 4, UNWIND_RULE_FP);
}

/* A function that never returns, directly above the start of a thread. */
static void starts(void)
{
	const struct stack_copy stack = {STACK, words, sizeof(words), NULL};

	start_stack();
	words[3] = 7;
	words[4] = called_at(HALTS + 64, true);
	walk_with_code(EXITS + 8, 4, &stack);
	check_walk(WALK_COMPLETE, 2, true);
	check_pc(0, EXITS + 8, UNWIND_RULE(UNWIND_SP, 40, 0, UNWIND_BP_UNDEFINED, 0));
	check_pc(1, HALTS + 64, UNWIND_RULE_END);

	/* Above the start of the program. */
	words[4] = called_at(ENTRY + 22, false);
	walk_with_code(EXITS + 8, 4, &stack);
	check_walk(WALK_COMPLETE, 2, true);
	check_pc(1, ENTRY + 22, UNWIND_RULE_END);

	/* Not above a function that may return: frames are missing between them. */
	walk_with_code(RETURNS + 8, 4, &stack);
	check_walk(WALK_NO_CFI, 1, true);

	/* Too far above. */
	words[70] = words[4];
	words[4] = 0;
	walk_with_code(EXITS + 8, 4, &stack);
	check_walk(WALK_NO_CFI, 1, true);
}

/* A rule is not chosen without the words that would confirm it. */
static void code_without_memory(void)
{
	const struct stack_copy other = {STACK + 0x100000, words, sizeof(words), NULL};

	start_stack();
	walk_with_code(GIVES_BACK + 4, STACK + 64, &other);
	check_walk(WALK_NO_MEMORY, 1, false);
	check_pc(0, GIVES_BACK + 4, UNWIND_NONE);
}

static void signal_frames(void)
{
	start_stack();
	returns_to(1, TRAMPOLINE);
	words[2 + UNWIND_SIGNAL_BP / 8] = 0x1234;
	words[2 + UNWIND_SIGNAL_SP / 8] = STACK + 100 * 8;
	/* The first instruction of a function: only its own row leads on. */
	returns_to(2 + UNWIND_SIGNAL_PC / 8, PLAIN);
	returns_to(101, OUTERMOST + 1);
	walk_from(PLAIN + 1, 0, false);
	check_walk(WALK_COMPLETE, 4, false);
	check_pc(1, TRAMPOLINE, UNWIND_RULE_SIGNAL);
	CHECK(!frames[1].is_interrupted);
	check_pc(2, PLAIN, RULE_PLAIN);
	CHECK(frames[2].is_interrupted);
	CHECK_INT(frames[2].bp, 0x1234);
	CHECK_INT(frames[2].sp, STACK + 100 * 8);
	CHECK(!frames[3].is_interrupted);

	/* Interrupted by a call of address 0. */
	words[2 + UNWIND_SIGNAL_PC / 8] = 0;
	walk_from(PLAIN + 1, 0, false);
	check_walk(WALK_NO_CFI, 2, false);
	/* The words are not in the copy. */
	start_stack();
	returns_to(1021, TRAMPOLINE);
	words[0] = STACK + 1022 * 8;
	walk_from(CIRCLE + 1, 0, false);
	check_walk(WALK_NO_MEMORY, 2, false);
}

static void odd_stacks(void)
{
	start_stack();
	/* A frame that is its own caller. */
	words[0] = words[8] = STACK + 8 * 8;
	returns_to(7, CIRCLE + 1);
	walk_from(CIRCLE + 1, 0, false);
	CHECK_INT(walk.end, WALK_CORRUPT);
	CHECK(walk.count < CAPACITY);

	/* More frames than there is room for. */
	for (size_t i = 1; i < 1024; i += 2)
		returns_to(i, PLAIN + 5);
	walk_from(PLAIN + 5, 0, false);
	check_walk(WALK_TOO_DEEP, CAPACITY, false);
	CHECK_INT(frames[CAPACITY - 1].sp, STACK + (CAPACITY - 1) * 16);

	/* No room at all. */
	struct unwind_registers registers = {.known = ~0u};
	const struct stack_copy stack = {STACK, words, sizeof(words), NULL};

	walk = (struct walk){.frames = frames, .capacity = 0};
	walk_stack(&registers, false, &stack, find, NULL, &walk);
	check_walk(WALK_TOO_DEEP, 0, false);
}

static void memory_ends(void)
{
	start_stack();
	for (size_t i = 1; i < 1024; i += 2)
		returns_to(i, PLAIN + 5);

	struct unwind_registers registers = {.known = 1u << ARCH_PC | 1u << ARCH_SP |
						      1u << ARCH_BP};
	struct stack_copy stack = {STACK, words, 64, NULL};
	const uint64_t second_only = 2;

	registers.value[ARCH_PC] = BIAS + PLAIN + 5;
	registers.value[ARCH_SP] = STACK;
	walk = (struct walk){.frames = frames, .capacity = CAPACITY};
	walk_stack(&registers, false, &stack, find, NULL, &walk);
	check_walk(WALK_NO_MEMORY, 5, false);
	stack.size_bytes = sizeof(words);
	stack.pages = &second_only;
	walk_stack(&registers, false, &stack, find, NULL, &walk);
	check_walk(WALK_NO_MEMORY, 1, false);
}

int main(void)
{
	make_image();
	RUN(complete);
	RUN(other_registers);
	RUN(without_cfi);
	RUN(by_code);
	RUN(starts);
	RUN(code_without_memory);
	RUN(signal_frames);
	RUN(odd_stacks);
	RUN(memory_ends);
	cfi_close(cfi);
	return check_done();
}
