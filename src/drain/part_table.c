// SPDX-License-Identifier: Apache-2.0
#include "drain/part_table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/code_load.h"
#include "bpf/inner_map.h"
#include "bpf/syscall.h"
#include "compile/source_sizes.h"

void part_table_open(struct part_table *t, const char *name, int outer, int first,
		     uint32_t value_bytes, uint32_t entries, uint32_t part_entries)
{
	*t = (struct part_table){
		.outer = outer,
		.name = name,
		.value_bytes = value_bytes,
		.part_entries = part_entries,
		.count = source_parts(entries, part_entries),
		.owner = getpid(),
		.part = {first},
		.known = 1,
	};
	pthread_mutex_init(&t->lock, NULL);
}

void part_table_close(struct part_table *t)
{
	for (uint32_t i = 1; i < t->known; i++)
		close(t->part[i]);
	if (t->known)
		pthread_mutex_destroy(&t->lock);
	*t = (struct part_table){.outer = -1};
}

static struct error *add(struct part_table *t)
{
	uint32_t next = t->known;
	struct code_map map = {
		.type = BPF_MAP_TYPE_ARRAY,
		.key_bytes = sizeof(uint32_t),
		.value_bytes = t->value_bytes,
		.entries = t->entries ? t->entries[next] : t->part_entries,
		.flags = BPF_F_MMAPABLE | (t->entries ? ABI_PART_FLAG : 0),
	};
	struct error *err;

	snprintf(map.name, sizeof(map.name), "%s_part", t->name);
	err = code_map_make(&map, -1, &t->part[next]);
	if (err)
		return err;
	__atomic_store_n(&t->known, next + 1, __ATOMIC_SEQ_CST);
	return NULL;
}

bool part_table_lacks(const struct part_table *t, uint32_t count)
{
	return __atomic_load_n(&t->known, __ATOMIC_SEQ_CST) <
	       (count < t->count ? count : t->count);
}

struct error *part_table_create(struct part_table *t, uint32_t count,
				struct new_parts *ret)
{
	struct error *err = NULL;

	pthread_mutex_lock(&t->lock);
	*ret = (struct new_parts){.table = t, .first = t->known};
	while (!err && part_table_lacks(t, count))
		err = add(t);
	ret->count = t->known - ret->first;
	pthread_mutex_unlock(&t->lock);
	return err;
}

void part_table_put(const struct new_parts *parts)
{
	struct part_table *t = parts->table;
	uint32_t number[ABI_PARTS_MAX], fd[ABI_PARTS_MAX];
	union bpf_attr attr;

	if (!parts->count)
		return;
	for (uint32_t i = 0; i < parts->count; i++) {
		number[i] = parts->first + i;
		fd[i] = (uint32_t)t->part[number[i]];
	}
	memset(&attr, 0, sizeof(attr));
	attr.batch.map_fd = (uint32_t)t->outer;
	attr.batch.keys = (uint64_t)(uintptr_t)number;
	attr.batch.values = (uint64_t)(uintptr_t)fd;
	attr.batch.count = parts->count;
	if (!sys_bpf(BPF_MAP_UPDATE_BATCH, &attr, sizeof(attr)))
		return;
	/* Older kernels have no such batch for an array of maps. */
	for (uint32_t i = 0; i < parts->count; i++)
		if (inner_map_put(t->outer, number[i], (int)fd[i]))
			__atomic_store_n(&t->is_unput, true, __ATOMIC_SEQ_CST);
}

/* Open the next part if another process has added it. */
static bool open_next(struct part_table *t)
{
	int fd;

	if (t->known >= t->count)
		return false;
	fd = inner_map_open(t->outer, t->known);
	t->is_short = fd < 0;
	if (fd < 0)
		return false;
	t->part[t->known++] = fd;
	return true;
}

int part_table_part(struct part_table *t, uint32_t part)
{
	while (part >= __atomic_load_n(&t->known, __ATOMIC_SEQ_CST))
		if (t->owner == getpid() || !open_next(t))
			return -1;
	return t->part[part];
}

uint32_t part_table_elements(struct part_table *t, uint64_t used)
{
	uint64_t there;

	if (used && part_table_part(t, (uint32_t)((used - 1) / t->part_entries)) >= 0)
		return (uint32_t)used;
	there = (uint64_t)__atomic_load_n(&t->known, __ATOMIC_SEQ_CST) * t->part_entries;
	return (uint32_t)(used < there ? used : there);
}

struct part {
	mapped_fn fn;
	void *arg;
	uint32_t before; /* elements in the parts before */
};

static bool read_part(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct part *part = arg;

	return part->fn(elements, part->before + first, count, part->arg);
}

struct error *part_table_walk(struct part_table *t, uint32_t count, mapped_fn fn,
			      void *arg)
{
	struct error *err = NULL;

	for (uint32_t first = 0, n; !err && first < count; first += n) {
		struct part part = {fn, arg, first};

		n = count - first < t->part_entries ? count - first : t->part_entries;
		err = mapped_walk(part_table_part(t, first / t->part_entries), n,
				  t->value_bytes, read_part, &part);
	}
	return err;
}
