// SPDX-License-Identifier: Apache-2.0
/* The frame cache in front of a table and of a counting symbolizer. */
#include "check.h"

#include "symbol/cache.h"
#include "symbol_table.h"

static const struct symbol_row rows[] = {
	{0x1000, 0x1010, "first", "/bin/one"},
	{0x1010, 0x1020, "second", NULL},
	{0x2000, 0x3000, NULL, "/bin/two"},
};

/* The symbol is looked up for the call before the return address, the offset is the
 * return address's: a call that ends a function still belongs to it. */
static void looks_up_the_call(void)
{
	struct symbolizer *symbolizer;
	struct frame_cache *cache;
	const struct frame *frame;

	REQUIRE(!symbolizer_table_create(rows, 3, &symbolizer));
	cache = frame_cache_create(symbolizer);
	REQUIRE(cache);

	REQUIRE(!frame_cache_get(cache, 0x1010, &frame));
	CHECK_STR(frame->symbol, "first");
	CHECK_STR(frame->module, "/bin/one");
	CHECK_INT(frame->offset, 0x10);
	CHECK_INT(frame->address, 0x1010);

	REQUIRE(!frame_cache_get(cache, 0x1000, &frame));
	CHECK(!frame->symbol && !frame->module);
	CHECK_INT(frame->offset, 0);

	REQUIRE(!frame_cache_get(cache, 0x2345, &frame));
	CHECK(!frame->symbol);
	CHECK_STR(frame->module, "/bin/two");
	CHECK_INT(frame->offset, 0x345);

	REQUIRE(!frame_cache_get(cache, 0, &frame));
	CHECK(!frame->symbol && !frame->module);
	REQUIRE(!frame_cache_get(cache, UINT64_MAX, &frame));
	CHECK(!frame->symbol && !frame->module);
	frame_cache_destroy(cache);
	frame_cache_destroy(NULL);
	symbolizer_destroy(symbolizer);
}

/* A symbolizer that answers "name <asked>". It can be made to report changed mappings, or
 * to fail or to put names off. */
struct counting {
	struct symbolizer base;
	unsigned asked;
	bool changes, fails, puts_off;
};

static struct error *counting_resolve(struct symbolizer *self, uint64_t address,
				      struct symbol *ret)
{
	struct counting *counting = (struct counting *)self;
	char name[32];

	(void)address;
	*ret = (struct symbol){0};
	if (counting->fails)
		return error_no_memory();
	ret->is_put_off = counting->puts_off;
	if (counting->puts_off)
		return NULL;
	snprintf(name, sizeof(name), "name %u", ++counting->asked);
	ret->name = strdup(name);
	return NULL;
}

static bool counting_changed(struct symbolizer *self)
{
	return ((struct counting *)self)->changes;
}

static void counting_destroy(struct symbolizer *self)
{
	(void)self;
}

static const struct symbolizer_ops counting_ops = {
	.resolve = counting_resolve,
	.mappings_changed = counting_changed,
	.destroy = counting_destroy,
};

static void asks_once(void)
{
	struct counting counting = {.base = {.ops = &counting_ops}};
	struct frame_cache *cache = frame_cache_create(&counting.base);
	const struct frame *frame, *again;

	REQUIRE(cache);
	for (uint64_t address = 1; address <= 1000; address++) {
		REQUIRE(!frame_cache_get(cache, address, &frame));
		REQUIRE(!frame_cache_get(cache, address, &again));
		CHECK(frame == again);
	}
	CHECK_INT(counting.asked, 1000);
	REQUIRE(!frame_cache_get(cache, 7, &frame));
	CHECK_STR(frame->symbol, "name 7");
	CHECK_INT(counting.asked, 1000);

	/* Nothing changed: no symbol is requested again. */
	frame_cache_mappings_changed(cache);
	REQUIRE(!frame_cache_get(cache, 7, &frame));
	CHECK_INT(counting.asked, 1000);

	counting.changes = true;
	frame_cache_mappings_changed(cache);
	REQUIRE(!frame_cache_get(cache, 7, &again));
	CHECK(again == frame);
	CHECK_STR(again->symbol, "name 1001");
	REQUIRE(!frame_cache_get(cache, 7, &again));
	CHECK_INT(counting.asked, 1001);
	frame_cache_destroy(cache);
}

/* A failure is not cached. */
static void asks_again_after_failure(void)
{
	struct counting counting = {.base = {.ops = &counting_ops}, .fails = true};
	struct frame_cache *cache = frame_cache_create(&counting.base);
	const struct frame *frame = NULL;
	struct error *err;

	REQUIRE(cache);
	err = frame_cache_get(cache, 5, &frame);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_NO_MEMORY);
	error_destroy(err);
	counting.fails = false;
	REQUIRE(!frame_cache_get(cache, 5, &frame));
	CHECK_STR(frame->symbol, "name 1");
	frame_cache_destroy(cache);
}

/* A name that is put off is not cached. When it comes, other addresses are not asked for
 * again. */
static void asks_again_for_what_is_put_off(void)
{
	struct counting counting = {.base = {.ops = &counting_ops}};
	struct frame_cache *cache = frame_cache_create(&counting.base);
	const struct frame *frame, *known;
	uint64_t version;

	REQUIRE(cache);
	version = frame_cache_version(cache);
	REQUIRE(!frame_cache_get(cache, 4, &known));
	CHECK(frame_cache_version(cache) == version);
	counting.puts_off = true;
	REQUIRE(!frame_cache_get(cache, 5, &frame));
	CHECK(!frame->symbol);
	/* Whoever keeps the answers asks again. */
	CHECK(frame_cache_version(cache) != version);
	REQUIRE(!frame_cache_get(cache, 4, &known));
	CHECK_STR(known->symbol, "name 1");
	counting.puts_off = false;
	REQUIRE(!frame_cache_get(cache, 5, &frame));
	CHECK_STR(frame->symbol, "name 2");
	REQUIRE(!frame_cache_get(cache, 5, &frame));
	REQUIRE(!frame_cache_get(cache, 4, &known));
	CHECK_INT(counting.asked, 2);
	frame_cache_destroy(cache);
}

int main(void)
{
	RUN(looks_up_the_call);
	RUN(asks_once);
	RUN(asks_again_after_failure);
	RUN(asks_again_for_what_is_put_off);
	return check_done();
}
