// SPDX-License-Identifier: Apache-2.0
#include "bpf/families.h"

#include <stdlib.h>

#include "snapshot/snapshot.h"

bool families_add(struct families *families, struct family family)
{
	return vec_push(&families->list, family);
}

/* For qsort(3). */
static int compare(const void *pa, const void *pb)
{
	const struct family *a = pa, *b = pb;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return a->process < b->process ? -1 : a->process > b->process;
}

void families_settle(struct families *families)
{
	struct family *list = families->list.data;
	size_t kept = 0;

	if (!families->list.len)
		return;
	qsort(list, families->list.len, sizeof(*list), compare);
	for (size_t i = 0; i < families->list.len; i++)
		if (!kept || list[kept - 1].number != list[i].number)
			list[kept++] = list[i];
	families->list.len = kept;
}

uint32_t families_process(const struct families *families, uint64_t number)
{
	size_t i = vec_count_up_to(&families->list, number, number);

	return i && families->list.data[i - 1].number == number
		       ? families->list.data[i - 1].process
		       : SNAPSHOT_NO_PROCESS;
}

void families_deinit(struct families *families)
{
	vec_deinit(&families->list);
}
