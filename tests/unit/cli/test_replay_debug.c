// SPDX-License-Identifier: Apache-2.0
/*
 * --replay FILE --debug-dir DIR: frames without name or line get them from debug files,
 * by build-id. The snapshot is of a stripped program; gcc and objcopy make the program,
 * and nm and addr2line say what is right.
 */
#include "offline_apart.h"
#include "unit/options/options_check.h"
#include "unit/files/temp_dir.h"
#include "unit/render/fixture.h"

#include <elf.h>
#include <sys/stat.h>

#include "snapshot/file.h"

#define BIAS UINT64_C(0x555555554000)

#define SHELL(...)                                                                       \
	do {                                                                             \
		char command_[2048];                                                     \
		int at_ = snprintf(command_, sizeof(command_), "set -e; cd %s; ", work); \
		snprintf(command_ + at_, sizeof(command_) - (size_t)at_, __VA_ARGS__);   \
		REQUIRE(!system(command_));                                              \
	} while (0)

static char work[64] = "/tmp/memtrace-test-XXXXXX";

static const char source[] =
	"#include <stdlib.h>\n"
	"static __attribute__((always_inline)) inline void *inner(void)\n"
	"{\n"
	"	return malloc(3);\n"
	"}\n"
	"__attribute__((noinline)) void *outer(void)\n"
	"{\n"
	"	char *made = inner();\n"
	"	made[0] = 1;\n"
	"	return made;\n"
	"}\n"
	"int main(void)\n"
	"{\n"
	"	char *one = outer();\n"
	"	return one[0] - 1;\n"
	"}\n";

/* The executable segment of the program, and its build-id. */
struct program {
	uint64_t address, file_offset, size_bytes; /* with whole pages */
	char build_id[64];
};

static const char *in_work(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", work, name);
	return path;
}

static uint64_t number_of(const char *format, const char *name)
{
	char command[512], line[128] = "";
	FILE *out;

	snprintf(command, sizeof(command), format, work, name);
	out = popen(command, "r");
	REQUIRE(out && fgets(line, sizeof(line), out));
	REQUIRE(!pclose(out));
	return strtoull(line, NULL, 16);
}

static struct program read_program(const char *name)
{
	_cleanup_(fclosep) FILE *file = fopen(in_work(name), "re");
	struct program program = {.address = 0};
	char command[512];
	FILE *out;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	REQUIRE(file && fread(&eh, sizeof(eh), 1, file) == 1);
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		REQUIRE(!fseek(file, (long)(eh.e_phoff + i * sizeof(ph)), SEEK_SET));
		REQUIRE(fread(&ph, sizeof(ph), 1, file) == 1);
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		program.address = ph.p_vaddr & ~UINT64_C(4095);
		program.file_offset = ph.p_offset & ~UINT64_C(4095);
		program.size_bytes =
			((ph.p_vaddr + ph.p_memsz + 4095) & ~UINT64_C(4095)) -
			program.address;
	}
	REQUIRE(program.size_bytes);
	snprintf(command, sizeof(command),
		 "readelf -n %s/%s | sed -n 's/.*Build ID: //p'", work, name);
	out = popen(command, "r");
	REQUIRE(out && fgets(program.build_id, sizeof(program.build_id), out));
	REQUIRE(!pclose(out));
	program.build_id[strcspn(program.build_id, "\n")] = '\0';
	return program;
}

/* The return address of the call in `function` of "whole". */
static uint64_t return_address(const char *function)
{
	return BIAS + number_of("objdump -d --disassemble=%2$s %1$s/whole | grep -A1 "
				"'call' | sed -n '2s/:.*//p'",
				function);
}

/* Write a snapshot of the stripped program. With `are_named` it has the names, but no
 * lines. */
static void save(const char *build_id, bool are_named)
{
	struct program program = read_program("whole");
	_cleanup_(fixture_deinit) struct fixture f;
	uint64_t outer = return_address("outer"), of_main = return_address("main");
	struct snapshot_name names[2] = {{.process = 0, .address = outer},
					 {.process = 0, .address = of_main}};
	FILE *out = fopen(in_work("x.mts"), "we");

	fixture_init(&f);
	fixture_module(&f, BIAS + program.address,
		       BIAS + program.address + program.size_bytes, "/srv/whole",
		       build_id ? build_id : program.build_id);
	f.snap->processes.data->modules.data[0].file_offset = program.file_offset;
	fixture_block(&f, BLOCK_HEAP, 100, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, outer, of_main));
	for (size_t i = 0; i < 2; i++) {
		names[i].offset = 5;
		names[i].symbol = STRING_NONE;
		REQUIRE(string_table_add(&f.snap->strings, "/srv/whole",
					 &names[i].module));
		if (are_named)
			REQUIRE(string_table_add(&f.snap->strings,
						 i ? "main" : "outer_as_recorded",
						 &names[i].symbol));
	}
	REQUIRE(vec_push(&f.snap->names, names[outer > of_main]));
	REQUIRE(vec_push(&f.snap->names, names[outer < of_main]));
	REQUIRE(out && !snapshot_write(f.snap, out) && !fclose(out));
}

static void build(void)
{
	_cleanup_(fclosep) FILE *file = fopen(in_work("made.c"), "we");

	REQUIRE(file && fputs(source, file) >= 0);
	fclosep(&file);
	file = NULL;
	SHELL("rm -rf debug; mkdir debug; gcc -g -O1 -fno-optimize-sibling-calls made.c "
	      "-o whole; objcopy --only-keep-debug whole whole.debug; chmod 755 .");
}

/* The report of a replay with --debug-dir `dir`; valid until the next call. */
static const char *replay(const char *dir, const char *more)
{
	static char text[16384];
	char path[256], out[256], whole[256];
	char *argv[] = {"memtrace", "--replay", path,        "--debug-dir", whole, "-o",
			out,        "-f",       "--older=0", (char *)more,  NULL};
	struct options options;
	_cleanup_(error_destroyp) struct error *err = NULL;
	_cleanup_(fclosep) FILE *file = NULL;

	snprintf(path, sizeof(path), "%s", in_work("x.mts"));
	snprintf(out, sizeof(out), "%s", in_work("out.txt"));
	snprintf(whole, sizeof(whole), "%s/%s", work, dir);
	err = parse_list(argv, &options);
	REQUIRE(!err);
	err = offline_apart(&options);
	if (err) {
		snprintf(text, sizeof(text), "%s", err->message);
		return text;
	}
	file = fopen(out, "re");
	REQUIRE(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	return text;
}

/* The option that writes again.mts. */
static const char *in_work_save(void)
{
	static char option[256];

	snprintf(option, sizeof(option), "--save=%s/again.mts", work);
	return option;
}

static void check_named(const char *dir)
{
	const char *text = replay(dir, NULL);

	CHECK_CONTAINS(text, "inner [inlined] [whole] at ");
	CHECK_CONTAINS(text, "/made.c:4\n");
	CHECK_CONTAINS(text, "outer+0x");
	CHECK_CONTAINS(text, "/made.c:8\n");
	CHECK_CONTAINS(text, "main+0x");
	CHECK_CONTAINS(text, "/made.c:14\n");
}

static void check_unnamed(const char *dir)
{
	const char *text = replay(dir, NULL);

	CHECK_CONTAINS(text, "[whole+0x");
	CHECK(!strstr(text, "outer") && !strstr(text, "made.c"));
}

static void by_build_id(void)
{
	struct program program;

	build();
	program = read_program("whole");
	save(NULL, false);
	check_unnamed("debug");
	SHELL("mkdir -p debug/.build-id/%.2s; cp whole.debug "
	      "debug/.build-id/%.2s/%s.debug",
	      program.build_id, program.build_id, program.build_id + 2);
	check_named("debug");
	CHECK(!strstr(replay("debug", "--no-lines"), "made.c"));
	CHECK_CONTAINS(replay("debug", "--no-lines"), "outer+0x");
	/* JSON too. */
	CHECK_CONTAINS(replay("debug", "--format=json"), "\"symbol\":\"outer\"");
}

/* Wherever it is and whatever its name is. */
static void by_content(void)
{
	build();
	save(NULL, false);
	SHELL("mkdir -p debug/a/b; head -c 100000 /dev/urandom > debug/a/noise; "
	      "ln -s /dev/zero debug/zero; mkfifo debug/a/fifo; : > debug/a/b/empty; "
	      "cp whole.debug debug/a/b/any-name");
	check_named("debug");
	/* The program itself will do. */
	SHELL("cp whole debug/a/b/any-name");
	check_named("debug");
	SHELL("chmod 0 debug/a/b/any-name");
	if (!geteuid())
		check_unnamed("debug");
}

/* Debug info that dwz has moved to a supplementary file, which has a build-id too. */
static void supplementary(void)
{
	build();
	SHELL("gcc -gdwarf-4 -O1 -fno-optimize-sibling-calls made.c -o whole; "
	      "cp whole one; cp whole two; dwz -m common.debug one two; "
	      "readelf -S one | grep -q gnu_debugaltlink; cp one debug/");
	save(NULL, false);
	CHECK(!strstr(replay("debug", NULL), "made.c"));
	SHELL("mkdir debug/.dwz; cp common.debug debug/.dwz/");
	check_named("debug");
}

/* A file with another build-id, also below the right name, says nothing. */
static void files_of_another_build_id_give_no_names(void)
{
	struct program program;

	build();
	program = read_program("whole");
	save(NULL, false);
	SHELL("gcc -g -O0 made.c -o other; mkdir -p debug/.build-id/%.2s; "
	      "cp other debug/.build-id/%.2s/%s.debug",
	      program.build_id, program.build_id, program.build_id + 2);
	check_unnamed("debug");
	save("../../../../etc/passwd", false);
	check_unnamed("debug");
	save("", false);
	check_unnamed("debug");
}

/* Names stay as recorded; lines are added. */
static void only_lines(void)
{
	const char *text;

	build();
	save(NULL, true);
	CHECK(!strstr(replay("debug", NULL), "made.c"));
	SHELL("cp whole.debug debug/");
	text = replay("debug", NULL);
	CHECK_CONTAINS(text, "outer_as_recorded+0x4");
	CHECK_CONTAINS(text, "/made.c:8\n");
	CHECK_CONTAINS(text, "inner [inlined]");
}

/* --save keeps what was found: the new snapshot needs no debug files. */
static void saved_again(void)
{
	build();
	save(NULL, false);
	SHELL("cp whole.debug debug/; rm -f again.mts; mkdir empty");
	replay("debug", in_work_save());
	SHELL("mv again.mts x.mts");
	check_named("empty");
	/* Without debug files all stays as it is. */
	save(NULL, false);
	replay("empty", in_work_save());
	SHELL("mv again.mts x.mts");
	check_unnamed("empty");
	SHELL("rmdir empty");
}

/* Debug info that was damaged at any place ends at most the child. */
static void damaged(void)
{
	build();
	save(NULL, false);
	for (unsigned seed = 1; seed <= 40; seed++) {
		const char *text;

		SHELL("cp whole.debug debug/x; size=$(stat -c %%s debug/x); n=%u; "
		      "for i in 1 2 3 4 5 6 7 8; do n=$(( (n * 1103515245 + 12345) %% "
		      "2147483648 )); printf '\\377' | dd of=debug/x bs=1 "
		      "seek=$((n %% size)) conv=notrunc status=none; done",
		      seed);
		text = replay("debug", NULL);
		CHECK_CONTAINS(text, "100 bytes in 1 allocations");
	}
}

static void no_directory(void)
{
	build();
	save(NULL, false);
	CHECK_CONTAINS(replay("nothing", NULL), "/nothing: No such file or directory");
	CHECK_CONTAINS(replay("whole", NULL), "/whole: Not a directory");
}

int main(void)
{
	REQUIRE(mkdtemp(work));
	RUN(by_build_id);
	RUN(by_content);
	RUN(supplementary);
	RUN(files_of_another_build_id_give_no_names);
	RUN(only_lines);
	RUN(saved_again);
	RUN(damaged);
	RUN(no_directory);
	SHELL("rm -rf %s", work);
	return check_done();
}
