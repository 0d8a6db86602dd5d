/* SPDX-License-Identifier: Apache-2.0 */
/* What all readers of DWARF share: the budget of their work, and the value of an
 * attribute. */
#ifndef DWARF_DWARF_READ_H
#define DWARF_DWARF_READ_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* The work that may still be spent, shared by all lookups for one process. References
 * in hostile DWARF can multiply the work, so the total is bounded, not each step. */
struct dwarf_budget {
	uint64_t steps; /* left: DIEs and ranges looked at, bytes of line programs run,
			   bytes of text copied; each takes some 50 ns or less */
	void (*tick)(void *arg); /* called every few thousand steps; or NULL */
	void *tick_arg;
};

/* The cost of a stored range besides the cost of reading it, so that it bounds memory
 * too. */
#define DWARF_RANGE_STEPS 16

/* Spend `steps`; false if not enough are left. */
bool dwarf_budget_spend(struct dwarf_budget *budget, uint64_t steps);

/* The value of an unsigned attribute; 0 if it is missing. */
uint64_t dwarf_number(Dwarf_Die *die, unsigned name);

#endif
