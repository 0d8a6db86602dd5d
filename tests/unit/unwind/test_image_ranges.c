// SPDX-License-Identifier: Apache-2.0
/* The time for an image does not depend on how many a process has mapped. */
#include "check.h"

#include <sys/auxv.h>
#include <unistd.h>

#include "unwind/images.h"
#include "util/clock.h"

#define NOW         (UINT64_MAX - 1)

#define SMALL_BYTES 0x2000 /* of the vDSO's mapping */
#define MANY        3500   /* 8 times as many are fewer than the limit */

enum order {
	ASCENDING,
	DESCENDING,
	AT_ONE_PLACE, /* one after the other, in turn with other code */
};

static void add_at(struct images *images, uint64_t start, uint64_t end, const char *path,
		   uint64_t since_ns)
{
	const struct proc_mapping m = {
		.start = start, .end = end, .path = (char *)(uintptr_t)path};
	struct images_change change;

	REQUIRE(!images_add(images, getpid(), &m, images_since(since_ns), since_ns,
			    &change));
	REQUIRE(change.is_new);
}

static uint64_t place_of(enum order order, size_t i, size_t count)
{
	size_t nth = order == DESCENDING ? count - i : order == ASCENDING ? i + 1 : 1;

	return 0x100000000 + nth * 2 * SMALL_BYTES;
}

/* The processor time for adding that many ranges above one that contains them all, for
 * looking each of them up, listing and pruning them. */
static uint64_t time_of_many(enum order order, size_t count)
{
	struct images_range *list = calloc(count + 2, sizeof(*list));
	struct image_store *store = NULL;
	struct images *images = NULL;
	uint64_t begun_ns;

	REQUIRE(list && !image_store_create(NULL, NULL, &store));
	REQUIRE(!images_create(store, &images));
	/* Found here, the vDSO is known everywhere. */
	add_at(images, getauxval(AT_SYSINFO_EHDR),
	       getauxval(AT_SYSINFO_EHDR) + SMALL_BYTES, "[vdso]", 1);
	begun_ns = clock_thread_cpu_ns();
	add_at(images, 0x100000000, 0x200000000, "", 1);
	for (size_t i = 0; i < count; i++) {
		uint64_t start = place_of(order, i, count);
		bool is_other = order == AT_ONE_PLACE && i % 2;

		add_at(images, start, start + SMALL_BYTES, is_other ? "" : "[vdso]",
		       i + 2);
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t pc = place_of(order, i, count);
		struct walk_code code;

		REQUIRE(images_find(images, pc, i + 2, &code) &&
			!code.cfi == (order == AT_ONE_PLACE && i % 2));
		CHECK(images_find(images, pc + SMALL_BYTES, i + 2, &code) && !code.cfi);
	}
	CHECK_INT(images_list(images, NOW, list, count + 2),
		  order == AT_ONE_PLACE ? 1 : count + 1);
	images_prune(images, 2);
	CHECK_INT(images_count(images), count + 2);
	images_prune(images, count + 2);
	CHECK_INT(images_count(images), order == AT_ONE_PLACE ? 3 : count + 2);
	begun_ns = clock_thread_cpu_ns() - begun_ns;
	images_destroy(images);
	image_store_destroy(store);
	free(list);
	return begun_ns;
}

/* A program can map a huge range and thousands of small ones above it, or other code at
 * one place all the time. The time for each mapping must not depend on their number. */
static void many_ranges(void)
{
	for (enum order order = ASCENDING; order <= AT_ONE_PLACE; order++) {
		uint64_t few_ns, many_ns;
		unsigned attempts = 10; /* others use the caches and the cores, too */

		do {
			few_ns = time_of_many(order, MANY);
			many_ns = time_of_many(order, (size_t)8 * MANY);
		} while (many_ns >= 32 * few_ns && --attempts);
		printf("# order %u: %.1f ms, 8 times as many %.1f ms\n", order,
		       (double)few_ns / 1e6, (double)many_ns / 1e6);
		CHECK(attempts);
	}
}

int main(void)
{
	RUN(many_ranges);
	return check_done();
}
