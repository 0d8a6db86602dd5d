// SPDX-License-Identifier: Apache-2.0
#include "drain/live_table.h"

#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/code_load.h"
#include "bpf/inner_map.h"
#include "util/clock.h"

static struct error *put(const struct live_table *t, uint32_t generation)
{
	int err = -inner_map_put(t->outer, generation, t->part[generation]);

	return err ? error_errno(ERROR_IO, err, "cannot enlarge the table of blocks")
		   : NULL;
}

struct error *live_table_open(int outer, int first, const struct source_sizes *sizes,
			      struct abi_control *control, struct live_table *ret)
{
	*ret = (struct live_table){.outer = outer,
				   .control = control,
				   .first_buckets = sizes->live_buckets,
				   .generations = sizes->live_generations,
				   .part = {first},
				   .known = 1};
	return put(ret, 0);
}

static size_t first_bytes(const struct live_table *t)
{
	return live_table_part_buckets(t, 0) * sizeof(struct abi_live_bucket);
}

static void unmap_first(struct live_table *t)
{
	mapped_close(t->first, first_bytes(t));
	t->first = NULL;
}

void live_table_rest(struct live_table *t)
{
	unmap_first(t);
	t->walked_ns = 0;
	t->often = 0;
}

void live_table_close(struct live_table *t)
{
	unmap_first(t);
	for (uint32_t g = 1; g < t->known; g++)
		close(t->part[g]);
	*t = (struct live_table){.outer = -1};
}

uint32_t live_table_count(struct live_table *t)
{
	uint32_t count =
		(uint32_t)__atomic_load_n(&t->control->live_newest, __ATOMIC_SEQ_CST) + 1;
	uint32_t known = __atomic_load_n(&t->known, __ATOMIC_SEQ_CST);

	while (known < count && known < t->generations) {
		/* Another process has added it. */
		int fd = inner_map_open(t->outer, known);

		if (fd < 0)
			break;
		t->part[known++] = fd;
		t->known = known;
	}
	return known < count ? known : count;
}

bool live_table_is_whole(struct live_table *t)
{
	return __atomic_load_n(&t->known, __ATOMIC_SEQ_CST) >
	       __atomic_load_n(&t->control->live_newest, __ATOMIC_SEQ_CST);
}

bool live_table_wants_more(struct live_table *t)
{
	return __atomic_load_n(&t->control->live_wanted, __ATOMIC_SEQ_CST) >=
	       live_table_count(t);
}

struct error *live_table_grow(struct live_table *t)
{
	uint32_t next = live_table_count(t);
	const struct code_map map = {
		.name = "live_part",
		.type = BPF_MAP_TYPE_ARRAY,
		.key_bytes = sizeof(uint32_t),
		.value_bytes = sizeof(struct abi_live_bucket),
		.entries = ABI_LIVE_BUCKETS(t->first_buckets, next),
		.flags = BPF_F_MMAPABLE | ABI_PART_FLAG,
	};
	struct error *err;

	if (next >= t->generations)
		return error_create(ERROR_IO, "the table of blocks has its largest size");
	err = code_map_make(&map, -1, &t->part[next]);
	if (err)
		return err;
	err = put(t, next);
	if (err) {
		close(t->part[next]);
		return err;
	}
	/* live_newest last: a program that reads it finds the map of this generation. */
	__atomic_store_n(&t->known, next + 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&t->control->live_newest, next, __ATOMIC_SEQ_CST);
	return NULL;
}

/* --- reading ---------------------------------------------------------------------- */

struct part {
	mapped_fn fn;
	void *arg;
	uint32_t before; /* buckets in the generations before */
};

static bool read_part(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct part *part = arg;

	return part->fn(elements, part->before + first, count, part->arg);
}

/* Mapping and unmapping the first generation takes longer than reading it, if it has few
 * blocks. A report may read it several times at once. */
#define SAME_REPORT_NS UINT64_C(100000000)
#define SOON_NS        UINT64_C(2000000000)
#define OFTEN          3

/* Is it worth keeping the first generation mapped? */
static bool is_walked_often(struct live_table *t)
{
	uint64_t now_ns = clock_now_ns(), gap_ns = now_ns - t->walked_ns;

	if (t->walked_ns && gap_ns < SAME_REPORT_NS)
		return t->often >= OFTEN;
	t->often = !t->walked_ns || gap_ns >= SOON_NS ? 0
		   : t->often < OFTEN                 ? t->often + 1
						      : OFTEN;
	t->walked_ns = now_ns;
	return t->often >= OFTEN;
}

static struct error *walk_first(struct live_table *t, mapped_fn fn, void *arg)
{
	uint32_t buckets = live_table_part_buckets(t, 0);

	if (!is_walked_often(t))
		unmap_first(t);
	else if (!t->first)
		t->first = mapped_open(t->part[0], first_bytes(t));
	if (!t->first)
		return mapped_walk_writable(t->part[0], buckets,
					    sizeof(struct abi_live_bucket), fn, arg);
	return fn(t->first, 0, buckets, arg) ? NULL : error_no_memory();
}

struct error *live_table_walk(struct live_table *t, uint32_t count, mapped_fn fn,
			      void *arg)
{
	struct error *err = count ? walk_first(t, fn, arg) : NULL;

	for (uint32_t g = 1; !err && g < count; g++) {
		struct part part = {fn, arg, ABI_LIVE_BEFORE(t->first_buckets, g)};

		err = mapped_walk_writable(
			t->part[g], ABI_LIVE_BUCKETS(t->first_buckets, g),
			sizeof(struct abi_live_bucket), read_part, &part);
	}
	return err;
}
