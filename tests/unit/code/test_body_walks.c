// SPDX-License-Identifier: Apache-2.0
/* Sites inside random or damaged functions. No table has the right sites: random paths
 * through the function check them. */
#include "check.h"

#include "elf/elf.h"
#include "unit/code/body_walk.h"
#include "unit/code/guarded.h"
#include "unit/random.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

/* --- random paths through the bodies ---------------------------------------------- */

static void walks(void)
{
	static const struct {
		const char *code;
		size_t size;
	} all[] = {
		{whole, sizeof(whole) - 1},     {ways, sizeof(ways) - 1},
		{checked, sizeof(checked) - 1}, {padded, sizeof(padded) - 1},
		{joined, sizeof(joined) - 1},
	};

	for (size_t i = 0; i < COUNT(all); i++) {
		struct function f = made(all[i].code, all[i].size);

		CHECK(judge(&f));
	}
}

/* Checks that the random paths notice errors: each body has wrong sites. Returns the
 * number of errors. */
static unsigned failures_of(const struct function *f, const struct body *body)
{
	unsigned before = check_state.failures, failures;
	FILE *errors = stderr, *nowhere = fopen("/dev/null", "w");

	REQUIRE(nowhere);
	stderr = nowhere;
	for (unsigned i = 0; i < 64; i++)
		walk_once(f, body);
	stderr = errors;
	fclose(nowhere);
	failures = check_state.failures - before;
	check_state.failures = before;
	return failures;
}

static void walks_see_errors(void)
{
	struct function f = FUNCTION(ways);
	struct body good, bad;

	REQUIRE(!find(&f, &good));
	REQUIRE(good.count == 4);
	CHECK_INT(failures_of(&f, &good), 0);
	for (size_t i = 0; i < good.count; i++) {
		bad = good;
		bad.sites[i].sp_delta += 8;
		CHECK(failures_of(&f, &bad));
		bad = good;
		bad.sites[i].delta = 0;
		CHECK(failures_of(&f, &bad));
		if (good.sites[i].size_reg == NO)
			continue;
		bad = good;
		bad.sites[i].size_reg = INSN_RBP;
		CHECK(failures_of(&f, &bad));
	}
}

/* --- hostile functions -------------------------------------------------------------- */

/* Checks that nothing after the function is read. */
static void check_guarded(const struct guarded *g, const struct function *f)
{
	const struct flow_text at_end = {.code = guarded_copy(g, f->code, f->size),
					 .size = f->size};
	struct body body, guarded;

	CHECK(find(f, &body) == body_find(&at_end, f->emulated, &guarded));
	CHECK_INT(guarded.count, body.count);
}

static void random_bytes(void)
{
	struct guarded g = guarded_map(FLOW_CODE_MAX);
	unsigned found = 0;

	for (unsigned i = 0; i < 30000; i++) {
		struct function f = {.size = 1 + random_below(i % 16 ? 24 : 300),
				     .emulated = random_below(16)};

		for (size_t k = 0; k < f.size; k++)
			f.code[k] = (uint8_t)random_below(256);
		if (i & 1)
			f.code[f.size - 1] = 0xc3;
		check_guarded(&g, &f);
		found += judge(&f);
	}
	for (size_t size = 1; size < sizeof(ways); size++) {
		struct function f = made(ways, size);

		check_guarded(&g, &f);
	}
	guarded_unmap(&g);
	printf("     %u of random bytes have sites\n", found);
}

/* Instructions for random functions. Some of the functions have sites. A branch can go to
 * any of them. */
static const struct {
	const char *code;
	size_t size;
	unsigned weight;
} menu[] = {
#define ITEM(bytes, weight)                                                              \
	{                                                                                \
		bytes, sizeof(bytes) - 1, weight                                         \
	}
	ITEM("\x85\xff", 2),                       /* test edi, edi */
	ITEM("\x78\0", 10),                        /* js */
	ITEM("\xeb\0", 2),                         /* jmp */
	ITEM("\xe8\0\0\1\0", 2),                   /* call f */
	ITEM("\xe8\0\0\2\0", 1),                   /* call g */
	ITEM("\x31\xff\xe8\0\0\3\0\x90", 1),       /* xor edi, edi; call; nop */
	ITEM("\x31\xff\xe8\0\0\3\0\x0f\x1f\0", 1), /* xor edi, edi; call; nop */
	ITEM("\x90", 2),                           /* nop */
	ITEM("\x31\xc0", 1),                       /* xor eax, eax */
	ITEM("\x31\xdb", 1),                       /* xor ebx, ebx */
	ITEM("\x48\x89\xdd", 1),                   /* mov rbp, rbx */
	ITEM("\x48\x8b\x06", 2),                   /* mov rax, [rsi] */
	ITEM("\x89\x08", 2),                       /* mov [rax], ecx */
	ITEM("\x5b\xc3", 6),                       /* pop rbx; ret */
	ITEM("\x31\xc0\x5b\xc3", 1),               /* xor eax, eax; pop rbx; ret */
	ITEM("\x51\x59", 1),                       /* push rcx; pop rcx */
#undef ITEM
};

#define ITEMS_MAX 40

static size_t choose_item(void)
{
	unsigned all = 0, n;
	size_t item = 0;

	for (size_t i = 0; i < COUNT(menu); i++)
		all += menu[i].weight;
	for (n = random_below(all); n >= menu[item].weight; item++)
		n -= menu[item].weight;
	return item;
}

static struct function random_function(void)
{
	struct function f = FUNCTION("\x53\x48\x89\xfb"); /* push rbx; mov rbx, rdi */
	unsigned count = 3 + random_below(ITEMS_MAX - 3);
	uint32_t at[ITEMS_MAX + 1];

	for (unsigned i = 0; i < count; i++) {
		size_t item = choose_item();

		at[i] = (uint32_t)f.size;
		memcpy(f.code + f.size, menu[item].code, menu[item].size);
		f.size += menu[item].size;
	}
	at[count] = (uint32_t)f.size;
	memcpy(f.code + f.size, "\x5b\xc3", 2);
	f.size += 2;
	for (unsigned i = 0; i < count; i++) {
		uint8_t *code = f.code + at[i];
		/* Mostly forward, as compilers do. */
		unsigned to = random_below(8) ? i + 1 + random_below(count - i)
					      : random_below(count + 1);

		if (code[0] == 0x78 || code[0] == 0xeb)
			code[1] = (uint8_t)(at[to] - at[i] - 2);
	}
	return f;
}

static void random_functions(void)
{
	unsigned found = 0, parts[BODY_STOP + 1] = {0};

	for (unsigned i = 0; i < 40000; i++) {
		struct function f = random_function();
		struct body body;

		if (!judge(&f))
			continue;
		found++;
		REQUIRE(!find(&f, &body));
		for (size_t k = 0; k < body.count; k++)
			parts[body.sites[k].part]++;
	}
	printf("     %u of random functions have sites\n", found);
	for (unsigned part = BODY_WHOLE; part <= BODY_STOP; part++) {
		printf("     part %u: %u times\n", part, parts[part]);
		CHECK(parts[part] > 20);
	}
}

/* Reads malloc() of this machine's C library. False: not for x86-64. */
static bool read_malloc(struct function *ret)
{
	static const char *const paths[] = {"/lib/x86_64-linux-gnu/libc.so.6",
					    "/lib64/libc.so.6"};
	static const char *const names[] = {"malloc"};

	for (size_t i = 0; i < COUNT(paths); i++) {
		_cleanup_(elf_file_closep) struct elf_file *file = NULL;
		struct elf_symbol symbol;
		struct error *error = elf_file_open(paths[i], &file);

		if (error) {
			error_destroy(error);
			continue;
		}
		REQUIRE(!elf_file_find_functions(file, names, 1, &symbol));
		if (!symbol.name || !symbol.size_bytes ||
		    symbol.size_bytes > FLOW_CODE_MAX)
			continue;
		*ret = (struct function){.size = (size_t)symbol.size_bytes,
					 .emulated = ALL};
		REQUIRE(elf_file_read(file, symbol.file_offset, ret->code, ret->size) ==
			ret->size);
		return true;
	}
	return false;
}

static void mutate(const struct function *original, unsigned times, const char *name)
{
	struct guarded g = guarded_map(FLOW_CODE_MAX);
	unsigned found = 0;

	for (unsigned i = 0; i < times; i++) {
		struct function f = *original;

		random_damage(f.code, f.size, 1 + random_below(4));
		if (!random_below(16))
			f.size = 1 + random_below((uint32_t)f.size);
		check_guarded(&g, &f);
		found += judge(&f);
	}
	guarded_unmap(&g);
	printf("     %u of %u mutations of %s have sites\n", found, times, name);
	CHECK(found > 0);
}

static void mutations(void)
{
	struct function f = FUNCTION(ways);

	mutate(&f, 20000, "a function above");
	f = FUNCTION(checked);
	mutate(&f, 20000, "another");
}

/* Only if malloc() has sites at all. unit.code.body_malloc prints whether it has. */
static void mutations_of_malloc(void)
{
	struct function f;

	if (!read_malloc(&f)) {
		printf("     no x86-64 C library is here\n");
		return;
	}
	if (judge(&f))
		mutate(&f, 3000, "malloc");
}

int main(void)
{
	RUN(walks);
	RUN(walks_see_errors);
	RUN(random_bytes);
	RUN(random_functions);
	RUN(mutations);
	RUN(mutations_of_malloc);
	return check_done();
}
