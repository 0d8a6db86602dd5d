// SPDX-License-Identifier: Apache-2.0
/* The kernel's unwind tables, searched as the probes do, compared with the rows of the
 * file. */
#include "check.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "abi.h"
#include "abi_walk.h"
#include "unwind_miss/layouts.h"
#include "bpf/syscall.h"
#include "unwind_miss/unwind_tables.h"
#include "unwind/rules.h"
#include "util/clock.h"

#define NUMBER 7 /* the file's number */
#define MANY   8192

struct room {
	struct unwind_tables tables;
	struct abi_control control;
	struct fence fence;
	uint64_t rules[ABI_UNWIND_RULES];
	struct cfi *cfi;
	uint64_t start, end; /* bounds of the C library's code */
};

static int create_map(uint32_t type, uint32_t value_bytes, uint32_t entries)
{
	union bpf_attr attr = {.map_type = type,
			       .key_size = 8,
			       .value_size = value_bytes,
			       .max_entries = entries,
			       .map_flags = BPF_F_NO_PREALLOC};

	return sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct room *r = arg;
	struct error *err;
	int fd;

	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	fd = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? error_no_memory() : cfi_open_file(fd, &r->cfi);
	REQUIRE(!err);
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			r->start = p->p_vaddr;
			r->end = p->p_vaddr + p->p_memsz;
		}
	}
	return 1;
}

static struct room *open_room(uint32_t max_pages)
{
	struct room *r = calloc(1, sizeof(*r));
	int fd;

	REQUIRE(r);
	fd = create_map(BPF_MAP_TYPE_HASH, sizeof(struct abi_unwind_page), max_pages);
	if (fd < 0)
		check_skip("no BPF maps can be made here");
	fence_open(&r->fence);
	unwind_tables_init(&r->tables, fd, max_pages, r->rules, &r->control, &r->fence);
	dl_iterate_phdr(find_libc, r);
	REQUIRE(r->cfi);
	unwind_tables_add(&r->tables, NUMBER, r->cfi, r->start, r->end);
	return r;
}

static void close_room(struct room *r)
{
	int fd = r->tables.pages.fd;

	unwind_tables_deinit(&r->tables);
	fence_close(&r->fence);
	cfi_close(r->cfi);
	close(fd);
	free(r);
}

static bool get_page(const struct room *r, uint64_t key, void *page)
{
	return fenced_map_get(&r->tables.pages, key, page);
}

/* The index of the last of `count` numbers that is at most `value`. */
static size_t find_last(const uint16_t numbers[], size_t count, uint64_t value)
{
	size_t last = 0;

	for (size_t i = 1; i < count && numbers[i] <= value; i++)
		last = i;
	return last;
}

/* Like table_rule_of() in probes/unwind/unwind_table.c. UNWIND_NONE: no rule, or no
 * table. */
static uint64_t look_up(const struct room *r, uint64_t address)
{
	uint64_t key = ABI_UNWIND_KEY(NUMBER, address, 0);
	uint64_t offset = address % (UINT64_C(1) << ABI_UNWIND_REGION_BITS);
	struct abi_unwind_index index;
	struct abi_unwind_page page;

	if (!get_page(r, key, &index) ||
	    !get_page(r, key + 1 + find_last(index.start, (size_t)index.count, offset),
		      &page))
		return UNWIND_NONE;
	return r->rules[page.rule[find_last(page.offset, ABI_UNWIND_PAGE_ROWS, offset)]];
}

/* Compares every `step`-th address. Returns how many have a rule. */
static unsigned compare(const struct room *r, uint64_t start, uint64_t end, uint64_t step)
{
	unsigned found = 0, wrong = 0;

	for (uint64_t at = start; at < end; at += step) {
		uint64_t rule = look_up(r, at);
		struct cfi_row row;

		if (rule == UNWIND_NONE)
			continue;
		found++;
		wrong += cfi_find_row(r->cfi, at, &row) != CFI_FOUND ||
			 rule_from_row(&row, at) != rule;
	}
	CHECK_INT(wrong, 0);
	return found;
}

static void asked_for(void)
{
	struct room *r = open_room(MANY);
	uint64_t at = r->start + (r->end - r->start) / 2;
	uint64_t base = at & ~((UINT64_C(1) << ABI_UNWIND_REGION_BITS) - 1);
	uint64_t next = base + (UINT64_C(1) << ABI_UNWIND_REGION_BITS);

	CHECK_INT(compare(r, base, next, 16), 0);
	unwind_tables_want(&r->tables, NUMBER, at);
	CHECK(compare(r, base, next, 1) > (next - base) / 2);
	CHECK_INT(compare(r, next, next + 4096, 1), 0);
	CHECK(unwind_tables_size_bytes(&r->tables) > 0);
	/* Addresses outside of the code are ignored. */
	unwind_tables_want(&r->tables, NUMBER, r->end + (1 << 20));
	unwind_tables_want(&r->tables, NUMBER + 1, at);
	CHECK_INT(r->tables.regions.len, 1);
	close_room(r);
}

static void sweep_all(struct room *r)
{
	while (unwind_tables_sweep(&r->tables, 1000000, UINT64_MAX))
		;
}

static void whole_file(void)
{
	struct room *r = open_room(MANY);
	uint64_t size = r->end - r->start;
	uint64_t begun_ns = clock_now_ns();

	sweep_all(r);
	printf("%.1f ms and %.1f KiB for %.1f KiB of code\n",
	       (double)(clock_now_ns() - begun_ns) / 1e6,
	       (double)unwind_tables_size_bytes(&r->tables) / 1024, (double)size / 1024);
	CHECK(compare(r, r->start, r->end, 7) > size / 7 * 9 / 10);
	/* The last address of each region: the end of a page that may be padded. */
	for (uint64_t at = r->start | 0xffff; at < r->end; at += 0x10000) {
		struct cfi_row row;
		uint64_t rule = UNWIND_NONE;

		if (cfi_find_row(r->cfi, at, &row) == CFI_FOUND)
			rule = rule_from_row(&row, at);
		CHECK_INT(look_up(r, at), UNWIND_TYPE(rule) == UNWIND_SLOW ? 0 : rule);
	}
	/* At most a quarter of the code's size. */
	CHECK(unwind_tables_size_bytes(&r->tables) < size / 4);

	/* Processes may still have a layout with the file: the table stays. */
	unwind_tables_remove(&r->tables, NUMBER);
	CHECK(compare(r, r->start, r->end, 64) > 0);
	r->tables.regions.len = 0;
	unwind_tables_want(&r->tables, NUMBER, r->start);
	CHECK_INT(r->tables.regions.len, 0);
	close_room(r);
}

/* The kernel has room for a part of the file only: the region that was used stays. */
static void evicted(void)
{
	struct room *r = open_room(64);
	const uint64_t region_bytes = UINT64_C(1) << ABI_UNWIND_REGION_BITS;
	unsigned before;

	unwind_tables_want(&r->tables, NUMBER, r->start);
	before = compare(r, r->start, r->start + 4096, 1);
	CHECK(before > 0);
	sweep_all(r);
	CHECK(r->tables.page_count >= 48 && r->tables.page_count <= 64);
	CHECK_INT(r->control.unwind_epoch, 1);
	for (uint64_t at = r->end - 1; r->control.unwind_epoch == 1; at -= region_bytes)
		unwind_tables_want(&r->tables, NUMBER, at);
	CHECK(r->tables.page_count <= 64);
	CHECK_INT(compare(r, r->start, r->start + 4096, 1), before);
	/* The other regions are loaded again when they are needed. */
	for (uint64_t at = r->start; at < r->end; at += region_bytes) {
		uint64_t base = at & ~(region_bytes - 1);

		unwind_tables_want(&r->tables, NUMBER, at);
		CHECK(r->tables.page_count <= 64);
		CHECK(compare(r, base > r->start ? base : r->start,
			      base + region_bytes < r->end ? base + region_bytes : r->end,
			      64) > 0);
	}
	close_room(r);
}

/* Addresses that an ELF file may claim, but that no process has. */
static void impossible(void)
{
	struct room *r = open_room(64);

	CHECK(!unwind_tables_add(&r->tables, NUMBER + 1, r->cfi, UINT64_MAX << 16,
				 UINT64_MAX & ~UINT64_C(0xfff)));
	CHECK(!unwind_tables_add(&r->tables, NUMBER + 1, r->cfi, 0x2000, 0x2000));
	CHECK(!unwind_tables_add(&r->tables, NUMBER + 1, r->cfi, 0x2000,
				 (UINT64_C(1) << 47) + 0x1000));
	CHECK(!unwind_tables_add(&r->tables, 0, r->cfi, 0x1000, 0x2000));
	/* Larger than any file's. */
	CHECK(unwind_tables_add(&r->tables, NUMBER + 1, r->cfi, 0x1000,
				UINT64_C(1) << 46));
	CHECK_INT(r->tables.files.data[NUMBER + 1].end, 0x1000 + (UINT64_C(1) << 32));
	/* Parts far from each other cover no more, either. */
	CHECK(unwind_tables_add(&r->tables, NUMBER + 1, r->cfi, UINT64_C(1) << 40,
				UINT64_C(2) << 40));
	CHECK_INT(r->tables.files.data[NUMBER + 1].start, 0x1000);
	CHECK_INT(r->tables.files.data[NUMBER + 1].end, 0x1000 + (UINT64_C(1) << 32));
	close_room(r);
}

/* A sweep looks at the processor time and the clock after each region. */
static void a_sweep_in_time(void)
{
	struct room *r = open_room(MANY);

	CHECK(unwind_tables_sweep(&r->tables, 0, UINT64_MAX));
	CHECK_INT(r->tables.regions.len, 1);
	CHECK(unwind_tables_sweep(&r->tables, 0, UINT64_MAX));
	CHECK_INT(r->tables.regions.len, 2);
	CHECK(unwind_tables_sweep(&r->tables, UINT64_MAX, 0));
	CHECK_INT(r->tables.regions.len, 3);
	CHECK(!unwind_tables_sweep(&r->tables, UINT64_MAX, UINT64_MAX));
	CHECK(r->tables.regions.len > 4);
	close_room(r);
}

/* If memtrace cannot wait for the probes, it must not add an element after it deleted
 * one. */
static void fenced(void)
{
	const struct fence none = {.outer = -1, .inner = -1};
	struct fenced_map map = {.fence = &none};
	uint64_t page[sizeof(struct abi_unwind_page) / 8] = {1};
	struct fence fence;

	map.fd = create_map(BPF_MAP_TYPE_HASH, sizeof(page), 8);
	REQUIRE(map.fd >= 0);
	CHECK(fenced_map_put(&map, 1, page));
	CHECK(fenced_map_put(&map, 2, page));
	fenced_map_delete(&map, 1);
	CHECK(!fenced_map_put(&map, 3, page));
	CHECK(!fenced_map_get(&map, 3, page));
	fence_open(&fence);
	map.fence = &fence;
	CHECK(fenced_map_put(&map, 3, page));
	CHECK(fenced_map_get(&map, 3, page));
	/* One wait is enough. */
	map.fence = &none;
	CHECK(fenced_map_put(&map, 4, page));
	fence_close(&fence);
	close(map.fd);
}

/* --- layouts ---------------------------------------------------------------------- */

static void layouts_are_shared(void)
{
	struct images_range ranges[2] = {
		{0x1000, 0x3000, {.bias = 0x1000, .number = 1}},
		{0x8000, 0x9000, {.bias = 0x2000, .number = 2}},
	};
	struct layouts *l = calloc(1, sizeof(*l));
	struct abi_layout *found = calloc(1, sizeof(*found));
	struct fence fence;
	uint64_t one, other;
	int fd = create_map(BPF_MAP_TYPE_HASH, sizeof(struct abi_layout), 2);

	REQUIRE(l && found && fd >= 0);
	fence_open(&fence);
	layouts_init(l, fd, 2, &fence);
	one = layouts_get(l, ranges, 2);
	CHECK(one != 0);
	CHECK_INT(layouts_get(l, ranges, 2), one);
	REQUIRE(!sys_bpf_element(BPF_MAP_LOOKUP_ELEM, fd, &one, found));
	CHECK_INT(found->start[0], 0);
	CHECK_INT(found->range[0].pages, 0);
	CHECK_INT(found->start[2], 0x8000);
	CHECK_INT(found->range[2].pages, 1);
	CHECK_INT(found->range[2].bias, 0x2000);
	CHECK_INT(found->range[2].file, 2);
	CHECK_INT(found->start[3], ABI_NOWHERE);

	ranges[1].code.number = 3;
	other = layouts_get(l, ranges, 2);
	CHECK(other != 0 && other != one);
	/* A third layout does not fit until all users of another one are gone. */
	ranges[1].code.number = 4;
	CHECK_INT(layouts_get(l, ranges, 2), 0);
	layouts_put(l, one);
	CHECK_INT(layouts_get(l, ranges, 2), 0);
	layouts_put(l, one);
	CHECK(layouts_get(l, ranges, 2) > other);
	CHECK(sys_bpf_element(BPF_MAP_LOOKUP_ELEM, fd, &one, found) != 0);
	layouts_put(l, 0);
	layouts_deinit(l);
	fence_close(&fence);
	close(fd);
	free(found);
	free(l);
}

int main(void)
{
	RUN(asked_for);
	RUN(whole_file);
	RUN(evicted);
	RUN(impossible);
	RUN(a_sweep_in_time);
	RUN(fenced);
	RUN(layouts_are_shared);
	return check_done();
}
