// SPDX-License-Identifier: Apache-2.0
#include "drain/journal_table.h"

#include <unistd.h>

#include <linux/bpf.h>

#include "abi.h"
#include "bpf/code_load.h"
#include "bpf/inner_map.h"

static struct error *make_half(uint32_t entries, int *ret)
{
	const struct code_map map = {
		.name = "journal_part",
		.type = BPF_MAP_TYPE_ARRAY,
		.key_bytes = sizeof(uint32_t),
		.value_bytes = sizeof(struct abi_journal),
		.entries = entries,
		.flags = BPF_F_MMAPABLE | ABI_PART_FLAG,
	};

	return code_map_make(&map, -1, ret);
}

struct error *journal_table_open(struct journal_table *j, int outer, int first,
				 uint32_t entries)
{
	struct error *err;
	int second;

	*j = (struct journal_table){
		.outer = outer,
		.owner = getpid(),
		.half = {first, -1},
		.room = {entries, 0},
	};
	err = make_half(entries, &second);
	if (err)
		return err;
	j->half[1] = second;
	j->room[1] = entries;
	j->is_own[1] = true;
	return NULL;
}

void journal_table_close(struct journal_table *j)
{
	for (int i = 0; i < 2; i++)
		if (j->is_own[i])
			close(j->half[i]);
	*j = (struct journal_table){.outer = -1};
}

struct error *journal_table_put(const struct journal_table *j, uint32_t half)
{
	int err = -inner_map_put(j->outer, half, j->half[half]);

	return err ? error_errno(ERROR_IO, err,
				 "cannot enlarge the buffer for changes during a report")
		   : NULL;
}

static uint32_t room_for(uint64_t entries)
{
	uint32_t room = 1;

	while (room < entries && room < ABI_JOURNAL_ENTRIES)
		room *= 2;
	return room;
}

struct error *journal_table_grow(struct journal_table *j, uint32_t half, uint64_t entries,
				 bool *is_new)
{
	struct journal_table larger = *j;
	struct error *err;

	*is_new = false;
	if (j->owner != getpid() || j->room[half] >= room_for(entries))
		return NULL;
	larger.room[half] = room_for(entries);
	err = make_half(larger.room[half], &larger.half[half]);
	if (err)
		return err;
	err = journal_table_put(&larger, half);
	if (err) {
		close(larger.half[half]);
		return err;
	}
	larger.is_own[half] = true;
	if (j->is_own[half])
		close(j->half[half]);
	*j = larger;
	*is_new = true;
	return NULL;
}
