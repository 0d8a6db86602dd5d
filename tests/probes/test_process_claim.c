// SPDX-License-Identifier: Apache-2.0
/*
 * Threads of one process that hit a probe at the same time: the process must get one
 * slot. Tests the probes' own code (claim.c, process.c), compiled for the host. The
 * actions of another processor happen before an access of a map.
 */
#include "check.h"
#include "under_tsan.h"

#include <pthread.h>
#include <stdbool.h>

#include PROBES_TEXT

/* --- the machine ---------------------------------------------------------------------
 */

static struct {
	unsigned lookups;                 /* lookups in `processes` so far */
	void (*between)(unsigned lookup); /* actions of others at a lookup; NULL: none */
	/* Actions of others after a slot was seen free; NULL: none. */
	void (*before_claim)(void);
} host;

static void before_access(void *arg, const char *what)
{
	(void)arg;
	if (!strcmp(what, "processes")) {
		host.lookups++;
		if (host.between)
			host.between(host.lookups);
	}
	/* With atomics a slot is claimed by the first atomic operation, else by the first
	 * change of `claims` after a lookup. */
#if TABLES_ARE_HASHES
	bool is_claim = !strcmp(what, "claims") && host.lookups;
#else
	bool is_claim = !strcmp(what, "atomic");
#endif
	if (is_claim && host.before_claim)
		host.before_claim();
}

static struct host_task task;
static _Thread_local struct host_context context = {.task = &task};

static void enter_machine(void (*point)(void *arg, const char *what))
{
	context.point = point;
	host_now = &context;
}

static struct abi_process *process_slots(void)
{
	return host_map_array(&host_map_processes);
}

static u64 times_full(void)
{
	const struct abi_counters *c = host_map_array(&host_map_counters);
	u64 sum = 0;

	for (u32 cpu = 0; cpu < CPU_SLOTS; cpu++)
		sum += c[cpu].value[ABI_PROCESSES_FULL];
	return sum;
}

/* memtrace notices by this number that a slot was taken. */
static u64 slots_taken(void)
{
	const struct abi_control *ctl = host_map_array(&host_map_control);

	return ctl->slots_taken;
}

/* --- tests ------------------------------------------------------------------------- */

#define TGID   UINT64_C(4711)
#define OTHERS UINT64_C(100000)

static struct abi_process *slot_at(u32 way)
{
	return &process_slots()[abi_process_slot(TGID, way, PROCESS_SLOTS)];
}

static unsigned slots_of(u64 tgid)
{
	unsigned n = 0;

	for (size_t i = 0; i < PROCESS_SLOTS; i++)
		n += process_slots()[i].tgid == tgid;
	return n;
}

static unsigned claims_left(void)
{
	return host_map_used(&host_map_claims);
}

/* All slots that the process may use belong to other processes, except this one. */
static void all_taken_but(u32 way)
{
	host_maps_reset();
	for (u32 i = 0; i < ABI_PROCESS_WAYS; i++)
		slot_at(i)->tgid = i == way ? 0 : OTHERS + i;
	host.lookups = 0;
	host.between = NULL;
	host.before_claim = NULL;
}

static void one_after_the_other(void)
{
	u32 first = 0, second = 0;

	all_taken_but(5);
	CHECK(process_claim(TGID, &first) == slot_at(5));
	CHECK_INT(slots_taken(), 1);
	CHECK(process_claim(TGID, &second) == slot_at(5));
	CHECK_INT(slots_taken(), 1);
	CHECK_INT(first, second);
	CHECK_INT(slots_of(TGID), 1);
	slot_at(5)->tgid = OTHERS;
	CHECK(!process_claim(TGID, &first));
	CHECK_INT(times_full(), 1);
	CHECK_INT(claims_left(), 0);
	CHECK_INT(slots_taken(), 1);
}

/* The first thread has found no slot of the process, and no free one up to the fifth. Now
 * an earlier slot becomes free, and a second thread arrives. */
static void a_second_thread(unsigned lookup)
{
	u32 slot;

	if (lookup != ABI_PROCESS_WAYS + 5)
		return;
	host.between = NULL;
	slot_at(2)->tgid = 0;
	/* It cannot wait for the first thread, which is not running: no slot is better
	 * than two. */
	CHECK(!process_claim(TGID, &slot));
	CHECK_INT(times_full(), 1);
}

static void two_at_once(void)
{
	u32 slot;

	all_taken_but(5);
	host.between = a_second_thread;
	CHECK(process_claim(TGID, &slot) == slot_at(5));
	CHECK_INT(slots_of(TGID), 1);
	CHECK_INT(claims_left(), 0);
}

/* The other thread finishes while this one searches again and again. */
static void the_other_is_done(unsigned lookup)
{
	if (lookup == 3 * ABI_PROCESS_WAYS)
		slot_at(6)->tgid = TGID;
}

static void it_waits_for_the_other(void)
{
	const u64 key = ABI_CLAIM_SLOT_OF(TGID);
	u32 slot;

	all_taken_but(6);
	REQUIRE(!claims.insert(&key, &key));
	host.between = the_other_is_done;
	CHECK(process_claim(TGID, &slot) == slot_at(6));
	CHECK_INT(slots_of(TGID), 1);
	CHECK_INT(times_full(), 0);
	claims.delete(&key);
}

/* Another process takes the slot that the process was about to take. */
static void another_process(void)
{
	host.before_claim = NULL;
	slot_at(4)->tgid = OTHERS;
}

static void a_slot_for_two_processes(void)
{
	u32 slot;

	all_taken_but(4);
	slot_at(7)->tgid = 0;
	host.before_claim = another_process;
	CHECK(process_claim(TGID, &slot) == slot_at(7));
	CHECK(!host.before_claim);
	CHECK_INT(slot_at(4)->tgid, OTHERS);
	CHECK_INT(slots_of(TGID), 1);
	CHECK_INT(claims_left(), 0);
}

/* --- threads that run -------------------------------------------------------------- */

#define ROUNDS 2000

struct claimer {
	pthread_t thread;
	pthread_barrier_t *begin, *end;
	u64 tgid;
	struct abi_process *got; /* result of this round */
};

static void *claim_each_round(void *arg)
{
	struct claimer *claimer = arg;

	enter_machine(NULL);
	for (unsigned i = 0; i < ROUNDS; i++) {
		u32 slot;

		pthread_barrier_wait(claimer->begin);
		claimer->got = process_claim(claimer->tgid, &slot);
		pthread_barrier_wait(claimer->end);
	}
	return NULL;
}

/* In each round both threads claim at the same time. `prepare` is called before,
 * `disturb` (may be NULL) meanwhile, and `judge` afterwards, which returns the number of
 * errors. */
static unsigned run_rounds(struct claimer claimers[2], void (*prepare)(void),
			   void (*disturb)(void),
			   unsigned (*judge)(const struct claimer claimers[2]))
{
	pthread_barrier_t begin, end;
	unsigned wrong = 0;

	pthread_barrier_init(&begin, NULL, 3);
	pthread_barrier_init(&end, NULL, 3);
	for (int i = 0; i < 2; i++) {
		claimers[i].begin = &begin;
		claimers[i].end = &end;
		REQUIRE(!pthread_create(&claimers[i].thread, NULL, claim_each_round,
					&claimers[i]));
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		prepare();
		pthread_barrier_wait(&begin);
		if (disturb)
			disturb();
		pthread_barrier_wait(&end);
		wrong += judge(claimers) + claims_left();
	}
	for (int i = 0; i < 2; i++)
		pthread_join(claimers[i].thread, NULL);
	pthread_barrier_destroy(&begin);
	pthread_barrier_destroy(&end);
	return wrong;
}

static void one_is_free(void)
{
	all_taken_but(ABI_PROCESS_WAYS - 1);
}

static void free_others(void)
{
	for (u32 way = ABI_PROCESS_WAYS - 1; way-- > 0;)
		__atomic_store_n(&slot_at(way)->tgid, 0, __ATOMIC_SEQ_CST);
}

static unsigned judge_one_process(const struct claimer claimers[2])
{
	bool has_one = slots_of(TGID) == 1, differ = claimers[0].got && claimers[1].got &&
						     claimers[0].got != claimers[1].got;

	return !has_one + differ;
}

/* A third thread frees slots at the same time. */
static void two_threads_of_a_process(void)
{
	struct claimer claimers[2] = {{.tgid = TGID}, {.tgid = TGID}};

	CHECK_INT(run_rounds(claimers, one_is_free, free_others, judge_one_process), 0);
}

static unsigned judge_two_processes(const struct claimer claimers[2])
{
	const struct abi_process *last = slot_at(ABI_PROCESS_WAYS - 1);

	for (int i = 0; i < 2; i++)
		if (claimers[i].got == last && !claimers[!i].got &&
		    last->tgid == claimers[i].tgid)
			return 0;
	return 1;
}

/* Both may use the same slots, and only one slot is free. */
static void two_processes(void)
{
	struct claimer claimers[2] = {{.tgid = TGID}, {.tgid = TGID + 1}};

	while (abi_process_slot(claimers[1].tgid, 0, PROCESS_SLOTS) !=
	       abi_process_slot(TGID, 0, PROCESS_SLOTS))
		claimers[1].tgid++;
	CHECK_INT(run_rounds(claimers, one_is_free, NULL, judge_two_processes), 0);
}

int main(void)
{
	check_not_under_tsan(
		"the probes are C for BPF, where volatile loads of words are atomic; "
		"ThreadSanitizer takes them for data races");
	enter_machine(before_access);
	RUN(one_after_the_other);
	RUN(two_at_once);
	RUN(it_waits_for_the_other);
	RUN(a_slot_for_two_processes);
	RUN(two_threads_of_a_process);
	RUN(two_processes);
	return check_done();
}
