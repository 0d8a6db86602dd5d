/* SPDX-License-Identifier: Apache-2.0 */
/* Functions given by their bytes, for tests of sites inside functions. */
#ifndef UNIT_PLAN_BODY_MADE_H
#define UNIT_PLAN_BODY_MADE_H

#include "check.h"

#include <string.h>

#include "code/body.h"
#include "code/flow.h"
#include "code/place.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ALL          (EMULATED_BRANCH | EMULATED_PUSH | EMULATED_NOPS)
#define NO           PLACE_NO_REGISTER

struct function {
	uint8_t code[FLOW_CODE_MAX + 1];
	size_t size;
	unsigned emulated;
};

/* Drops the NUL that ends a string literal. */
#define FUNCTION(bytes) made((bytes), sizeof(bytes) - 1)

static inline struct function made(const char *bytes, size_t size)
{
	struct function f = {.size = size, .emulated = ALL};

	REQUIRE(size <= sizeof(f.code));
	memcpy(f.code, bytes, size);
	return f;
}

/* Finds the sites without knowledge of other functions. Returns why nothing was found, or
 * NULL. */
static inline const char *find(const struct function *f, struct body *ret)
{
	const struct flow_text text = {.code = f->code, .size = f->size};

	return body_find(&text, f->emulated, ret);
}

/* --- functions -------------------------------------------------------------------- */

/* The functions f, g and die are outside: 64, 128 and 192 KiB after the first byte. */
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

/* A small version of glibc's malloc(): the slow path loses the size, and may fail. */
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

/* Two failing checks of a result. */
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

/* One path enters the final code by a jump, the other one does not. */
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

#endif
