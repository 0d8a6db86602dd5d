// SPDX-License-Identifier: Apache-2.0
/* memtrace and the probes claim the same words: one of them has a word at a time, and no
 * claim waits for ever. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/claims.h"
#include "bpf/syscall.h"

#define KEY     UINT64_C(42)
#define THREADS 3
#define ROUNDS  500

static int create_claims(uint32_t entries)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_HASH,
			       .key_size = 8,
			       .value_size = 8,
			       .max_entries = entries};
	int fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));

	if (fd == -EPERM)
		check_skip("no BPF without privileges");
	REQUIRE(fd >= 0);
	return fd;
}

struct taker {
	int fd;
	bool is_taken, has_ended;
};

static void *take_it(void *arg)
{
	struct taker *taker = arg;
	bool is_taken = claims_take(taker->fd, KEY, 2);

	__atomic_store_n(&taker->is_taken, is_taken, __ATOMIC_SEQ_CST);
	__atomic_store_n(&taker->has_ended, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void it_is_waited_for(void)
{
	struct taker taker = {.fd = create_claims(8)};
	pthread_t thread;

	REQUIRE(claims_take(taker.fd, KEY, 1));
	/* Another key is in another word. */
	CHECK(claims_take(taker.fd, KEY + 1, 1));
	REQUIRE(!pthread_create(&thread, NULL, take_it, &taker));
	usleep(50000);
	CHECK(!__atomic_load_n(&taker.has_ended, __ATOMIC_SEQ_CST));
	claims_give(taker.fd, KEY);
	pthread_join(thread, NULL);
	CHECK(taker.is_taken);
	close(taker.fd);
}

static void it_does_not_come(void)
{
	struct taker taker = {.fd = create_claims(8)};

	REQUIRE(claims_take(taker.fd, KEY, 1));
	take_it(&taker);
	CHECK(!taker.is_taken);
	/* Giving does not change the owner. */
	claims_give(taker.fd, KEY);
	take_it(&taker);
	CHECK(taker.is_taken);
	close(taker.fd);
}

static void no_room(void)
{
	int fd = create_claims(1);

	CHECK(claims_take(fd, KEY, 1));
	CHECK(!claims_take(fd, KEY + 1, 1));
	claims_give(fd, KEY);
	CHECK(claims_take(fd, KEY + 1, 1));
	close(fd);
	CHECK(!claims_take(-1, KEY, 1));
}

struct shared {
	int fd;
	unsigned inside, most, failed;
};

static void *come_and_go(void *arg)
{
	struct shared *shared = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (!claims_take(shared->fd, KEY, i)) {
			__atomic_add_fetch(&shared->failed, 1, __ATOMIC_SEQ_CST);
			continue;
		}

		unsigned inside =
			__atomic_add_fetch(&shared->inside, 1, __ATOMIC_SEQ_CST);

		if (inside > shared->most)
			shared->most = inside;
		__atomic_sub_fetch(&shared->inside, 1, __ATOMIC_SEQ_CST);
		claims_give(shared->fd, KEY);
	}
	return NULL;
}

static void one_at_a_time(void)
{
	struct shared shared = {.fd = create_claims(8)};
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, come_and_go, &shared));
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_INT(shared.most, 1);
	CHECK_INT(shared.failed, 0);
	close(shared.fd);
}

int main(void)
{
	RUN(it_is_waited_for);
	RUN(it_does_not_come);
	RUN(no_room);
	RUN(one_at_a_time);
	return check_done();
}
