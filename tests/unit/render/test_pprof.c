// SPDX-License-Identifier: Apache-2.0
/* Unpacks the profile and compares it with the report. */
#include "fixture.h"
#include "fixture_lines.h"
#include "profile.pb-c.h"
#include "unpacked_profile.h"

static void head_says_what_is_measured(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);

	_cleanup_(unpacked_deinit) struct unpacked u = render(&f);
	const Pprof__Profile *p = u.profile;

	check_valid(p);
	REQUIRE(p->n_sample_type == 2);
	CHECK_STR(text(p, p->sample_type[0]->type), "inuse_objects");
	CHECK_STR(text(p, p->sample_type[0]->unit), "count");
	CHECK_STR(text(p, p->sample_type[1]->type), "inuse_space");
	CHECK_STR(text(p, p->sample_type[1]->unit), "bytes");
	CHECK_STR(text(p, p->default_sample_type), "inuse_space");
	CHECK_STR(text(p, p->period_type->type), "space");
	CHECK_STR(text(p, p->period_type->unit), "bytes");
	CHECK_INT(p->period, 1);
	CHECK_INT(p->time_nanos, FIXTURE_WALL_NS);
	CHECK_INT(p->duration_nanos, 10 * FIXTURE_NS);
	REQUIRE(p->n_comment == 1);
	CHECK_STR(text(p, p->comment[0]),
		  "memtrace " MEMTRACE_VERSION ", process 4321 (leaky)");
}

/* Nothing is lost or counted twice, and the leaf comes first. */
static void samples_are_the_rows(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);

	_cleanup_(unpacked_deinit) struct unpacked u = render(&f);
	const Pprof__Profile *p = u.profile;

	CHECK_INT(sum(p, 0), 7);
	CHECK_INT(sum(p, 1), 2 * 1024 * 1024 + 3100 + 64 + 7);
	/* Two equal blocks of one thread are one sample. */
	REQUIRE(p->n_sample == 6);
	CHECK_INT(p->sample[0]->value[0], 2);
	CHECK_INT(p->sample[0]->value[1], 2 * 1024 * 1024);
	REQUIRE(p->sample[0]->n_location_id == 4);
	CHECK_STR(frame_name(p, p->sample[0], 0), "malloc");
	CHECK_STR(frame_name(p, p->sample[0], 1), "");
	CHECK_STR(frame_name(p, p->sample[0], 2), "main_loop");
	CHECK_STR(frame_name(p, p->sample[0], 3), "[truncated: stack depth limit]");
	REQUIRE(p->sample[1]->n_location_id == 3);
	CHECK_STR(frame_name(p, p->sample[1], 1), "Cache::insert(std::string const&)");
	CHECK_STR(frame_name(p, p->sample[1], 2), "main_loop");
	REQUIRE(p->sample[5]->n_location_id == 1);
	CHECK_STR(frame_name(p, p->sample[5], 0), "[no stack: it was not stored]");
}

static void labels_are_thread_and_size(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);

	_cleanup_(unpacked_deinit) struct unpacked u = render(&f);
	const Pprof__Profile *p = u.profile;
	const struct {
		const char *tid;
		int64_t size_bytes;
	} want[] = {{"4321", 1024 * 1024}, {"4321", 1050}, {"4321", 1000},
		    {"4322", 1050},        {"4323", 64},   {"4321", 7}};

	REQUIRE(p->n_sample == sizeof(want) / sizeof(*want));
	for (size_t i = 0; i < p->n_sample; i++) {
		Pprof__Label **label = p->sample[i]->label;

		REQUIRE(p->sample[i]->n_label == 2);
		CHECK_STR(text(p, label[0]->key), "thread");
		CHECK_STR(text(p, label[0]->str), want[i].tid);
		CHECK_STR(text(p, label[1]->key), "bytes");
		CHECK_STR(text(p, label[1]->num_unit), "bytes");
		CHECK_INT(label[1]->num, want[i].size_bytes);
	}
}

static void mappings_of_code(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);

	_cleanup_(unpacked_deinit) struct unpacked u = render(&f);
	const Pprof__Profile *p = u.profile;

	REQUIRE(p->n_mapping == 3);
	/* The main program comes first. */
	CHECK_STR(text(p, p->mapping[0]->filename), "/srv/app/bin/leaky");
	CHECK_STR(text(p, p->mapping[0]->build_id),
		  "00112233445566778899aabbccddeeff00112233");
	CHECK_INT(p->mapping[0]->memory_start, FIXTURE_BASE + 0x100);
	CHECK_INT(p->mapping[0]->memory_limit, FIXTURE_BASE + 0x300);
	CHECK_INT(p->mapping[0]->file_offset, 0x1000);
	CHECK(p->mapping[0]->has_functions && !p->mapping[0]->has_line_numbers);
	CHECK_STR(text(p, p->mapping[1]->filename), "/usr/lib/libc.so.6");
	CHECK_STR(text(p, p->mapping[1]->build_id), "");
	CHECK_STR(text(p, p->mapping[2]->filename), "/opt/vendor/libblob.so");
	CHECK(!p->mapping[2]->has_functions);

	const Pprof__Location *leaf = find_location(p, p->sample[0]->location_id[0]);

	CHECK_INT(leaf->address, FIXTURE_BASE + 0x10);
	CHECK_INT(leaf->mapping_id, p->mapping[1]->id);
}

static void mappings_of_memory_are_apart(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_mappings(&f);
	f.snap->sampling.every = 10;
	f.snap->losses[LOSS_BLOCKS_FULL] = 3;

	_cleanup_(unpacked_deinit) struct unpacked u = render(&f);
	const Pprof__Profile *p = u.profile;

	check_valid(p);
	REQUIRE(p->n_sample_type == 4);
	CHECK_STR(text(p, p->sample_type[0]->type), "mapped_objects");
	CHECK_STR(text(p, p->sample_type[1]->type), "mapped_space");
	CHECK_STR(text(p, p->sample_type[3]->type), "inuse_space");
	CHECK_STR(text(p, p->default_sample_type), "inuse_space");
	CHECK_INT(sum(p, 0), 2);
	CHECK_INT(sum(p, 1), 4096 + 8192);
	CHECK_INT(sum(p, 2), 70);
	CHECK_INT(sum(p, 3), 10 * (2 * 1024 * 1024 + 3100 + 64 + 7));
	CHECK_STR(text(p, p->comment[0]),
		  "memtrace " MEMTRACE_VERSION ", process 4321 (leaky); heap numbers are "
		  "estimates from one allocation in 10; incomplete: blocks_full 3");
}

static void processes_are_outermost(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_second(&f);

	_cleanup_(unpacked_deinit) struct unpacked u = render(&f);
	const Pprof__Profile *p = u.profile;
	const Pprof__Sample *second = NULL;

	check_valid(p);
	CHECK_INT(sum(p, 1), 2 * 1024 * 1024 + 3100 + 64 + 7 + 5000);
	CHECK_STR(text(p, p->comment[0]), "memtrace " MEMTRACE_VERSION ", 2 processes");
	REQUIRE(p->n_mapping == 4);
	CHECK_STR(text(p, p->mapping[0]->filename), "/srv/app/bin/leaky");
	for (size_t i = 0; i < p->n_sample; i++) {
		if (p->sample[i]->value[1] == 5000)
			second = p->sample[i];
	}
	REQUIRE(second && second->n_location_id == 2);
	CHECK_STR(frame_name(p, second, 0), "other");
	CHECK_STR(frame_name(p, second, 1), "se;c\\x0a (99)");

	const Pprof__Location *leaf = find_location(p, second->location_id[0]);
	const Pprof__Mapping *mapping = find_mapping(p, leaf->mapping_id);

	REQUIRE(mapping);
	CHECK_STR(text(p, mapping->filename), "/bin/other");
	CHECK(mapping->has_functions);
}

static void hostile_names_and_sizes(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	uint64_t leaf = fixture_symbol(&f, "\xff\n\"", "/tmp/\xc3\x28");
	uint64_t empty = fixture_symbol(&f, "", "");
	uint32_t stack =
		FIXTURE_STACK(&f, STACK_END_COMPLETE, leaf, empty, 0, UINT64_MAX);

	free(f.snap->processes.data[0].command);
	f.snap->processes.data[0].command = NULL;
	fixture_module(&f, FIXTURE_BASE, FIXTURE_BASE + 0x200, "/tmp/\xc3\x28", NULL);
	fixture_block(&f, BLOCK_HEAP, UINT64_MAX, UINT32_MAX, stack);
	fixture_block(&f, BLOCK_HEAP, UINT64_MAX, UINT32_MAX, stack);
	fixture_block(&f, BLOCK_HEAP, 0, 0, SNAPSHOT_NO_STACK);

	_cleanup_(unpacked_deinit) struct unpacked u = render(&f);
	const Pprof__Profile *p = u.profile;

	check_valid(p);
	REQUIRE(p->n_sample == 2);
	CHECK_INT(p->sample[0]->value[1], INT64_MAX);
	CHECK_STR(frame_name(p, p->sample[0], 0), "\\xff\\x0a\"");
	CHECK_STR(text(p, p->mapping[0]->filename), "/tmp/\\xc3(");
	CHECK_INT(p->sample[1]->value[0], 1);
	CHECK_INT(p->sample[1]->value[1], 0);
}

static uint64_t varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t n = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		REQUIRE(*at < end);
		n |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return n;
	}
	REQUIRE(!"a varint of at most ten bytes");
	return 0;
}

/* Reads the field numbers without the code that was generated from profile.proto. */
static void fields_have_pprofs_numbers(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	size_t records[16] = {0};
	uint64_t time_ns = 0, duration_ns = 0;

	fixture_init(&f);
	fixture_fill(&f);

	_cleanup_(unpacked_deinit) struct unpacked u = render(&f);
	const uint8_t *at = u.bytes, *end = u.bytes + u.len;

	while (at < end) {
		uint64_t tag = varint(&at, end), value = varint(&at, end);

		REQUIRE(tag >> 3 < 16);
		records[tag >> 3]++;
		if ((tag & 7) == 2) {
			REQUIRE(value <= (uint64_t)(end - at));
			at += value;
		} else {
			CHECK_INT(tag & 7, 0);
			time_ns = tag >> 3 == 9 ? value : time_ns;
			duration_ns = tag >> 3 == 10 ? value : duration_ns;
		}
	}
	CHECK_INT(records[1], 2);
	CHECK_INT(records[2], 6);
	CHECK_INT(records[3], 3);
	CHECK_INT(records[4], u.profile->n_location);
	CHECK_INT(records[5], u.profile->n_function);
	CHECK_INT(records[6], u.profile->n_string_table);
	CHECK_INT(records[11], 1);
	CHECK_INT(time_ns, FIXTURE_WALL_NS);
	CHECK_INT(duration_ns, 10 * FIXTURE_NS);
}

/* One location for each address. The inlined functions are its first lines. */
static void inlined_functions_are_lines(void)
{
	static const struct {
		const char *name, *file;
		int64_t line;
	} want[] = {
		{"allocate<T>", "/srv/app/src/a \"new\".h", 7},
		{"Cache::grow", "/srv/app/src/cache.cc", 12},
		{"Cache::insert(std::string const&)", "/srv/app/src/cache.cc", 88},
	};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	f.wrap = fixture_lines;

	_cleanup_(unpacked_deinit) struct unpacked u = render(&f);
	const Pprof__Profile *p = u.profile;

	check_valid(p);
	REQUIRE(p->n_sample == 6 && p->sample[1]->n_location_id == 3);

	const Pprof__Location *l = find_location(p, p->sample[1]->location_id[1]);

	CHECK_INT(l->address, FIXTURE_BASE + 0x210);
	REQUIRE(l->n_line == 3);
	for (size_t i = 0; i < 3; i++) {
		const Pprof__Function *function =
			find_function(p, l->line[i]->function_id);

		CHECK_STR(text(p, function->name), want[i].name);
		CHECK_STR(text(p, function->filename), want[i].file);
		CHECK_INT(l->line[i]->line, want[i].line);
	}
	/* The same function at another address. */
	REQUIRE(p->sample[3]->n_location_id == 3);

	const Pprof__Location *other = find_location(p, p->sample[3]->location_id[1]);

	CHECK_INT(other->address, FIXTURE_BASE + 0x218);
	REQUIRE(other->n_line == 3);
	CHECK_INT(other->line[2]->function_id, l->line[2]->function_id);
	/* malloc has no inlined functions. */
	CHECK_INT(find_location(p, p->sample[1]->location_id[0])->n_line, 1);
	/* pprof must not look for symbols where the profile has them. */
	CHECK(p->mapping[0]->has_functions && p->mapping[0]->has_filenames &&
	      p->mapping[0]->has_line_numbers && p->mapping[0]->has_inline_frames);
	CHECK(p->mapping[1]->has_functions && !p->mapping[1]->has_filenames);
	CHECK(!p->mapping[2]->has_functions && !p->mapping[2]->has_filenames);
}

int main(void)
{
	RUN(inlined_functions_are_lines);
	RUN(head_says_what_is_measured);
	RUN(samples_are_the_rows);
	RUN(labels_are_thread_and_size);
	RUN(mappings_of_code);
	RUN(mappings_of_memory_are_apart);
	RUN(processes_are_outermost);
	RUN(hostile_names_and_sizes);
	RUN(fields_have_pprofs_numbers);
	return check_done();
}
