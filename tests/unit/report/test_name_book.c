// SPDX-License-Identifier: Apache-2.0
/* Names that are kept from snapshot to snapshot are those that a snapshot would get
 * without. */
#include "unit/render/fixture.h"

#include "report/name_book.h"
#include "report/recorded.h"

static void clear(struct snapshot *snap)
{
	vec_deinit(&snap->names);
	vec_deinit(&snap->sources);
	string_table_deinit(&snap->strings);
}

static const char *text(const struct snapshot *snap, uint32_t index)
{
	const char *found = string_table_get(&snap->strings, index);

	return found ? found : "(none)";
}

static void check_name(const struct snapshot *a, const struct snapshot_name *x,
		       const struct snapshot *b, const struct snapshot_name *y)
{
	CHECK_INT(x->process, y->process);
	CHECK_INT(x->address, y->address);
	CHECK_INT(x->offset, y->offset);
	CHECK_STR(text(a, x->symbol), text(b, y->symbol));
	CHECK_STR(text(a, x->module), text(b, y->module));
	REQUIRE(x->source_count == y->source_count);
	for (size_t i = 0; i < x->source_count; i++) {
		const struct snapshot_source *p = &a->sources.data[x->first_source + i];
		const struct snapshot_source *q = &b->sources.data[y->first_source + i];

		CHECK_STR(text(a, p->function), text(b, q->function));
		CHECK_STR(text(a, p->file), text(b, q->file));
		CHECK_INT(p->line, q->line);
	}
}

/* Compare with the names without a book. */
static void check(struct fixture *f, struct name_book *book, size_t count)
{
	struct snapshot kept = *f->snap;

	memset(&kept.names, 0, sizeof(kept.names));
	memset(&kept.sources, 0, sizeof(kept.sources));
	memset(&kept.strings, 0, sizeof(kept.strings));
	clear(f->snap);
	REQUIRE(!report_record_names(f->snap, f->frames, NULL, NULL));
	REQUIRE(!report_record_kept_names(&kept, f->frames, book));
	CHECK_INT(f->snap->names.len, count);
	REQUIRE(kept.names.len == count);
	for (size_t i = 0; i < count; i++)
		check_name(f->snap, &f->snap->names.data[i], &kept, &kept.names.data[i]);
	clear(&kept);
}

static void names_are_kept(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	struct name_book *book = name_book_create();
	uint64_t at[6];

	REQUIRE(book);
	fixture_init(&f);
	for (size_t i = 0; i < 6; i++)
		at[i] = fixture_symbol(
			&f,
			(const char *[]){"five", "one", "four", "two", NULL, "three"}[i],
			i % 2 ? "/lib/odd.so" : "/bin/even");
	fixture_report(&f);
	/* Nothing, then a stack in the middle, then stacks on both sides. */
	check(&f, book, 0);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, at[2], at[3]);
	check(&f, book, 0);
	fixture_block(&f, BLOCK_HEAP, 10, 1, 0);
	check(&f, book, 2);
	check(&f, book, 2);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, at[5], at[3], at[0]);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, at[1], at[2]);
	fixture_block(&f, BLOCK_HEAP, 10, 1, 1);
	fixture_block(&f, BLOCK_HEAP, 10, 1, 2);
	check(&f, book, 5);

	/* A stack with this number has other frames now. */
	f.snap->frames.data[0] = at[4];
	check(&f, book, 6);
	name_book_destroy(book);
}

/* Another library is where the first one was. */
static void names_follow_the_code(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	struct name_book *book = name_book_create();
	uint64_t at;

	REQUIRE(book);
	fixture_init(&f);
	at = fixture_symbol(&f, "before", "/lib/a.so");
	fixture_report(&f);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, at);
	fixture_block(&f, BLOCK_HEAP, 10, 1, 0);
	check(&f, book, 1);
	CHECK_STR(text(f.snap, f.snap->names.data[0].symbol), "before");
	f.symbols.data[0].name = "after";
	frame_cache_destroy(f.frames[0]);
	f.frames[0] = frame_cache_create(f.symbolizer);
	check(&f, book, 1);
	CHECK_STR(text(f.snap, f.snap->names.data[0].symbol), "after");

	/* The same for a process that lends its names. */
	fixture_process(&f, 4322, "other");
	f.frames[1] = frame_cache_create(f.symbolizer);
	check(&f, book, 1);
	name_book_destroy(book);
}

int main(void)
{
	RUN(names_are_kept);
	RUN(names_follow_the_code);
	return check_done();
}
