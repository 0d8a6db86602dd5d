// SPDX-License-Identifier: Apache-2.0
/*
 * The sites in the allocation functions of real libraries, compared with a second
 * implementation that uses capstone.
 */
#include "unit/code/oracle.h"

#include "code/place.h"
#include "allocator/allocator.h"
#include "elf/elf.h"
#include "util/cleanup.h"

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define FUNCTION_MAX  65536
#define FUNCTIONS_MAX 96
#define NOWHERE       UINT32_MAX

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

struct function {
	const char *name;
	unsigned arguments;
	bool frees;
};

/* Functions of jemalloc and C++ operators. libc's functions are in alloc_families.c. */
static const struct function others[] = {
	{"mallocx", 1, false},
	{"rallocx", 3, false},
	{"xallocx", 3, false},
	{"dallocx", 1, true},
	{"sdallocx", 1, true},
	{"sbrk", 1, false},
	{"_Znwm", 1, false},
	{"_Znam", 1, false},
	{"_ZnwmRKSt9nothrow_t", 1, false},
	{"_ZnamRKSt9nothrow_t", 1, false},
	{"_ZnwmSt11align_val_t", 1, false},
	{"_ZnamSt11align_val_t", 1, false},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", 1, false},
	{"_ZdlPv", 1, true},
	{"_ZdaPv", 1, true},
	{"_ZdlPvm", 1, true},
	{"_ZdaPvm", 1, true},
	{"_ZdlPvRKSt9nothrow_t", 1, true},
	{"_ZdlPvSt11align_val_t", 1, true},
	{"_ZdlPvmSt11align_val_t", 1, true},
	{"__rust_alloc", 1, false},
	{"__rust_dealloc", 1, true},
	{"__rust_realloc", 1u << 0 | 1u << 3, false},
	{"__rust_alloc_zeroed", 1, false},
	{"__rdl_alloc", 1, false},
	{"__rdl_dealloc", 1, true},
	{"__rdl_realloc", 1u << 0 | 1u << 3, false},
	{"__rdl_alloc_zeroed", 1, false},
};

struct library {
	const char *label, *paths[2];
	unsigned at_least; /* number of functions to check, if the library is installed */
};

static const struct library libraries[] = {
	{"glibc", {"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"}, 13},
	{"libstdc++",
	 {"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib64/libstdc++.so.6"},
	 10},
	{"jemalloc",
	 {"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "/usr/lib64/libjemalloc.so.2"},
	 14},
	{"tcmalloc",
	 {"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",
	  "/usr/lib64/libtcmalloc_minimal.so.4"},
	 10},
	{"mimalloc",
	 {"/usr/lib/x86_64-linux-gnu/libmimalloc.so.2", "/usr/lib64/libmimalloc.so.2"},
	 10},
	{"musl", {"/lib/ld-musl-x86_64.so.1", "/lib/x86_64-linux-musl/libc.so"}, 7},
};

/*
 * Sites of Debian 12's builds (x86_64). They were also counted on a running kernel:
 * 100,000 calls gave 100,000 hits of both probes.
 */
static const struct known {
	const char *build_id, *name;
	uint32_t delta;
	uint8_t arg_reg[2];
} known_sites[] = {
	/* glibc 2.36-9+deb12u14 */
	{"93ac61ec5a8eb1396f9fbd350e3169a558528a40", "malloc", 0, {7, 6}},
	{"93ac61ec5a8eb1396f9fbd350e3169a558528a40", "calloc", 0, {7, 6}},
	{"93ac61ec5a8eb1396f9fbd350e3169a558528a40", "realloc", 0, {7, 6}},
	{"93ac61ec5a8eb1396f9fbd350e3169a558528a40", "free", 3, {7, 6}},
	{"93ac61ec5a8eb1396f9fbd350e3169a558528a40", "aligned_alloc", 7, {7, 6}},
	{"93ac61ec5a8eb1396f9fbd350e3169a558528a40", "posix_memalign", 7, {7, 6}},
	{"93ac61ec5a8eb1396f9fbd350e3169a558528a40", "valloc", 7, {7, 6}},
	{"93ac61ec5a8eb1396f9fbd350e3169a558528a40", "mmap", 10, {7, 6}},
	/* libstdc++ 12.2.0-14+deb12u1 */
	{"289ee39f8c07bd4fa48102dfeeb7e6f9c76158b4", "_Znwm", 12, {7, 6}},
	{"289ee39f8c07bd4fa48102dfeeb7e6f9c76158b4", "_ZdlPv", 4, {7, 6}},
	/* jemalloc 5.3.0-1 */
	{"1d5163c246dc9cd2b4d339f2ac42efd95c6e0ae1", "malloc", 7, {7, 6}},
	{"1d5163c246dc9cd2b4d339f2ac42efd95c6e0ae1", "_Znwm", 7, {7, 6}},
	{"1d5163c246dc9cd2b4d339f2ac42efd95c6e0ae1", "free", 48, {7, 6}},
	{"1d5163c246dc9cd2b4d339f2ac42efd95c6e0ae1", "sdallocx", 10, {7, 6}},
	/* gperftools 2.10-1 */
	{"39dfd4a5855703fa6c2469749282f75b18a1aa66", "malloc", 10, {7, 6}},
	{"39dfd4a5855703fa6c2469749282f75b18a1aa66", "free", 10, {7, 6}},
	{"39dfd4a5855703fa6c2469749282f75b18a1aa66", "_Znwm", 10, {7, 6}},
	/* mimalloc 2.0.9+ds-2: the size is in rsi, in rax and rsi, in rdx */
	{"d07f4e7dc9a039fcbe7747f416476bd65cb48e8b", "malloc", 21, {6, 0xff}},
	{"d07f4e7dc9a039fcbe7747f416476bd65cb48e8b", "calloc", 18, {0, 6}},
	{"d07f4e7dc9a039fcbe7747f416476bd65cb48e8b", "realloc", 20, {6, 2}},
	{"d07f4e7dc9a039fcbe7747f416476bd65cb48e8b", "free", 6, {7, 6}},
};

/* State of the second implementation. */
struct reference {
	uint8_t holds[INSN_REGISTERS];
	int64_t sp_delta;
	bool tested, past_null, past_syscall;
};

/* The best sites by capstone. NOWHERE: none. */
struct verdict {
	uint32_t entry, both, only_return;
};

static void find_branches(csh handle, struct oracle_file *file)
{
	cs_insn *c = cs_malloc(handle);

	for (size_t i = 0; i < file->count; i++) {
		struct oracle_section *section = &file->sections[i];
		const uint8_t *code = section->code;
		size_t left = section->size;
		uint64_t address = section->address, target;

		while (left) {
			if (!cs_disasm_iter(handle, &code, &left, &address, c)) {
				code++, left--, address++;
				continue;
			}
			if (!oracle_branch(handle, c, &target))
				continue;

			struct oracle_section *to = oracle_section_of(file, target);
			if (to)
				to->target[target - to->address] = 1;
		}
	}
	cs_free(c, 1);
}

static bool is_jcc(csh handle, const cs_insn *c)
{
	return oracle_in(handle, c, CS_GRP_JUMP) && c->id != X86_INS_JMP &&
	       c->id != X86_INS_JRCXZ && c->id != X86_INS_JECXZ;
}

static bool kernel_emulates(csh handle, const cs_insn *c)
{
	const cs_x86 *x86 = &c->detail->x86;
	bool immediate = x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM;
	bool reg = x86->op_count == 1 && x86->operands[0].type == X86_OP_REG;

	for (unsigned i = 0; i < 4; i++)
		if (x86->prefix[i] && c->id != X86_INS_NOP)
			return false;
	return (c->id == X86_INS_JMP && immediate) || is_jcc(handle, c) ||
	       (c->id == X86_INS_PUSH && reg) || (c->id == X86_INS_NOP && c->size <= 8);
}

static uint8_t where(const struct reference *r, unsigned argument)
{
	for (unsigned reg = 0; reg < INSN_REGISTERS; reg++)
		if (r->holds[reg] == argument)
			return (uint8_t)reg;
	return PLACE_NO_REGISTER;
}

static bool readable(const struct reference *r, unsigned arguments)
{
	for (unsigned n = 0; n < PLACE_ARGUMENTS; n++)
		if (arguments & 1u << n && where(r, n) == PLACE_NO_REGISTER)
			return false;
	return true;
}

static bool is_register(const cs_x86_op *op, unsigned bytes)
{
	return op->type == X86_OP_REG && op->size == bytes &&
	       oracle_register(op->reg) >= 0;
}

/* The effect of an instruction. False: the end of the straight line. */
static bool reference_step(csh handle, const cs_insn *c, bool frees, struct reference *r)
{
	const cs_x86 *x86 = &c->detail->x86;
	const cs_x86_op *op = x86->operands;
	bool two = x86->op_count == 2 && is_register(&op[0], 8) && is_register(&op[1], 8);
	bool was_tested = r->tested;
	uint16_t writes = oracle_writes(handle, c);
	uint8_t copied = PLACE_NO_REGISTER;

	r->tested = false;
	if (c->id == X86_INS_TEST && two && op[0].reg == op[1].reg)
		r->tested = r->holds[oracle_register(op[0].reg)] == 0;
	if (c->id == X86_INS_JE && frees && was_tested && !r->past_null) {
		r->past_null = true;
		return true;
	}
	if (oracle_in(handle, c, CS_GRP_JUMP) || oracle_in(handle, c, CS_GRP_CALL) ||
	    oracle_in(handle, c, CS_GRP_RET))
		return false;
	if (c->id == X86_INS_SYSCALL)
		r->past_syscall = true;
	if (c->id == X86_INS_MOV && two)
		copied = r->holds[oracle_register(op[1].reg)];

	for (unsigned reg = 0; reg < INSN_REGISTERS; reg++)
		if (writes & 1u << reg)
			r->holds[reg] = PLACE_NO_REGISTER;
	if (c->id == X86_INS_MOV && two)
		r->holds[oracle_register(op[0].reg)] = copied;

	if (!(writes & 1u << INSN_RSP))
		return true;
	if (c->id == X86_INS_PUSH)
		r->sp_delta += 8;
	else if (c->id == X86_INS_POP && op[0].reg != X86_REG_RSP)
		r->sp_delta -= 8;
	else if ((c->id == X86_INS_SUB || c->id == X86_INS_ADD) &&
		 op[1].type == X86_OP_IMM && op[0].reg == X86_REG_RSP)
		r->sp_delta += c->id == X86_INS_SUB ? op[1].imm : -op[1].imm;
	else
		return false;
	return true;
}

/* Checks a place at an instruction that the second implementation has reached. */
static void check_site(const struct place *place, const struct reference *r,
		       unsigned arguments)
{
	CHECK_INT(place->sp_delta, r->sp_delta);
	for (unsigned n = 0; n < PLACE_ARGUMENTS; n++) {
		uint8_t reg = place->arg_reg[n];

		if (reg != PLACE_NO_REGISTER)
			CHECK_INT(r->holds[reg], n);
		else
			CHECK(!(arguments & 1u << n));
	}
}

static struct verdict reference(csh handle, const struct oracle_section *section,
				uint64_t start, size_t size,
				const struct place_request *request,
				const struct place *place)
{
	struct verdict v = {NOWHERE, NOWHERE, NOWHERE};
	struct reference r = {0};
	static const uint8_t home[] = {7, 6, 2, 1, 8, 9};
	const uint8_t *code = section->code + (start - section->address);
	uint64_t address = start;
	cs_insn *c = cs_malloc(handle);
	bool seen = false;

	memset(r.holds, PLACE_NO_REGISTER, sizeof(r.holds));
	for (unsigned n = 0; n < PLACE_ARGUMENTS; n++)
		r.holds[home[n]] = (uint8_t)n;

	for (unsigned i = 0; i < 24; i++) {
		uint32_t delta = (uint32_t)(address - start);

		if (delta && section->target[address - section->address])
			break;
		if (!cs_disasm_iter(handle, &code, &size, &address, c))
			break;
		if (delta == place->entry_delta) {
			seen = true;
			check_site(place, &r, request->arguments);
		}
		if (kernel_emulates(handle, c)) {
			bool entry = readable(&r, request->arguments) &&
				     (request->past_syscall || !r.past_syscall);

			if (entry && v.entry == NOWHERE)
				v.entry = delta;
			if (!r.sp_delta && v.only_return == NOWHERE)
				v.only_return = delta;
			if (entry && !r.sp_delta && v.both == NOWHERE)
				v.both = delta;
		}
		if (!reference_step(handle, c, request->frees, &r))
			break;
	}
	/* The place is on the straight line, at the start of an instruction. */
	CHECK(seen);
	cs_free(c, 1);
	return v;
}

static void print_site(csh handle, const struct oracle_section *section, uint64_t start,
		       const char *library, const char *name, const struct place *place)
{
	const uint8_t *code =
		section->code + (start - section->address) + place->entry_delta;
	uint64_t address = start + place->entry_delta;
	size_t size = INSN_LENGTH_MAX;
	cs_insn *c = cs_malloc(handle);

	CHECK(cs_disasm_iter(handle, &code, &size, &address, c));
	printf("     %-9s %-36s +%-3u %-8s %-24.24s sp+%-3d rdi:%-2u rsi:%-2u %s\n",
	       library, name, place->entry_delta, c->mnemonic, c->op_str, place->sp_delta,
	       place->arg_reg[0], place->arg_reg[1], place->reason);
	cs_free(c, 1);
}

static void check_known(const char *build_id, const char *name, const struct place *place)
{
	for (size_t i = 0; i < COUNT(known_sites); i++) {
		const struct known *k = &known_sites[i];

		if (!build_id || strcmp(k->build_id, build_id) || strcmp(k->name, name))
			continue;
		CHECK_INT(place->entry_delta, k->delta);
		CHECK_INT(place->return_delta, k->delta);
		CHECK_INT(place->arg_reg[0], k->arg_reg[0]);
		CHECK_INT(place->arg_reg[1], k->arg_reg[1]);
		printf("     known site: %s +%u\n", name, k->delta);
	}
}

static void judge(csh handle, struct oracle_file *file, const char *library,
		  const struct function *function, const struct elf_symbol *symbol,
		  const char *build_id)
{
	struct oracle_section *section = oracle_section_of(file, symbol->address);
	struct place place;

	REQUIRE(section);

	size_t at = symbol->address - section->address;
	size_t size = symbol->size_bytes ? symbol->size_bytes : 64;

	REQUIRE(size <= section->size - at && size <= FUNCTION_MAX);
	for (unsigned variant = 0; variant < 4; variant++) {
		bool wants_return = variant & 1, past_syscall = variant & 2;
		const struct place_request request = {
			.arguments = function->arguments,
			.emulated = emulated_by_kernel(6, 18),
			.wants_return = wants_return,
			.frees = function->frees,
			.past_syscall = past_syscall,
		};

		CHECK(place_choose(section->code + at, size, &request, &place));

		struct verdict v = reference(handle, section, symbol->address, size,
					     &request, &place);
		uint32_t entry = v.entry, back = 0;

		if (wants_return) {
			back = v.both != NOWHERE ? v.both : v.only_return;
			if (v.both != NOWHERE)
				entry = v.both;
			else if (v.only_return == NOWHERE)
				entry = NOWHERE;
		}
		CHECK_INT(place.emulated, entry != NOWHERE);
		CHECK_INT(place.entry_delta, entry != NOWHERE ? entry : 0);
		CHECK_INT(place.return_delta, entry != NOWHERE ? back : 0);
		if (wants_return && !past_syscall)
			check_known(build_id, function->name, &place);
		if (!past_syscall && wants_return == !function->frees)
			print_site(handle, section, symbol->address, library,
				   function->name, &place);
	}
}

static size_t functions(struct function *ret)
{
	size_t n = 0;

	for (const struct alloc_function *f = alloc_families[ALLOC_FAMILY_LIBC].functions;
	     f->name; f++) {
		const uint8_t arguments[] = {f->size_arg, f->count_arg, f->old_arg,
					     f->out_arg};

		ret[n] = (struct function){f->name, 0, f->effect == EFFECT_FREE};
		for (size_t i = 0; i < COUNT(arguments); i++)
			if (arguments[i] != ARG_NONE)
				ret[n].arguments |= 1u << arguments[i];
		n++;
	}
	for (size_t i = 0; i < COUNT(others); i++)
		ret[n++] = others[i];
	return n;
}

/* Returns the number of checked functions, each address once. */
static unsigned judge_library(csh handle, const struct library *library)
{
	_cleanup_(elf_file_closep) struct elf_file *elf = NULL;
	struct function wanted[FUNCTIONS_MAX];
	size_t count = functions(wanted);
	const char *names[FUNCTIONS_MAX];
	struct elf_symbol symbols[FUNCTIONS_MAX];
	struct oracle_file file;
	unsigned judged = 0;
	const char *path = library->paths[0];

	if (!oracle_open(path, &file)) {
		path = library->paths[1];
		if (!path || !oracle_open(path, &file)) {
			CHECK_SKIP_PART("%s is not installed", library->label);
			return 0;
		}
	}
	find_branches(handle, &file);
	for (size_t i = 0; i < count; i++)
		names[i] = wanted[i].name;
	REQUIRE(!elf_file_open(path, &elf));
	REQUIRE(!elf_file_find_functions(elf, names, count, symbols));
	for (size_t i = 0; i < count; i++) {
		bool again = false;

		for (size_t j = 0; j < i; j++)
			again |= symbols[j].name &&
				 symbols[j].address == symbols[i].address;
		if (!symbols[i].name || again || symbols[i].type == STT_GNU_IFUNC)
			continue;
		judge(handle, &file, library->label, &wanted[i], &symbols[i],
		      elf_file_build_id(elf));
		judged++;
	}
	oracle_close(&file);
	CHECK(judged >= library->at_least);
	return judged;
}

/* The target of test_languages.c, if rustc is installed. From Rust 1.88 on the names of
 * these functions are mangled. */
static void rust(void)
{
	csh handle = oracle_open_capstone();
	const struct library library = {.label = "Rust", .paths = {RUST_PROGRAM}};
	unsigned judged = judge_library(handle, &library);

	cs_close(&handle);
	printf("     %u functions of a Rust program judged\n", judged);
	if (!judged)
		check_leave_out(
			"there is no Rust program with names that are not mangled: "
			"it takes a rustc before 1.88");
	CHECK_INT(judged, 8);
}

static void allocators(void)
{
	csh handle = oracle_open_capstone();
	unsigned judged = 0;

	for (size_t i = 0; i < COUNT(libraries); i++)
		judged += judge_library(handle, &libraries[i]);
	printf("     %u functions judged\n", judged);
	/* The functions of glibc and libstdc++, which are on every machine that builds
	 * this. */
	CHECK(judged >= libraries[0].at_least + libraries[1].at_least);
	cs_close(&handle);
}

/*
 * Builds of glibc for other releases, unpacked by scripts/test: one folder for each
 * release in the folder MEMTRACE_TEST_LIBRARIES.
 */
static const char *const releases[] = {"ubuntu-22.04", "ubuntu-24.04", "debian-13"};

static void other_releases(void)
{
	const char *dir = getenv("MEMTRACE_TEST_LIBRARIES");
	csh handle = oracle_open_capstone();
	unsigned there = 0;

	for (size_t i = 0; dir && i < COUNT(releases); i++) {
		_cleanup_(freep) char *path = NULL;

		REQUIRE(asprintf(&path, "%s/%s/libc.so.6", dir, releases[i]) > 0);
		if (access(path, R_OK)) {
			CHECK_LEAVE_OUT_PART("no libc of %s", releases[i]);
			continue;
		}

		const struct library library = {
			.label = releases[i], .paths = {path}, .at_least = 13};

		there += judge_library(handle, &library) > 0;
	}
	cs_close(&handle);
	printf("     %u of %zu other releases judged\n", there, COUNT(releases));
	if (!there)
		check_leave_out("MEMTRACE_TEST_LIBRARIES names no other release's libc: "
				"scripts/test fetches them where there is a network");
}

int main(int argc, char *argv[])
{
#if !defined(__x86_64__)
	check_leave_out("the libraries of this machine are not x86-64");
#endif
	if (argc > 1 && !strcmp(argv[1], "releases"))
		RUN(other_releases);
	else if (argc > 1 && !strcmp(argv[1], "rust"))
		RUN(rust);
	else
		RUN(allocators);
	return check_done();
}
