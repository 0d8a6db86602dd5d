// SPDX-License-Identifier: Apache-2.0
/*
 * Changes of the tables while a reading begins. Tests the probes' own code (live.c,
 * account.c), compiled for the host. The maps are tables of this test, and a reading
 * begins between two lookups. Each change that the reading may have missed must be in the
 * journal, counted as late, or marked as incomplete.
 */
#include "check.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "probes/host.h"

#define LIVE_BUCKETS 16

struct pt_regs {
	u64 pc;
};
#define REG_PC(ctx) ((ctx)->pc)

struct tracee {
	struct abi_control *ctl;
	u64 caller;
};

/* --- what the kernel gives the probes ---------------------------------------------- */

static struct {
	struct abi_control control;
	struct abi_live_bucket live[LIVE_BUCKETS];
	struct abi_journal journal[4];
	struct abi_pending pending;
	unsigned lookups;   /* bucket lookups so far */
	unsigned begins_at; /* number of the lookup at which a reading begins; 0: none */
	bool met_half_made; /* that reading saw the pending call incomplete */
	bool met_block;     /* that reading saw the block that the call may put back */
} host;

static struct abi_live_bucket *live_lookup(const u32 *at)
{
	if (++host.lookups == host.begins_at) {
		host.control.draining = 2;
		host.met_half_made = host.pending.flags & ABI_PENDING_CHANGES;
		host.met_block = host.pending.flags & ABI_PENDING_HAS_OLD;
	}
	return &host.live[*at];
}

static struct abi_journal *journal_lookup(const u32 *at)
{
	return *at >= ABI_JOURNAL_ENTRIES && *at < ABI_JOURNAL_ENTRIES + 4
		       ? &host.journal[*at - ABI_JOURNAL_ENTRIES]
		       : NULL;
}

static struct abi_block *live_spill_lookup(const u64 *key)
{
	return NULL;
}

static int live_spill_delete(const u64 *key)
{
	return -ENOENT;
}

static int live_spill_update(const u64 *key, struct abi_block *block)
{
	return -E2BIG;
}

static const struct {
	struct abi_live_bucket *(*lookup)(const u32 *at);
} live = {live_lookup};

static const struct {
	struct abi_journal *(*lookup)(const u32 *at);
} journal = {journal_lookup};

static const struct {
	struct abi_block *(*lookup)(const u64 *key);
	int (*delete)(const u64 *key);
	int (*update)(const u64 *key, struct abi_block *block);
} live_spill = {live_spill_lookup, live_spill_delete, live_spill_update};

#define count(which, n)                     ((void)(n))
#define count_both(one, n, other, m)        ((void)(n), (void)(m))
#define count_estimate(one, other, bytes)   ((void)(bytes))
#define traffic_gone(key, block)            ((void)(block))
#define kernel_gone(key, block)             ((void)(block))
#define traffic_allocated(t, key, block)    ((void)(block))
#define traffic_is_temporary(t, key, block) 0
#define traffic_freed(t, block, is)         ((void)(block))
#define traffic_resized(t, block, size)     ((void)(block))
#define traffic_other_event(t)              ((void)(t))
#define tick_now()                          1
#define last_free_of(caller)                ((struct abi_last_free *)NULL)
#define last_free_is(last, caller)          0

#include "live.c"

#include "account.c"

/* --- the tests --------------------------------------------------------------------- */

#define KEY ABI_KEY(0, 0x7f0000001000)

static struct tracee tracee = {.ctl = &host.control};

/* Starts a test, with or without the block in the table. A reading begins at the lookup
 * `begins_at`. */
static void begin(bool has_block, unsigned begins_at)
{
	const struct abi_block block = {.size_bytes = 64};

	memset(&host, 0, sizeof(host));
	if (has_block)
		CHECK(live_put(&host.control, KEY, 0, &block));
	host.lookups = 0;
	host.begins_at = begins_at;
}

static unsigned entries(void)
{
	return (unsigned)host.control.journal_used[1];
}

static void put(void)
{
	const struct abi_block block = {.size_bytes = 64};

	CHECK(live_put(&host.control, KEY, 0, &block));
}

static void take(void)
{
	struct pt_regs ctx = {0};

	free_block(&tracee, &ctx, 0, KEY);
}

static void without_a_reading(void)
{
	begin(false, 0);
	put();
	take();
	CHECK_INT(host.control.late_changes, 0);
	CHECK_INT(entries(), 0);
}

static void within_a_reading(void)
{
	begin(false, 0);
	host.control.draining = 2;
	put();
	take();
	CHECK_INT(host.control.late_changes, 0);
	CHECK_INT(entries(), 2);
	CHECK_INT(host.journal[0].kind, ABI_JOURNAL_PUT);
	CHECK_INT(host.journal[1].kind, ABI_JOURNAL_TAKEN);
}

static void a_reading_begins_meanwhile(void)
{
	begin(false, 1);
	put();
	CHECK_INT(host.control.late_changes, 1);
	CHECK_INT(entries(), 0);

	begin(true, 1);
	take();
	CHECK_INT(host.control.late_changes, 1);
	CHECK_INT(entries(), 0);
}

/* The entry belongs to the previous reading. */
static void another_reading_begins_meanwhile(void)
{
	begin(true, 1);
	host.control.draining = 1;
	take();
	CHECK_INT(host.control.late_changes, 1);
	begin(false, 1);
	host.control.draining = 1;
	put();
	CHECK_INT(host.control.late_changes, 1);
}

/* The reading ends in the meantime: the next one does not have to wait. */
static void a_reading_that_is_over(void)
{
	begin(true, 0);
	host.control.draining = 1;
	struct abi_block old;
	u64 draining = journal_add(&host.control, KEY, 0, NULL);

	host.control.draining = 0;
	CHECK(live_take(&host.control, KEY, &old));
	journal_changed(&host.control, draining);
	CHECK_INT(host.control.late_changes, 0);
}

/* For a moment the block is in neither place: the pending call must show it. */
static void a_realloc_takes_its_block(void)
{
	begin(true, 1);
	host.pending.address = KEY;
	realloc_begin(&tracee, &host.pending);
	CHECK(host.met_half_made && !host.met_block);
	CHECK_INT(host.pending.flags, ABI_PENDING_HAS_OLD);
	/* The journal was already open. */
	CHECK_INT(entries(), 1);
	CHECK_INT(host.journal[0].kind, ABI_JOURNAL_PUT);
	CHECK_INT(host.control.late_changes, 0);

	begin(false, 0);
	host.pending.address = KEY;
	realloc_begin(&tracee, &host.pending);
	CHECK_INT(host.pending.flags, 0);
}

int main(void)
{
	RUN(without_a_reading);
	RUN(within_a_reading);
	RUN(a_reading_begins_meanwhile);
	RUN(another_reading_begins_meanwhile);
	RUN(a_reading_that_is_over);
	RUN(a_realloc_takes_its_block);
	return check_done();
}
