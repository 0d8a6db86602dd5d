// SPDX-License-Identifier: Apache-2.0
/* Sites inside functions given by their bytes; where they are not written down here, a
 * walk along the function's ways judges them. */
#include "check.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "plan/body.h"
#include "plan/decode.h"
#include "plan/flow.h"
#include "plan/place.h"
#include "target/elf.h"
#include "util/cleanup.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ALL          (PLACE_BRANCH | PLACE_PUSH | PLACE_NOPS)
#define NO           PLACE_NO_REGISTER
#define JCC          "conditional jump, emulated"
#define NOP          "nop, emulated"
#define JMP          "jump, emulated"
#define STOP         "a check has failed"
#define FAILURE      "the result is 0"

#define NO_SITE      "a way to its end has no site"
#define NO_SIZE      "the size is not known at all sites"
#define NOT_KNOWN    "an instruction is not known"
#define NO_STOP      "a call that does not return has no site"
#define LEAVES       "a jump leaves the function"
#define STACK        "the stack pointer moves in an unknown way"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

/* The functions f, g and die are outside, 64, 128 and 192 KiB behind the first byte. */
static const char whole[] = "\x53"             /*  0: push rbx */
			    "\x48\x89\xfb"     /*  1: mov rbx, rdi */
			    "\xe8\xf7\xff\0\0" /*  4: call f */
			    "\x48\x85\xc0"     /*  9: test rax, rax */
			    "\x74\x02"         /* 12: je 16 */
			    "\x89\x08"         /* 14: mov [rax], ecx */
			    "\x5b"             /* 16: pop rbx */
			    "\xc3";            /* 17: ret */

#define START "\x53\x48\x89\xfb" /* push rbx; mov rbx, rdi */
#define CALL  "\xe8\0\0\1\0"     /* call f */

/* glibc's malloc() in small: the size is lost on the slow way, which may fail. */
static const char ways[] = "\x53"              /*  0: push rbx */
			   "\x48\x89\xfb"      /*  1: mov rbx, rdi */
			   "\x85\xff"          /*  4: test edi, edi */
			   "\x78\x0e"          /*  6: js 22 */
			   "\xe8\xf3\xff\0\0"  /*  8: call f */
			   "\x48\x85\xc0"      /* 13: test rax, rax */
			   "\x74\x02"          /* 16: je 20 */
			   "\x89\x08"          /* 18: mov [rax], ecx */
			   "\x5b"              /* 20: pop rbx */
			   "\xc3"              /* 21: ret */
			   "\x90"              /* 22: nop */
			   "\x31\xdb"          /* 23: xor ebx, ebx */
			   "\xe8\xe2\xff\x1\0" /* 25: call g */
			   "\x48\x85\xc0"      /* 30: test rax, rax */
			   "\x74\x08"          /* 33: je 43 */
			   "\xa8\x01"          /* 35: test al, 1 */
			   "\x75\xed"          /* 37: jne 20 */
			   "\x89\x08"          /* 39: mov [rax], ecx */
			   "\x5b"              /* 41: pop rbx */
			   "\xc3"              /* 42: ret */
			   "\x31\xc0"          /* 43: xor eax, eax */
			   "\x5b"              /* 45: pop rbx */
			   "\xc3";             /* 46: ret */

/* Two checks of a result that fail. */
static const char checked[] = "\x53"                /*  0: push rbx */
			      "\x48\x89\xfb"        /*  1: mov rbx, rdi */
			      "\x85\xff"            /*  4: test edi, edi */
			      "\x78\x16"            /*  6: js 30 */
			      "\xe8\xf3\xff\0\0"    /*  8: call f */
			      "\x48\x85\xc0"        /* 13: test rax, rax */
			      "\x74\x02"            /* 16: je 20 */
			      "\x5b"                /* 18: pop rbx */
			      "\xc3"                /* 19: ret */
			      "\x31\xff"            /* 20: xor edi, edi */
			      "\xe8\xe5\xff\x02\0"  /* 22: call die */
			      "\x0f\x1f\0"          /* 27: nop [rax] */
			      "\xe8\xdd\xff\x01\0"  /* 30: call g */
			      "\xa8\x01"            /* 35: test al, 1 */
			      "\x75\x02"            /* 37: jne 41 */
			      "\x5b"                /* 39: pop rbx */
			      "\xc3"                /* 40: ret */
			      "\x31\xff"            /* 41: xor edi, edi */
			      "\xe8\xd0\xff\x02\0"; /* 43: call die */

static const char padded[] = "\x53"               /*  0: push rbx */
			     "\x48\x89\xfb"       /*  1: mov rbx, rdi */
			     "\x85\xff"           /*  4: test edi, edi */
			     "\x78\x09"           /*  6: js 17 */
			     "\x31\xff"           /*  8: xor edi, edi */
			     "\xe8\xf1\xff\x02\0" /* 10: call die */
			     "\x90"               /* 15: nop */
			     "\x90"               /* 16: nop */
			     "\xe8\xea\xff\0\0"   /* 17: call f */
			     "\x48\x85\xc0"       /* 22: test rax, rax */
			     "\x74\x02"           /* 25: je 29 */
			     "\x89\x08"           /* 27: mov [rax], ecx */
			     "\x5b"               /* 29: pop rbx */
			     "\xc3";              /* 30: ret */

/* Final code is entered by a jump on one way, and not on the other. */
static const char joined[] = "\x53"               /*  0: push rbx */
			     "\x48\x89\xfb"       /*  1: mov rbx, rdi */
			     "\x85\xff"           /*  4: test edi, edi */
			     "\x78\x07"           /*  6: js 15 */
			     "\xe8\xf3\xff\0\0"   /*  8: call f */
			     "\xeb\x05"           /* 13: jmp 20 */
			     "\xe8\xec\xff\x01\0" /* 15: call g */
			     "\x48\x85\xc0"       /* 20: test rax, rax */
			     "\x74\x02"           /* 23: je 27 */
			     "\x89\x08"           /* 25: mov [rax], ecx */
			     "\x5b"               /* 27: pop rbx */
			     "\xc3";              /* 28: ret */

/* --- what is asked of a function ---------------------------------------------------- */

struct function {
	uint8_t code[FLOW_CODE_MAX + 1];
	size_t size;
	unsigned emulated;
};

/* Without the NUL that ends a literal. */
#define FUNCTION(bytes) made((bytes), sizeof(bytes) - 1)

static struct function made(const char *bytes, size_t size)
{
	struct function f = {.size = size, .emulated = ALL};

	REQUIRE(size <= sizeof(f.code));
	memcpy(f.code, bytes, size);
	return f;
}

#define PATCHED(original, at, bytes)                                                     \
	patched((original), sizeof(original) - 1, (at), (bytes), sizeof(bytes) - 1)

static struct function patched(const char *bytes, size_t size, size_t at,
			       const char *patch, size_t patch_size)
{
	struct function f = made(bytes, size);

	REQUIRE(at + patch_size <= size);
	memcpy(f.code + at, patch, patch_size);
	return f;
}

/* whole[] behind some other instructions. */
#define BEHIND(bytes) behind((bytes), sizeof(bytes) - 1)

static struct function behind(const char *bytes, size_t size)
{
	struct function f = made(bytes, size);

	memcpy(f.code + size, whole, sizeof(whole) - 1);
	f.size += sizeof(whole) - 1;
	return f;
}

/* The sites, where nothing is known of other functions. */
static const char *find(const struct function *f, struct body *ret)
{
	const struct flow_text text = {.code = f->code, .size = f->size};

	return body_find(&text, f->emulated, ret);
}

static void check_at(int line, const struct function *f, const struct body_site sites[],
		     size_t count)
{
	unsigned before = check_state.failures;
	struct body body;
	const char *why = find(f, &body);

	CHECK(!why);
	CHECK_INT(body.count, count);
	for (size_t i = 0; i < count && i < body.count; i++) {
		CHECK_INT(body.sites[i].part, sites[i].part);
		CHECK_INT(body.sites[i].delta, sites[i].delta);
		CHECK_INT(body.sites[i].sp_delta, sites[i].sp_delta);
		CHECK_INT(body.sites[i].size_reg, sites[i].size_reg);
		CHECK_STR(body.sites[i].reason, sites[i].reason);
	}
	if (check_state.failures != before)
		fprintf(stderr, "... at line %d, %s\n", line, why ? why : "found");
}

/* The sites of a function, in their order. */
#define CHECK_SITES(of, ...)                                                             \
	do {                                                                             \
		struct function f_ = (of);                                               \
		const struct body_site sites_[] = {__VA_ARGS__};                         \
		check_at(__LINE__, &f_, sites_, COUNT(sites_));                          \
	} while (0)

#define CHECK_NONE(of, reason)                                                           \
	do {                                                                             \
		struct function f_ = (of);                                               \
		struct body body_;                                                       \
		CHECK_STR(find(&f_, &body_), (reason));                                  \
		CHECK_INT(body_.count, 0);                                               \
	} while (0)

/* --- what is found ------------------------------------------------------------------ */

static void whole_calls(void)
{
	struct function f = FUNCTION(whole);

	CHECK_SITES(f, {BODY_WHOLE, 12, 8, INSN_RBX, JCC});

	f.emulated = PLACE_BRANCH;
	CHECK_SITES(f, {BODY_WHOLE, 12, 8, INSN_RBX, JCC});
	f.emulated = PLACE_PUSH | PLACE_NOPS;
	CHECK_NONE(f, NO_SITE);

	/* the size in rbp and r12 too, by way of rbx: push rbp; push r12; ...; mov rbp,
	 * rbx; mov r12, rbp; mov rbx, rsi; call f; ... */
	CHECK_SITES(FUNCTION("\x53\x55\x41\x54\x48\x89\xfb\x48\x89\xdd\x49\x89\xec"
			     "\x48\x89\xf3\xe8\0\0\1\0\x48\x85\xc0\x74\x02\x89\x08"
			     "\x41\x5c\x5d\x5b\xc3"),
		    {BODY_WHOLE, 24, 24, INSN_RBP, JCC});
	/* in r12 alone: push r12; mov r12, rdi; call f; test; je; ...; pop r12; ret */
	CHECK_SITES(FUNCTION("\x41\x54\x49\x89\xfc\xe8\0\0\1\0\x48\x85\xc0\x74\x02"
			     "\x89\x08\x41\x5c\xc3"),
		    {BODY_WHOLE, 13, 8, 12, JCC});
	/* sub rsp, 0x18, and rax is not of a call: mov rax, [rsi]; jle; ...; add */
	CHECK_SITES(FUNCTION("\x48\x83\xec\x18\x48\x8b\x06\x7e\x02\x89\x08\x48\x83"
			     "\xc4\x18\xc3"),
		    {BODY_WHOLE, 7, 24, INSN_RDI, JCC});
	/* the first of two: call f; nop; je; ... */
	CHECK_SITES(FUNCTION("\x53\x48\x89\xfb\xe8\0\0\1\0\x85\xff\x90\x74\x02\x89\x08"
			     "\x5b\xc3"),
		    {BODY_WHOLE, 11, 8, INSN_RBX, NOP});
	/* a site, then a loop: nop; again: test rax, rax; je again */
	CHECK_SITES(FUNCTION("\x53\x48\x89\xfb\xe8\0\0\1\0\x85\xff\x90\x48\x85\xc0\x74"
			     "\xfb\x5b\xc3"),
		    {BODY_WHOLE, 11, 8, INSN_RBX, NOP});
	/* a nop that a new kernel makes a call of is no site; the jump is */
	CHECK_SITES(FUNCTION("\x53\x48\x89\xfb\xe8\0\0\1\0\x85\xff\x0f\x1f\x44\0\0\x74"
			     "\x02\x89\x08\x5b\xc3"),
		    {BODY_WHOLE, 16, 8, INSN_RBX, JCC});
	/* call [rax] */
	CHECK_SITES(FUNCTION("\x53\x48\x89\xfb\xff\x10\x85\xff\x74\x02\x89\x08\x5b\xc3"),
		    {BODY_WHOLE, 8, 8, INSN_RBX, JCC});
}

static void registers_meet(void)
{
	/* push rbx; push rbp; mov rbx, rdi; mov rbp, rdi; test edi, edi; js 14; xor ebx,
	 * ebx; 14: call f; test rax, rax; je 26; mov [rax], ecx; pop rbp; pop rbx; ret */
	static const char code[] = "\x53\x55\x48\x89\xfb\x48\x89\xfd\x85\xff\x78\x02"
				   "\x31\xdb\xe8\xed\xff\0\0\x48\x85\xc0\x74\x02"
				   "\x89\x08\x5d\x5b\xc3";

	CHECK_SITES(FUNCTION(code), {BODY_WHOLE, 22, 16, INSN_RBP, JCC});
	CHECK_SITES(PATCHED(code, 12, "\x31\xed"), {BODY_WHOLE, 22, 16, INSN_RBX, JCC});
	/* js 12: both ways come by it */
	CHECK_SITES(PATCHED(code, 10, "\x78\0"), {BODY_WHOLE, 22, 16, INSN_RBP, JCC});
	/* mov rbp, rsi: it is in rbx on one way only */
	CHECK_NONE(PATCHED(code, 5, "\x48\x89\xf5"), NO_SIZE);
}

static void lost_sizes(void)
{
	CHECK_SITES(FUNCTION(ways), {BODY_FAILURE, 43, 8, NO, FAILURE},
		    {BODY_RETURN, 37, 8, NO, JCC}, {BODY_ENTRY, 22, 8, INSN_RBX, NOP},
		    {BODY_WHOLE, 16, 8, INSN_RBX, JCC});
	/* the other form of xor eax, eax */
	CHECK_SITES(PATCHED(ways, 43, "\x33\xc0"), {BODY_FAILURE, 43, 8, NO, FAILURE},
		    {BODY_RETURN, 37, 8, NO, JCC}, {BODY_ENTRY, 22, 8, INSN_RBX, NOP},
		    {BODY_WHOLE, 16, 8, INSN_RBX, JCC});
	/* sub eax, eax */
	CHECK_NONE(PATCHED(ways, 43, "\x29\xc0"), NO_SITE);
	/* xor ecx, ecx instead of xor ebx, ebx: no entry is needed */
	CHECK_SITES(PATCHED(ways, 23, "\x31\xc9"), {BODY_FAILURE, 43, 8, NO, FAILURE},
		    {BODY_WHOLE, 16, 8, INSN_RBX, JCC},
		    {BODY_WHOLE, 37, 8, INSN_RBX, JCC});
	/* no place for the entry: cwde instead of the nop */
	CHECK_NONE(PATCHED(ways, 22, "\x98"), NO_SIZE);
	/* lost before the first emulated instruction: xor edi, edi; call f; test; je */
	CHECK_NONE(FUNCTION("\x31\xff\x51\xe8\0\0\1\0\x48\x85\xc0\x74\x02\x89\x08\x59"
			    "\xc3"),
		   NO_SIZE);
	/* the entry's site would be the only one with the size: push rbx; xor edi, edi;
	 * call f; test; je */
	CHECK_NONE(FUNCTION("\x53\x31\xff\xe8\0\0\1\0\x48\x85\xc0\x74\x02\x89\x08\x5b"
			    "\xc3"),
		   NO_SIZE);
	/* again: nop; call g; test rax, rax; je again; xor ebx, ebx; ... */
	CHECK_NONE(PATCHED(ways, 22, "\x90\xe8\xe4\xff\1\0\x48\x85\xc0\x74\xf5\x31\xdb"),
		   NO_SIZE);
	/* nop; again: call g; ...: the entry is before the loop */
	CHECK_SITES(PATCHED(ways, 22, "\x90\xe8\xe4\xff\1\0\x48\x85\xc0\x74\xf6\x31\xdb"),
		    {BODY_RETURN, 37, 8, NO, JCC}, {BODY_ENTRY, 22, 8, INSN_RBX, NOP},
		    {BODY_WHOLE, 16, 8, INSN_RBX, JCC});
}

static void calls_that_end(void)
{
	CHECK_SITES(FUNCTION(checked), {BODY_STOP, 20, 8, NO, STOP},
		    {BODY_STOP, 41, 8, NO, STOP}, {BODY_WHOLE, 16, 8, INSN_RBX, JCC},
		    {BODY_WHOLE, 37, 8, INSN_RBX, JCC});
	/* call die instead of g: nobody else comes to what follows, so none of them ends
	 * anything, and the last one is behind all */
	CHECK_NONE(PATCHED(checked, 30, "\xe8\xdd\xff\x02\0"), LEAVES);
	/* je 22: two ways to the call, one of them without the site */
	CHECK_NONE(PATCHED(checked, 16, "\x74\x04"), NO_STOP);

	CHECK_SITES(FUNCTION(padded), {BODY_STOP, 8, 8, NO, STOP},
		    {BODY_WHOLE, 25, 8, INSN_RBX, JCC});
	/* somebody jumps to the padding: js 15 */
	CHECK_SITES(PATCHED(padded, 6, "\x78\x07"), {BODY_WHOLE, 25, 8, INSN_RBX, JCC});
	/* nobody else reaches what is behind: test edi, edi instead of js 17 */
	CHECK_SITES(PATCHED(padded, 6, "\x85\xff"), {BODY_WHOLE, 25, 8, INSN_RBX, JCC});
	/* a call of the same function elsewhere returns: call die instead of f */
	CHECK_SITES(PATCHED(padded, 17, "\xe8\xea\xff\x02\0"),
		    {BODY_WHOLE, 25, 8, INSN_RBX, JCC});
	/* nops up to the end of the function: test al, 1; jne; pop rbx; ret; xor edi,
	 * edi; call die */
	CHECK_SITES(FUNCTION(START CALL "\xa8\x01\x75\x02\x5b\xc3\x31\xff\xe8\0\0\x03\0"
					"\x90\x66\x90"),
		    {BODY_STOP, 15, 8, NO, STOP}, {BODY_WHOLE, 11, 8, INSN_RBX, JCC});
	/* call [rip]: returns, whatever is behind it */
	CHECK_SITES(PATCHED(padded, 10, "\xff\x15\0\0\0\0\x90"),
		    {BODY_WHOLE, 25, 8, INSN_RBX, JCC});
	/* no padding: test edx, edx */
	CHECK_SITES(PATCHED(padded, 15, "\x85\xd2"), {BODY_WHOLE, 25, 8, INSN_RBX, JCC});
	/* lock dec [rdi] before the call, of which the kernel refuses a probe */
	CHECK_NONE(FUNCTION(START CALL "\xa8\x01\x75\x02\x5b\xc3\xf0\xff\x0f\xe8\0\0\x03"
				       "\0"),
		   NO_STOP);

	/* Each tells of the next only: nop behind it, and nobody else comes there. */
	struct function f = FUNCTION("\x53\x48\x89\xfb");
	uint8_t call[] = {0xe8, 0, 0, 1, 0, 0x90};
	static const uint8_t end[] = {0x74, 0x02, 0x89, 0x08, 0x5b, 0xc3};

	for (unsigned i = 0; i < 16; i++) {
		call[3] = (uint8_t)(1 + i);
		memcpy(f.code + 4 + 6 * i, call, sizeof(call));
		memcpy(f.code + 10 + 6 * i, end, sizeof(end));
		f.size = 16 + 6 * i;
		if (i < 15)
			CHECK_SITES(f, {BODY_WHOLE, 9 + 6 * i, 8, INSN_RBX, NOP});
		else
			CHECK_NONE(f, "its calls are not understood");
	}
}

/* What another function is: 64 KiB behind the first byte of the one that calls it. */
struct other {
	const char *code;
	size_t size;
};

static size_t read_other(void *arg, int64_t offset, uint8_t *ret, size_t size)
{
	const struct other *other = arg;

	if (offset != 0x10000)
		return 0;
	memcpy(ret, other->code, other->size < size ? other->size : size);
	return other->size < size ? other->size : size;
}

/* A call without nops behind, of a function that ends by one with nops itself. */
static void others_that_end(void)
{
	/* padded[] without its nops: ...; js 15; xor edi, edi; call h; 15: call f; ... */
	static const char code[] = "\x53\x48\x89\xfb\x85\xff\x78\x07\x31\xff\xe8\xf1\xff"
				   "\0\0\xe8\xec\xff\1\0\x48\x85\xc0\x74\x02\x89\x08"
				   "\x5b\xc3";
	static const struct {
		struct other other;
		bool ends;
	} others[] = {
#define OTHER(bytes, ends) {{bytes, sizeof(bytes) - 1}, ends}
		/* push rbp; mov rsi, rdi; xor eax, eax; call; nop */
		OTHER("\x55\x48\x89\xfe\x31\xc0\xe8\0\0\0\0\x90", true),
		/* endbr64; call; nopw */
		OTHER("\xf3\x0f\x1e\xfa\xe8\0\0\0\0\x66\x0f\x1f\x44\0\0", true),
		OTHER("\xe8\0\0\0\0\xc3", false), /* call; ret */
		OTHER("\xe8\0\0\0\0", false),     /* call, and no more can be read */
		OTHER("\x74\0\xe8\0\0\0\0\x90", false), /* je; call; nop */
		OTHER("\xc3\xe8\0\0\0\0\x90", false),   /* ret; call; nop */
		OTHER("\xff\x10\x90", false),           /* call [rax]; nop */
		OTHER("", false),
#undef OTHER
	};

	for (size_t i = 0; i < COUNT(others); i++) {
		struct flow_text text = {(const uint8_t *)code, sizeof(code) - 1,
					 read_other, (void *)&others[i].other};
		struct body body;

		CHECK(!body_find(&text, ALL, &body));
		CHECK_INT(body.count, others[i].ends ? 2 : 1);
		CHECK_INT(body.sites[0].part, others[i].ends ? BODY_STOP : BODY_WHOLE);
	}
}

static void sites_put_off(void)
{
	CHECK_SITES(FUNCTION(joined), {BODY_WHOLE, 23, 8, INSN_RBX, JCC});
	/* nop; pop rbx; ret instead of the test: the jump is no site all the same */
	CHECK_SITES(PATCHED(joined, 20, "\x90\x5b\xc3"),
		    {BODY_WHOLE, 20, 8, INSN_RBX, NOP});
	/* pop rbx; ret there: no site behind the meeting */
	CHECK_NONE(PATCHED(joined, 20, "\x5b\xc3"), NO_SITE);
	/* jmp 27: the ways meet behind both sites */
	CHECK_SITES(PATCHED(joined, 13, "\xeb\x0c"), {BODY_WHOLE, 13, 8, INSN_RBX, JMP},
		    {BODY_WHOLE, 23, 8, INSN_RBX, JCC});
	/* the loop of a final way: test rax, rax; je to it */
	CHECK_NONE(PATCHED(whole, 12, "\x74\xfb"), NO_SITE);
}

/* --- red lines ---------------------------------------------------------------------- */

static void not_read(void)
{
	/* Behind what does no harm it is found. */
	CHECK_SITES(BEHIND("\x85\xff"), {BODY_WHOLE, 14, 8, INSN_RBX, JCC});

	CHECK_NONE(BEHIND("\x06"), NOT_KNOWN);
	CHECK_NONE(BEHIND("\xf3\x90"), NOT_KNOWN);     /* pause */
	CHECK_NONE(BEHIND("\xc9"), NOT_KNOWN);         /* leave */
	CHECK_NONE(BEHIND("\x48\x89\xec"), NOT_KNOWN); /* mov rsp, rbp */
	CHECK_NONE(BEHIND("\x48\x83\xe4\xf0"), NOT_KNOWN);
	CHECK_NONE(PATCHED(whole, 14, "\x06\xc3"), NOT_KNOWN);
	/* ... where nobody comes: jmp 3 */
	CHECK_SITES(BEHIND("\xeb\x01\x06"), {BODY_WHOLE, 15, 8, INSN_RBX, JCC});
	/* cut off by the end: mov eax, 32 bits */
	CHECK_NONE(FUNCTION("\x53\xb8\0\0"), NOT_KNOWN);

	CHECK_NONE(BEHIND("\x74\x02\xff\xe0"), "a jump is indirect");
	CHECK_NONE(BEHIND("\x0f\x84\0\0\x01\0"), LEAVES);
	CHECK_NONE(BEHIND("\xe9\0\0\x01\0"), LEAVES);
	CHECK_NONE(BEHIND("\x74\xf0"), LEAVES);
	CHECK_NONE(BEHIND("\xe3\xf0"), LEAVES); /* jrcxz */
	/* to the byte behind the last: 2 + 18 */
	CHECK_NONE(BEHIND("\x74\x12"), LEAVES);
	/* to the first byte */
	CHECK_NONE(BEHIND("\x85\xff\x74\xfc"), LEAVES);
	/* and on behind the last byte: nop instead of ret */
	CHECK_NONE(PATCHED(whole, 17, "\x90"), LEAVES);

	/* call 0; call 4, which has the nop's byte at 5 */
	CHECK_NONE(BEHIND("\xe8\xfb\xff\xff\xff"), "it calls itself");
	CHECK_NONE(BEHIND("\xe8\x02\0\0\0\x90"), "it calls itself");
	/* the byte before the first; the call spoils rdi */
	CHECK_NONE(BEHIND("\xe8\xfa\xff\xff\xff"), NO_SIZE);
}

static void instructions_overlap(void)
{
	/* je 3, into mov eax, 0x90909090 */
	CHECK_NONE(BEHIND("\x74\x01\xb8\x90\x90\x90\x90"), "instructions overlap");
	/* the other way round: what is jumped to is read before */
	CHECK_NONE(BEHIND("\x85\xff\xeb\x01\xb8\x90\x90\x90\x90\x74\xf9"),
		   "instructions overlap");
}

static void stack_pointer(void)
{
	/* push rax; pop rax; both are read */
	CHECK_SITES(BEHIND("\x50\x58"), {BODY_WHOLE, 14, 8, INSN_RBX, JCC});
	CHECK_NONE(BEHIND("\x50"), STACK);
	CHECK_NONE(BEHIND("\x58"), STACK);
	CHECK_NONE(BEHIND("\x58\x50"), STACK);
	/* je 3; push rax: two depths */
	CHECK_NONE(BEHIND("\x74\x01\x50"), STACK);
	/* sub rsp, 0x7ff8; add rsp, 0x7ff8; and eight more */
	CHECK_NONE(BEHIND("\x48\x81\xec\xf8\x7f\0\0\x48\x81\xc4\xf0\x7f\0\0"), STACK);
	CHECK_SITES(BEHIND("\x48\x81\xec\xf8\x7f\0\0\x48\x81\xc4\xf8\x7f\0\0"),
		    {BODY_WHOLE, 26, 8, INSN_RBX, JCC});
	CHECK_NONE(BEHIND("\x48\x81\xec\0\x80\0\0\x48\x81\xc4\0\x80\0\0"), STACK);
	/* pop rbx twice, only before one of two returns */
	CHECK_NONE(PATCHED(ways, 41, "\x90"), STACK);
}

static void no_results(void)
{
	/* no emulated instruction on the way: test edi, edi */
	CHECK_NONE(PATCHED(whole, 12, "\x85\xff"), NO_SITE);
	/* nothing is called and rax not written: push; pop; ret; xor ecx, ecx; ret */
	CHECK_NONE(FUNCTION("\x53\x5b\xc3"), "it makes nothing");
	CHECK_NONE(FUNCTION("\x31\xc9\xc3"), "it makes nothing");
	/* no call returns anything else than 0, or at all: xor eax, eax; ret; nop; jmp 1
	 */
	CHECK_NONE(FUNCTION("\x31\xc0\xc3"), "no site sees a whole call");
	CHECK_NONE(FUNCTION("\x90\x90\xeb\xfd"), "no site sees a whole call");
	CHECK_NONE(FUNCTION("\x53\xe8\0\0\1\0"), "no site sees a whole call");
	CHECK_NONE(FUNCTION("\xf4"), NOT_KNOWN);
}

/* Each block is a way of its own with a site: js over it; call; test rax, rax; je; mov
 * [rax], ecx; pop rbx; ret. The last has no way around it. */
static struct function of_blocks(size_t blocks)
{
	static const char block[] = "\x78\x0e\xe8\0\0\1\0\x48\x85\xc0\x74\x02\x89\x08"
				    "\x5b\xc3";
	struct function f = FUNCTION("\x53\x48\x89\xfb");

	for (size_t i = 0; i < blocks; i++) {
		memcpy(f.code + f.size, block, sizeof(block) - 1);
		if (i == blocks - 1)
			memcpy(f.code + f.size, "\x85\xff", 2);
		f.size += sizeof(block) - 1;
	}
	return f;
}

static void many_sites(void)
{
	struct body_site sites[BODY_SITES_MAX];
	struct function most = of_blocks(BODY_SITES_MAX);

	for (uint32_t i = 0; i < BODY_SITES_MAX; i++)
		sites[i] =
			(struct body_site){BODY_WHOLE, 4 + 16 * i + 10, 8, INSN_RBX, JCC};
	check_at(__LINE__, &most, sites, COUNT(sites));
	CHECK_NONE(of_blocks(BODY_SITES_MAX + 1), "it has too many sites");
}

static void long_functions(void)
{
	struct function f = {.size = FLOW_CODE_MAX, .emulated = ALL};
	size_t at = FLOW_CODE_MAX - (sizeof(whole) - 1);

	memset(f.code, 0x90, sizeof(f.code));
	memcpy(f.code + at, whole, sizeof(whole) - 1);
	CHECK_SITES(f, {BODY_WHOLE, (uint32_t)at + 12, 8, INSN_RBX, JCC});
	f.size++;
	CHECK_NONE(f, "it is too long");
	f.size = 0;
	CHECK_NONE(f, "nothing of it is known");
}

/* --- walks -------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 32) % limit);
}

#define STEPS_MAX 3000

struct walk {
	uint32_t offset;
	int64_t sp_delta;
	uint16_t size_in;
	unsigned entries, results;
	bool is_failing, result_moved;
	bool stops; /* what comes is a call that does not return */
};

static const struct body_site *site_at(const struct body *body, uint32_t offset)
{
	for (size_t i = 0; i < body->count; i++)
		if (body->sites[i].delta == offset)
			return &body->sites[i];
	return NULL;
}

static void walk_site(struct walk *w, const struct body_site *site)
{
	bool has_size =
		site->size_reg < INSN_REGISTERS && w->size_in & 1u << site->size_reg;

	CHECK_INT(site->sp_delta, w->sp_delta);
	if (site->part == BODY_STOP) {
		w->stops = true;
		return;
	}
	CHECK_INT(w->results, 0);
	switch (site->part) {
	case BODY_ENTRY:
		CHECK(has_size);
		CHECK_INT(w->entries++, 0);
		return;
	case BODY_WHOLE:
		CHECK(has_size);
		CHECK_INT(w->entries, 0);
		break;
	case BODY_RETURN:
		CHECK_INT(w->entries, 1);
		break;
	case BODY_FAILURE:
		w->is_failing = true;
		break;
	case BODY_STOP:
		break;
	}
	w->results++;
}

/* What the instruction does to the size and the result. */
static void walk_values(struct walk *w, const struct insn *insn)
{
	static const uint8_t kept[] = {INSN_RBX, INSN_RSP, INSN_RBP, 12, 13, 14, 15};
	bool calls = insn->kind == INSN_CALL || insn->kind == INSN_CALL_INDIRECT;
	bool copies = insn->kind == INSN_COPY && w->size_in & 1u << insn->from;
	uint16_t after_call = 0;

	for (size_t i = 0; i < COUNT(kept); i++)
		after_call |= (uint16_t)(1u << kept[i]);
	/* The instruction at BODY_FAILURE is the last that writes it. */
	if (w->results && !w->is_failing && (calls || insn->writes & 1u << INSN_RAX))
		w->result_moved = true;
	w->is_failing = false;
	w->size_in &= (uint16_t)~insn->writes;
	if (calls)
		w->size_in &= after_call;
	if (copies)
		w->size_in |= (uint16_t)(1u << insn->to);
	w->sp_delta -= insn->sp_change;
}

/* One way through the function, chosen by chance; false: it did not come to an end. */
static bool walk_once(const struct function *f, const struct body *body)
{
	struct walk w = {.size_in = 1u << INSN_RDI};

	for (unsigned i = 0; i < STEPS_MAX; i++) {
		const struct body_site *site = site_at(body, w.offset);
		struct insn insn;
		uint32_t next;

		REQUIRE(w.offset < f->size);
		insn_decode(f->code + w.offset, f->size - w.offset, &insn);
		CHECK(insn.kind != INSN_UNKNOWN && insn.kind != INSN_OPAQUE);
		next = w.offset + insn.length;
		if (w.stops) {
			CHECK(insn.kind == INSN_CALL);
			return true;
		}
		if (site)
			walk_site(&w, site);
		if (insn.kind == INSN_RET) {
			CHECK_INT(w.results, 1);
			CHECK_INT(w.sp_delta, 0);
			CHECK(!w.result_moved);
			return true;
		}
		walk_values(&w, &insn);
		if (insn.kind == INSN_JMP ||
		    ((insn.kind == INSN_JCC || insn.kind == INSN_LOOP) &&
		     random_below(2)))
			next = (uint32_t)(w.offset + insn.target);
		w.offset = next;
	}
	return false;
}

/* What holds of whatever is found: `true` when there is something. */
static bool judge(const struct function *f)
{
	unsigned before = check_state.failures, wholes = 0;
	struct body body;
	struct flow flow;
	const char *why = find(f, &body);

	if (why) {
		CHECK_INT(body.count, 0);
		return false;
	}
	REQUIRE(body.count > 0 && body.count <= BODY_SITES_MAX);
	REQUIRE(!flow_read(&(struct flow_text){.code = f->code, .size = f->size}, &flow));
	for (size_t i = 0; i < body.count; i++) {
		const struct body_site *site = &body.sites[i];
		bool is_boundary = false, has_size = site->size_reg < INSN_REGISTERS;
		struct insn insn;

		vec_foreach (at, &flow.insns)
			is_boundary |= at->offset == site->delta;
		CHECK(is_boundary && site->delta < f->size);
		insn_decode(f->code + site->delta, f->size - site->delta, &insn);
		CHECK(!insn.no_probe);
		CHECK_INT(has_size, site->part == BODY_WHOLE || site->part == BODY_ENTRY);
		if (site->part != BODY_STOP && site->part != BODY_FAILURE)
			CHECK(place_emulated(f->code, site->delta, &insn, f->emulated));
		CHECK(site->reason);
		wholes += site->part == BODY_WHOLE;
		for (size_t k = 0; k < i; k++)
			CHECK(body.sites[k].delta != site->delta);
	}
	CHECK(wholes > 0);
	flow_deinit(&flow);
	for (unsigned i = 0; i < 64; i++)
		walk_once(f, &body);
	if (check_state.failures != before) {
		fprintf(stderr, "... of:");
		for (size_t i = 0; i < f->size; i++)
			fprintf(stderr, " %02x", f->code[i]);
		fprintf(stderr, "\n");
	}
	return true;
}

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

/* The walk sees what is wrong: each of these is a body of its own making. */
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

/* At the end of a page behind which nothing can be read. */
struct guarded {
	uint8_t *pages, *end;
};

static struct guarded guard(void)
{
	long page = sysconf(_SC_PAGESIZE);
	struct guarded g = {.pages = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};

	REQUIRE(g.pages != MAP_FAILED && page >= FLOW_CODE_MAX);
	g.end = g.pages + page;
	REQUIRE(!mprotect(g.end, (size_t)page, PROT_NONE));
	return g;
}

static void guard_deinit(struct guarded *g)
{
	munmap(g->pages, 2 * (size_t)sysconf(_SC_PAGESIZE));
}

/* Nothing behind the function is read. */
static void check_guarded(const struct guarded *g, const struct function *f)
{
	struct body body, guarded;

	const struct flow_text at_end = {.code = g->end - f->size, .size = f->size};

	memcpy(g->end - f->size, f->code, f->size);
	CHECK(find(f, &body) == body_find(&at_end, f->emulated, &guarded));
	CHECK_INT(guarded.count, body.count);
}

static void random_bytes(void)
{
	struct guarded g = guard();
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
	guard_deinit(&g);
	printf("     %u of random bytes have sites\n", found);
}

/* Instructions of which functions that have sites are made, and some that have none. A
 * branch goes to any of them. */
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
		/* Mostly ahead, as compilers do. */
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

/* Of the C library of this machine; false: its code is not for x86-64. */
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
	struct guarded g = guard();
	unsigned found = 0;

	for (unsigned i = 0; i < times; i++) {
		struct function f = *original;
		unsigned count = 1 + random_below(4);

		for (unsigned k = 0; k < count; k++) {
			uint8_t *byte = f.code + random_below((uint32_t)f.size);

			if (random_below(2))
				*byte = (uint8_t)random_below(256);
			else
				*byte ^= (uint8_t)(1u << random_below(8));
		}
		if (!random_below(16))
			f.size = 1 + random_below((uint32_t)f.size);
		check_guarded(&g, &f);
		found += judge(&f);
	}
	guard_deinit(&g);
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

/* Where malloc() has a body at all: unit.plan.body_malloc says of which it is so. */
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

/* --- time --------------------------------------------------------------------------- */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#define APPEND(function, bytes) append((function), (bytes), sizeof(bytes) - 1)

static void append(struct function *f, const char *bytes, size_t size)
{
	REQUIRE(size <= sizeof(f->code) - f->size);
	memcpy(f->code + f->size, bytes, size);
	f->size += size;
}

/* Let the jump whose 32 bits are at `at` go to `to`. */
static void aim(struct function *f, size_t at, size_t to)
{
	uint32_t distance = (uint32_t)(to - (at + 4));

	for (unsigned i = 0; i < 4; i++)
		f->code[at + i] = (uint8_t)(distance >> (8 * i));
}

static void measure(const char *what, const struct function *f, double *longest)
{
	struct body body;
	double start = seconds(), time;
	const char *why = find(f, &body);

	time = seconds() - start;
	printf("     %6.1f ms: %s, %zu bytes: %s\n", time * 1e3, what, f->size,
	       why ? why : "found");
	if (time > *longest)
		*longest = time;
	CHECK(f->size > FLOW_CODE_MAX - 16 && f->size <= FLOW_CODE_MAX);
	judge(f);
}

/* Each jumps to the one before; `start` goes on at the last, the first behind itself. */
static struct function jumps_back(const char *start, size_t start_size, size_t jump,
				  const char *end, size_t end_size)
{
	struct function f = made(start, start_size);
	size_t before = start_size;

	append(&f, end, end_size);
	while (f.size + 2 <= FLOW_CODE_MAX) {
		size_t at = f.size;

		APPEND(&f, "\xeb\0");
		f.code[at + 1] = (uint8_t)(before - f.size);
		before = at;
	}
	aim(&f, jump, before);
	return f;
}

#define JUMPS_BACK(start, jump, end)                                                     \
	jumps_back((start), sizeof(start) - 1, (jump), (end), sizeof(end) - 1)

/* The last four bytes of a repeated `item` are those of a jump; `where` 0: to the next
 * item, 1: to any ahead, 2: to any. */
static struct function jumps(const char *start, size_t start_size, const char *item,
			     size_t size, unsigned where, const char *end,
			     size_t end_size)
{
	struct function f = made(start, start_size);
	uint32_t count = (uint32_t)((FLOW_CODE_MAX - start_size - end_size) / size);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t to = where == 0   ? i + 1
			      : where == 1 ? i + 1 + random_below(count - i)
					   : random_below(count + 1);

		append(&f, item, size);
		aim(&f, f.size - 4, start_size + to * size);
	}
	append(&f, end, end_size);
	return f;
}

#define JUMPS(start, item, where, end)                                                   \
	jumps((start), sizeof(start) - 1, (item), sizeof(item) - 1, (where), (end),      \
	      sizeof(end) - 1)

#define END  "\x31\xdb" CALL "\x85\xc0\x74\0\x5b\xc3" /* xor ebx, ebx; call; je; ... */
#define LATE "\x85\xc0\x5b\xc3"                       /* test; pop rbx; ret */
#define JE   "\x0f\x84\0\0\0\0"

static void time_of_jumps(double *longest)
{
	static const char *const where[] = {"next", "ahead", "anywhere"};
	struct function f;

	for (unsigned i = 0; i < COUNT(where); i++) {
		printf("     jumps go %s:\n", where[i]);
		f = JUMPS(START, JE, i, END);
		measure("jumps", &f, longest);
		f = JUMPS(START CALL, JE, i, LATE);
		measure("final jumps", &f, longest);
		f = JUMPS(START, "\x31\xc0" JE, i, LATE);
		measure("failures", &f, longest);
		f = JUMPS(START, "\x48\x8b\x06\x90" JE, i, END);
		measure("results, nops", &f, longest);
		f = JUMPS(START, CALL "\x90" JE, i, END);
		measure("calls, nops", &f, longest);
		f = JUMPS(START, "\x78\6" CALL "\x90" JE, i, END);
		measure("calls, nops that are jumped over", &f, longest);
	}
	f = JUMPS_BACK(START "\xe9\0\0\0\0", 5, END);
	measure("jumps to the one before", &f, longest);
	f = JUMPS_BACK(START CALL "\xe9\0\0\0\0", 10, LATE);
	measure("final jumps to the one before", &f, longest);
	/* mov rax, [rsi]; je end; ...: all of them are put off */
	f = JUMPS_BACK(START "\x48\x8b\x06" JE CALL "\xe9\0\0\0\0", 19, LATE);
	aim(&f, 9, 23);
	measure("final jumps that meet another way", &f, longest);
}

static void time_of_nops(double *longest)
{
	static const char item[] = "\x78\6" CALL "\x90";
	struct function f = FUNCTION(START);

	while (f.size + sizeof(END) <= FLOW_CODE_MAX)
		APPEND(&f, "\x90");
	APPEND(&f, END);
	measure("places for the entry", &f, longest);

	/* One by one they are put off, each from far away: cdq. */
	f = FUNCTION(START CALL "\x48\x8b\x06" JE "\x48\x8b\x06");
	for (unsigned i = 0; i < 70; i++)
		APPEND(&f, "\x90");
	while (f.size + sizeof(LATE) <= FLOW_CODE_MAX)
		APPEND(&f, "\x99");
	aim(&f, 14, f.size);
	APPEND(&f, LATE);
	measure("sites put off", &f, longest);

	f = FUNCTION(START);
	for (unsigned i = 0; i < 15; i++)
		APPEND(&f, CALL "\x90");
	for (unsigned i = 0; f.size + sizeof(item) + sizeof(END) <= FLOW_CODE_MAX; i++) {
		APPEND(&f, item);
		f.code[f.size - 4] = (uint8_t)i;
		f.code[f.size - 3] = (uint8_t)(1 + (i >> 8));
	}
	APPEND(&f, END);
	measure("calls that are understood one by one", &f, longest);
}

/* A build with sanitizers takes several times as long. */
#define SECONDS_MAX 2

static void hostile_time(void)
{
	double longest = 0;

	time_of_jumps(&longest);
	time_of_nops(&longest);
	CHECK(longest > 0 && longest < SECONDS_MAX);
}

int main(void)
{
	RUN(whole_calls);
	RUN(registers_meet);
	RUN(lost_sizes);
	RUN(calls_that_end);
	RUN(others_that_end);
	RUN(sites_put_off);
	RUN(not_read);
	RUN(instructions_overlap);
	RUN(stack_pointer);
	RUN(no_results);
	RUN(many_sites);
	RUN(long_functions);
	RUN(walks);
	RUN(walks_see_errors);
	RUN(random_bytes);
	RUN(random_functions);
	RUN(mutations);
	RUN(mutations_of_malloc);
	RUN(hostile_time);
	return check_done();
}
