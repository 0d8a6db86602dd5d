// SPDX-License-Identifier: Apache-2.0
/* Code as bytes and back, and bytes that are not code. */
#include "bpf/code.h"

#include <linux/bpf.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static const struct bpf_insn insns[] = {
	{.code = BPF_LD | BPF_DW | BPF_IMM,
	 .dst_reg = 1,
	 .src_reg = BPF_PSEUDO_MAP_FD,
	 .imm = 1},
	{.imm = 0},
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 7},
	{.code = BPF_JMP | BPF_EXIT},
};

#define INSNS (sizeof(insns) / sizeof(*insns))

static struct code *make(void)
{
	struct code *code = calloc(1, sizeof(*code));

	REQUIRE(code);
	REQUIRE(vec_push(&code->maps, (struct code_map){"first", 2, 4, 8, 16, 1024}));
	REQUIRE(vec_push(&code->maps, (struct code_map){"second", 1, 8, 80, 4096, 0}));
	REQUIRE(vec_push(&code->programs, (struct code_program){"on_one", 0, 4}));
	REQUIRE(vec_push(&code->programs, (struct code_program){"on_other", 2, 2}));
	for (size_t i = 0; i < INSNS; i++)
		REQUIRE(vec_push(&code->insns, insns[i]));
	return code;
}

/* Packs the code, destroys it, and unpacks it. NULL if it is refused. */
static struct code *through_bytes(struct code *code)
{
	size_t size = 0;
	void *bytes = code_pack(code, &size);
	struct code *back;

	REQUIRE(bytes);
	back = code_unpack(bytes, size);
	free(bytes);
	code_destroy(code);
	return back;
}

static void bytes_and_back(void)
{
	struct code *code = through_bytes(make());

	REQUIRE(code);
	CHECK_INT(code->libraries.len, 0);
	REQUIRE(code->maps.len == 2);
	CHECK_STR(code->maps.data[1].name, "second");
	CHECK_INT(code->maps.data[1].type, 1);
	CHECK_INT(code->maps.data[1].key_bytes, 8);
	CHECK_INT(code->maps.data[1].value_bytes, 80);
	CHECK_INT(code->maps.data[1].entries, 4096);
	CHECK_INT(code->maps.data[0].flags, 1024);
	REQUIRE(code->insns.len == INSNS);
	CHECK(!memcmp(code->insns.data, insns, sizeof(insns)));
	REQUIRE(code_program_find(code, "on_other"));
	CHECK_INT(code_program_find(code, "on_other")->first, 2);
	CHECK(!code_program_find(code, "on_none"));
	code_destroy(code);
}

static void all_other_bytes_are_refused(void)
{
	struct code *code = make();
	size_t size = 0;
	char *bytes = code_pack(code, &size);

	REQUIRE(bytes);
	/* Each part in its own block, so that a sanitizer notices reads beyond it. */
	for (size_t len = 0; len < size; len++) {
		char *part = malloc(len + 1);

		REQUIRE(part);
		memcpy(part, bytes, len);
		CHECK(!code_unpack(part, len));
		free(part);
	}
	for (size_t i = 0; i < 16; i++) {
		char was = bytes[i];

		bytes[i] = (char)(was ^ 0x41);
		CHECK(!code_unpack(bytes, size));
		bytes[i] = was;
	}
	free(bytes);
	code_destroy(code);
}

static void what_leads_out_of_it_is_refused(void)
{
	struct code *code = make();

	code->programs.data[0].count = 5;
	CHECK(!through_bytes(code));
	code = make();
	code->programs.data[1].first = 5;
	CHECK(!through_bytes(code));
	code = make();
	code->programs.data[1].first = 1;
	code->programs.data[1].count = UINT32_MAX;
	CHECK(!through_bytes(code));
	/* The program ends in the middle of a wide instruction. */
	code = make();
	code->programs.data[0].count = 1;
	CHECK(!through_bytes(code));
	code = make();
	code->insns.data[0].imm = 2;
	CHECK(!through_bytes(code));
	code = make();
	code->insns.data[0].imm = -1;
	CHECK(!through_bytes(code));
	code = make();
	memset(code->maps.data[0].name, 'x', CODE_NAME_MAX);
	CHECK(!through_bytes(code));
	code = make();
	memset(code->programs.data[0].name, 'x', CODE_NAME_MAX);
	CHECK(!through_bytes(code));
	/* The second half of a wide instruction is not an instruction. */
	code = make();
	code->insns.data[1].code = BPF_LD | BPF_DW | BPF_IMM;
	code = through_bytes(code);
	CHECK(code);
	code_destroy(code);
}

static void code_of_a_changed_library_is_not_current(void)
{
	char path[] = "/tmp/memtrace-test-XXXXXX";
	int fd = mkstemp(path);
	struct code *code = make();
	struct code_library library = {.path = ""};

	REQUIRE(fd >= 0);
	strcpy(library.path, path);
	REQUIRE(code_library_look_at(&library));
	REQUIRE(vec_push(&code->libraries, library));
	code = through_bytes(code);
	REQUIRE(code);
	CHECK(code_is_current(code));
	REQUIRE(write(fd, "x", 1) == 1);
	CHECK(!code_is_current(code));
	REQUIRE(code_library_look_at(&code->libraries.data[0]));
	CHECK(code_is_current(code));
	/* Change the file, but not its size, a little later. */
	nanosleep(&(const struct timespec){.tv_nsec = 20000000}, NULL);
	REQUIRE(pwrite(fd, "y", 1, 0) == 1);
	CHECK(!code_is_current(code));
	REQUIRE(code_library_look_at(&code->libraries.data[0]));
	CHECK(code_is_current(code));
	unlink(path);
	CHECK(!code_is_current(code));
	close(fd);
	code_destroy(code);
}

int main(void)
{
	RUN(bytes_and_back);
	RUN(all_other_bytes_are_refused);
	RUN(what_leads_out_of_it_is_refused);
	RUN(code_of_a_changed_library_is_not_current);
	return check_done();
}
