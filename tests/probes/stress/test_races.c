// SPDX-License-Identifier: Apache-2.0
/*
 * The same threads as in test_stress.c, but on several processors at the same time, and
 * under ThreadSanitizer. What each thread does follows from the seed, when it does it
 * does not. After each round the tables must equal the model.
 *
 *    test_probes_races_VARIANT [SEED [ROUNDS]]
 */
#include "check.h"

#include <sched.h>

#include "probes/stress/machine.h"

#define THREADS 4
#define ACTS    1500

static void yield_now(struct sim_thread *t)
{
	if (sim_chance(t, 16))
		sched_yield();
}

static void *act(void *arg)
{
	for (int i = 0; i < ACTS; i++)
		sim_act(arg);
	return NULL;
}

static void run_seed(uint64_t seed)
{
	static struct machine machine;
	struct sim_thread *threads[THREADS];
	pthread_t ids[THREADS];

	machine_init(&machine, seed);
	machine.keeps_threads = true;
	machine.switch_away = yield_now;
	threads[0] = machine_start(&machine);
	for (int i = 1; i < THREADS; i++)
		threads[i] = machine_add_thread(&machine, threads[0]->process);
	for (int i = 0; i < THREADS; i++)
		SIM_REQUIRE(!pthread_create(&ids[i], NULL, act, threads[i]));
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	machine_compare(&machine);
	host_maps_settle();
	if (check_state.failures)
		fprintf(stderr, "with %s, seed %" PRIu64 "\n", host_programs.variant,
			seed);
	machine_deinit(&machine);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	int rounds = argc > 2 ? atoi(argv[2]) : 4;

	for (int i = 0; i < rounds && !check_state.failures; i++)
		run_seed(seed + (uint64_t)i);
	return check_done();
}
