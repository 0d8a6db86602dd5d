// SPDX-License-Identifier: Apache-2.0
/* When memtrace returns the memory of a report to the kernel. */
#include "check.h"

#include "session/trim.h"

#define S UINT64_C(1000000000)

/* As after a report of so many blocks. */
static struct trim after(size_t blocks)
{
	struct snapshot *snap = snapshot_create();
	struct trim trim = {.last_ns = 0};

	REQUIRE(snap);
	for (size_t i = 0; i < blocks; i++)
		REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP], (struct snapshot_block){0}));
	trim_note(&trim, snap);
	snapshot_destroy(snap);
	return trim;
}

static void keeps_what_the_next_report_needs(void)
{
	struct trim trim = after(1000);

	CHECK(trim_is_due(&trim, true, 100 * S));
	for (unsigned i = 1; i < 60; i++)
		CHECK(!trim_is_due(&trim, true, (100 + i) * S));
	CHECK(trim_is_due(&trim, true, 160 * S));
	CHECK(!trim_is_due(&trim, true, 161 * S));
}

static void returns_memory_after_events(void)
{
	struct trim trim = after(1000);

	CHECK(trim_is_due(&trim, false, 100 * S));
	CHECK(trim_is_due(&trim, false, 101 * S));
	CHECK(!trim_is_due(&trim, true, 102 * S));
}

static void returns_the_memory_of_large_reports(void)
{
	struct trim trim = after(100000);

	CHECK(trim_is_due(&trim, true, 100 * S));
	CHECK(trim_is_due(&trim, true, 101 * S));
}

int main(void)
{
	RUN(keeps_what_the_next_report_needs);
	RUN(returns_memory_after_events);
	RUN(returns_the_memory_of_large_reports);
	return check_done();
}
