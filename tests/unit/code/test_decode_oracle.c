// SPDX-License-Identifier: Apache-2.0
/* Decodes every instruction of real libraries, compared with capstone. */
#include "unit/code/oracle.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const libraries[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib64/libc.so.6",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib64/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
	"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",
	"/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0",
	"/lib/ld-musl-x86_64.so.1",
};

struct tally {
	unsigned long instructions, described, unknown, differences;
};

static void differs(struct tally *tally, const cs_insn *c, const struct insn *insn,
		    const char *what, long long want, long long got)
{
	if (tally->differences++ < 100)
		CHECK_FAIL("%#" PRIx64 " %s %s (kind %d): %s %#llx, not %#llx",
			   c->address, c->mnemonic, c->op_str, insn->kind, what, got,
			   want);
}

static int32_t sp_change_of(const cs_insn *c)
{
	const cs_x86 *x86 = &c->detail->x86;
	int64_t immediate = x86->op_count == 2 ? x86->operands[1].imm : 0;

	switch (c->id) {
	case X86_INS_PUSH:
		return -8;
	case X86_INS_POP:
		return 8;
	case X86_INS_ADD:
		return (int32_t)immediate;
	case X86_INS_SUB:
		return (int32_t)-immediate;
	case X86_INS_LEA:
		return (int32_t)x86->operands[1].mem.disp;
	default:
		return 0;
	}
}

static void compare(csh handle, const cs_insn *c, const struct insn *insn,
		    struct tally *tally)
{
	uint64_t target;

	tally->instructions++;
	if (!insn->length) {
		tally->unknown++;
		return;
	}
	if (insn->length != c->size) {
		differs(tally, c, insn, "length", c->size, insn->length);
		return;
	}

	bool branch = oracle_branch(handle, c, &target);
	bool direct = insn->kind == INSN_JCC || insn->kind == INSN_LOOP ||
		      insn->kind == INSN_JMP || insn->kind == INSN_CALL;

	if (branch != direct)
		differs(tally, c, insn, "branch", branch, direct);
	else if (branch && target != c->address + (uint64_t)insn->target)
		differs(tally, c, insn, "target", (long long)target,
			(long long)(c->address + (uint64_t)insn->target));
	if (insn->kind == INSN_OPAQUE)
		return;

	tally->described++;

	uint16_t writes = oracle_writes(handle, c);

	if (insn->writes != writes)
		differs(tally, c, insn, "writes", writes, insn->writes);
	if (writes & 1u << INSN_RSP && insn->kind < INSN_SYSCALL &&
	    insn->sp_change != sp_change_of(c))
		differs(tally, c, insn, "sp_change", sp_change_of(c), insn->sp_change);
}

static void compare_section(csh handle, const struct oracle_section *section,
			    struct tally *tally)
{
	const uint8_t *code = section->code;
	size_t left = section->size;
	uint64_t address = section->address;
	cs_insn *c = cs_malloc(handle);

	REQUIRE(c);
	while (left) {
		struct insn insn;
		const uint8_t *at = code;
		size_t available = left;

		if (!cs_disasm_iter(handle, &code, &left, &address, c)) {
			code++, left--, address++;
			continue;
		}
		insn_decode(at, available, &insn);
		compare(handle, c, &insn, tally);
	}
	cs_free(c, 1);
}

/*
 * Random instructions. Compilers do not emit most of them. If an instruction is
 * described, its length must be equal and no written register may be missing. Excluded:
 * several prefixes at once and ud1 (0f b9): capstone decodes it differently from
 * processors.
 */
static void random_instructions(void)
{
	static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x64};
	csh handle = oracle_open_capstone();
	cs_insn *c = cs_malloc(handle);
	uint64_t state = 3;
	unsigned both = 0, invalid = 0;

	REQUIRE(c);
	for (unsigned i = 0; i < 1000000; i++) {
		uint8_t code[INSN_LENGTH_MAX + 1];
		size_t at = 0, size = sizeof(code);
		const uint8_t *next = code;
		uint64_t address = 0x1000;
		struct insn insn;

		for (size_t j = 0; j < sizeof(code); j++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			code[j] = (uint8_t)(state >> 56);
		}
		if (state >> 20 & 1)
			code[at++] = prefixes[state >> 21 & 3];
		if (state >> 23 & 1)
			code[at++] = 0x40 | (state >> 24 & 15);
		if (state >> 28 & 1)
			code[at++] = 0x0f;

		insn_decode(code, sizeof(code), &insn);
		invalid += insn.is_invalid;
		if (insn.is_invalid && cs_disasm_iter(handle, &next, &size, &address, c))
			CHECK_FAIL("%s %s: is not invalid", c->mnemonic, c->op_str);
		if (insn.kind == INSN_UNKNOWN || insn.kind == INSN_OPAQUE ||
		    !cs_disasm_iter(handle, &next, &size, &address, c))
			continue;
		both++;
		if (insn.length != c->size)
			CHECK_FAIL("%s %s: length %u, not %u", c->mnemonic, c->op_str,
				   insn.length, c->size);
		if (oracle_writes(handle, c) & ~insn.writes)
			CHECK_FAIL("%s %s: writes %#x, not %#x", c->mnemonic, c->op_str,
				   insn.writes, oracle_writes(handle, c));
	}
	printf("     %u random instructions\n", both);
	CHECK(both > 300000);
	CHECK(invalid > 10000);
	cs_free(c, 1);
	cs_close(&handle);
}

static void whole_libraries(void)
{
	csh handle = oracle_open_capstone();
	unsigned files = 0;

	for (size_t i = 0; i < COUNT(libraries); i++) {
		struct oracle_file file;
		struct tally tally = {0};

		if (!oracle_open(libraries[i], &file))
			continue;
		files++;
		for (size_t j = 0; j < file.count; j++)
			compare_section(handle, &file.sections[j], &tally);
		oracle_close(&file);
		printf("     %s: %lu instructions, %lu described, %lu unknown, "
		       "%lu differences\n",
		       libraries[i], tally.instructions, tally.described, tally.unknown,
		       tally.differences);
		CHECK_INT(tally.differences, 0);
		/* With fewer, unwinding by code would often fail. Some of what capstone
		 * decodes in glibc is data. */
		CHECK(tally.described * 100 >= tally.instructions * 85);
		CHECK(tally.unknown * 100 <= tally.instructions);
	}
	CHECK(files >= 1);
	cs_close(&handle);
}

int main(void)
{
#if !defined(__x86_64__)
	check_leave_out("the libraries of this machine are not x86-64");
#endif
	RUN(whole_libraries);
	RUN(random_instructions);
	return check_done();
}
