// SPDX-License-Identifier: Apache-2.0
/*
 * Changes of the tables while a reading begins. Tests the probes' own code (live.c,
 * account.c), compiled for the host. A reading begins between two lookups. Each change
 * that the reading may have missed must be in the journal, counted as late, or marked as
 * incomplete.
 */
#include "check.h"

#include <stdbool.h>
#include <string.h>

#include PROBES_TEXT

/* --- the machine ---------------------------------------------------------------------
 */

static struct {
	struct abi_control *control;
	struct abi_journal *journal; /* the second half */
	struct abi_pending pending;
	unsigned lookups;   /* bucket lookups so far */
	unsigned begins_at; /* number of the lookup at which a reading begins; 0: none */
	bool met_half_made; /* that reading saw the pending call incomplete */
	bool met_block;     /* that reading saw the block that the call may put back */
} host;

static void before_access(void *arg, const char *what)
{
	(void)arg;
	if (strcmp(what, "live") || ++host.lookups != host.begins_at)
		return;
	host.control->draining = 2;
	host.met_half_made = host.pending.flags & ABI_PENDING_CHANGES;
	host.met_block = host.pending.flags & ABI_PENDING_HAS_OLD;
}

static struct host_task task;
static struct host_context context = {.task = &task, .point = before_access};

/* --- the tests --------------------------------------------------------------------- */

#define KEY ABI_KEY(0, 0x7f0000001000)

static struct tracee tracee;

/* Starts a test, with or without the block in the table. A reading begins at the lookup
 * `begins_at`. */
static void begin(bool has_block, unsigned begins_at)
{
	const struct abi_block block = {.size_bytes = 64};

	host_maps_reset();
	memset(&host, 0, sizeof(host));
	host_now = &context;
	host.control = control_get();
	host_map_put(&host_map_journal, 1, host_map_journal_part.fd);
	host.journal = host_map_array(&host_map_journal_part);
	tracee.ctl = host.control;
	if (has_block)
		CHECK(live_put(host.control, KEY, 0, &block));
	host.lookups = 0;
	host.begins_at = begins_at;
}

static unsigned entries(void)
{
	return (unsigned)host.control->journal_used[1];
}

static void put(void)
{
	const struct abi_block block = {.size_bytes = 64};

	CHECK(live_put(host.control, KEY, 0, &block));
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
	CHECK_INT(host.control->late_changes, 0);
	CHECK_INT(entries(), 0);
}

static void within_a_reading(void)
{
	begin(false, 0);
	host.control->draining = 2;
	put();
	take();
	CHECK_INT(host.control->late_changes, 0);
	CHECK_INT(entries(), 2);
	CHECK_INT(host.journal[0].kind, ABI_JOURNAL_PUT);
	CHECK_INT(host.journal[1].kind, ABI_JOURNAL_TAKEN);
}

static void a_reading_begins_meanwhile(void)
{
	begin(false, 1);
	put();
	CHECK_INT(host.control->late_changes, 1);
	CHECK_INT(entries(), 0);

	begin(true, 1);
	take();
	CHECK_INT(host.control->late_changes, 1);
	CHECK_INT(entries(), 0);
}

/* The entry belongs to the previous reading. */
static void another_reading_begins_meanwhile(void)
{
	begin(true, 1);
	host.control->draining = 1;
	take();
	CHECK_INT(host.control->late_changes, 1);
	begin(false, 1);
	host.control->draining = 1;
	put();
	CHECK_INT(host.control->late_changes, 1);
}

/* The reading ends in the meantime: the next one does not have to wait. */
static void a_reading_that_is_over(void)
{
	begin(true, 0);
	host.control->draining = 1;
	struct abi_block old;
	u64 draining = journal_add(host.control, KEY, 0, NULL);

	host.control->draining = 0;
	CHECK(live_take(host.control, KEY, &old));
	journal_changed(host.control, draining);
	CHECK_INT(host.control->late_changes, 0);
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
	CHECK_INT(host.control->late_changes, 0);

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
