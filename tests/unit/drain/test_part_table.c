// SPDX-License-Identifier: Apache-2.0
/* Two processes with a table in parts: one adds parts, the other one reads. */
#include "drain/part_table.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "check.h"
#include "unit/bpf/create_map.h"
#include "bpf/syscall.h"
#include "drain/record_windows.h"

#define PARTS    5
#define EACH     1024 /* elements in a part */
#define ELEMENTS (PARTS * EACH - 7)

struct bench {
	int first, outer;
	struct part_table table;
};

static void bench_init(struct bench *b)
{
	b->first = create_array(sizeof(uint64_t), EACH, 0);
	b->outer = create_array_of_maps(b->first, PARTS);
	part_table_open(&b->table, "numbers", b->outer, b->first, sizeof(uint64_t),
			ELEMENTS, EACH);
	part_table_put(&(struct new_parts){&b->table, 0, b->table.known});
}

static void bench_deinit(struct bench *b)
{
	part_table_close(&b->table);
	close(b->outer);
	close(b->first);
}

static void grow(struct part_table *t, uint32_t count)
{
	struct new_parts parts;

	REQUIRE(!part_table_create(t, count, &parts));
	part_table_put(&parts);
	CHECK(!t->is_unput);
}

static void fill(struct part_table *t, uint32_t from, uint32_t to)
{
	struct record_windows windows;

	record_windows_init(&windows, t, 300);
	for (uint32_t i = from; i < to; i++) {
		uint64_t *element = record_windows_at(&windows, i);

		REQUIRE(element);
		CHECK_INT(*element, 0);
		*element = i + 1;
	}
	record_windows_deinit(&windows);
}

static bool check_numbers(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const uint64_t *number = elements;
	uint32_t *next = arg;

	CHECK_INT(first, *next);
	for (uint32_t i = 0; i < count; i++)
		CHECK_INT(number[i], first + i + 1);
	*next += count;
	return true;
}

static void check_read(struct part_table *t, uint32_t count)
{
	uint32_t next = 0;

	CHECK_INT(part_table_elements(t, count), count);
	REQUIRE(!part_table_walk(t, count, check_numbers, &next));
	CHECK_INT(next, count);
}

/* The kernel has the part, so that probes find it. */
static bool is_put(const struct bench *b, uint32_t part)
{
	uint32_t id;

	return !sys_bpf_element(BPF_MAP_LOOKUP_ELEM, b->outer, &part, &id);
}

static void it_grows_to_its_largest_size(void)
{
	struct new_parts none;
	struct bench b;

	bench_init(&b);
	CHECK(is_put(&b, 0) && !is_put(&b, 1));
	CHECK_INT(part_table_elements(&b.table, EACH + 1), EACH);
	CHECK_INT(part_table_part(&b.table, 1), -1);
	CHECK(!part_table_lacks(&b.table, 1) && part_table_lacks(&b.table, 2));
	grow(&b.table, 3);
	CHECK(is_put(&b, 1) && is_put(&b, 2) && !is_put(&b, 3));
	grow(&b.table, 100);
	CHECK(is_put(&b, PARTS - 1));
	CHECK(!part_table_lacks(&b.table, 100));
	REQUIRE(!part_table_create(&b.table, 100, &none));
	CHECK_INT(none.count, 0);
	fill(&b.table, 0, ELEMENTS);
	check_read(&b.table, ELEMENTS);
	check_read(&b.table, EACH + 10);
	bench_deinit(&b);
}

/* A forked child reads what its parent has added since. */
static void a_child_opens_what_was_added(void)
{
	int to_child[2], status;
	struct bench b;
	char byte = 0;
	pid_t child;

	bench_init(&b);
	fill(&b.table, 0, EACH);
	REQUIRE(!pipe(to_child));
	child = fork();
	REQUIRE(child >= 0);
	if (!child) {
		REQUIRE(read(to_child[0], &byte, 1) == 1);
		check_read(&b.table, 3 * EACH);
		CHECK(!b.table.is_short);
		_exit(check_state.failures != 0);
	}
	grow(&b.table, 3);
	fill(&b.table, EACH, 3 * EACH);
	REQUIRE(write(to_child[1], &byte, 1) == 1);
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
	close(to_child[0]);
	close(to_child[1]);
	bench_deinit(&b);
}

/* If the child may not open a part, it knows that something is missing. */
static void a_child_may_not_open_it(void)
{
	struct part_table reader;
	struct bench b;

	bench_init(&b);
	reader = b.table;
	reader.owner = -1;
	/* Its elements are the numbers of maps, and no map has number 0. */
	reader.outer = create_map((union bpf_attr){.map_type = BPF_MAP_TYPE_ARRAY,
						   .key_size = sizeof(uint32_t),
						   .value_size = sizeof(uint32_t),
						   .max_entries = PARTS});
	CHECK_INT(part_table_elements(&reader, 2 * EACH), EACH);
	CHECK(reader.is_short && !b.table.is_short);
	close(reader.outer);
	bench_deinit(&b);
}

/* The same if the other process has created the part, but not yet put it. */
static void a_child_finds_it_not_yet(void)
{
	struct part_table reader;
	struct new_parts parts;
	struct bench b;

	bench_init(&b);
	reader = b.table;
	reader.owner = -1;
	CHECK_INT(part_table_elements(&reader, EACH), EACH);
	CHECK(!reader.is_short);
	REQUIRE(!part_table_create(&b.table, 2, &parts));
	CHECK_INT(part_table_elements(&reader, 2 * EACH), EACH);
	CHECK(reader.is_short);
	part_table_put(&parts);
	CHECK_INT(part_table_elements(&reader, 2 * EACH), 2 * EACH);
	CHECK(!reader.is_short);
	/* There can be no more than all parts: nothing is missing. */
	grow(&b.table, PARTS);
	CHECK_INT(part_table_part(&reader, PARTS), -1);
	CHECK(!reader.is_short);
	CHECK_INT(reader.known, PARTS);
	for (uint32_t i = 1; i < reader.known; i++)
		close(reader.part[i]);
	bench_deinit(&b);
}

int main(void)
{
	RUN(it_grows_to_its_largest_size);
	RUN(a_child_opens_what_was_added);
	RUN(a_child_may_not_open_it);
	RUN(a_child_finds_it_not_yet);
	return check_done();
}
