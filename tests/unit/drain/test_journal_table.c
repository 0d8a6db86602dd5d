// SPDX-License-Identifier: Apache-2.0
/* The halves of the journal. Small ones are replaced by larger ones. */
#include "drain/journal_table.h"

#include <errno.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "abi.h"
#include "bpf/syscall.h"
#include "check.h"
#include "unit/bpf/create_map.h"
#include "unit/process/child.h"

#define ENTRIES 64

struct bench {
	int first, outer;
	struct journal_table journal;
};

static void bench_init(struct bench *b)
{
	b->first = create_array(sizeof(struct abi_journal), ENTRIES, ABI_PART_FLAG);
	b->outer = create_array_of_maps(b->first, 2);
	REQUIRE(!journal_table_open(&b->journal, b->outer, b->first, ENTRIES));
	for (uint32_t half = 0; half < 2; half++)
		REQUIRE(!journal_table_put(&b->journal, half));
}

static void bench_deinit(struct bench *b)
{
	journal_table_close(&b->journal);
	close(b->outer);
	close(b->first);
}

static uint32_t id_of(int fd)
{
	struct bpf_map_info info = {0};
	union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)fd,
					.info_len = sizeof(info),
					.info = (uint64_t)(uintptr_t)&info}};

	REQUIRE(!sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)));
	CHECK_INT(info.value_size, sizeof(struct abi_journal));
	return info.id;
}

/* The probes use the half that memtrace reads, and it has this room. */
static void check_half(struct bench *b, uint32_t half, uint32_t room)
{
	const struct abi_journal entry = {.key = 1};
	uint32_t id, last = room - 1;
	int fd = b->journal.half[half];

	REQUIRE(!sys_bpf_element(BPF_MAP_LOOKUP_ELEM, b->outer, &half, &id));
	CHECK_INT(id, id_of(fd));
	CHECK_INT(b->journal.room[half], room);
	CHECK(!sys_bpf_element(BPF_MAP_UPDATE_ELEM, fd, &last, (void *)&entry));
	CHECK(sys_bpf_element(BPF_MAP_UPDATE_ELEM, fd, &room, (void *)&entry));
}

static void a_small_half_is_replaced(void)
{
	static const struct {
		uint32_t half;
		uint64_t wanted;
		bool is_new;
		uint32_t room;
	} cases[] = {
		{1, 0, false, ENTRIES},
		{1, ENTRIES, false, ENTRIES},
		{1, ENTRIES + 1, true, 2 * ENTRIES},
		{0, 5 * ENTRIES, true, 8 * ENTRIES},
		{1, 7 * ENTRIES, true, 8 * ENTRIES},
		{1, 3 * ENTRIES, false, 8 * ENTRIES},
		{0, UINT64_C(1) << 40, true, ABI_JOURNAL_ENTRIES},
		{0, UINT64_C(1) << 50, false, ABI_JOURNAL_ENTRIES},
	};
	struct bench b;
	bool is_new;

	bench_init(&b);
	check_half(&b, 0, ENTRIES);
	check_half(&b, 1, ENTRIES);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		REQUIRE(!journal_table_grow(&b.journal, cases[i].half, cases[i].wanted,
					    &is_new));
		CHECK_INT(is_new, cases[i].is_new);
		check_half(&b, cases[i].half, cases[i].room);
	}
	bench_deinit(&b);
}

/* If the kernel refuses the larger half, the smaller one stays in use. */
static void grow_in_child(void *arg)
{
	struct bench *b = arg;
	bool is_new;

	error_destroy(journal_table_grow(&b->journal, 1, 2 * ENTRIES, &is_new));
}

/* The parent would not know of a half that a child makes. */
static void a_child_replaces_none(void)
{
	struct child child;
	struct bench b;

	bench_init(&b);
	child = child_fork(grow_in_child, &b);
	check_half(&b, 1, ENTRIES);
	child_end(&child);
	bench_deinit(&b);
}

static void a_refused_half_changes_nothing(void)
{
	struct error *err;
	struct bench b;
	bool is_new;

	bench_init(&b);
	b.journal.outer = -1;
	err = journal_table_grow(&b.journal, 1, 2 * ENTRIES, &is_new);
	CHECK(err && !is_new);
	error_destroy(err);
	check_half(&b, 1, ENTRIES);
	bench_deinit(&b);
}

int main(void)
{
	RUN(a_small_half_is_replaced);
	RUN(a_child_replaces_none);
	RUN(a_refused_half_changes_nothing);
	return check_done();
}
