/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a BPF ring buffer (BPF_MAP_TYPE_RINGBUF). libbpf's ring_buffer needs an epoll
 * watch, and the kernel limits the watches of a user (fs.epoll.max_user_watches). This
 * reader needs no watch: the map's descriptor can be passed to poll(2).
 *
 * The layout is in Documentation/bpf/ringbuf.rst and kernel/bpf/ringbuf.c.
 */
#ifndef BPF_RING_H
#define BPF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring;

/* Receives a record, which is valid during the call. A negative result ends
 * ring_consume(); the record counts as read. */
typedef int (*ring_fn)(void *arg, void *data, size_t size);

/* Open the ring buffer `map`, which is borrowed. Returns NULL with errno set on
 * failure. */
struct ring *ring_open(int map, ring_fn fn, void *arg);
/* NULL does nothing. */
void ring_close(struct ring *ring);

/* Pass all finished records to the function: those that are in the ring when the call
 * begins, and at most one full ring in all. Returns 0, or its negative result. */
int ring_consume(struct ring *ring);

/* Are there records, finished or not? */
bool ring_has_any(const struct ring *ring);

/* Did the last ring_consume() stop at a record that a program is still writing? Until it
 * is finished poll(2) returns at once. */
bool ring_is_held_up(const struct ring *ring);

/* Were there records when the last ring_consume() began, finished or not? */
bool ring_had_any(const struct ring *ring);

/* How many bytes the last ring_consume() has read, with the heads of the records. */
size_t ring_consumed_bytes(const struct ring *ring);

/* Readable while there are records. Borrowed. */
int ring_fd(const struct ring *ring);

/* For tests: a ring in memory. `positions`: the reader's and the writer's.
 * `data` has twice `size` bytes, both halves with the same contents. */
struct ring *ring_over(unsigned long *positions[2], void *data, size_t size, ring_fn fn,
		       void *arg);

#endif
