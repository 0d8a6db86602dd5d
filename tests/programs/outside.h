/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by outside.c and its probes, outside_probes.c. It uses only types that C and
 * libbcc's dialect of C both have.
 */
#ifndef PROGRAMS_OUTSIDE_H
#define PROGRAMS_OUTSIDE_H

/* The attach cookie says which arguments of the function matter: numbers from 1 on, 0 if
 * there is none. */
#define OUTSIDE_ARGS(size, factor, old, result)                                          \
	((size) | (factor) << 4 | (old) << 8 | (result) << 12)
#define OUTSIDE_SIZE(cookie)   ((cookie)&15)        /* bytes requested */
#define OUTSIDE_FACTOR(cookie) ((cookie) >> 4 & 15) /* times this */
#define OUTSIDE_OLD(cookie)    ((cookie) >> 8 & 15) /* a block to free or resize */
/* Where the block's address is stored, if it is not returned. */
#define OUTSIDE_RESULT(cookie) ((cookie) >> 12 & 15)
/* The function may call another one that is counted: a block counts once. */
#define OUTSIDE_CALLER (1 << 16)
/* Above it: the number of the function. */
#define OUTSIDE_NUMBER(n) ((n) << 20)

/* The counts of one process. */
struct outside_sums {
	unsigned long long allocations, allocated_bytes, frees, freed_bytes;
	unsigned long long failures; /* calls that returned no memory */
	/* addresses that were returned again without a free, and the former sizes */
	unsigned long long replaced, replaced_bytes;
	unsigned long long
		overflow; /* calls or blocks without room: the counts are wrong */
};

/* A call between its entry and its return. */
struct outside_call {
	unsigned int tid, number;
	unsigned long long stack; /* where the return address is */
};

#define OUTSIDE_BLOCKS    2097152
#define OUTSIDE_CALLS     65536
#define OUTSIDE_PROCESSES 16384

#endif
