// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <time.h>

#include "unwind_miss/mapping_book.h"
#include "util/clock.h"

#define PAGE 4096u
#define K    1024u

static struct mapping_book book;
static size_t held;

static void event(uint32_t kind, uint32_t tid, uint64_t address, uint64_t size,
		  uint64_t extra)
{
	const struct abi_event e = {.kind = kind,
				    .thread = tid,
				    .address = address,
				    .size_bytes = size,
				    .extra = extra,
				    .stack = 7,
				    .tick = 3};

	CHECK(mapping_book_apply(&book, &e));
}

/* The whole book as text: "start+size" in pages, ascending. */
static const char *pieces(void)
{
	static char text[512];
	size_t len = 0;

	text[0] = 0;
	vec_foreach (p, &book.pieces)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%llu+%llu",
					len ? " " : "",
					(unsigned long long)p->start / PAGE,
					(unsigned long long)(p->end - p->start) / PAGE);
	return text;
}

static void unmap(uint64_t page, uint64_t pages)
{
	event(ABI_EVENT_UNMAP, 1, page * PAGE, pages * PAGE, 0);
	event(ABI_EVENT_DONE, 1, 0, 0, 0);
}

static void map(uint64_t page, uint64_t pages)
{
	event(ABI_EVENT_MAP, 1, page * PAGE, pages * PAGE, 0);
}

static void begin(void)
{
	mapping_book_init(&book, PAGE, &held);
}

static void end(void)
{
	mapping_book_deinit(&book);
	CHECK_INT(held, 0);
}

static void whole_unmap(void)
{
	begin();
	map(100, 10);
	CHECK_STR(pieces(), "100+10");
	unmap(100, 10);
	CHECK_STR(pieces(), "");
	CHECK_INT(book.totals.allocations, 1);
	CHECK_INT(book.totals.allocated_bytes, 10 * PAGE);
	CHECK_INT(book.totals.frees, 1);
	CHECK_INT(book.totals.freed_bytes, 10 * PAGE);
	end();
}

static void partial_unmaps_cut(void)
{
	begin();
	map(100, 10);
	unmap(104, 2);
	CHECK_STR(pieces(), "100+4 106+4");
	CHECK_INT(book.pieces.data[1].stack, 7);
	CHECK_INT(book.pieces.data[1].ticks, 3);
	unmap(98, 3);
	CHECK_STR(pieces(), "101+3 106+4");
	unmap(109, 5);
	CHECK_STR(pieces(), "101+3 106+3");
	/* Across both pieces and beyond. */
	unmap(103, 4);
	CHECK_STR(pieces(), "101+2 107+2");
	CHECK_INT(book.totals.freed_bytes, 6 * PAGE);
	end();
}

static void lengths_are_rounded_to_pages(void)
{
	begin();
	event(ABI_EVENT_MAP, 1, 100 * PAGE, 5000, 0);
	CHECK_STR(pieces(), "100+2");
	event(ABI_EVENT_UNMAP, 1, 100 * PAGE, 1, 0);
	event(ABI_EVENT_DONE, 1, 0, 0, 0);
	CHECK_STR(pieces(), "101+1");
	end();
}

static void failed_unmap_puts_back(void)
{
	begin();
	map(100, 10);
	event(ABI_EVENT_UNMAP, 1, 102 * PAGE, 2 * PAGE, 0);
	CHECK_STR(pieces(), "100+2 104+6");
	event(ABI_EVENT_FAILED, 1, 0, 0, 0);
	CHECK_STR(pieces(), "100+2 102+2 104+6");
	CHECK_INT(book.totals.frees, 0);
	CHECK_INT(book.totals.failures, 0); /* munmap failed, no allocation did */
	/* The kernel refuses an unaligned address. Nothing is removed before that. */
	event(ABI_EVENT_UNMAP, 1, 100 * PAGE + 1, PAGE, 0);
	CHECK_STR(pieces(), "100+2 102+2 104+6");
	event(ABI_EVENT_FAILED, 1, 0, 0, 0);
	end();
}

static void unknown_unmap_is_counted(void)
{
	begin();
	unmap(100, 1);
	CHECK_INT(book.totals.frees, 0);
	CHECK_INT(book.totals.frees_unknown, 1);
	end();
}

static void failed_map_is_counted(void)
{
	begin();
	event(ABI_EVENT_FAILED, 1, 0, 0, 0);
	CHECK_INT(book.totals.failures, 1);
	CHECK_STR(pieces(), "");
	end();
}

static void map_fixed_replaces(void)
{
	begin();
	map(100, 10);
	map(103, 2);
	CHECK_STR(pieces(), "100+3 103+2 105+5");
	CHECK_INT(book.totals.freed_bytes, 2 * PAGE);
	end();
}

static void threads_interleave(void)
{
	begin();
	map(100, 10);
	map(200, 10);
	event(ABI_EVENT_UNMAP, 1, 100 * PAGE, 10 * PAGE, 0);
	event(ABI_EVENT_UNMAP, 2, 200 * PAGE, 10 * PAGE, 0);
	/* The first thread's addresses are reused before its munmap returns. */
	event(ABI_EVENT_MAP, 3, 100 * PAGE, 4 * PAGE, 0);
	event(ABI_EVENT_FAILED, 2, 0, 0, 0);
	event(ABI_EVENT_DONE, 1, 0, 0, 0);
	CHECK_STR(pieces(), "100+4 200+10");
	end();
}

static void remap(void)
{
	begin();
	map(100, 10);
	event(ABI_EVENT_REMAP, 1, 100 * PAGE, 10 * PAGE, 1);
	event(ABI_EVENT_REMAPPED, 1, 300 * PAGE, 20 * PAGE, 0);
	CHECK_STR(pieces(), "300+20");
	CHECK_INT(book.totals.frees, 1);
	CHECK_INT(book.totals.allocations, 2);
	/* It fails: the old range stays. */
	event(ABI_EVENT_REMAP, 1, 300 * PAGE, 20 * PAGE, 1);
	CHECK_STR(pieces(), "");
	event(ABI_EVENT_FAILED, 1, 0, 0, 0);
	CHECK_STR(pieces(), "300+20");
	/* An old size of 0 copies; MREMAP_DONTUNMAP (4) keeps the old range. */
	event(ABI_EVENT_REMAP, 1, 300 * PAGE, 0, 1);
	event(ABI_EVENT_REMAPPED, 1, 400 * PAGE, 5 * PAGE, 0);
	CHECK_STR(pieces(), "300+20 400+5");
	event(ABI_EVENT_REMAP, 1, 300 * PAGE, 20 * PAGE, 1 | 4);
	event(ABI_EVENT_REMAPPED, 1, 500 * PAGE, 20 * PAGE, 0);
	CHECK_STR(pieces(), "300+20 400+5 500+20");
	/* Only one mremap has failed, and no call removed a range from before the
	 * attach. */
	CHECK_INT(book.totals.failures, 1);
	CHECK_INT(book.totals.frees_unknown, 0);
	end();
}

static void hostile_ranges(void)
{
	begin();
	map(100, 10);
	event(ABI_EVENT_MAP, 1, UINT64_MAX & ~(uint64_t)(PAGE - 1), 2 * PAGE, 0);
	event(ABI_EVENT_MAP, 1, 0, UINT64_MAX, 0);
	event(ABI_EVENT_UNMAP, 1, 0, UINT64_MAX, 0);
	event(ABI_EVENT_DONE, 1, 0, 0, 0);
	event(999, 1, 0, PAGE, 0);
	CHECK_STR(pieces(), "100+10");
	end();
}

/* Threads that exit inside munmap(): their ranges are gone. */
static void calls_without_end_are_bounded(void)
{
	const uint32_t threads = 3 * MAPPING_CALLS_MAX;

	begin();
	for (uint32_t i = 0; i < threads; i++) {
		map(10 * i, 4);
		event(ABI_EVENT_UNMAP, 1 + i, 10 * i * PAGE, 4 * PAGE, 0);
	}
	CHECK_INT(book.calls.len, MAPPING_CALLS_MAX);
	CHECK_INT(book.totals.frees, threads - MAPPING_CALLS_MAX);
	CHECK_INT(held, MAPPING_CALLS_MAX);
	/* The oldest calls were given up. */
	event(ABI_EVENT_FAILED, threads - MAPPING_CALLS_MAX + 1, 0, 0, 0);
	CHECK_INT(book.pieces.len, 1);
	end();
}

static bool map_page(uint64_t page)
{
	const struct abi_event e = {.kind = ABI_EVENT_MAP,
				    .thread = 1,
				    .address = page * PAGE,
				    .size_bytes = PAGE};

	return mapping_book_apply(&book, &e);
}

/* A target that unmaps behind memtrace's back makes the book grow. */
static void pieces_are_bounded(void)
{
	uint64_t page = 2;

	begin();
	while (map_page(page) && page < UINT32_MAX)
		page += 2;
	CHECK_INT(held, MAPPING_PIECES_MAX);
	/* A munmap() of all of them that fails, many times. */
	for (int i = 0; i < 50; i++) {
		event(ABI_EVENT_UNMAP, 1, 0, page * PAGE, 0);
		CHECK_INT(book.pieces.len, 0);
		event(ABI_EVENT_FAILED, 1, 0, 0, 0);
	}
	CHECK_INT(book.pieces.len, MAPPING_PIECES_MAX);
	CHECK(!map_page(page));
	/* There is room again. */
	unmap(2, 3);
	CHECK_INT(held, MAPPING_PIECES_MAX - 2);
	CHECK(map_page(page) && map_page(page + 2) && !map_page(page + 4));
	end();
}

/* A piece that gets a hole becomes two. */
static void holes_are_bounded(void)
{
	begin();
	map(0, 100);
	held += MAPPING_PIECES_MAX - 1;
	const struct abi_event hole = {.kind = ABI_EVENT_UNMAP,
				       .thread = 1,
				       .address = 50 * PAGE,
				       .size_bytes = PAGE};

	CHECK(!mapping_book_apply(&book, &hole));
	CHECK_STR(pieces(), "0+100");
	event(ABI_EVENT_DONE, 1, 0, 0, 0);
	unmap(0, 50);
	CHECK_STR(pieces(), "50+50");
	held -= MAPPING_PIECES_MAX - 1;
	end();
}

static bool is_late_soon(struct mapping_reading *reading)
{
	bool is_late = false;

	for (int i = 0; i < 64; i++)
		is_late = mapping_reading_is_late(reading);
	return is_late;
}

/* The thread may have to wait for a processor: only the time that it runs counts. */
static void a_reading_ends(void)
{
	const struct timespec pause = {1, 200000000};
	struct mapping_reading reading;
	uint64_t until_ns;

	mapping_reading_begin(&reading);
	nanosleep(&pause, NULL);
	CHECK(!is_late_soon(&reading));
	until_ns = clock_thread_cpu_ns() + MAPPING_READING_NS;
	while (clock_thread_cpu_ns() <= until_ns)
		;
	CHECK(is_late_soon(&reading));
	mapping_reading_begin(&reading);
	CHECK(!is_late_soon(&reading));
}

/* Random calls: book and bitmap of pages must agree. */
static void random_sequence_agrees_with_a_bitmap(void)
{
	enum {
		PAGES = 200
	};
	bool mapped[PAGES] = {false};
	uint64_t seed = 12345;

	begin();
	for (int i = 0; i < 20000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;

		uint64_t at = (seed >> 33) % PAGES, n = (seed >> 45) % 30 + 1;
		bool is_map = (seed >> 60) < 7, fails = (seed >> 20 & 15) == 0;

		if (at + n > PAGES)
			n = PAGES - at;
		if (is_map) {
			map(at, n);
		} else {
			event(ABI_EVENT_UNMAP, 1, at * PAGE, n * PAGE, 0);
			event(fails ? ABI_EVENT_FAILED : ABI_EVENT_DONE, 1, 0, 0, 0);
		}
		for (uint64_t p = at; p < at + n && (is_map || !fails); p++)
			mapped[p] = is_map;
	}

	bool in_book[PAGES] = {false};
	uint64_t last_end = 0;

	vec_foreach (p, &book.pieces) {
		CHECK(p->start >= last_end && p->start < p->end);
		last_end = p->end;
		for (uint64_t a = p->start; a < p->end; a += PAGE)
			in_book[a / PAGE] = true;
	}
	CHECK(!memcmp(mapped, in_book, sizeof(mapped)));
	end();
}

int main(void)
{
	RUN(whole_unmap);
	RUN(partial_unmaps_cut);
	RUN(lengths_are_rounded_to_pages);
	RUN(failed_unmap_puts_back);
	RUN(unknown_unmap_is_counted);
	RUN(failed_map_is_counted);
	RUN(map_fixed_replaces);
	RUN(threads_interleave);
	RUN(remap);
	RUN(hostile_ranges);
	RUN(calls_without_end_are_bounded);
	RUN(pieces_are_bounded);
	RUN(holes_are_bounded);
	RUN(a_reading_ends);
	RUN(random_sequence_agrees_with_a_bitmap);
	return check_done();
}
