// SPDX-License-Identifier: Apache-2.0
/* Which slots of processes are in use, without reading all of them each time. */
#include "check.h"

#include <string.h>

#include "bpf/used_slots.h"

#define SLOTS 256

static struct abi_process processes[SLOTS];
static struct abi_control control;
static struct used_slots used;

static void begin(void)
{
	memset(processes, 0, sizeof(processes));
	control = (struct abi_control){.enabled = 1};
	used_slots_deinit(&used);
}

static void take(uint32_t slot)
{
	processes[slot].tgid = slot + 1000;
	control.slots_taken++;
}

/* Are these the slots that are found? */
static void check_found(const uint32_t known[], size_t count, bool always)
{
	uint32_t cursor = 0, slot;
	size_t found = 0;

	while (used_slots_next(&used, &control, processes, SLOTS, always, &cursor,
			       &slot)) {
		REQUIRE(found < count);
		CHECK_INT(slot, known[found++]);
	}
	CHECK_INT(found, count);
	CHECK_INT(cursor, SLOTS);
}

static void finds_all_in_order(void)
{
	static const uint32_t known[] = {0, 1, 63, 64, 130, 255};

	begin();
	check_found(NULL, 0, false);
	for (size_t i = 6; i-- > 0;)
		take(known[i]);
	check_found(known, 6, false);
	check_found(known, 6, false);
	check_found(known, 6, true);
	used_slots_deinit(&used);
}

/* A slot that has been left may still be found, until another one is taken. */
static void reads_them_when_one_was_taken(void)
{
	static const uint32_t first[] = {5, 70}, both[] = {5, 70, 200},
			      last[] = {70, 200};

	begin();
	take(5);
	take(70);
	check_found(first, 2, false);
	/* Shows whether all are read: nothing takes a slot without counting. */
	processes[200].tgid = 1;
	check_found(first, 2, false);
	check_found(both, 3, true);
	processes[5].tgid = 0;
	check_found(both, 3, false);
	control.slots_taken++;
	check_found(last, 2, false);
	used_slots_deinit(&used);
}

/* The count comes after the owner: a slot that was taken while they were read. */
static void reads_again_if_it_was_counted_late(void)
{
	static const uint32_t one[] = {9};

	begin();
	control.slots_taken = 7;
	check_found(NULL, 0, false);
	processes[9].tgid = 1;
	check_found(NULL, 0, false);
	control.slots_taken++;
	check_found(one, 1, false);
	used_slots_deinit(&used);
}

int main(void)
{
	RUN(finds_all_in_order);
	RUN(reads_them_when_one_was_taken);
	RUN(reads_again_if_it_was_counted_late);
	return check_done();
}
