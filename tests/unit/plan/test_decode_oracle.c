// SPDX-License-Identifier: Apache-2.0
/* Every instruction of real libraries, as this decoder and as capstone read it. */
#include "unit/plan/oracle.h"

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
		/* Else walks would end for want of an opcode. Some of what capstone reads
		 * in glibc is tables. */
		CHECK(tally.described * 100 >= tally.instructions * 85);
		CHECK(tally.unknown * 100 <= tally.instructions);
	}
	CHECK(files >= 1);
	cs_close(&handle);
}

int main(void)
{
	RUN(whole_libraries);
	return check_done();
}
