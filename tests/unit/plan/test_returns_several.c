// SPDX-License-Identifier: Apache-2.0
/* Sites where results are settled, if several functions share code, and sites that see
 * whole calls. */
#include "check.h"

#include "plan/returns.h"
#include "unit/code/cfg_made.h"
#include "unit/plan/returns_made.h"

#define UNKNOWN "it ends by a jump to an unknown function"
#define NEVER   "it never returns"

/* --- functions ---------------------------------------------------------------------- */

static const char leaves[] = "\x48\x85\xff"         /* 0: test rdi, rdi */
			     "\x74\x05"             /* 3: je 10 */
			     "\xe9\xf6\x3f\x00\x00" /* 5: jmp f */
			     "\x31\xc0"             /* 10: xor eax, eax */
			     "\xc3";                /* 12: ret */

static const char leaves_unknown[] = "\x53"                 /* 0: push rbx */
				     "\xe8\xfa\x4f\x00\x00" /* 1: call g */
				     "\x5b"                 /* 6: pop rbx */
				     "\xff\xe0";            /* 7: jmp rax */

static const char helper[] = "\x53"                 /* 0: push rbx */
			     "\xe8\xfa\x4f\x00\x00" /* 1: call g */
			     "\x90"                 /* 6: nop */
			     "\x5b"                 /* 7: pop rbx */
			     "\xc3";                /* 8: ret */

static const char helper_die[] = "\xe8\xfb\x5f\x00\x00"; /* 0: call die */

static const char shifts[] = "\x53"                  /* 0: push rbx */
			     "\x48\x89\xfb"          /* 1: mov rbx, rdi */
			     "\x48\x89\xf7"          /* 4: mov rdi, rsi */
			     "\x48\x85\xd2"          /* 7: test rdx, rdx */
			     "\x5b"                  /* 10: pop rbx */
			     "\xe9\xf0\x3f\x00\x00"; /* 11: jmp f */

static const char stores[] = "\x53"                 /* 0: push rbx */
			     "\x48\x89\xfb"         /* 1: mov rbx, rdi */
			     "\xe8\xf7\x4f\x00\x00" /* 4: call g */
			     "\x48\x89\x03"         /* 9: mov [rbx], rax */
			     "\x90"                 /* 12: nop */
			     "\x31\xc0"             /* 13: xor eax, eax */
			     "\x5b"                 /* 15: pop rbx */
			     "\xc3";                /* 16: ret */

static const char swaps_bp[] = "\x48\x89\xfd"          /* 0: mov rbp, rdi */
			       "\xe9\xf8\x3f\x00\x00"; /* 3: jmp f */

static const char of_product[] = "\x53"                 /* 0: push rbx */
				 "\x48\x89\xf8"         /* 1: mov rax, rdi */
				 "\x48\xf7\xe6"         /* 4: mul rsi */
				 "\x48\x89\xc3"         /* 7: mov rbx, rax */
				 "\x48\x89\xc7"         /* 10: mov rdi, rax */
				 "\xe8\xee\x4f\x00\x00" /* 13: call g */
				 "\x90"                 /* 18: nop */
				 "\x5b"                 /* 19: pop rbx */
				 "\xc3";                /* 20: ret */

static const char slow_way[] = "\x53"                 /* 0: push rbx */
			       "\x48\x89\xfb"         /* 1: mov rbx, rdi */
			       "\x85\xf6"             /* 4: test esi, esi */
			       "\x74\x08"             /* 6: je 16 */
			       "\xe8\xf3\x4f\x00\x00" /* 8: call g */
			       "\x90"                 /* 13: nop */
			       "\x5b"                 /* 14: pop rbx */
			       "\xc3"                 /* 15: ret */
			       "\x90"                 /* 16: nop */
			       "\x31\xdb"             /* 17: xor ebx, ebx */
			       "\x90"                 /* 19: nop */
			       "\xe8\xe7\x3f\x00\x00" /* 20: call f */
			       "\x90"                 /* 25: nop */
			       "\x5b"                 /* 26: pop rbx */
			       "\xc3";                /* 27: ret */

/* --- several functions -------------------------------------------------------------- */

static void functions_that_are_jumped_to(void)
{
	struct world w = {0};

	WORLD(&w, leaves);
	CODE_ADD(&w.code, F, helper);
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 10, 0, 0, ALWAYS, {IS(0), OPEN}, false, false, OTHERS},
		    {F + 6, 8, 0, ALWAYS, {IN(INSN_RAX), OPEN}, true, true, OTHERS});
	/* Each function is read once. */
	CHECK_INT(w.checks, 2);
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 10, 0, 0, ALWAYS, {IS(0), OPEN}, false, false, OTHERS},
		    {F + 6, 8, 0, ALWAYS, {IN(INSN_RAX), OPEN}, true, true, OTHERS});
	CHECK_INT(w.checks, 2);

	/* The calls of F have their own sites. */
	WORLD(&w, leaves);
	CODE_ADD(&w.code, F, helper);
	w.covered = F;
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 10, 0, 0, ALWAYS, {IS(0), OPEN}, false, false, OTHERS});

	/* F is not understood. */
	WORLD(&w, leaves);
	CODE_ADD(&w.code, F, "\x06");
	CHECK_NONE(&w, RESULT_WORD, CFG_NO_INSN);
	WORLD(&w, leaves);
	CODE_ADD(&w.code, F, helper);
	w.changed = F + 8;
	CHECK_NONE(&w, RESULT_WORD, "it has changed");
	/* A jump into the middle of an instruction. */
	WORLD(&w, leaves);
	CODE_ADD(&w.code, F - 1, "\x90\x90\xc3");
	CHECK_NONE(&w, RESULT_WORD, "it begins in another one");
	/* The function that it jumps to is unknown. */
	WORLD(&w, leaves_unknown);
	CHECK_NONE(&w, RESULT_WORD, UNKNOWN);
	/* jmp 0; jmp f, where f is jmp f; call die */
	WORLD(&w, "\x31\xc0\xeb\xfe");
	CHECK_NONE(&w, RESULT_WORD, NEVER);
	WORLD(&w, "\xe9\xfb\x3f\0\0");
	CODE_ADD(&w.code, F, "\xe9\xfb\xff\xff\xff");
	CHECK_NONE(&w, RESULT_WORD, NEVER);
	WORLD(&w, helper_die);
	CHECK_NONE(&w, RESULT_WORD, NEVER);
	returns_deinit(&w.returns);
}

/* Calls of hooks are ignored if programs rarely set them. */
static void hooks(void)
{
	struct world w = {0};

	/* test rdi, rdi; je 5; jmp rax; push rbx; call g; nop; pop rbx; ret */
	WORLD(&w, "\x48\x85\xff\x74\x02\xff\xe0\x53\xe8\xf3\x4f\0\0\x90\x5b\xc3");
	CHECK_NONE(&w, RESULT_WORD, UNKNOWN);
	WORLD(&w, "\x48\x85\xff\x74\x02\xff\xe0\x53\xe8\xf3\x4f\0\0\x90\x5b\xc3");
	w.returns.has_hooks = true;
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 13, 8, 0, ALWAYS, {IN(INSN_RAX), OPEN}, true, false, OTHERS});
	returns_deinit(&w.returns);
}

/* Facts about arguments at a function's entry must be true for the jump to it. */
static void arguments_of_others(void)
{
	struct world w = {0};
	struct return_sites sites;

	/* Its first argument is the address to which the block is stored. */
	WORLD(&w, "\xe9\xfb\x3f\0\0");
	CODE_ADD(&w.code, F, stores);
	CHECK(!find(&w, RESULT_OUT, &sites));
	CHECK_INT(sites.list.len, 1);
	return_sites_deinit(&sites);
	/* The first argument is another one, which the caller does not know. */
	WORLD(&w, shifts);
	CODE_ADD(&w.code, F, stores);
	CHECK_NONE(&w, RESULT_OUT, "it passes on another first argument");
	/* For a word as result that does not matter. */
	WORLD(&w, shifts);
	CODE_ADD(&w.code, F, helper);
	CHECK_SITES(&w, RESULT_WORD,
		    {F + 6, 8, 0, ALWAYS, {IN(INSN_RAX), OPEN}, true, true, OTHERS});
	/* rbp does not hold the caller's value any more. */
	WORLD(&w, swaps_bp);
	CODE_ADD(&w.code, F, helper);
	CHECK_NONE(&w, RESULT_WORD, "it passes on another rbp");
	returns_deinit(&w.returns);
}

/* Two functions share a part of their code. */
static void common_parts(void)
{
	/* push rbx; test rdi, rdi; jne cold; pop rbx; jmp f */
	static const char first[] = "\x53\x48\x85\xff\x0f\x85\xf6\x1f\0\0\x5b\xe9\xf0\x3f"
				    "\0\0";
	/* push rbx; jmp cold */
	static const char second[] = "\x53\xe9\xfa\xdf\xff\xff";
	/* call g; nop; pop rbx; ret */
	static const char cold[] = "\xe8\xfb\x2f\0\0\x90\x5b\xc3";
	struct world w = {0};

	WORLD(&w, first);
	CODE_ADD(&w.code, COLD, cold);
	CODE_ADD(&w.code, F, second);
	CHECK_SITES(&w, RESULT_WORD,
		    {COLD + 5, 8, 0, ALWAYS, {IN(INSN_RAX), OPEN}, true, true, OTHERS});
	/* The return address is at two depths. test rdi, rdi; jne f; push rbp; mov rbp,
	 * rsp; jmp cold; f: ...; push rbx; jmp cold; cold: call g; nop; leave; ret */
	WORLD(&w, "\x48\x85\xff\x0f\x85\xf7\x3f\0\0\x55\x48\x89\xe5\xe9\xee\x1f\0\0");
	CODE_ADD(&w.code, COLD, "\xe8\xfb\x2f\0\0\x90\xc9\xc3");
	CODE_ADD(&w.code, F, "\x55\x48\x89\xe5\x53\xe9\xf6\xdf\xff\xff");
	CHECK_NONE(&w, RESULT_WORD, "a site is of two functions");
	returns_deinit(&w.returns);
}

/* --- whole calls -------------------------------------------------------------------- */

/* For `calls`: the called function calls no function that has sites. */
static bool calls_none(void *arg, uint64_t address)
{
	(void)arg;
	(void)address;
	return false;
}

static void products_that_are_asked_for(void)
{
	struct return_sites sites;
	struct world w = {0};

	WORLD(&w, of_product);
	w.returns.calls = calls_none;
	CHECK(!find_asked(&w, RESULT_WORD, VALUE_PRODUCT, &sites));
	CHECK(sites.is_fused && !sites.entries.len);
	CHECK_INT(sites.list.len, 1);
	CHECK_INT(sites.list.data[0].address, BASE + 18);
	CHECK(sites.list.data[0].is_whole);
	CHECK_INT(sites.list.data[0].size_reg, INSN_RBX);
	return_sites_deinit(&sites);
	/* The called function may have sites: its call would be counted twice. */
	WORLD(&w, of_product);
	CHECK(!find_asked(&w, RESULT_WORD, VALUE_PRODUCT, &sites));
	CHECK(!sites.is_fused && !sites.list.data[0].is_whole);
	return_sites_deinit(&sites);
	/* A value that is not kept. */
	WORLD(&w, of_product);
	w.returns.calls = calls_none;
	CHECK(!find_asked(&w, RESULT_WORD, VALUE_ARG0, &sites));
	CHECK(!sites.is_fused && sites.list.len == 1 && !sites.list.data[0].is_whole);
	return_sites_deinit(&sites);
	returns_deinit(&w.returns);
}

/* The entry's site on a slow path is as late as possible. */
static void slow_ways(void)
{
	struct return_sites sites;
	struct world w = {0};

	WORLD(&w, slow_way);
	w.returns.calls = calls_none;
	CHECK(!find_asked(&w, RESULT_WORD, VALUE_ARG0, &sites));
	CHECK(sites.is_fused);
	CHECK_INT(sites.list.len, 2);
	CHECK_INT(sites.list.data[0].address, BASE + 13);
	CHECK(sites.list.data[0].is_whole);
	CHECK_INT(sites.list.data[0].size_reg, INSN_RBX);
	CHECK_INT(sites.list.data[1].address, BASE + 25);
	CHECK(!sites.list.data[1].is_whole);
	CHECK_INT(sites.entries.len, 1);
	CHECK_INT(sites.entries.data[0].address, BASE + 19);
	CHECK_INT(sites.entries.data[0].size_reg, INSN_RDI);
	CHECK_INT(sites.entries.data[0].sp_delta, 8);
	return_sites_deinit(&sites);
	returns_deinit(&w.returns);
}

static void too_many(void)
{
	static uint8_t bytes[8192];
	struct code code;
	struct return_sites sites;
	size_t size = 0;

	/* Each path has its own site: test rdi, rdi; je next; call g; nop; ret */
	for (unsigned i = 0; i < RETURN_SITES_MAX + 1; i++) {
		memcpy(bytes + size, "\x48\x85\xff\x74\x07\xe8\0\0\1\0\x90\xc3", 12);
		size += 12;
	}
	memcpy(bytes + size, "\xe8\0\0\1\0\x90\xc3", 7);
	size += 7;
	code_init(&code, bytes, size);

	struct returns returns = {.source = &code.source, .emulated = ALL};

	CHECK_STR(returns_find(&returns,
			       &(struct returns_request){.address = BASE,
							 .size = size,
							 .width = RESULT_WORD,
							 .asked = RETURN_NO_SIZE},
			       &sites),
		  "it has too many sites");
	return_sites_deinit(&sites);
	returns_deinit(&returns);
}

static void check_exits(struct world *w, const struct return_exit want[], size_t count)
{
	struct return_sites sites;

	CHECK(!find(w, RESULT_WORD, &sites));
	CHECK_INT(sites.exits.len, count);
	for (size_t i = 0; i < count && i < sites.exits.len; i++) {
		CHECK_INT(sites.exits.data[i].address, want[i].address);
		CHECK_INT(sites.exits.data[i].is_own, want[i].is_own);
		CHECK_INT(sites.exits.data[i].is_site, want[i].is_site);
		CHECK_INT(sites.exits.data[i].is_jump, want[i].is_jump);
	}
	return_sites_deinit(&sites);
}

/* The places where calls end. */
static void exits(void)
{
	/* jmp cold; cold: call g; nop; pop rbx; ret */
	static const char split[] = "\x53\xe9\xfa\x1f\0\0";
	static const char cold[] = "\xe8\xfb\x2f\0\0\x90\x5b\xc3";
	struct world w = {0};

	WORLD(&w, one_way);
	check_exits(&w,
		    (const struct return_exit[]){{.address = BASE + 13, .is_own = true},
						 {.address = BASE + 16, .is_own = true}},
		    2);
	/* The ret is the site. */
	WORLD(&w, "\xc3");
	check_exits(&w,
		    (const struct return_exit[]){
			    {.address = BASE, .is_own = true, .is_site = true}},
		    1);
	WORLD(&w, leaves);
	CODE_ADD(&w.code, F, helper);
	check_exits(&w,
		    (const struct return_exit[]){{.address = BASE + 12, .is_own = true},
						 {.address = F + 8}},
		    2);
	/* Cold code may belong to other functions, too. */
	WORLD(&w, split);
	CODE_ADD(&w.code, COLD, cold);
	check_exits(&w, (const struct return_exit[]){{.address = COLD + 7}}, 1);
	/* A function with sites is checked separately. */
	WORLD(&w, leaves);
	CODE_ADD(&w.code, F, helper);
	w.covered = F;
	check_exits(&w,
		    (const struct return_exit[]){{.address = BASE + 12, .is_own = true}},
		    1);
	returns_deinit(&w.returns);
}

int main(void)
{
	RUN(functions_that_are_jumped_to);
	RUN(hooks);
	RUN(arguments_of_others);
	RUN(common_parts);
	RUN(exits);
	RUN(products_that_are_asked_for);
	RUN(slow_ways);
	RUN(too_many);
	return check_done();
}
