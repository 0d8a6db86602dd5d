// SPDX-License-Identifier: Apache-2.0
/* Control-flow graphs of hostile functions: too long, slow, and changed at random. */
#include "check.h"

#include "code/values.h"
#include "elf/elf.h"
#include "plan/returns.h"
#include "unit/code/cfg_made.h"
#include "unit/code/guarded.h"
#include "unit/plan/cfg_graph.h"
#include "unit/random.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

#define TOO_LONG "it is too long"

static void too_long(void)
{
	double before_s = check_cpu_s();
	static uint8_t bytes[200000];
	struct code code;
	struct cfg cfg;

	/* 100,000 basic blocks: je to the next instruction */
	for (size_t i = 0; i < sizeof(bytes); i += 2)
		memcpy(bytes + i, "\x74\0", 2);
	code_init(&code, bytes, sizeof(bytes));
	CHECK_STR(read_code(&code, &cfg), TOO_LONG);
	cfg_deinit(&cfg);
	/* as long as a symbol may be */
	code_init(&code, bytes, CFG_RANGE_MAX);
	CHECK_STR(read_code(&code, &cfg), TOO_LONG);
	cfg_deinit(&cfg);
	/* an address space, and beyond its end */
	code_init(&code, bytes, sizeof(bytes));
	CHECK_STR(cfg_read(&code.source, BASE, UINT64_MAX, &cfg), TOO_LONG);
	cfg_deinit(&cfg);
	CHECK_STR(cfg_read(&code.source, BASE, UINT64_MAX - BASE, &cfg), TOO_LONG);
	cfg_deinit(&cfg);
	CHECK(check_cpu_s() - before_s < 2);
}

/* Which results are asked for, and which size. */
static const struct {
	enum result_width width;
	enum value asked;
} questions[] = {
	{RESULT_WORD, RETURN_NO_SIZE}, {RESULT_INT, RETURN_NO_SIZE},
	{RESULT_OUT, RETURN_NO_SIZE},  {RESULT_VOID, RETURN_NO_SIZE},
	{RESULT_WORD, VALUE_ARG0},     {RESULT_WORD, VALUE_PRODUCT},
};

/* Count the sites that see whole calls. A function that has none has no entry sites. */
static size_t check_wholes(const struct return_sites *sites)
{
	size_t count = 0;

	vec_foreach (site, &sites->list) {
		CHECK(!site->is_whole || site->size_reg < INSN_REGISTERS);
		CHECK(!site->is_whole || site->is_emulated);
		count += site->is_whole;
	}
	vec_foreach (entry, &sites->entries)
		CHECK(entry->size_reg < INSN_REGISTERS && entry->reason);
	CHECK(sites->is_fused ? count > 0 : !count && !sites->entries.len);
	return count;
}

/* Sites that saw whole calls, in all analyses. */
static size_t wholes;

/* All analyses of a function. True if the work of one of them was over. */
static bool analyze(struct code *code, size_t size)
{
	bool is_over = false;

	for (size_t i = 0; i < COUNT(questions); i++) {
		struct returns returns = {.source = &code->source, .emulated = 15};
		struct work work = {0};
		struct return_sites sites;
		const char *why;

		code->source.work = &work;
		why = returns_find(&returns,
				   &(struct returns_request){.address = BASE,
							     .size = size,
							     .width = questions[i].width,
							     .asked = questions[i].asked},
				   &sites);
		CHECK(why || sites.list.len);
		if (!why)
			wholes += check_wholes(&sites);
		if (work.is_over)
			CHECK_STR(why, CFG_TOO_MUCH);
		is_over |= work.is_over;
		return_sites_deinit(&sites);
		returns_deinit(&returns);
	}
	return is_over;
}

/* Takes one second, or several with sanitizers. Without bounds in the code it would take
 * more than half a minute. */
#define SLOW_S 15

static void code_in_time(struct code *code)
{
	double before_s = check_cpu_s();
	bool is_over = analyze(code, code->parts[0].size);

	printf("     %.2f s%s\n", check_cpu_s() - before_s,
	       is_over ? ", the work was over" : "");
	CHECK(check_cpu_s() - before_s < SLOW_S);
}

static void analyze_in_time(const uint8_t *bytes, size_t size)
{
	struct code code;

	code_init(&code, bytes, size);
	code_in_time(&code);
}

/* Each call is to another function, and a nop follows it: whether the function returns
 * is found by reading it to its end. */
static void many_callees(void)
{
	static uint8_t bytes[8000 * 6 + 1], nops[CFG_RANGE_MAX];
	size_t size = 0;
	struct code code;

	for (uint32_t i = 0; i < 8000; i++) {
		uint32_t to = 0x100000 + i - (BASE + (uint32_t)size + 5);

		bytes[size] = 0xe8;
		memcpy(bytes + size + 1, &to, 4);
		bytes[size + 5] = 0x90;
		size += 6;
	}
	bytes[size++] = 0xc3;
	memset(nops, 0x90, sizeof(nops));
	code_init(&code, bytes, size);
	code_add(&code, 0x100000, nops, sizeof(nops));
	code_in_time(&code);
}

/* Sites that see whole calls: one for each of so many constant results. */
#define ARMS 60

/* A chain of jumps leads to a choice of many results. To find the instructions that lead
 * to a site, information spreads along the chain by one jump a sweep. */
static void many_wholes(void)
{
	static uint8_t bytes[CFG_RANGE_MAX];
	uint32_t count = 16000, size = 5, to;

	/* 0: jmp to the last of the chain; 5: je to each arm */
	for (uint32_t i = 0; i < ARMS; i++, size += 6) {
		to = (5 + ARMS * 6 + i * 7) - (size + 6);
		memcpy(bytes + size, "\x0f\x84", 2);
		memcpy(bytes + size + 2, &to, 4);
	}
	/* mov eax, 16 + i; nop; ret. The last je goes on with the first arm. */
	for (uint32_t i = 0; i < ARMS; i++, size += 7) {
		to = 16 + i;
		bytes[size] = 0xb8;
		memcpy(bytes + size + 1, &to, 4);
		memcpy(bytes + size + 5, "\x90\xc3", 2);
	}
	/* the first of the chain: jmp 5 */
	to = 5 - (size + 5);
	bytes[size] = 0xe9;
	memcpy(bytes + size + 1, &to, 4);
	size += 5;
	for (uint32_t i = 0; i < count; i++, size += 2)
		memcpy(bytes + size, i ? "\xeb\xfc" : "\xeb\xf9", 2);
	bytes[0] = 0xe9;
	to = size - 2 - 5;
	memcpy(bytes + 1, &to, 4);
	analyze_in_time(bytes, size);
}

/* Chains of jumps, arranged so that information spreads as slowly as possible. */
static void slow_functions(void)
{
	static uint8_t bytes[CFG_RANGE_MAX];
	size_t count = 16000, size = 0;

	/* jmp to the last; each jumps to the one before it; the first is ret. */
	bytes[size++] = 0xe9;
	size += 4;
	bytes[size++] = 0xc3;
	for (size_t i = 0; i < count; i++) {
		/* ret is one byte before the first jump */
		memcpy(bytes + size, i ? "\xeb\xfc" : "\xeb\xfd", 2);
		size += 2;
	}
	for (unsigned i = 0; i < 4; i++)
		bytes[1 + i] = (uint8_t)((size - 2 - 5) >> (8 * i));
	analyze_in_time(bytes, size);

	/* Forward: each conditional jump goes to the next one, and all go to the end. */
	for (size = 0; size < 10900 * 6; size += 6) {
		uint32_t to = (uint32_t)(10900 * 6 - size - 6);

		memcpy(bytes + size, "\x0f\x84", 2);
		memcpy(bytes + size + 2, &to, 4);
	}
	bytes[size++] = 0xc3;
	analyze_in_time(bytes, size);

	/* Each call is to another function. */
	for (size = 0; size + 6 < sizeof(bytes); size += 5) {
		uint32_t to = (uint32_t)(0x100000 + 11 * size);

		bytes[size] = 0xe8;
		memcpy(bytes + size + 1, &to, 4);
	}
	bytes[size++] = 0xc3;
	analyze_in_time(bytes, size);
}

/* Longest function that is tested at the end of readable memory, bytes. */
#define GUARDED_SIZE 16384

/* True if the function is understood. */
static bool try_guarded(const struct guarded *g, const uint8_t *bytes, size_t size)
{
	struct code code;
	struct cfg cfg;
	const char *why;

	code_init(&code, guarded_copy(g, bytes, size), size);
	code_add(&code, COLD, splits_cold, sizeof(splits_cold) - 1);
	why = read_code(&code, &cfg);
	cfg_deinit(&cfg);
	if (!why)
		analyze(&code, size);
	return !why;
}

static void random_bytes(void)
{
	struct guarded g = guarded_map(GUARDED_SIZE);
	unsigned found = 0;
	uint8_t bytes[300];

	for (unsigned i = 0; i < 60000; i++) {
		size_t size = 1 + random_below(i % 16 ? 24 : sizeof(bytes));

		for (size_t k = 0; k < size; k++)
			bytes[k] = (uint8_t)random_below(256);
		if (i & 1)
			bytes[size - 1] = 0xc3;
		found += try_guarded(&g, bytes, size);
	}
	guarded_unmap(&g);
	printf("     %u of random bytes are understood\n", found);
	CHECK(found > 100);
}

static unsigned mutate(const uint8_t *original, size_t size, unsigned times)
{
	struct guarded g = guarded_map(GUARDED_SIZE);
	uint8_t *bytes = malloc(size);
	unsigned found = 0;

	REQUIRE(bytes);
	for (unsigned i = 0; i < times; i++) {
		size_t part = random_below(16) ? size : 1 + random_below((uint32_t)size);

		memcpy(bytes, original, size);
		random_damage(bytes, size, random_below(4));
		found += try_guarded(&g, bytes, part);
	}
	free(bytes);
	guarded_unmap(&g);
	return found;
}

static void mutations(void)
{
#define MUTATE(bytes) found += mutate((const uint8_t *)(bytes), sizeof(bytes) - 1, 2000)
	unsigned found = 0;

	wholes = 0;
	MUTATE(branches);
	MUTATE(looping);
	MUTATE(tail_call);
	MUTATE(conditional_tail_call);
	MUTATE(splits);
	MUTATE(dies_with_nops);
	MUTATE(dies_before_label);
	MUTATE(frame);
	MUTATE(frame_lea);
	MUTATE(pushes);
	printf("     %u of 20000 mutations are understood\n", found);
	CHECK(found > 1000);
	printf("     %zu sites saw whole calls\n", wholes);
	CHECK(wholes > 100);
}

/* Functions of this machine's C library. */
static void mutations_of_real_functions(void)
{
	static const char *const paths[] = {"/lib/x86_64-linux-gnu/libc.so.6",
					    "/lib64/libc.so.6"};
	static const char *const names[] = {"malloc", "free", "posix_memalign", "mmap",
					    "qsort"};
	unsigned found = 0, tried = 0;

	for (size_t i = 0; i < COUNT(paths) && !tried; i++) {
		_cleanup_(elf_file_closep) struct elf_file *file = NULL;
		_cleanup_(error_destroyp) struct error *error =
			elf_file_open(paths[i], &file);
		struct elf_symbol symbols[COUNT(names)];
		uint8_t bytes[4096];

		if (error)
			continue;
		REQUIRE(!elf_file_find_functions(file, names, COUNT(names), symbols));
		for (size_t n = 0; n < COUNT(names); n++) {
			size_t size = (size_t)symbols[n].size_bytes;

			if (!symbols[n].name || !size || size > sizeof(bytes))
				continue;
			REQUIRE(elf_file_read(file, symbols[n].file_offset, bytes,
					      size) == size);
			tried += 800;
			found += mutate(bytes, size, 800);
		}
	}
	printf("     %u of %u mutations of real functions are understood\n", found,
	       tried);
}

int main(void)
{
	RUN(too_long);
	RUN(slow_functions);
	RUN(many_callees);
	RUN(many_wholes);
	RUN(random_bytes);
	RUN(mutations);
	RUN(mutations_of_real_functions);
	return check_done();
}
