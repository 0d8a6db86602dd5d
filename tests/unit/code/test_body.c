// SPDX-License-Identifier: Apache-2.0
/* Sites inside functions given by their bytes. */
#include "check.h"

#include "unit/code/body_made.h"

#define JCC       "conditional jump, emulated"
#define NOP       "nop, emulated"
#define JMP       "jump, emulated"
#define STOP      "a check has failed"
#define FAILURE   "the result is 0"
#define NO_SITE   "a way to its end has no site"
#define NO_SIZE   "the size is not known at all sites"
#define NOT_KNOWN "an instruction is not known"
#define NO_STOP   "a call that does not return has no site"
#define LEAVES    "a jump leaves the function"
#define STACK     "the stack pointer moves in an unknown way"

#define PATCHED(original, at, bytes)                                                     \
	patched((original), sizeof(original) - 1, (at), (bytes), sizeof(bytes) - 1)

static struct function patched(const char *bytes, size_t size, size_t at,
			       const char *patch, size_t patch_size)
{
	struct function f = made(bytes, size);

	REQUIRE(at + patch_size <= size);
	memcpy(f.code + at, patch, patch_size);
	return f;
}

/* whole[] after some other instructions. */
#define BEHIND(bytes) behind((bytes), sizeof(bytes) - 1)

static struct function behind(const char *bytes, size_t size)
{
	struct function f = made(bytes, size);

	memcpy(f.code + size, whole, sizeof(whole) - 1);
	f.size += sizeof(whole) - 1;
	return f;
}

static void check_at(int line, const struct function *f, const struct body_site sites[],
		     size_t count)
{
	unsigned before = check_state.failures;
	struct body body;
	const char *why = find(f, &body);

	CHECK(!why);
	CHECK_INT(body.count, count);
	for (size_t i = 0; i < count && i < body.count; i++) {
		CHECK_INT(body.sites[i].part, sites[i].part);
		CHECK_INT(body.sites[i].delta, sites[i].delta);
		CHECK_INT(body.sites[i].sp_delta, sites[i].sp_delta);
		CHECK_INT(body.sites[i].size_reg, sites[i].size_reg);
		CHECK_STR(body.sites[i].reason, sites[i].reason);
	}
	if (check_state.failures != before)
		fprintf(stderr, "... at line %d, %s\n", line, why ? why : "found");
}

/* Checks the sites of a function, in this order. */
#define CHECK_SITES(of, ...)                                                             \
	do {                                                                             \
		struct function f_ = (of);                                               \
		const struct body_site sites_[] = {__VA_ARGS__};                         \
		check_at(__LINE__, &f_, sites_, COUNT(sites_));                          \
	} while (0)

#define CHECK_NONE(of, reason)                                                           \
	do {                                                                             \
		struct function f_ = (of);                                               \
		struct body body_;                                                       \
		CHECK_STR(find(&f_, &body_), (reason));                                  \
		CHECK_INT(body_.count, 0);                                               \
	} while (0)

/* --- sites that are found --------------------------------------------------------- */

static void whole_calls(void)
{
	struct function f = FUNCTION(whole);

	CHECK_SITES(f, {BODY_WHOLE, 12, 8, INSN_RBX, JCC});

	f.emulated = EMULATED_BRANCH;
	CHECK_SITES(f, {BODY_WHOLE, 12, 8, INSN_RBX, JCC});
	f.emulated = EMULATED_PUSH | EMULATED_NOPS;
	CHECK_NONE(f, NO_SITE);

	/* the size is in rbp and r12, too, copied by way of rbx: push rbp; push r12; ...;
	 * mov rbp, rbx; mov r12, rbp; mov rbx, rsi; call f; ... */
	CHECK_SITES(FUNCTION("\x53\x55\x41\x54\x48\x89\xfb\x48\x89\xdd\x49\x89\xec"
			     "\x48\x89\xf3\xe8\0\0\1\0\x48\x85\xc0\x74\x02\x89\x08"
			     "\x41\x5c\x5d\x5b\xc3"),
		    {BODY_WHOLE, 24, 24, INSN_RBP, JCC});
	/* in r12 alone: push r12; mov r12, rdi; call f; test; je; ...; pop r12; ret */
	CHECK_SITES(FUNCTION("\x41\x54\x49\x89\xfc\xe8\0\0\1\0\x48\x85\xc0\x74\x02"
			     "\x89\x08\x41\x5c\xc3"),
		    {BODY_WHOLE, 13, 8, 12, JCC});
	/* sub rsp, 0x18, and rax is not a call's result: mov rax, [rsi]; jle; ...; add */
	CHECK_SITES(FUNCTION("\x48\x83\xec\x18\x48\x8b\x06\x7e\x02\x89\x08\x48\x83"
			     "\xc4\x18\xc3"),
		    {BODY_WHOLE, 7, 24, INSN_RDI, JCC});
	/* the first of two: call f; nop; je; ... */
	CHECK_SITES(FUNCTION("\x53\x48\x89\xfb\xe8\0\0\1\0\x85\xff\x90\x74\x02\x89\x08"
			     "\x5b\xc3"),
		    {BODY_WHOLE, 11, 8, INSN_RBX, NOP});
	/* a site, then a loop: nop; again: test rax, rax; je again */
	CHECK_SITES(FUNCTION("\x53\x48\x89\xfb\xe8\0\0\1\0\x85\xff\x90\x48\x85\xc0\x74"
			     "\xfb\x5b\xc3"),
		    {BODY_WHOLE, 11, 8, INSN_RBX, NOP});
	/* not at a nop that new kernels turn into a call, but at the jump */
	CHECK_SITES(FUNCTION("\x53\x48\x89\xfb\xe8\0\0\1\0\x85\xff\x0f\x1f\x44\0\0\x74"
			     "\x02\x89\x08\x5b\xc3"),
		    {BODY_WHOLE, 16, 8, INSN_RBX, JCC});
	/* call [rax] */
	CHECK_SITES(FUNCTION("\x53\x48\x89\xfb\xff\x10\x85\xff\x74\x02\x89\x08\x5b\xc3"),
		    {BODY_WHOLE, 8, 8, INSN_RBX, JCC});
}

static void registers_meet(void)
{
	/* push rbx; push rbp; mov rbx, rdi; mov rbp, rdi; test edi, edi; js 14; xor ebx,
	 * ebx; 14: call f; test rax, rax; je 26; mov [rax], ecx; pop rbp; pop rbx; ret */
	static const char code[] = "\x53\x55\x48\x89\xfb\x48\x89\xfd\x85\xff\x78\x02"
				   "\x31\xdb\xe8\xed\xff\0\0\x48\x85\xc0\x74\x02"
				   "\x89\x08\x5d\x5b\xc3";

	CHECK_SITES(FUNCTION(code), {BODY_WHOLE, 22, 16, INSN_RBP, JCC});
	CHECK_SITES(PATCHED(code, 12, "\x31\xed"), {BODY_WHOLE, 22, 16, INSN_RBX, JCC});
	/* js 12: both paths reach it */
	CHECK_SITES(PATCHED(code, 10, "\x78\0"), {BODY_WHOLE, 22, 16, INSN_RBP, JCC});
	/* mov rbp, rsi: the size is in rbx on one path only */
	CHECK_NONE(PATCHED(code, 5, "\x48\x89\xf5"), NO_SIZE);
}

static void lost_sizes(void)
{
	CHECK_SITES(FUNCTION(ways), {BODY_FAILURE, 43, 8, NO, FAILURE},
		    {BODY_RETURN, 37, 8, NO, JCC}, {BODY_ENTRY, 22, 8, INSN_RBX, NOP},
		    {BODY_WHOLE, 16, 8, INSN_RBX, JCC});
	/* the other form of xor eax, eax */
	CHECK_SITES(PATCHED(ways, 43, "\x33\xc0"), {BODY_FAILURE, 43, 8, NO, FAILURE},
		    {BODY_RETURN, 37, 8, NO, JCC}, {BODY_ENTRY, 22, 8, INSN_RBX, NOP},
		    {BODY_WHOLE, 16, 8, INSN_RBX, JCC});
	/* sub eax, eax */
	CHECK_NONE(PATCHED(ways, 43, "\x29\xc0"), NO_SITE);
	/* xor ecx, ecx instead of xor ebx, ebx: no entry site is needed */
	CHECK_SITES(PATCHED(ways, 23, "\x31\xc9"), {BODY_FAILURE, 43, 8, NO, FAILURE},
		    {BODY_WHOLE, 16, 8, INSN_RBX, JCC},
		    {BODY_WHOLE, 37, 8, INSN_RBX, JCC});
	/* cwde instead of the nop: no place for the entry site */
	CHECK_NONE(PATCHED(ways, 22, "\x98"), NO_SIZE);
	/* lost before the first emulated instruction: xor edi, edi; call f; test; je */
	CHECK_NONE(FUNCTION("\x31\xff\x51\xe8\0\0\1\0\x48\x85\xc0\x74\x02\x89\x08\x59"
			    "\xc3"),
		   NO_SIZE);
	/* the entry site would be the only one with the size: push rbx; xor edi, edi;
	 * call f; test; je */
	CHECK_NONE(FUNCTION("\x53\x31\xff\xe8\0\0\1\0\x48\x85\xc0\x74\x02\x89\x08\x5b"
			    "\xc3"),
		   NO_SIZE);
	/* again: nop; call g; test rax, rax; je again; xor ebx, ebx; ... */
	CHECK_NONE(PATCHED(ways, 22, "\x90\xe8\xe4\xff\1\0\x48\x85\xc0\x74\xf5\x31\xdb"),
		   NO_SIZE);
	/* nop; again: call g; ...: the entry site is before the loop */
	CHECK_SITES(PATCHED(ways, 22, "\x90\xe8\xe4\xff\1\0\x48\x85\xc0\x74\xf6\x31\xdb"),
		    {BODY_RETURN, 37, 8, NO, JCC}, {BODY_ENTRY, 22, 8, INSN_RBX, NOP},
		    {BODY_WHOLE, 16, 8, INSN_RBX, JCC});
}

static void calls_that_end(void)
{
	CHECK_SITES(FUNCTION(checked), {BODY_STOP, 20, 8, NO, STOP},
		    {BODY_STOP, 41, 8, NO, STOP}, {BODY_WHOLE, 16, 8, INSN_RBX, JCC},
		    {BODY_WHOLE, 37, 8, INSN_RBX, JCC});
	/* call die instead of g: no other path reaches the code after a call, so none of
	 * the calls is known not to return; and the function ends with the last one */
	CHECK_NONE(PATCHED(checked, 30, "\xe8\xdd\xff\x02\0"), LEAVES);
	/* je 22: one of two paths to the call has no site */
	CHECK_NONE(PATCHED(checked, 16, "\x74\x04"), NO_STOP);

	CHECK_SITES(FUNCTION(padded), {BODY_STOP, 8, 8, NO, STOP},
		    {BODY_WHOLE, 25, 8, INSN_RBX, JCC});
	/* a branch goes to the padding: js 15 */
	CHECK_SITES(PATCHED(padded, 6, "\x78\x07"), {BODY_WHOLE, 25, 8, INSN_RBX, JCC});
	/* no other path reaches the code after the padding: test edi, edi instead of js
	 * 17 */
	CHECK_SITES(PATCHED(padded, 6, "\x85\xff"), {BODY_WHOLE, 25, 8, INSN_RBX, JCC});
	/* another call of the same function returns: call die instead of f */
	CHECK_SITES(PATCHED(padded, 17, "\xe8\xea\xff\x02\0"),
		    {BODY_WHOLE, 25, 8, INSN_RBX, JCC});
	/* nops up to the end of the function: test al, 1; jne; pop rbx; ret; xor edi,
	 * edi; call die */
	CHECK_SITES(FUNCTION(START CALL "\xa8\x01\x75\x02\x5b\xc3\x31\xff\xe8\0\0\x03\0"
					"\x90\x66\x90"),
		    {BODY_STOP, 15, 8, NO, STOP}, {BODY_WHOLE, 11, 8, INSN_RBX, JCC});
	/* call [rip]: assumed to return, whatever follows */
	CHECK_SITES(PATCHED(padded, 10, "\xff\x15\0\0\0\0\x90"),
		    {BODY_WHOLE, 25, 8, INSN_RBX, JCC});
	/* no padding: test edx, edx */
	CHECK_SITES(PATCHED(padded, 15, "\x85\xd2"), {BODY_WHOLE, 25, 8, INSN_RBX, JCC});
	/* lock dec [rdi] before the call: the kernel refuses a probe there */
	CHECK_NONE(FUNCTION(START CALL "\xa8\x01\x75\x02\x5b\xc3\xf0\xff\x0f\xe8\0\0\x03"
				       "\0"),
		   NO_STOP);

	/* A nop follows each call, but no branch goes there: each call shows only that
	 * the one after it is reached. */
	struct function f = FUNCTION("\x53\x48\x89\xfb");
	uint8_t call[] = {0xe8, 0, 0, 1, 0, 0x90};
	static const uint8_t end[] = {0x74, 0x02, 0x89, 0x08, 0x5b, 0xc3};

	for (unsigned i = 0; i < 16; i++) {
		call[3] = (uint8_t)(1 + i);
		memcpy(f.code + 4 + 6 * i, call, sizeof(call));
		memcpy(f.code + 10 + 6 * i, end, sizeof(end));
		f.size = 16 + 6 * i;
		if (i < 15)
			CHECK_SITES(f, {BODY_WHOLE, 9 + 6 * i, 8, INSN_RBX, NOP});
		else
			CHECK_NONE(f, "its calls are not understood");
	}
}

/* Code of another function, 64 KiB after the first byte of its caller. */
struct other {
	const char *code;
	size_t size;
};

static size_t read_other(void *arg, int64_t offset, uint8_t *ret, size_t size)
{
	const struct other *other = arg;

	if (offset != 0x10000)
		return 0;
	memcpy(ret, other->code, other->size < size ? other->size : size);
	return other->size < size ? other->size : size;
}

/* A call without nops after it. The called function ends with a call that has nops after
 * it. */
static void others_that_end(void)
{
	/* padded[] without its nops: ...; js 15; xor edi, edi; call h; 15: call f; ... */
	static const char code[] = "\x53\x48\x89\xfb\x85\xff\x78\x07\x31\xff\xe8\xf1\xff"
				   "\0\0\xe8\xec\xff\1\0\x48\x85\xc0\x74\x02\x89\x08"
				   "\x5b\xc3";
	static const struct {
		struct other other;
		bool ends;
	} others[] = {
#define OTHER(bytes, ends) {{bytes, sizeof(bytes) - 1}, ends}
		/* push rbp; mov rsi, rdi; xor eax, eax; call; nop */
		OTHER("\x55\x48\x89\xfe\x31\xc0\xe8\0\0\0\0\x90", true),
		/* endbr64; call; nopw */
		OTHER("\xf3\x0f\x1e\xfa\xe8\0\0\0\0\x66\x0f\x1f\x44\0\0", true),
		OTHER("\xe8\0\0\0\0\xc3", false), /* call; ret */
		OTHER("\xe8\0\0\0\0", false),     /* call; the rest cannot be read */
		OTHER("\x74\0\xe8\0\0\0\0\x90", false), /* je; call; nop */
		OTHER("\xc3\xe8\0\0\0\0\x90", false),   /* ret; call; nop */
		OTHER("\xff\x10\x90", false),           /* call [rax]; nop */
		OTHER("", false),
#undef OTHER
	};

	for (size_t i = 0; i < COUNT(others); i++) {
		struct flow_text text = {(const uint8_t *)code, sizeof(code) - 1,
					 read_other, (void *)&others[i].other};
		struct body body;

		CHECK(!body_find(&text, ALL, &body));
		CHECK_INT(body.count, others[i].ends ? 2 : 1);
		CHECK_INT(body.sites[0].part, others[i].ends ? BODY_STOP : BODY_WHOLE);
	}
}

static void sites_put_off(void)
{
	CHECK_SITES(FUNCTION(joined), {BODY_WHOLE, 23, 8, INSN_RBX, JCC});
	/* nop; pop rbx; ret instead of the test: the jump is still no site */
	CHECK_SITES(PATCHED(joined, 20, "\x90\x5b\xc3"),
		    {BODY_WHOLE, 20, 8, INSN_RBX, NOP});
	/* pop rbx; ret there: no site after the paths meet */
	CHECK_NONE(PATCHED(joined, 20, "\x5b\xc3"), NO_SITE);
	/* jmp 27: the paths meet after both sites */
	CHECK_SITES(PATCHED(joined, 13, "\xeb\x0c"), {BODY_WHOLE, 13, 8, INSN_RBX, JMP},
		    {BODY_WHOLE, 23, 8, INSN_RBX, JCC});
	/* je to test rax, rax: the final path has a loop */
	CHECK_NONE(PATCHED(whole, 12, "\x74\xfb"), NO_SITE);
}

/* --- functions that must be refused ----------------------------------------------- */

static void not_read(void)
{
	/* Found after harmless instructions. */
	CHECK_SITES(BEHIND("\x85\xff"), {BODY_WHOLE, 14, 8, INSN_RBX, JCC});

	CHECK_NONE(BEHIND("\x06"), NOT_KNOWN);
	CHECK_NONE(BEHIND("\xf3\x90"), NOT_KNOWN);     /* pause */
	CHECK_NONE(BEHIND("\xc9"), NOT_KNOWN);         /* leave */
	CHECK_NONE(BEHIND("\x48\x89\xec"), NOT_KNOWN); /* mov rsp, rbp */
	CHECK_NONE(BEHIND("\x48\x83\xe4\xf0"), NOT_KNOWN);
	CHECK_NONE(PATCHED(whole, 14, "\x06\xc3"), NOT_KNOWN);
	/* ... but not on any path: jmp 3 */
	CHECK_SITES(BEHIND("\xeb\x01\x06"), {BODY_WHOLE, 15, 8, INSN_RBX, JCC});
	/* cut off by the end: mov eax, 32 bits */
	CHECK_NONE(FUNCTION("\x53\xb8\0\0"), NOT_KNOWN);

	CHECK_NONE(BEHIND("\x74\x02\xff\xe0"), "a jump is indirect");
	CHECK_NONE(BEHIND("\x0f\x84\0\0\x01\0"), LEAVES);
	CHECK_NONE(BEHIND("\xe9\0\0\x01\0"), LEAVES);
	CHECK_NONE(BEHIND("\x74\xf0"), LEAVES);
	CHECK_NONE(BEHIND("\xe3\xf0"), LEAVES); /* jrcxz */
	/* to the byte after the last: 2 + 18 */
	CHECK_NONE(BEHIND("\x74\x12"), LEAVES);
	/* to the first byte */
	CHECK_NONE(BEHIND("\x85\xff\x74\xfc"), LEAVES);
	/* execution continues after the last byte: nop instead of ret */
	CHECK_NONE(PATCHED(whole, 17, "\x90"), LEAVES);

	/* call 0; call 4, which has the nop's byte at 5 */
	CHECK_NONE(BEHIND("\xe8\xfb\xff\xff\xff"), "it calls itself");
	CHECK_NONE(BEHIND("\xe8\x02\0\0\0\x90"), "it calls itself");
	/* a call to the byte before the first, which overwrites rdi */
	CHECK_NONE(BEHIND("\xe8\xfa\xff\xff\xff"), NO_SIZE);
}

static void instructions_overlap(void)
{
	/* je 3, into mov eax, 0x90909090 */
	CHECK_NONE(BEHIND("\x74\x01\xb8\x90\x90\x90\x90"), "instructions overlap");
	/* the target of the jump is read first */
	CHECK_NONE(BEHIND("\x85\xff\xeb\x01\xb8\x90\x90\x90\x90\x74\xf9"),
		   "instructions overlap");
}

static void stack_pointer(void)
{
	/* push rax; pop rax; both are read */
	CHECK_SITES(BEHIND("\x50\x58"), {BODY_WHOLE, 14, 8, INSN_RBX, JCC});
	CHECK_NONE(BEHIND("\x50"), STACK);
	CHECK_NONE(BEHIND("\x58"), STACK);
	CHECK_NONE(BEHIND("\x58\x50"), STACK);
	/* je 3; push rax: two different depths */
	CHECK_NONE(BEHIND("\x74\x01\x50"), STACK);
	/* sub rsp, 0x7ff8; add rsp, 0x7ff0: eight bytes too few */
	CHECK_NONE(BEHIND("\x48\x81\xec\xf8\x7f\0\0\x48\x81\xc4\xf0\x7f\0\0"), STACK);
	CHECK_SITES(BEHIND("\x48\x81\xec\xf8\x7f\0\0\x48\x81\xc4\xf8\x7f\0\0"),
		    {BODY_WHOLE, 26, 8, INSN_RBX, JCC});
	CHECK_NONE(BEHIND("\x48\x81\xec\0\x80\0\0\x48\x81\xc4\0\x80\0\0"), STACK);
	/* pop rbx twice, before one of two returns */
	CHECK_NONE(PATCHED(ways, 41, "\x90"), STACK);
}

static void no_results(void)
{
	/* no emulated instruction on the path: test edi, edi */
	CHECK_NONE(PATCHED(whole, 12, "\x85\xff"), NO_SITE);
	/* no call, and rax is not written: push; pop; ret; xor ecx, ecx; ret */
	CHECK_NONE(FUNCTION("\x53\x5b\xc3"), "it makes nothing");
	CHECK_NONE(FUNCTION("\x31\xc9\xc3"), "it makes nothing");
	/* the calls return only 0, or nothing, or never: xor eax, eax; ret; nop; jmp 1 */
	CHECK_NONE(FUNCTION("\x31\xc0\xc3"), "no site sees a whole call");
	CHECK_NONE(FUNCTION("\x90\x90\xeb\xfd"), "no site sees a whole call");
	CHECK_NONE(FUNCTION("\x53\xe8\0\0\1\0"), "no site sees a whole call");
	CHECK_NONE(FUNCTION("\xf4"), NOT_KNOWN);
}

/* Each block is a separate path with a site: js over it; call; test rax, rax; je; mov
 * [rax], ecx; pop rbx; ret. No path skips the last one. */
static struct function of_blocks(size_t blocks)
{
	static const char block[] = "\x78\x0e\xe8\0\0\1\0\x48\x85\xc0\x74\x02\x89\x08"
				    "\x5b\xc3";
	struct function f = FUNCTION("\x53\x48\x89\xfb");

	for (size_t i = 0; i < blocks; i++) {
		memcpy(f.code + f.size, block, sizeof(block) - 1);
		if (i == blocks - 1)
			memcpy(f.code + f.size, "\x85\xff", 2);
		f.size += sizeof(block) - 1;
	}
	return f;
}

static void many_sites(void)
{
	struct body_site sites[BODY_SITES_MAX];
	struct function most = of_blocks(BODY_SITES_MAX);

	for (uint32_t i = 0; i < BODY_SITES_MAX; i++)
		sites[i] =
			(struct body_site){BODY_WHOLE, 4 + 16 * i + 10, 8, INSN_RBX, JCC};
	check_at(__LINE__, &most, sites, COUNT(sites));
	CHECK_NONE(of_blocks(BODY_SITES_MAX + 1), "it has too many sites");
}

static void long_functions(void)
{
	struct function f = {.size = FLOW_CODE_MAX, .emulated = ALL};
	size_t at = FLOW_CODE_MAX - (sizeof(whole) - 1);

	memset(f.code, 0x90, sizeof(f.code));
	memcpy(f.code + at, whole, sizeof(whole) - 1);
	CHECK_SITES(f, {BODY_WHOLE, (uint32_t)at + 12, 8, INSN_RBX, JCC});
	f.size++;
	CHECK_NONE(f, "it is too long");
	f.size = 0;
	CHECK_NONE(f, "nothing of it is known");
}

int main(void)
{
	RUN(whole_calls);
	RUN(registers_meet);
	RUN(lost_sizes);
	RUN(calls_that_end);
	RUN(others_that_end);
	RUN(sites_put_off);
	RUN(not_read);
	RUN(instructions_overlap);
	RUN(stack_pointer);
	RUN(no_results);
	RUN(many_sites);
	RUN(long_functions);
	return check_done();
}
