// SPDX-License-Identifier: Apache-2.0
#include "trace/site_numbers.h"

unsigned site_numbers_find(const struct site_numbers *numbers)
{
	unsigned number = 0;

	while (number < ABI_MAX_SITES - 1 && numbers->used[number])
		number++;
	return number;
}
