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

/* All analyses of a function. */
static const char *analyze(const struct code *code, size_t size)
{
	static const enum result_width widths[] = {RESULT_WORD, RESULT_INT, RESULT_OUT,
						   RESULT_VOID};
	const char *why = NULL;

	for (size_t i = 0; i < COUNT(widths); i++) {
		struct returns returns = {.source = &code->source, .emulated = 15};
		struct return_sites sites;

		why = returns_find(&returns,
				   &(struct returns_request){.address = BASE,
							     .size = size,
							     .width = widths[i],
							     .asked = RETURN_NO_SIZE},
				   &sites);
		CHECK(why || sites.list.len);
		return_sites_deinit(&sites);
		returns_deinit(&returns);
	}
	return why;
}

/* Takes one second, or several with sanitizers. Without bounds in the code it would take
 * more than half a minute. */
#define SLOW_S 15

static void analyze_in_time(const uint8_t *bytes, size_t size)
{
	double before_s = check_cpu_s();
	struct code code;

	code_init(&code, bytes, size);
	analyze(&code, size);
	CHECK(check_cpu_s() - before_s < SLOW_S);
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
	RUN(random_bytes);
	RUN(mutations);
	RUN(mutations_of_real_functions);
	return check_done();
}
