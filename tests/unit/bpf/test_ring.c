// SPDX-License-Identifier: Apache-2.0
/* Rings in memory, as kernel/bpf/ringbuf.c writes them. */
#include "check.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "bpf/ring.h"

#define SIZE 64 /* of the ring, bytes */

/* The two halves are the same memory in the kernel. */
static unsigned char data[2 * SIZE] __attribute__((aligned(8)));
static unsigned long read_to, written_to;
static unsigned long *const positions[] = {&read_to, &written_to};

struct seen {
	unsigned count, stop_at; /* stop_at: 0: never */
	char text[64];
};

static int see(void *arg, void *record, size_t size)
{
	struct seen *seen = arg;
	size_t length = strlen(seen->text);

	memcpy(seen->text + length, record, size);
	seen->text[length + size] = '\0';
	return ++seen->count == seen->stop_at ? -1 : 0;
}

static void put_bytes(unsigned long at, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		size_t place = (at + i) % SIZE;

		data[place] = data[place + SIZE] = ((const unsigned char *)bytes)[i];
	}
}

/* Write a record with these flags. Returns its position. */
static unsigned long put(const char *text, uint32_t flags)
{
	uint32_t head[2] = {(uint32_t)strlen(text) | flags, 0};
	unsigned long at = written_to;

	put_bytes(at, head, sizeof(head));
	put_bytes(at + sizeof(head), text, strlen(text));
	written_to += (sizeof(head) + strlen(text) + 7) / 8 * 8;
	return at;
}

static struct ring *begin(struct seen *seen, unsigned long at)
{
	struct ring *ring;

	*seen = (struct seen){.count = 0};
	read_to = written_to = at;
	ring = ring_over((unsigned long **)positions, data, SIZE, see, seen);
	REQUIRE(ring);
	return ring;
}

static void records_come_in_order(void)
{
	struct seen seen;
	struct ring *ring = begin(&seen, 0);

	CHECK_INT(ring_consume(ring), 0);
	CHECK_INT(seen.count, 0);
	CHECK_INT(ring_consumed_bytes(ring), 0);
	CHECK(!ring_had_any(ring));
	put("one,", 0);
	put("two,", 0);
	CHECK_INT(ring_consume(ring), 0);
	CHECK(ring_had_any(ring));
	CHECK_INT(ring_consumed_bytes(ring), 32);
	CHECK_STR(seen.text, "one,two,");
	CHECK_INT(read_to, written_to);
	CHECK(!ring_is_held_up(ring));
	ring_close(ring);
}

static void a_record_may_go_over_the_end(void)
{
	struct seen seen;
	struct ring *ring = begin(&seen, SIZE - 16);

	put("goes over the end", 0);
	CHECK_INT(ring_consume(ring), 0);
	CHECK_STR(seen.text, "goes over the end");
	CHECK_INT(read_to, SIZE + 16);
	ring_close(ring);
}

static void discarded_records_are_skipped(void)
{
	struct seen seen;
	struct ring *ring = begin(&seen, 0);

	put("no", BPF_RINGBUF_DISCARD_BIT);
	put("yes", 0);
	CHECK_INT(ring_consume(ring), 0);
	CHECK_STR(seen.text, "yes");
	CHECK_INT(read_to, written_to);
	ring_close(ring);
}

static void an_unfinished_record_is_left(void)
{
	struct seen seen;
	struct ring *ring = begin(&seen, 0);
	unsigned long at;
	uint32_t length = 5;

	put("first,", 0);
	at = put("later", BPF_RINGBUF_BUSY_BIT);
	CHECK_INT(ring_consume(ring), 0);
	CHECK_STR(seen.text, "first,");
	CHECK_INT(read_to, at);
	CHECK(ring_is_held_up(ring));
	put_bytes(at, &length, sizeof(length));
	CHECK_INT(ring_consume(ring), 0);
	CHECK_STR(seen.text, "first,later");
	CHECK(!ring_is_held_up(ring));
	ring_close(ring);
}

static void the_function_can_stop(void)
{
	struct seen seen;
	struct ring *ring = begin(&seen, 0);

	seen.stop_at = 1;
	put("a", 0);
	put("b", 0);
	CHECK_INT(ring_consume(ring), -1);
	CHECK_INT(ring_consumed_bytes(ring), 16);
	CHECK_STR(seen.text, "a");
	CHECK_INT(read_to, 16);
	CHECK_INT(ring_consume(ring), 0);
	CHECK_STR(seen.text, "ab");
	ring_close(ring);
}

/* Writes a record for each that it gets. */
static int see_and_put(void *arg, void *record, size_t size)
{
	unsigned *count = arg;

	(void)record;
	(void)size;
	if (++*count > 1000)
		return -1;
	put("more", 0);
	return 0;
}

/* Otherwise a target that writes as fast as memtrace reads would keep memtrace from
 * anything else. */
static void a_call_ends_while_records_come(void)
{
	unsigned count = 0;
	struct ring *ring;

	read_to = written_to = 0;
	ring = ring_over((unsigned long **)positions, data, SIZE, see_and_put, &count);
	REQUIRE(ring);
	put("one", 0);
	put("two", 0);
	CHECK_INT(ring_consume(ring), 0);
	CHECK_INT(count, SIZE / 16);
	CHECK_INT(read_to, SIZE);
	ring_close(ring);
}

int main(void)
{
	RUN(records_come_in_order);
	RUN(a_record_may_go_over_the_end);
	RUN(discarded_records_are_skipped);
	RUN(an_unfinished_record_is_left);
	RUN(the_function_can_stop);
	RUN(a_call_ends_while_records_come);
	return check_done();
}
