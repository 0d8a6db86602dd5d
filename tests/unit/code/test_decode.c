// SPDX-License-Identifier: Apache-2.0
/* Instructions by their bytes. */
#include "check.h"

#include "code/decode.h"
#include "unit/code/guarded.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define B(reg)       (1u << (reg))
#define R8           8
#define R9           9
#define R10          10
#define R11          11
#define R12          12

#define RSP_         B(INSN_RSP)

struct expected {
	const char *text; /* the instruction in words */
	const char *code;
	uint8_t length;
	enum insn_kind kind;
	unsigned writes;
	int32_t sp_change;
};

#define CASE(text, code, ...)                                                            \
	{                                                                                \
		text, code, sizeof(code) - 1, __VA_ARGS__                                \
	}

static void check_all(const struct expected *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct expected *e = &cases[i];
		uint8_t code[32];
		struct insn insn;
		unsigned before = check_state.failures;

		memset(code, 0x11, sizeof(code));
		memcpy(code, e->code, e->length);
		insn_decode(code, sizeof(code), &insn);
		CHECK_INT(insn.kind, e->kind);
		CHECK_INT(insn.length, e->kind == INSN_UNKNOWN ? 0 : e->length);
		CHECK_INT(insn.writes, e->writes);
		CHECK_INT(insn.sp_change, e->sp_change);
		if (check_state.failures != before)
			fprintf(stderr, "  that was: %s\n", e->text);
	}
}

static void plain(void)
{
	static const struct expected cases[] = {
		CASE("test rdi, rdi", "\x48\x85\xff", INSN_TEST, 0, 0),
		CASE("test edi, edi", "\x85\xff", INSN_PLAIN, 0, 0),
		CASE("test byte [rip+1], 0", "\xf6\x05\x01\0\0\0\0", INSN_PLAIN, 0, 0),
		CASE("test dil, 7", "\x40\xf6\xc7\x07", INSN_PLAIN, 0, 0),
		CASE("test r9d, 0xfff", "\x41\xf7\xc1\xff\x0f\0\0", INSN_PLAIN, 0, 0),
		CASE("test al, 2", "\xa8\x02", INSN_PLAIN, 0, 0),
		CASE("cmp byte [rip+1], 0", "\x80\x3d\x01\0\0\0\0", INSN_PLAIN, 0, 0),
		CASE("cmp rdi, 0x1000", "\x48\x81\xff\0\x10\0\0", INSN_PLAIN, 0, 0),
		CASE("cmp ax, 0x1000", "\x66\x3d\0\x10", INSN_PLAIN, 0, 0),
		CASE("cmp rdx, rax", "\x48\x39\xc2", INSN_PLAIN, 0, 0),
		CASE("mov eax, 11", "\xb8\x0b\0\0\0", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("mov r8d, 1", "\x41\xb8\x01\0\0\0", INSN_PLAIN, B(R8), 0),
		CASE("mov ax, 1", "\x66\xb8\x01\0", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("movabs rcx, 1", "\x48\xb9\x01\0\0\0\0\0\0\0", INSN_PLAIN,
		     B(INSN_RCX), 0),
		CASE("mov rax, -1", "\x48\xc7\xc0\xff\xff\xff\xff", INSN_PLAIN,
		     B(INSN_RAX), 0),
		CASE("mov ah, 1", "\xb4\x01", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("mov spl, 1", "\x40\xb4\x01", INSN_OPAQUE, 0, 0),
		CASE("mov dh, bl", "\x88\xde", INSN_PLAIN, B(INSN_RDX), 0),
		CASE("mov sil, bl", "\x40\x88\xde", INSN_PLAIN, B(INSN_RSI), 0),
		CASE("mov rax, [rip+1]", "\x48\x8b\x05\x01\0\0\0", INSN_PLAIN,
		     B(INSN_RAX), 0),
		CASE("mov r8, fs:[rax]", "\x64\x4c\x8b\x00", INSN_PLAIN, B(R8), 0),
		CASE("mov rax, fs:[0x28]", "\x64\x48\x8b\x04\x25\x28\0\0\0", INSN_PLAIN,
		     B(INSN_RAX), 0),
		CASE("mov [rsp+8], rsi", "\x48\x89\x74\x24\x08", INSN_PLAIN, 0, 0),
		CASE("mov [r12], rsi", "\x49\x89\x34\x24", INSN_PLAIN, 0, 0),
		CASE("mov [r13+0], rsi", "\x49\x89\x75\x00", INSN_PLAIN, 0, 0),
		CASE("mov [rdi+rax*8+0x100], rcx", "\x48\x89\x8c\xc7\0\x01\0\0",
		     INSN_PLAIN, 0, 0),
		CASE("mov r10d, ecx", "\x41\x89\xca", INSN_PLAIN, B(R10), 0),
		CASE("lea rax, [rdi+7]", "\x48\x8d\x47\x07", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("xor eax, eax", "\x31\xc0", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("xor r10w, r10w", "\x66\x45\x31\xd2", INSN_PLAIN, B(R10), 0),
		CASE("add rax, fs:[0]", "\x64\x48\x03\x04\x25\0\0\0\0", INSN_PLAIN,
		     B(INSN_RAX), 0),
		CASE("add edi, 7", "\x83\xc7\x07", INSN_PLAIN, B(INSN_RDI), 0),
		CASE("add dword [rax+0x18], 1", "\x83\x40\x18\x01", INSN_PLAIN, 0, 0),
		CASE("or rax, -1", "\x48\x83\xc8\xff", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("and eax, 0xf0", "\x25\xf0\0\0\0", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("and rcx, -0x40000000", "\x48\x81\xe1\0\0\0\xc0", INSN_PLAIN,
		     B(INSN_RCX), 0),
		CASE("shr rax, 26", "\x48\xc1\xe8\x1a", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("shl rax", "\x48\xd1\xe0", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("neg eax", "\xf7\xd8", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("not rdi", "\x48\xf7\xd7", INSN_PLAIN, B(INSN_RDI), 0),
		CASE("mul rsi", "\x48\xf7\xe6", INSN_PLAIN, B(INSN_RAX) | B(INSN_RDX), 0),
		CASE("mul dl", "\xf6\xe2", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("div qword [rdi]", "\x48\xf7\x37", INSN_PLAIN,
		     B(INSN_RAX) | B(INSN_RDX), 0),
		CASE("imul rsi, rdi", "\x48\x0f\xaf\xf7", INSN_PLAIN, B(INSN_RSI), 0),
		CASE("imul rax, rdi, 24", "\x48\x6b\xc7\x18", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("cqo", "\x48\x99", INSN_PLAIN, B(INSN_RDX), 0),
		CASE("cdqe", "\x48\x98", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("movzx esi, byte [rdx+rax]", "\x0f\xb6\x34\x02", INSN_PLAIN,
		     B(INSN_RSI), 0),
		CASE("movsxd rax, ecx", "\x48\x63\xc1", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("cmovne rax, rdi", "\x48\x0f\x45\xc7", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("setne al", "\x0f\x95\xc0", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("seto dil", "\x40\x0f\x90\xc7", INSN_PLAIN, B(INSN_RDI), 0),
		CASE("xchg rax, rdi", "\x48\x97", INSN_PLAIN, B(INSN_RAX) | B(INSN_RDI),
		     0),
		CASE("xchg [rdi], rcx", "\x48\x87\x0f", INSN_PLAIN, B(INSN_RCX), 0),
		CASE("bswap r9", "\x49\x0f\xc9", INSN_PLAIN, B(R9), 0),
		CASE("popcnt rax, rdi", "\xf3\x48\x0f\xb8\xc7", INSN_PLAIN, B(INSN_RAX),
		     0),
		CASE("bsr rax, rdi", "\x48\x0f\xbd\xc7", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("bt rdi, 3", "\x48\x0f\xba\xe7\x03", INSN_PLAIN, 0, 0),
		CASE("pxor xmm0, xmm0", "\x66\x0f\xef\xc0", INSN_PLAIN, 0, 0),
		CASE("movups [rsp], xmm0", "\x0f\x11\x04\x24", INSN_PLAIN, 0, 0),
		CASE("movq xmm0, rdi", "\x66\x48\x0f\x6e\xc7", INSN_PLAIN, 0, 0),
		CASE("movq rax, xmm0", "\x66\x48\x0f\x7e\xc0", INSN_PLAIN, B(INSN_RAX),
		     0),
		CASE("movq xmm0, xmm1", "\xf3\x0f\x7e\xc1", INSN_PLAIN, 0, 0),
		CASE("pmovmskb eax, xmm0", "\x66\x0f\xd7\xc0", INSN_PLAIN, B(INSN_RAX),
		     0),
		CASE("cvttsd2si rax, xmm0", "\xf2\x48\x0f\x2c\xc0", INSN_PLAIN,
		     B(INSN_RAX), 0),
	};

	check_all(cases, COUNT(cases));
}

static void stack(void)
{
	static const struct expected cases[] = {
		CASE("push rbx", "\x53", INSN_PUSH, RSP_, -8),
		CASE("push r12", "\x41\x54", INSN_PUSH, RSP_, -8),
		CASE("push rsp", "\x54", INSN_PUSH, RSP_, -8),
		CASE("push bx", "\x66\x53", INSN_OPAQUE, 0, 0),
		CASE("push 1", "\x6a\x01", INSN_PLAIN, RSP_, -8),
		CASE("push 0x100", "\x68\0\x01\0\0", INSN_PLAIN, RSP_, -8),
		CASE("push [rdi]", "\xff\x37", INSN_PLAIN, RSP_, -8),
		CASE("pop rbx", "\x5b", INSN_PLAIN, RSP_ | B(INSN_RBX), 8),
		CASE("pop r12", "\x41\x5c", INSN_PLAIN, RSP_ | B(R12), 8),
		CASE("pop rsp", "\x5c", INSN_OPAQUE, 0, 0),
		CASE("sub rsp, 0x18", "\x48\x83\xec\x18", INSN_PLAIN, RSP_, -0x18),
		CASE("sub rsp, 0x88", "\x48\x81\xec\x88\0\0\0", INSN_PLAIN, RSP_, -0x88),
		CASE("add rsp, 8", "\x48\x83\xc4\x08", INSN_PLAIN, RSP_, 8),
		CASE("add rsp, -128", "\x48\x83\xc4\x80", INSN_PLAIN, RSP_, -128),
		CASE("sub rsp, -128", "\x48\x83\xec\x80", INSN_PLAIN, RSP_, 128),
		CASE("lea rsp, [rsp-8]", "\x48\x8d\x64\x24\xf8", INSN_PLAIN, RSP_, -8),
		CASE("lea rsp, [rsp+rax]", "\x48\x8d\x24\x04", INSN_OPAQUE, 0, 0),
		CASE("lea rsp, [r12-8]", "\x49\x8d\x64\x24\xf8", INSN_OPAQUE, 0, 0),
		CASE("lea rsp, [rbp-8]", "\x48\x8d\x65\xf8", INSN_OPAQUE, 0, 0),
		CASE("sub esp, 0x18", "\x83\xec\x18", INSN_OPAQUE, 0, 0),
		CASE("sub rsp, 1<<31", "\x48\x81\xec\0\0\0\x80", INSN_OPAQUE, 0, 0),
		CASE("and rsp, -16", "\x48\x83\xe4\xf0", INSN_OPAQUE, 0, 0),
		CASE("sub rsp, rax", "\x48\x29\xc4", INSN_OPAQUE, 0, 0),
		CASE("mov rsp, rbp", "\x48\x89\xec", INSN_OPAQUE, 0, 0),
		CASE("mov rbp, rsp", "\x48\x89\xe5", INSN_COPY, B(INSN_RBP), 0),
		CASE("cmp rsp, 8", "\x48\x83\xfc\x08", INSN_PLAIN, 0, 0),
		CASE("leave", "\xc9", INSN_OPAQUE, 0, 0),
	};

	check_all(cases, COUNT(cases));
}

static void read_and_write(void)
{
	static const struct expected cases[] = {
		CASE("cmpxchg [rdi], rcx", "\x48\x0f\xb1\x0f", INSN_PLAIN, B(INSN_RAX),
		     0),
		CASE("cmpxchg rdi, rcx", "\x48\x0f\xb1\xcf", INSN_PLAIN,
		     B(INSN_RAX) | B(INSN_RDI), 0),
		CASE("cmpxchg bh, cl", "\x0f\xb0\xcf", INSN_PLAIN,
		     B(INSN_RAX) | B(INSN_RBX), 0),
		CASE("lock cmpxchg", "\xf0\x48\x0f\xb1\x0f", INSN_PLAIN, B(INSN_RAX), 0),
		CASE("lock dec", "\xf0\xff\x0f", INSN_PLAIN, 0, 0),
		CASE("lock xadd [rdi], ecx", "\xf0\x0f\xc1\x0f", INSN_PLAIN, B(INSN_RCX),
		     0),
		CASE("xadd rdi, rcx", "\x48\x0f\xc1\xcf", INSN_PLAIN,
		     B(INSN_RCX) | B(INSN_RDI), 0),
		CASE("xadd bh, cl", "\x0f\xc0\xcf", INSN_PLAIN, B(INSN_RCX) | B(INSN_RBX),
		     0),
	};

	check_all(cases, COUNT(cases));
}

/* Only the length is known, or nothing. */
static void not_described(void)
{
	static const struct expected cases[] = {
		CASE("lock of a register", "\xf0\xff\xcf", INSN_OPAQUE, 0, 0),
		CASE("lock nop", "\xf0\x90", INSN_OPAQUE, 0, 0),
		CASE("pause", "\xf3\x90", INSN_OPAQUE, 0, 0),
		CASE("rep stosq", "\xf3\x48\xab", INSN_OPAQUE, 0, 0),
		CASE("cpuid", "\x0f\xa2", INSN_OPAQUE, 0, 0),
		CASE("rdsspq rax", "\xf3\x48\x0f\x1e\xc8", INSN_OPAQUE, 0, 0),
		CASE("mov eax, [edi]", "\x67\x8b\x07", INSN_OPAQUE, 0, 0),
		CASE("fld [rsp+8]", "\xd9\x44\x24\x08", INSN_OPAQUE, 0, 0),
		CASE("pshufb xmm0, xmm1", "\x66\x0f\x38\0\xc1", INSN_OPAQUE, 0, 0),
		CASE("palignr", "\x66\x0f\x3a\x0f\xc1\x08", INSN_OPAQUE, 0, 0),
		CASE("vpxor", "\xc5\xf9\xef\xc0", INSN_OPAQUE, 0, 0),
		CASE("vzeroupper", "\xc5\xf8\x77", INSN_OPAQUE, 0, 0),
		CASE("vpshufd", "\xc5\xf9\x70\xc1\x1b", INSN_OPAQUE, 0, 0),
		CASE("rorx rax, rdi, 3", "\xc4\xe3\xfb\xf0\xc7\x03", INSN_OPAQUE, 0, 0),
		CASE("vmovdqu64 [rdi+64], zmm16", "\x62\xe1\xfe\x48\x7f\x47\x01",
		     INSN_OPAQUE, 0, 0),
		CASE("push es", "\x06", INSN_UNKNOWN, 0, 0),
		CASE("REX before VEX", "\x48\xc5\xf9\xef\xc0", INSN_UNKNOWN, 0, 0),
		CASE("REX twice", "\x48\x48\x89\xc7", INSN_UNKNOWN, 0, 0),
		CASE("jmp of 16 bits", "\x66\xe9\0\0\0\0", INSN_UNKNOWN, 0, 0),
		CASE("jo of 16 bits", "\x66\x70\0", INSN_UNKNOWN, 0, 0),
		CASE("xbegin", "\xc7\xf8\0\0\0\0", INSN_UNKNOWN, 0, 0),
		CASE("lea of a register", "\x48\x8d\xc7", INSN_UNKNOWN, 0, 0),
		CASE("ud0", "\x0f\xff\xc0", INSN_UNKNOWN, 0, 0),
	};

	check_all(cases, COUNT(cases));
}

static void nops(void)
{
	static const struct expected cases[] = {
		CASE("endbr64", "\xf3\x0f\x1e\xfa", INSN_ENDBR, 0, 0),
		CASE("endbr32", "\xf3\x0f\x1e\xfb", INSN_OPAQUE, 0, 0),
		CASE("nop", "\x90", INSN_NOP, 0, 0),
		CASE("66 nop", "\x66\x90", INSN_NOP, 0, 0),
		CASE("nopl [rax]", "\x0f\x1f\x00", INSN_NOP, 0, 0),
		CASE("nopl 0[rax+rax]", "\x0f\x1f\x44\0\0", INSN_NOP, 0, 0),
		CASE("nopw", "\x66\x0f\x1f\x84\0\0\0\0\0", INSN_NOP, 0, 0),
		CASE("cs nopw", "\x66\x2e\x0f\x1f\x84\0\0\0\0\0", INSN_NOP, 0, 0),
		CASE("xchg r8, rax", "\x49\x90", INSN_PLAIN, B(INSN_RAX) | B(R8), 0),
		CASE("xchg r8d, eax", "\x41\x90", INSN_PLAIN, B(INSN_RAX) | B(R8), 0),
	};
	static const struct {
		const char *code;
		bool prefixed, no_probe;
	} probes[] = {
		{"\x90", false, false},
		{"\x66\x90", true, false},
		{"\x2e\x0f\x1f\x00", true, true},
		{"\x41\x90", false, true},
		{"\x49\x90", false, true},
		{"\xf0\xff\x0f", true, true},
		{"\xf0\x06", false, true}, /* unknown, but refused nevertheless */
		{"\x3e\xff\xe0", true, true},
		{"\x64\x48\x8b\x00", true, false},
		{"\xcc", false, true},
		{"\xf4", false, true},
		{"\x0f\x05", false, true},
		{"\x53", false, false},
	};

	check_all(cases, COUNT(cases));
	for (size_t i = 0; i < COUNT(probes); i++) {
		uint8_t code[16] = {0};
		struct insn insn;

		memcpy(code, probes[i].code, strlen(probes[i].code));
		insn_decode(code, sizeof(code), &insn);
		CHECK_INT(insn.prefixed, probes[i].prefixed);
		CHECK_INT(insn.no_probe, probes[i].no_probe);
	}
}

static void copies(void)
{
	static const struct {
		const char *code;
		enum insn_kind kind;
		uint8_t from, to;
	} cases[] = {
		{"\x48\x89\xfb", INSN_COPY, INSN_RDI, INSN_RBX}, /* mov rbx, rdi */
		{"\x48\x8b\xdf", INSN_COPY, INSN_RDI, INSN_RBX}, /* the other way */
		{"\x49\x89\xfc", INSN_COPY, INSN_RDI, R12},
		{"\x4d\x89\xc3", INSN_COPY, R8, R11},
		{"\x89\xfb", INSN_PLAIN, INSN_RDI, INSN_RBX}, /* mov ebx, edi: half */
		{"\x66\x89\xfb", INSN_PLAIN, 0, 0},           /* mov bx, di */
		{"\x48\x89\x3b", INSN_PLAIN, INSN_RDI, 0},    /* mov [rbx], rdi */
		{"\x48\x63\xdf", INSN_PLAIN, 0, 0},           /* movsxd rbx, edi */
		{"\x48\x85\xff", INSN_TEST, INSN_RDI, INSN_RDI},
		{"\x4c\x85\xc7", INSN_TEST, R8, INSN_RDI},
		{"\x41\x55", INSN_PUSH, 13, 0},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct insn insn;

		insn_decode((const uint8_t *)cases[i].code, strlen(cases[i].code), &insn);
		CHECK_INT(insn.kind, cases[i].kind);
		CHECK_INT(insn.from, cases[i].from);
		CHECK_INT(insn.to, cases[i].to);
	}
}

static void branches(void)
{
	static const struct {
		const char *code;
		uint8_t length;
		enum insn_kind kind;
		int64_t target;
		unsigned writes;
	} cases[] = {
		{"\x74\x10", 2, INSN_JCC, 0x12, 0},
		{"\x75\xfe", 2, INSN_JCC, 0, 0},
		{"\x0f\x84\x00\x01\0\0", 6, INSN_JCC, 0x106, 0},
		{"\x2e\x0f\x84\xfa\xff\xff\xff", 7, INSN_JCC, 1, 0},
		{"\xeb\x80", 2, INSN_JMP, -126, 0},
		{"\xe9\xfb\xff\xff\xff", 5, INSN_JMP, 0, 0},
		{"\xf2\xe9\0\0\0\0", 6, INSN_JMP, 6, 0},
		{"\xe8\x10\0\0\0", 5, INSN_CALL, 0x15, RSP_},
		{"\x66\x66\x48\xe8\x10\0\0\0", 8, INSN_CALL, 0x18, RSP_},
		{"\xe3\x02", 2, INSN_LOOP, 4, 0},
		{"\xe2\x02", 2, INSN_LOOP, 4, B(INSN_RCX)},
		{"\xff\xe0", 2, INSN_JMP_INDIRECT, 0, 0},
		{"\xff\x25\x01\0\0\0", 6, INSN_JMP_INDIRECT, 0, 0},
		{"\x41\xff\xd4", 3, INSN_CALL_INDIRECT, 0, RSP_},
		{"\xc3", 1, INSN_RET, 0, RSP_},
		{"\xf3\xc3", 2, INSN_RET, 0, RSP_},
		{"\x0f\x05", 2, INSN_SYSCALL, 0, B(INSN_RAX) | B(INSN_RCX) | B(R11)},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct insn insn;

		insn_decode((const uint8_t *)cases[i].code, cases[i].length, &insn);
		CHECK_INT(insn.kind, cases[i].kind);
		CHECK_INT(insn.length, cases[i].length);
		CHECK_INT(insn.target, cases[i].target);
		CHECK_INT(insn.writes, cases[i].writes);
	}
}

/* Random bytes. Prefixes and opcodes are more frequent. */
static void fill(uint8_t *code, size_t size, uint64_t *state)
{
	static const uint8_t starts[] = {0x66, 0xf2, 0xf3, 0x48, 0x41, 0x0f, 0x67,
					 0xc4, 0xc5, 0x62, 0xf7, 0x81, 0xff, 0x64};

	for (size_t i = 0; i < size; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		code[i] = (uint8_t)(*state >> 56);
		if ((*state >> 40 & 7) == 0)
			code[i] = starts[(*state >> 48) % COUNT(starts)];
	}
}

static bool same(const struct insn *a, const struct insn *b)
{
	return a->kind == b->kind && a->length == b->length && a->from == b->from &&
	       a->to == b->to && a->writes == b->writes && a->sp_change == b->sp_change &&
	       a->target == b->target && a->prefixed == b->prefixed &&
	       a->no_probe == b->no_probe;
}

static void nothing_behind_the_end(void)
{
	struct guarded g = guarded_map(17);
	uint8_t *end = g.end;
	uint64_t state = 1;
	unsigned known = 0;

	for (unsigned i = 0; i < 300000; i++) {
		size_t size = i % 18;
		struct insn insn, again;

		fill(end - size, size, &state);
		insn_decode(end - size, size, &insn);
		if (!insn.length) {
			if (insn.kind != INSN_UNKNOWN || insn.writes || insn.target)
				CHECK_FAIL("unknown, and yet described");
			continue;
		}
		known++;
		/* Decoded the same without following bytes, and unknown with one byte
		 * less. */
		memmove(end - insn.length, end - size, insn.length);
		insn_decode(end - insn.length, insn.length, &again);
		if (insn.length > size || insn.length > INSN_LENGTH_MAX ||
		    !same(&insn, &again))
			CHECK_FAIL("length %u of %zu", insn.length, size);
		memmove(end - insn.length + 1, end - insn.length, insn.length - 1u);
		insn_decode(end - insn.length + 1, insn.length - 1u, &again);
		if (again.kind != INSN_UNKNOWN)
			CHECK_FAIL("length %u, and %u without its last byte", insn.length,
				   again.length);
	}
	CHECK(known > 100000);
	guarded_unmap(&g);
}

static void too_long(void)
{
	uint8_t code[16];
	struct insn insn;

	memset(code, 0x66, sizeof(code));
	code[14] = 0x90;
	insn_decode(code, sizeof(code), &insn);
	CHECK_INT(insn.length, 15);
	code[14] = 0x66;
	code[15] = 0x90;
	insn_decode(code, sizeof(code), &insn);
	CHECK_INT(insn.kind, INSN_UNKNOWN);
	insn_decode(code, 0, &insn);
	CHECK_INT(insn.kind, INSN_UNKNOWN);
}

/* The effect of instructions on values. */
static void values(void)
{
	static const struct {
		const char *code;
		size_t size;
		enum insn_memory memory;
		uint8_t from, to, base;
		int32_t displacement;
	} moves[] = {
#define MOVE(bytes, ...) {bytes, sizeof(bytes) - 1, __VA_ARGS__}
		/* mov [rsp+8], rax; mov rbx, [rsp+8]; mov rax, [rbp-16] */
		MOVE("\x48\x89\x44\x24\x08", INSN_MEMORY_STORE, 0, 0, INSN_RSP, 8),
		MOVE("\x48\x8b\x5c\x24\x08", INSN_MEMORY_LOAD, 0, INSN_RBX, INSN_RSP, 8),
		MOVE("\x48\x8b\x45\xf0", INSN_MEMORY_LOAD, 0, INSN_RAX, INSN_RBP, -16),
		/* lea rdi, [rsp+16]; pop r12 */
		MOVE("\x48\x8d\x7c\x24\x10", INSN_MEMORY_ADDRESS, 0, INSN_RDI, INSN_RSP,
		     16),
		MOVE("\x41\x5c", INSN_MEMORY_LOAD, 0, R12, INSN_RSP, 0),
		/* mov eax, [rsp+4]; add [rsp+8], rax: not moves of 64 bits */
		MOVE("\x8b\x44\x24\x04", INSN_MEMORY_OTHER, 0, 0, INSN_RSP, 4),
		MOVE("\x48\x01\x44\x24\x08", INSN_MEMORY_OTHER, 0, 0, INSN_RSP, 8),
		/* mov rax, fs:0x28: not on the stack */
		MOVE("\x64\x48\x8b\x04\x25\x28\0\0\0", INSN_MEMORY_NONE, 0, 0,
		     INSN_BASE_NONE, 0),
		/* jmp [rip+0x10] of six bytes */
		MOVE("\xff\x25\x10\0\0\0", INSN_MEMORY_OTHER, 0, 0, INSN_BASE_PC, 0x16),
#undef MOVE
	};
	static const struct {
		const char *code;
		size_t size;
		int64_t value;
	} constants[] = {
		{"\x31\xc0", 2, 0},        /* xor eax, eax */
		{"\xb8\x16\0\0\0", 5, 22}, /* mov eax, 22 */
		{"\xb8\xff\xff\xff\xff", 5, 0xffffffff},
		{"\x48\xc7\xc0\xff\xff\xff\xff", 7, -1}, /* mov rax, -1 */
		{"\x48\x83\xc8\xff", 4, -1},             /* or rax, -1 */
	};
	static const struct {
		const char *code;
		size_t size;
		bool multiplies;
		uint8_t to, from;
	} products[] = {
		{"\x48\xf7\xe6", 3, true, INSN_RAX, INSN_RSI},     /* mul rsi */
		{"\x49\xf7\xe8", 3, true, INSN_RAX, R8},           /* imul r8 */
		{"\x48\x0f\xaf\xfe", 4, true, INSN_RDI, INSN_RSI}, /* imul rdi, rsi */
		{"\xf7\xe6", 2, false, 0, 0},                      /* mul esi */
		{"\x48\xf7\xf6", 3, false, 0, 0},                  /* div rsi */
		{"\x48\xf7\x26", 3, false, 0, 0},                  /* mul [rsi] */
		{"\x0f\xaf\xfe", 3, false, 0, 0},                  /* imul edi, esi */
		{"\x48\x0f\xaf\x3e", 4, false, 0, 0},              /* imul rdi, [rsi] */
		{"\x48\x6b\xfe\x03", 4, false, 0, 0},              /* imul rdi, rsi, 3 */
	};
	struct insn insn;

	for (size_t i = 0; i < COUNT(products); i++) {
		insn_decode((const uint8_t *)products[i].code, products[i].size, &insn);
		CHECK_INT(insn.length, products[i].size);
		CHECK_INT(insn.multiplies, products[i].multiplies);
		if (products[i].multiplies) {
			CHECK_INT(insn.to, products[i].to);
			CHECK_INT(insn.from, products[i].from);
		}
	}
	for (size_t i = 0; i < COUNT(moves); i++) {
		insn_decode((const uint8_t *)moves[i].code, moves[i].size, &insn);
		CHECK_INT(insn.length, moves[i].size);
		CHECK_INT(insn.memory, moves[i].memory);
		CHECK_INT(insn.from, moves[i].from);
		CHECK_INT(insn.to, moves[i].to);
		CHECK_INT(insn.base, moves[i].base);
		if (insn.base != INSN_BASE_NONE)
			CHECK_INT(insn.displacement, moves[i].displacement);
	}
	for (size_t i = 0; i < COUNT(constants); i++) {
		insn_decode((const uint8_t *)constants[i].code, constants[i].size, &insn);
		CHECK(insn.has_value && insn.to == INSN_RAX);
		CHECK_INT(insn.value, constants[i].value);
	}

	insn_decode((const uint8_t *)"\xc9", 1, &insn); /* leave */
	CHECK(insn.sp_from_bp && insn.is_leave);
	insn_decode((const uint8_t *)"\x48\x8d\x65\xd8", 4,
		    &insn); /* lea rsp, [rbp-40] */
	CHECK(insn.sp_from_bp && !insn.is_leave);
	CHECK_INT(insn.displacement, -40);
	insn_decode((const uint8_t *)"\x48\x89\xec", 3, &insn); /* mov rsp, rbp */
	CHECK(insn.sp_from_bp && !insn.displacement);
	insn_decode((const uint8_t *)"\x0f\x8e\0\0\0\0", 6, &insn); /* jle */
	CHECK_INT(insn.condition, 14);
	insn_decode((const uint8_t *)"\x0f\x0b", 2, &insn); /* ud2 */
	CHECK(insn.traps);
	insn_decode((const uint8_t *)"\xf4", 1, &insn); /* hlt */
	CHECK(insn.traps);
}

int main(void)
{
	RUN(plain);
	RUN(stack);
	RUN(read_and_write);
	RUN(not_described);
	RUN(nops);
	RUN(copies);
	RUN(values);
	RUN(branches);
	RUN(nothing_behind_the_end);
	RUN(too_long);
	return check_done();
}
