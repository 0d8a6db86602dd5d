// SPDX-License-Identifier: Apache-2.0
/* go tool pprof reads our profiles. Its numbers for each function must equal the stacks
 * of the same report in JSON, to the byte. */
#include "readers/readers.h"
#include "unit/random.h"
#include "unit/render/fixture_timeline.h"
#include "unit/render/fixture_lines.h"

#define PPROF                                                                            \
	"HOME=/nonexistent PPROF_TMPDIR=/nonexistent go tool pprof -symbolize=none "     \
	"-trim=false -unit=B "

static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " ");
	size_t len = strcspn(word, " ");

	REQUIRE(len && word[len]);
	word[len] = '\0';
	*rest = word + len + 1;
	return word;
}

/* Parses lines "flat flat% sum% cum cum% name" after the header. */
static void parse_top(const char *text, struct functions *ret)
{
	const char *line = strstr(text, "flat  flat%");

	REQUIRE(line);
	for (line = strchr(line, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		_cleanup_(freep) char *copy = strndup(line, strcspn(line, "\n"));
		char *rest = copy, *words[5];

		REQUIRE(copy);
		for (size_t i = 0; i < 5; i++)
			words[i] = next_word(&rest);

		char *note = strstr(rest, " (inline)");

		if (note)
			*note = '\0';

		struct function *function = functions_get(ret, rest + strspn(rest, " "));

		/* Numbers other than 0 are followed by a unit. */
		function->flat += strtoll(words[0], NULL, 10);
		function->cum += strtoll(words[3], NULL, 10);
	}
}

static char *pprof(const char *options, const char *profile)
{
	char command[512];

	snprintf(command, sizeof(command), PPROF "%s %s", options, profile);
	return readers_run(command);
}

/* pprof also prints lines for text that is not a frame: these only have to add up. */
static void check_equal(struct functions *got, struct functions *want, long long total)
{
	long long sum = 0;

	CHECK(got->list.len && want->list.len);
	vec_foreach (function, &want->list) {
		const struct function *theirs = functions_get(got, function->name);

		if (function->flat != theirs->flat || function->cum != theirs->cum)
			CHECK_FAIL("%s: pprof says %lld, %lld; we say %lld, %lld",
				   function->name, theirs->flat, theirs->cum,
				   function->flat, function->cum);
	}
	vec_foreach (function, &got->list)
		sum += function->flat;
	CHECK_INT(sum, total);
}

static long long total(json_t *section, const char *key)
{
	long long sum = 0;
	json_t *stack;
	size_t i;

	json_array_foreach (json_object_get(section, "stacks"), i, stack)
		sum += readers_number(stack, key);
	return sum;
}

/* Compares one sample type with one number of a section's stacks, multiplied by
 * `times`. */
static void check_scaled(const char *profile, const char *type, json_t *section,
			 const char *key, long long times)
{
	_cleanup_(functions_deinit) struct functions got = {0}, want = {0};
	char options[128];

	snprintf(options, sizeof(options), "-top -sample_index=%s", type);

	_cleanup_(freep) char *top = pprof(options, profile);

	parse_top(top, &got);
	functions_add(&want, section, key, times);
	check_equal(&got, &want, times * total(section, key));
}

static void check_type(const char *profile, const char *type, json_t *section,
		       const char *key)
{
	check_scaled(profile, type, section, key, 1);
}

/* Adds more blocks, so that no two numbers are equal by chance. */
static void fill(struct fixture *f)
{
	uint64_t unknown = FIXTURE_BASE + 0x100000;
	uint64_t odd;

	fixture_fill(f);
	odd = fixture_symbol(f, "std::map<int, \"a\">::operator[](int&&)",
			     "/usr/lib/lib<odd> name.so");
	fixture_block(
		f, BLOCK_HEAP, 12345, 4321,
		FIXTURE_STACK(f, STACK_END_COMPLETE, odd, f->symbols.data[2].start + 3));
	fixture_block(f, BLOCK_HEAP, UINT64_C(1) << 41, 4321,
		      FIXTURE_STACK(f, STACK_END_UNREADABLE, odd, unknown));
}

static void top_has_our_numbers(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill(&f);
	readers_write(&f, "pprof", &dir, "a.pb.gz");

	json_auto_t *json = readers_json(&f);
	json_t *heap = json_object_get(json, "heap");
	const char *profile = temp_dir_path(&dir, "a.pb.gz");

	CHECK_INT(total(heap, "size_bytes"),
		  (INT64_C(1) << 41) + 2 * 1024 * 1024 + 3100 + 64 + 7 + 12345);
	check_type(profile, "inuse_space", heap, "size_bytes");
	check_type(profile, "inuse_objects", heap, "blocks");

	_cleanup_(freep) char *top = pprof("-top", profile);

	/* The default sample type, and pprof's header. */
	CHECK_CONTAINS(top, "\nType: inuse_space\n");
	CHECK_CONTAINS(top, "File: leaky\n");
	CHECK_CONTAINS(top, "Duration: 10s, ");
}

static void mappings_and_processes(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill(&f);
	fixture_fill_mappings(&f);
	fixture_fill_second(&f);
	readers_write(&f, "pprof", &dir, "a.pb.gz");

	json_auto_t *json = readers_json(&f);
	json_t *mappings = json_object_get(json, "mappings");
	const char *profile = temp_dir_path(&dir, "a.pb.gz");

	CHECK_INT(total(mappings, "size_bytes"), 4096 + 8192);
	check_type(profile, "inuse_space", json_object_get(json, "heap"), "size_bytes");
	check_type(profile, "mapped_space", mappings, "size_bytes");
	check_type(profile, "mapped_objects", mappings, "blocks");
}

static void sampled_numbers_are_scaled(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	f.snap->sampling.every = 100;
	readers_write(&f, "pprof", &dir, "a.pb.gz");

	json_auto_t *json = readers_json(&f);
	json_t *heap = json_object_get(json, "heap");
	const char *profile = temp_dir_path(&dir, "a.pb.gz");

	CHECK_INT(total(heap, "blocks"), 700);
	check_type(profile, "inuse_space", heap, "size_bytes");
	check_type(profile, "inuse_objects", heap, "blocks");
}

/* What was allocated since the attach, also by a call path without live blocks, and all
 * other sample types with it. */
static void traffic_is_ours(void)
{
	for (uint64_t every = 1; every <= 10; every += 9) {
		_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
		_cleanup_(fixture_deinit) struct fixture f;

		fixture_init(&f);
		fill(&f);
		FIXTURE_STACK(&f, STACK_END_COMPLETE, f.symbols.data[2].start + 5,
			      f.symbols.data[1].start + 5);
		fixture_fill_mappings(&f);
		fixture_fill_traffic(&f);
		f.snap->sampling.every = every;
		readers_write(&f, "pprof", &dir, "a.pb.gz");

		json_auto_t *json = readers_json(&f);
		json_t *heap = json_object_get(json, "heap");
		const char *profile = temp_dir_path(&dir, "a.pb.gz");
		long long objects = total(heap, "traffic.allocations");

		/* 10, 20, ... allocations of the stacks and their live blocks, except the
		 * block without a stack. */
		CHECK_INT(objects, 280 + 8);
		check_scaled(profile, "alloc_objects", heap, "traffic.allocations",
			     (long long)every);
		check_scaled(profile, "alloc_space", heap, "traffic.allocated_bytes",
			     (long long)every);
		check_type(profile, "inuse_objects", heap, "blocks");
		check_type(profile, "inuse_space", heap, "size_bytes");
		check_type(profile, "mapped_space", json_object_get(json, "mappings"),
			   "size_bytes");

		_cleanup_(freep) char *raw = pprof("-raw", profile);

		CHECK_CONTAINS(raw, "\nmapped_objects/count mapped_space/bytes "
				    "alloc_objects/count alloc_space/bytes "
				    "inuse_objects/count inuse_space/bytes[dflt]\n");
	}
}

/* pprof as users start it: it removes what is in brackets from names of C++. */
#define AS_USERS "-symbolize= "

/* Functions that allocate for others are not shown: their callers have the bytes. */
static void callers_of_allocators(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	_cleanup_(fixture_deinit) struct fixture f;
	static const char *const names[] = {
		"operator new(unsigned long)",
		"std::__new_allocator<int>::allocate(unsigned long, void const*)",
		"std::_Vector_base<int, X>::_M_allocate(unsigned long)",
		"alloc::raw_vec::RawVec<T,A>::grow_one",
		"<alloc::alloc::Global>::grow_impl_runtime",
		"<alloc::raw_vec::RawVecInner>::finish_grow",
	};
	uint64_t user, made, leaves[6];

	fixture_init(&f);
	user = fixture_symbol(&f, "Shop::add(int)", "/srv/shop");
	/* Not an operator new. */
	made = fixture_symbol(&f, "operator_new_order", "/srv/shop");
	for (size_t i = 0; i < 6; i++)
		leaves[i] = fixture_symbol(&f, names[i], "/usr/lib/libstdc++.so.6");
	fixture_block(&f, BLOCK_HEAP, 1000, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, leaves[0], leaves[1],
				    leaves[2], user));
	fixture_block(&f, BLOCK_HEAP, 200, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, leaves[1], user));
	fixture_block(&f, BLOCK_HEAP, 80, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, leaves[3], user));
	fixture_block(&f, BLOCK_HEAP, 20, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, leaves[4], leaves[5], user));
	fixture_block(&f, BLOCK_HEAP, 20, 1, FIXTURE_STACK(&f, STACK_END_COMPLETE, made));
	fixture_report(&f);
	readers_write(&f, "pprof", &dir, "a.pb.gz");
	for (int as_users = 0; as_users < 2; as_users++) {
		_cleanup_(freep) char *top = pprof(as_users ? AS_USERS "-top" : "-top",
						   temp_dir_path(&dir, "a.pb.gz"));

		CHECK_CONTAINS(top, "Shop::add");
		CHECK_CONTAINS(top, "operator_new_order");
		CHECK(!strstr(top, "operator new"));
		CHECK(!strstr(top, "raw_vec"));
		CHECK_CONTAINS(top, "1300B 98.48% 98.48%");
	}
}

/* Names that would lose their beginning or end without what is in brackets. */
static void brackets_that_matter(void)
{
	static const char *const names[] = {
		"<shop::Order as core::fmt::Display>::fmt",
		"shop::visit::<u8>",
		"shop::(anonymous namespace)::Cache::grow",
	};
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	for (size_t i = 0; i < 3; i++)
		fixture_block(&f, BLOCK_HEAP, 100, 1,
			      FIXTURE_STACK(&f, STACK_END_COMPLETE,
					    fixture_symbol(&f, names[i], "/srv/shop")));
	fixture_block(&f, BLOCK_HEAP, 50, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE,
				    fixture_symbol(&f, "std::vector<int>::resize(int)",
						   "/srv/shop")));
	fixture_report(&f);
	readers_write(&f, "pprof", &dir, "a.pb.gz");

	_cleanup_(freep) char *top =
		pprof(AS_USERS "-top", temp_dir_path(&dir, "a.pb.gz"));

	for (size_t i = 0; i < 3; i++)
		CHECK_CONTAINS(top, names[i]);
	CHECK_CONTAINS(top, "  std::vector::resize\n");
}

/* --view functions has the numbers of -top, also with recursion. */
static void functions_as_in_top(void)
{
	const struct report_options options = {.view = "functions",
					       .sort = REPORT_SORT_CUMULATIVE};
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(functions_deinit) struct functions ours = {0}, theirs = {0};
	uint64_t symbols[6], frames[12];
	long long sum = 0;

	fixture_init(&f);
	for (size_t i = 0; i < 6; i++)
		symbols[i] = fixture_symbol(
			&f, (const char *[]){"a", "b", "c", "d", "e", "g"}[i],
			i % 2 ? "/srv/app/bin/leaky" : "/srv/app/lib/x.so");
	for (size_t i = 0; i < 60; i++) {
		size_t depth = 1 + random_below(12);
		uint64_t size_bytes = 1 + random_below(100000);

		for (size_t k = 0; k < depth; k++)
			frames[k] = symbols[random_below(6)];
		fixture_block(&f, BLOCK_HEAP, size_bytes, 1,
			      fixture_stack(&f, STACK_END_COMPLETE, depth, frames));
		sum += (long long)size_bytes;
	}
	fixture_report_with(&f, &options);
	readers_write(&f, "pprof", &dir, "a.pb.gz");

	_cleanup_(freep) char *csv = fixture_render(&f, "csv", NULL);
	_cleanup_(freep) char *top = pprof("-top -cum", temp_dir_path(&dir, "a.pb.gz"));

	parse_top(top, &theirs);
	for (const char *line = strchr(csv, '\n') + 1; *line;
	     line = strchr(line, '\n') + 1) {
		char name[64];
		long long flat, cum;
		struct function *function;

		REQUIRE(sscanf(line,
			       "heap,\"%63[^\"]\",\"%*[^\"]\",\"\",,%lld,%*d,%*d,%lld",
			       name, &flat, &cum) == 3);
		function = functions_get(&ours, name);
		function->flat += flat;
		function->cum += cum;
	}
	CHECK_INT(ours.list.len, 6);
	check_equal(&theirs, &ours, sum);
}

/* Inlined functions are separate frames in pprof, too, and have lines. */
static void lines_and_inlined_functions(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill(&f);
	f.wrap = fixture_lines;
	readers_write(&f, "pprof", &dir, "a.pb.gz");

	json_auto_t *json = readers_json(&f);
	json_t *heap = json_object_get(json, "heap");
	const char *profile = temp_dir_path(&dir, "a.pb.gz");
	_cleanup_(functions_deinit) struct functions got = {0};

	check_type(profile, "inuse_space", heap, "size_bytes");
	check_type(profile, "inuse_objects", heap, "blocks");

	_cleanup_(freep) char *top = pprof("-top -lines", profile);

	parse_top(top, &got);
	CHECK_INT(functions_get(&got, "main_loop /srv/app/src/main.c:120")->cum,
		  2 * 1024 * 1024 + 3100);
	CHECK_INT(functions_get(&got, "Cache::grow /srv/app/src/cache.cc:12")->cum,
		  3100 + 12345);
	CHECK_INT(functions_get(&got, "allocate<T> /srv/app/src/a \"new\".h:7")->cum,
		  3100 + 12345);
	CHECK_INT(functions_get(&got, "Cache::insert(std::string const&) "
				      "/srv/app/src/cache.cc:88")
			  ->cum,
		  3100 + 12345);

	_cleanup_(freep) char *raw = pprof("-raw", profile);

	CHECK_CONTAINS(raw,
		       "00112233445566778899aabbccddeeff00112233 [FN][FL][LN][IN]\n");
}

/* One stack grows, one shrinks, one is new, one is gone, one is unchanged. */
static void a_difference_is_ours_too(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	_cleanup_(functions_deinit) struct functions got = {0}, want = {0};
	_cleanup_(fixture_deinit) struct fixture old, new;
	char base[128], options[256];

	fixture_init(&old);
	fill(&old);
	fixture_init(&new);
	fill(&new);
	fixture_block(&new, BLOCK_HEAP, 777, 4321, 0);
	new.snap->blocks[BLOCK_HEAP].data[3].size_bytes -= 1001;
	new.snap->blocks[BLOCK_HEAP].data[5].stack = 3 + 1;
	readers_write(&old, "pprof", &dir, "old.pb.gz");
	readers_write(&new, "pprof", &dir, "new.pb.gz");

	json_auto_t *old_json = readers_json(&old), *new_json = readers_json(&new);
	json_t *old_heap = json_object_get(old_json, "heap");
	json_t *new_heap = json_object_get(new_json, "heap");

	snprintf(base, sizeof(base), "%s", temp_dir_path(&dir, "old.pb.gz"));
	snprintf(options, sizeof(options), "-top -diff_base=%s", base);

	_cleanup_(freep) char *top = pprof(options, temp_dir_path(&dir, "new.pb.gz"));

	parse_top(top, &got);
	functions_add(&want, new_heap, "size_bytes", 1);
	functions_add(&want, old_heap, "size_bytes", -1);
	check_equal(&got, &want,
		    total(new_heap, "size_bytes") - total(old_heap, "size_bytes"));
	CHECK_INT(total(new_heap, "size_bytes") - total(old_heap, "size_bytes"),
		  777 - 1001);
}

/* Sums up the samples of pprof -raw. */
static void raw_sums_up(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	_cleanup_(fixture_deinit) struct fixture f;
	long long objects, space, all_objects = 0, all_space = 0;
	size_t samples = 0;

	fixture_init(&f);
	fill(&f);
	readers_write(&f, "pprof", &dir, "a.pb.gz");

	json_auto_t *json = readers_json(&f);
	json_t *heap = json_object_get(json, "heap");
	_cleanup_(freep) char *raw = pprof("-raw", temp_dir_path(&dir, "a.pb.gz"));
	const char *line = strstr(raw, "\ninuse_objects/count inuse_space/bytes[dflt]\n");

	REQUIRE(line);
	for (line = strchr(line + 1, '\n') + 1; strncmp(line, "Locations", 9);
	     line = strchr(line, '\n') + 1) {
		if (sscanf(line, "%lld %lld:", &objects, &space) != 2)
			continue;
		all_objects += objects;
		all_space += space;
		samples++;
	}
	/* Two blocks have the same size, thread and stack: they are one sample. */
	CHECK_INT(samples, f.snap->blocks[BLOCK_HEAP].len - 1);
	CHECK_INT(all_objects, total(heap, "blocks"));
	CHECK_INT(all_space, total(heap, "size_bytes"));
	CHECK_CONTAINS(raw, "thread:[4322]");
	CHECK_CONTAINS(raw, "bytes:[1048576 bytes]");
	CHECK_CONTAINS(raw, "/srv/app/bin/leaky "
			    "00112233445566778899aabbccddeeff00112233 [FN]");
}

int main(void)
{
	readers_need("/usr/bin/go", "golang-go");
	RUN(top_has_our_numbers);
	RUN(mappings_and_processes);
	RUN(sampled_numbers_are_scaled);
	RUN(traffic_is_ours);
	RUN(callers_of_allocators);
	RUN(brackets_that_matter);
	RUN(functions_as_in_top);
	RUN(lines_and_inlined_functions);
	RUN(a_difference_is_ours_too);
	RUN(raw_sums_up);
	return check_done();
}
