// SPDX-License-Identifier: Apache-2.0
/* Unpacks the profile and compares it with the report and with what pprof requires
 * (CheckValid in profile/profile.go of github.com/google/pprof). */
#include "fixture.h"
#include "fixture_lines.h"
#include "fixture_timeline.h"

#include <zlib.h>

#include "profile.pb-c.h"
#include "frames/filter.h"
#include "render/pprof/pprof.h"

#define PROFILE_CAP ((size_t)1 << 20)

struct unpacked {
	uint8_t *bytes;
	size_t len;
	Pprof__Profile *profile;
};

static void unpacked_deinit(struct unpacked *u)
{
	free(u->bytes);
	pprof__profile__free_unpacked(u->profile, NULL);
}

/* Frees `gz`. */
static struct unpacked unpack(char *gz, size_t len)
{
	struct unpacked u = {.bytes = malloc(PROFILE_CAP)};
	z_stream stream = {0};

	/* 16: only the gzip format. */
	REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
	stream.next_in = (unsigned char *)gz;
	stream.avail_in = (uInt)len;
	stream.next_out = u.bytes;
	stream.avail_out = PROFILE_CAP;
	REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
	CHECK_INT(stream.avail_in, 0);
	u.len = stream.total_out;
	inflateEnd(&stream);
	free(gz);
	u.profile = pprof__profile__unpack(NULL, u.len, u.bytes);
	REQUIRE(u.profile);
	return u;
}

static struct unpacked render(struct fixture *f)
{
	size_t len;
	char *gz;

	fixture_report(f);
	gz = fixture_render(f, "pprof", &len);
	return unpack(gz, len);
}

/* A report without blocks, as engines scrape it. */
static void report_rows(struct fixture *f)
{
	const struct report_options options = {
		.older_ns = 1, .group_by_process = true, .past = true};

	fixture_report_with(f, &options);
}

static struct unpacked render_with(const struct report *report,
				   const struct pprof_options *options)
{
	char *gz = NULL;
	size_t len;
	FILE *out = open_memstream(&gz, &len);

	REQUIRE(out);
	REQUIRE(!pprof_render(report, options, out));
	REQUIRE(!fclose(out));
	return unpack(gz, len);
}

static const char *text(const Pprof__Profile *p, int64_t index)
{
	REQUIRE(index >= 0 && (size_t)index < p->n_string_table);
	return p->string_table[index];
}

static const Pprof__Mapping *find_mapping(const Pprof__Profile *p, uint64_t id)
{
	for (size_t i = 0; i < p->n_mapping; i++) {
		if (p->mapping[i]->id == id)
			return p->mapping[i];
	}
	return NULL;
}

static const Pprof__Location *find_location(const Pprof__Profile *p, uint64_t id)
{
	for (size_t i = 0; i < p->n_location; i++) {
		if (p->location[i]->id == id)
			return p->location[i];
	}
	return NULL;
}

static const Pprof__Function *find_function(const Pprof__Profile *p, uint64_t id)
{
	for (size_t i = 0; i < p->n_function; i++) {
		if (p->function[i]->id == id)
			return p->function[i];
	}
	return NULL;
}

/* Also what Parca requires: ids are 1, 2 and so on in the order of the lists
 * (ValidatePprofProfile() in pkg/normalizer/validate.go of github.com/parca-dev/parca).
 */
static void check_valid(const Pprof__Profile *p)
{
	CHECK_STR(text(p, 0), "");
	for (size_t i = 0; i < p->n_mapping; i++) {
		CHECK_INT(p->mapping[i]->id, i + 1);
		CHECK(find_mapping(p, p->mapping[i]->id) == p->mapping[i]);
		text(p, p->mapping[i]->filename);
		text(p, p->mapping[i]->build_id);
	}
	for (size_t i = 0; i < p->n_function; i++) {
		CHECK_INT(p->function[i]->id, i + 1);
		CHECK(find_function(p, p->function[i]->id) == p->function[i]);
		text(p, p->function[i]->name);
		text(p, p->function[i]->filename);
	}
	for (size_t i = 0; i < p->n_location; i++) {
		const Pprof__Location *l = p->location[i];

		CHECK_INT(l->id, i + 1);
		CHECK(find_location(p, l->id) == l);
		CHECK(!l->mapping_id || find_mapping(p, l->mapping_id));
		for (size_t k = 0; k < l->n_line; k++)
			CHECK(find_function(p, l->line[k]->function_id));
	}
	for (size_t i = 0; i < p->n_sample; i++) {
		CHECK_INT(p->sample[i]->n_value, p->n_sample_type);
		CHECK(p->sample[i]->n_location_id);
		for (size_t k = 0; k < p->sample[i]->n_location_id; k++)
			CHECK(find_location(p, p->sample[i]->location_id[k]));
	}
}

static int64_t sum(const Pprof__Profile *p, size_t value)
{
	int64_t total = 0;

	for (size_t i = 0; i < p->n_sample; i++)
		total += p->sample[i]->value[value];
	return total;
}

/* The function that a sample's frame shows; "" if none. */
static const char *frame_name(const Pprof__Profile *p, const Pprof__Sample *sample,
			      size_t frame)
{
	const Pprof__Location *l = find_location(p, sample->location_id[frame]);

	return l->n_line ? text(p, find_function(p, l->line[0]->function_id)->name) : "";
}

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

/* The mark for omitted frames has neither an address nor a mapping that pprof could
 * show. */
static void left_out_frames_have_a_name(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);

	uint64_t leaf = fixture_symbol(&f, "leaf", "/srv/app/bin/leaky");
	uint64_t root = fixture_symbol(&f, "root", "/srv/app/bin/leaky");
	uint32_t deep = FIXTURE_STACK(&f, STACK_END_COMPLETE, leaf, root);

	f.snap->stacks.data[deep].gap = 1;
	fixture_block(&f, BLOCK_HEAP, 100, 4321, deep);

	_cleanup_(unpacked_deinit) struct unpacked u = render(&f);
	const Pprof__Profile *p = u.profile;

	check_valid(p);
	REQUIRE(p->n_sample == 1 && p->sample[0]->n_location_id == 3);
	CHECK_STR(frame_name(p, p->sample[0], 0), "leaf");
	CHECK_STR(frame_name(p, p->sample[0], 1), "[frames left out: deep recursion]");
	CHECK_STR(frame_name(p, p->sample[0], 2), "root");
	CHECK_INT(find_location(p, p->sample[0]->location_id[1])->mapping_id, 0);
}

/* What does not fit is not lost: it is in one sample. */
static void limits_fold_the_rest(void)
{
	const struct pprof_options whole_options = {.max_samples = 100},
				   options = {.max_samples = 3};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	report_rows(&f);

	_cleanup_(unpacked_deinit) struct unpacked whole =
		render_with(f.report, &whole_options);
	_cleanup_(unpacked_deinit) struct unpacked u = render_with(f.report, &options);
	const Pprof__Profile *p = u.profile;

	check_valid(whole.profile);
	REQUIRE(whole.profile->n_sample == 5);
	CHECK(!strstr(text(whole.profile, whole.profile->comment[0]), "[other]"));
	check_valid(p);
	REQUIRE(p->n_sample == 3);
	for (size_t i = 0; i < p->n_sample; i++)
		CHECK_INT(p->sample[i]->n_label, 0);
	CHECK_INT(sum(p, 0), sum(whole.profile, 0));
	CHECK_INT(sum(p, 1), sum(whole.profile, 1));
	CHECK_INT(p->sample[0]->value[1], 2 * 1024 * 1024);
	REQUIRE(p->sample[2]->n_location_id == 1);
	CHECK_STR(frame_name(p, p->sample[2], 0), "[other]");
	CHECK_INT(p->sample[2]->value[1], 1050 + 64 + 7);
	CHECK(strstr(text(p, p->comment[0]), "; 3 call paths are folded into [other]"));
}

#define MANY_STACKS 2000

static void bytes_are_limited(void)
{
	const struct pprof_options options = {.max_samples = 16000, .max_bytes = 20000};
	_cleanup_(fixture_deinit) struct fixture f;
	static char names[MANY_STACKS][16];
	uint64_t bytes = 0;

	fixture_init(&f);
	for (size_t i = 0; i < MANY_STACKS; i++) {
		snprintf(names[i], sizeof(names[i]), "function_%zu", i);

		uint64_t leaf = fixture_symbol(&f, names[i], "/srv/app/bin/leaky");

		fixture_block(&f, BLOCK_HEAP, 1000 + i, 4321,
			      FIXTURE_STACK(&f, STACK_END_COMPLETE, leaf));
		bytes += 1000 + i;
	}
	report_rows(&f);

	_cleanup_(unpacked_deinit) struct unpacked u = render_with(f.report, &options);
	const Pprof__Profile *p = u.profile;

	check_valid(p);
	CHECK(u.len <= options.max_bytes);
	/* The limit is used. */
	CHECK(u.len > options.max_bytes / 2);
	CHECK_INT(sum(p, 0), MANY_STACKS);
	CHECK_INT(sum(p, 1), bytes);
	/* The largest are kept. */
	CHECK_STR(frame_name(p, p->sample[0], 0), "function_1999");
	CHECK_STR(frame_name(p, p->sample[p->n_sample - 1], 0), "[other]");
}

/* A limit that cannot be kept: at least one row is shown. */
static void no_limit_is_too_small(void)
{
	const struct pprof_options options = {.max_samples = 1, .max_bytes = 1};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	report_rows(&f);

	_cleanup_(unpacked_deinit) struct unpacked u = render_with(f.report, &options);

	check_valid(u.profile);
	CHECK_INT(sum(u.profile, 1), 2 * 1024 * 1024 + 3100 + 64 + 7);
}

static int64_t value_of(const Pprof__Profile *p, const Pprof__Sample *sample,
			const char *type)
{
	for (size_t i = 0; i < p->n_sample_type; i++)
		if (!strcmp(text(p, p->sample_type[i]->type), type))
			return sample->value[i];
	CHECK_FAIL("no sample type %s", type);
	return 0;
}

static void allocs_show_what_was_allocated(void)
{
	const struct pprof_options options = {.max_samples = 100, .shows_allocs = true};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_traffic(&f);
	report_rows(&f);

	_cleanup_(unpacked_deinit) struct unpacked u = render_with(f.report, &options);
	const Pprof__Profile *p = u.profile;

	check_valid(p);
	REQUIRE(p->n_sample_type == 4);
	CHECK_STR(text(p, p->sample_type[0]->type), "alloc_objects");
	CHECK_STR(text(p, p->sample_type[1]->type), "alloc_space");
	CHECK_STR(text(p, p->sample_type[2]->type), "inuse_objects");
	CHECK_STR(text(p, p->sample_type[3]->type), "inuse_space");
	CHECK_STR(text(p, p->default_sample_type), "alloc_space");
}

/* The same stacks 5 s later: one has grown by a block, and one is smaller. */
static void changes_may_be_negative(void)
{
	const struct pprof_options options = {.max_samples = 100, .changes = true};
	const struct report_options rows = {
		.older_ns = 1, .group_by_process = true, .past = true};
	struct report *later;
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_traffic(&f);
	report_rows(&f);
	f.snap->time_ns += 5 * FIXTURE_NS;
	/* Of the two blocks of 1 MiB one is freed. */
	f.snap->blocks[BLOCK_HEAP].data[3].size_bytes = 5;
	f.snap->traffic.data[2].allocations += 3;
	f.snap->traffic.data[2].allocated_bytes += 300;
	REQUIRE(!report_build(f.snap, f.history, f.frames, &rows, REPORT_DEMAND, &later));

	_cleanup_(unpacked_deinit) struct unpacked u = render_with(later, &options);
	const Pprof__Profile *p = u.profile;

	check_valid(p);
	CHECK_INT(p->duration_nanos, 5 * FIXTURE_NS);
	REQUIRE(p->n_sample == 1);
	CHECK_INT(value_of(p, p->sample[0], "inuse_space"), 5 - 1024 * 1024);
	CHECK_INT(value_of(p, p->sample[0], "inuse_objects"), 0);
	CHECK_INT(value_of(p, p->sample[0], "alloc_objects"), 3);
	CHECK_INT(value_of(p, p->sample[0], "alloc_space"), 300);
	report_destroy(later);
}

/* The sum of the values that are called `type`, of samples with the function `name`, or
 * of all if it is NULL. -1: no values are called so. */
static int64_t sum_of(const Pprof__Profile *p, const char *type, const char *name)
{
	int64_t total = 0;
	size_t value = 0;

	while (value < p->n_sample_type &&
	       strcmp(text(p, p->sample_type[value]->type), type) != 0)
		value++;
	if (value == p->n_sample_type)
		return -1;
	for (size_t i = 0; i < p->n_sample; i++) {
		bool has = !name;

		for (size_t k = 0; k < p->sample[i]->n_location_id; k++)
			has = has || strstr(frame_name(p, p->sample[i], k), name);
		total += has ? p->sample[i]->value[value] : 0;
	}
	return total;
}

/* Lost bytes of call paths that a filter leaves out are in no sample. */
static void filters_leave_out_what_is_lost(void)
{
	static const enum filter_use uses[] = {FILTER_EXCLUDE, FILTER_SUPPRESS,
					       FILTER_KEEP};

	for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
		_cleanup_(fixture_deinit) struct fixture f;
		struct report_filter *filter = report_filter_create();
		bool keeps = uses[i] == FILTER_KEEP;

		REQUIRE(filter);
		REQUIRE(!report_filter_add(filter, uses[i], "fn:Cache::insert*"));
		fixture_init(&f);
		fixture_fill(&f);
		f.snap->search.count = 1;
		for (int64_t k = 0; k < (int64_t)f.snap->stacks.len; k++) {
			const struct snapshot_unreachable lost = {
				.lost = {(uint64_t)1000 << k, 1},
				.held = {(uint64_t)100 << k, 2}};

			REQUIRE(vec_push(&f.snap->unreachable, lost));
			snapshot_unreachable_add(&f.snap->search.total, &lost);
		}

		const struct report_options options = {.filter = filter};

		fixture_report_with(&f, &options);

		_cleanup_(unpacked_deinit) struct unpacked u =
			render_with(f.report, &(struct pprof_options){0});

		check_valid(u.profile);
		/* 1100 and 2200 of the two stacks through it: what lost blocks hold is
		 * lost with them. */
		CHECK_INT(sum_of(u.profile, "lost_space", NULL), keeps ? 3300 : 13200);
		CHECK_INT(sum_of(u.profile, "lost_objects", NULL), 6);
		CHECK_INT(sum_of(u.profile, "lost_space", "Cache::insert"),
			  keeps ? 3300 : 0);
		report_filter_destroy(filter);
	}
}

int main(void)
{
	RUN(limits_fold_the_rest);
	RUN(bytes_are_limited);
	RUN(no_limit_is_too_small);
	RUN(allocs_show_what_was_allocated);
	RUN(changes_may_be_negative);
	RUN(inlined_functions_are_lines);
	RUN(head_says_what_is_measured);
	RUN(samples_are_the_rows);
	RUN(labels_are_thread_and_size);
	RUN(left_out_frames_have_a_name);
	RUN(mappings_of_code);
	RUN(mappings_of_memory_are_apart);
	RUN(processes_are_outermost);
	RUN(hostile_names_and_sizes);
	RUN(fields_have_pprofs_numbers);
	RUN(filters_leave_out_what_is_lost);
	return check_done();
}
