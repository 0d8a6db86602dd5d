// SPDX-License-Identifier: Apache-2.0
#include "dwarf/dwarf_read.h"

#define TICK_STEPS 4096u

bool dwarf_budget_spend(struct dwarf_budget *budget, uint64_t steps)
{
	if (budget->steps < steps) {
		budget->steps = 0;
		return false;
	}
	if (budget->tick &&
	    (budget->steps - steps) / TICK_STEPS != budget->steps / TICK_STEPS)
		budget->tick(budget->tick_arg);
	budget->steps -= steps;
	return true;
}

uint64_t dwarf_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	return dwarf_attr(die, name, &attr) && !dwarf_formudata(&attr, &value) ? value
									       : 0;
}
