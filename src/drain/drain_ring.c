// SPDX-License-Identifier: Apache-2.0
/* The journal as a ring buffer, on kernels where it cannot be a table
 * (probes/hashes/live.c). */
#include <errno.h>

#include "bpf/ring.h"
#include "drain/drain_blocks.h"

static int discard(void *arg, void *data, size_t size)
{
	(void)arg;
	(void)data;
	(void)size;
	return 0;
}

static int apply(void *arg, void *data, size_t size)
{
	struct drain *d = arg;

	if (size >= sizeof(struct abi_journal) && !drain_apply(d, data))
		return -ENOMEM;
	/* Later entries do not belong to this snapshot. */
	return ++d->applied < d->wanted ? 0 : -EAGAIN;
}

static struct error *open_ring(struct drain *d, ring_fn fn, struct ring **ret)
{
	*ret = ring_open(d->maps->journal_ring, fn, d);
	return *ret ? NULL
		    : error_errno(
			      ERROR_IO, errno,
			      "cannot map the ring buffer for changes during a report");
}

struct error *drain_ring_clear(struct drain *d)
{
	struct ring *ring;
	struct error *err = open_ring(d, discard, &ring);

	if (err)
		return err;
	(void)ring_consume(ring);
	ring_close(ring);
	return NULL;
}

struct error *drain_ring_apply(struct drain *d, uint64_t count)
{
	struct ring *ring;
	struct error *err;
	int n = 0;

	if (!count)
		return NULL;
	err = open_ring(d, apply, &ring);
	if (err)
		return err;
	d->applied = 0;
	d->wanted = count;
	for (int tries = 0;
	     n != -ENOMEM && d->applied < count && tries < DRAIN_ENTRY_TRIES; tries++) {
		if (tries)
			drain_pause_ns(1000);
		n = ring_consume(ring);
	}
	ring_close(ring);
	d->settled &= d->applied >= count;
	return n == -ENOMEM ? error_no_memory() : NULL;
}
