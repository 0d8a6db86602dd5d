// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include "trace/tracer_state.h"
#include "util/cleanup.h"

/* Get the book of a process, or create it. Returns NULL without memory. */
static struct mapping_book *book_of(struct tracer *t, uint32_t slot)
{
	struct slot_book fresh = {.slot = slot};

	vec_foreach (b, &t->books)
		if (b->slot == slot)
			return &b->book;
	mapping_book_init(&fresh.book, (uint64_t)sysconf(_SC_PAGESIZE),
			  &t->mapping_pieces);
	if (!vec_push(&t->books, fresh))
		return NULL;
	return &t->books.data[t->books.len - 1].book;
}

static int on_event(void *arg, void *data, size_t size)
{
	struct tracer *t = arg;
	const struct abi_event *event = data;
	bool is_late = mapping_reading_is_late(&t->reading);
	struct mapping_book *book =
		size < sizeof(*event) || is_late ? NULL : book_of(t, event->process);

	if (!book || !mapping_book_apply(book, event))
		t->events_lost++;
	return 0;
}

struct error *tracer_open_ring(struct tracer *t)
{
	int fd = compiler_map(t->compiler, "events");

	t->ring = fd < 0 ? NULL : ring_open(fd, on_event, t);
	if (!t->ring)
		return error_errno(ERROR_IO, errno,
				   "cannot map the ring buffer of changed mappings");
	return NULL;
}

static int on_news(void *arg, void *data, size_t size)
{
	struct tracer *t = arg;

	(void)data;
	(void)size;
	t->has_news = true;
	return 0;
}

void tracer_open_news(struct tracer *t)
{
	int fd = compiler_map(t->compiler, "news");

	t->news = fd < 0 ? NULL : ring_open(fd, on_news, t);
}

int tracer_news_fd(const struct tracer *t)
{
	return t->news ? ring_fd(t->news) : -1;
}

bool tracer_has_linker_news(const struct tracer *t)
{
	return t->news && t->handler;
}

/* The miss handler has a watch of its own, and the same reason to read it. */
static void read_news(struct tracer *t)
{
	t->has_news = false;
	if (t->news)
		ring_consume(t->news);
	if (t->has_news && t->handler)
		miss_handler_wake(t->handler);
}

void tracer_poll(struct tracer *t)
{
	read_news(t);
	if (t->ring) {
		mapping_reading_begin(&t->reading);
		ring_consume(t->ring);
	}
	tracer_poll_traffic(t);
	tracer_settle_rings(t);
	/* A thread that removes probes does not exist here. */
	if (!t->is_cut_off)
		tracer_poll_files(t);
}

static void add_totals(struct snapshot_totals *sum, const struct snapshot_totals *t)
{
	sum->allocations += t->allocations;
	sum->allocated_bytes += t->allocated_bytes;
	sum->frees += t->frees;
	sum->freed_bytes += t->freed_bytes;
	sum->frees_unknown += t->frees_unknown;
	sum->failures += t->failures;
	sum->gone += t->gone;
	sum->gone_bytes += t->gone_bytes;
}

bool tracer_remove_mappings(struct tracer *t, uint32_t slot)
{
	struct snapshot_totals *gone = &t->gone[BLOCK_MAPPING];
	bool had_some;

	for (size_t i = 0; i < t->books.len; i++) {
		struct slot_book *b = &t->books.data[i];

		if (b->slot != slot)
			continue;
		add_totals(gone, &b->book.totals);
		vec_foreach (piece, &b->book.pieces) {
			gone->gone++;
			gone->gone_bytes += piece->end - piece->start;
		}
		had_some = b->book.pieces.len;
		mapping_book_deinit(&b->book);
		*b = t->books.data[--t->books.len];
		return had_some;
	}
	return false;
}

static void ask_piece(struct tracer *t, struct mapping_piece *piece)
{
	uint32_t stack = tracer_stack(t, piece->stack);

	if (stack != ABI_NO_STACK)
		piece->stack = stack;
}

void tracer_ask_mappings(struct tracer *t)
{
	vec_foreach (b, &t->books) {
		vec_foreach (piece, &b->book.pieces)
			ask_piece(t, piece);
		vec_foreach (call, &b->book.calls)
			vec_foreach (piece, &call->taken)
				ask_piece(t, piece);
	}
}

static bool add_book(struct tracer *t, const struct mapping_book *book, uint32_t process,
		     struct snapshot *snap)
{
	vec_foreach (piece, &book->pieces) {
		uint32_t stack = tracer_stack(t, piece->stack);
		struct snapshot_block block = {
			.address = piece->start,
			.size_bytes = piece->end - piece->start,
			.time_ns = tick_clock_time_ns(&t->ticks, piece->ticks),
			.stack = stack < snap->stacks.len ? stack : SNAPSHOT_NO_STACK,
			.tid = piece->tid,
			.process = process,
		};

		if (!vec_push(&snap->blocks[BLOCK_MAPPING], block))
			return false;
	}
	return true;
}

struct error *tracer_add_mappings(struct tracer *t, const struct drain_slots *slots,
				  struct snapshot *snap)
{
	snap->losses[LOSS_EVENTS_LOST] += t->events_lost;
	snap->totals[BLOCK_MAPPING] = t->gone[BLOCK_MAPPING];
	vec_foreach (b, &t->books) {
		uint32_t process = b->slot < t->source->sizes.process_slots
					   ? slots->process[b->slot]
					   : SNAPSHOT_NO_PROCESS;

		add_totals(&snap->totals[BLOCK_MAPPING], &b->book.totals);
		if (process != SNAPSHOT_NO_PROCESS &&
		    !add_book(t, &b->book, process, snap))
			return error_no_memory();
	}
	return NULL;
}

void tracer_close_ring(struct tracer *t)
{
	ring_close(t->news);
	ring_close(t->ring);
	vec_foreach (b, &t->books)
		mapping_book_deinit(&b->book);
	vec_deinit(&t->books);
}
