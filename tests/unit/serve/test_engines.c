// SPDX-License-Identifier: Apache-2.0
/*
 * The rules of the engines that scrape profiles, each with the file of its source that
 * has the rule: Grafana Alloy, Pyroscope and Parca. docs/fleet.md lists them.
 */
#include "served.h"

#include "profile.h"

#define MANY_STACKS 17000

/* Two processes of different names with the same call paths, traffic, mappings, and a
 * block without a stack: all that makes samples alike. */
static void begin(struct served *s)
{
	struct fixture *f = &s->fixture;
	uint64_t first = FIXTURE_BASE + 0x11, second = FIXTURE_BASE + 0x111;

	*s = (struct served){.port = 0};
	fixture_init(f);
	fixture_fill(f);
	fixture_fill_mappings(f);
	fixture_process(f, 99, "second");
	fixture_module(f, FIXTURE_BASE, FIXTURE_BASE + 0x100, "/usr/lib/libc.so.6", NULL);
	fixture_block(f, BLOCK_HEAP, 5000, 99,
		      FIXTURE_STACK(f, STACK_END_COMPLETE, first, second));
	fixture_fill_traffic(f);
	served_start(s, "0");
}

static Pprof__Profile *scrape(const struct served *s, size_t *ret_bytes)
{
	/* The default path for memory: grafana/alloy,
	 * internal/component/pyroscope/scrape/ scrape.go, DefaultProfilingConfig;
	 * parca-dev/parca, pkg/config/config.go, DefaultScrapeConfig(). */
	struct http_answer a = http_get(s->port, "/debug/pprof/allocs");
	Pprof__Profile *p;

	/* grafana/alloy, .../scrape/scrape_loop.go, fetchProfile(): the status is 2xx and
	 * the body is not empty; parca-dev/parca, pkg/scrape/scrape.go, scrape(): 200. */
	REQUIRE(a.status == 200 && a.body_len > 0);
	/* grafana/alloy, .../scrape/validate.go, validateContentType(). */
	CHECK(http_header_is(&a, "Content-Type", "application/octet-stream"));
	/* The same, isTextContent() and validateBinaryContent(): gzip is not looked at
	 * further. */
	CHECK(a.body_len > 2 && !memcmp(a.body, "\x1f\x8b", 2));
	p = profile_of(&a, ret_bytes);
	http_free(&a);
	return p;
}

static bool has_type(const Pprof__Profile *p, const char *type, const char *unit)
{
	for (size_t i = 0; i < p->n_sample_type; i++)
		if (!strcmp(p->string_table[p->sample_type[i]->type], type) &&
		    !strcmp(p->string_table[p->sample_type[i]->unit], unit))
			return true;
	return false;
}

/* The addresses of a sample, which are its identity for Alloy. */
static size_t addresses_of(const Pprof__Profile *p, const Pprof__Sample *sample,
			   uint64_t ret[64])
{
	REQUIRE(sample->n_location_id <= 64);
	for (size_t i = 0; i < sample->n_location_id; i++)
		ret[i] = p->location[sample->location_id[i] - 1]->address;
	return sample->n_location_id;
}

static void check_samples_differ(const Pprof__Profile *p)
{
	unsigned alike = 0;

	for (size_t i = 0; i < p->n_sample; i++) {
		uint64_t a[64], b[64];
		size_t count = addresses_of(p, p->sample[i], a);

		for (size_t k = 0; k < i; k++)
			alike += addresses_of(p, p->sample[k], b) == count &&
				 !memcmp(a, b, count * sizeof(*a));
	}
	CHECK_INT(alike, 0);
}

/*
 * grafana/alloy, internal/component/pyroscope/scrape/delta_profiles.go: of alloc_objects
 * and alloc_space Alloy passes the difference to the scrape before on. In
 * .../internal/fastdelta:
 */
static void alloy_can_take_differences(void)
{
	struct served s;
	Pprof__Profile *before, *after;

	begin(&s);
	s.grows = true;
	before = scrape(&s, NULL);
	/* delta_map.go, prepare(): types are found by name and unit. */
	CHECK(has_type(before, "alloc_objects", "count"));
	CHECK(has_type(before, "alloc_space", "bytes"));
	CHECK(has_type(before, "inuse_objects", "count"));
	CHECK(has_type(before, "inuse_space", "bytes"));
	/* delta_map.go, fullSampleValue: a fifth value makes it panic. */
	CHECK_INT(before->n_sample_type, 4);
	/* delta_map.go, UpdateSample() and Delta(): samples with the same addresses and
	 * labels are added up as one. */
	check_samples_differ(before);
	usleep(1100 * 1000);
	after = scrape(&s, NULL);
	/* fd.go, pass4WriteAndPruneRecords(): the duration is the difference of times. */
	CHECK(before->time_nanos > 0);
	CHECK(before->duration_nanos > 0);
	CHECK(after->duration_nanos > before->duration_nanos);
	/* Counted from the start, and not anew. */
	CHECK(profile_sum(after, "alloc_space") >= profile_sum(before, "alloc_space"));
	CHECK(profile_sum(before, "alloc_space") > 0);
	pprof__profile__free_unpacked(before, NULL);
	pprof__profile__free_unpacked(after, NULL);
	served_end(&s);
}

/* parca-dev/parca, pkg/normalizer/validate.go, ValidatePprofProfile(). */
static void parca_finds_a_valid_profile(void)
{
	struct served s;
	Pprof__Profile *p;
	int64_t strings;

	begin(&s);
	p = scrape(&s, NULL);
	strings = (int64_t)p->n_string_table;
	CHECK_STR(p->string_table[0], "");
	for (size_t i = 0; i < p->n_mapping; i++) {
		CHECK_INT(p->mapping[i]->id, i + 1);
		CHECK(p->mapping[i]->filename < strings);
		CHECK(p->mapping[i]->build_id < strings);
	}
	for (size_t i = 0; i < p->n_function; i++) {
		CHECK_INT(p->function[i]->id, i + 1);
		CHECK(p->function[i]->name < strings);
		CHECK(p->function[i]->system_name < strings);
		CHECK(p->function[i]->filename < strings);
	}
	for (size_t i = 0; i < p->n_location; i++) {
		CHECK_INT(p->location[i]->id, i + 1);
		CHECK(p->location[i]->mapping_id <= p->n_mapping);
		for (size_t k = 0; k < p->location[i]->n_line; k++)
			CHECK(p->location[i]->line[k]->function_id <= p->n_function);
	}
	CHECK(p->n_sample > 0 && p->n_location > 0 && p->n_mapping > 0);
	for (size_t i = 0; i < p->n_sample; i++) {
		CHECK_INT(p->sample[i]->n_value, p->n_sample_type);
		for (size_t k = 0; k < p->sample[i]->n_location_id; k++)
			CHECK(p->sample[i]->location_id[k] > 0 &&
			      p->sample[i]->location_id[k] <= p->n_location);
	}
	/* pkg/scrape/scrape.go, processScrapeResp(): a comment of this form would be
	 * taken for facts about the mappings. */
	for (size_t i = 0; i < p->n_comment; i++)
		CHECK(strncmp(p->string_table[p->comment[i]], "executableInfo=", 15) !=
		      0);
	pprof__profile__free_unpacked(p, NULL);
	served_end(&s);
}

/* grafana/pyroscope, pkg/validation/validate.go, ValidateProfile(), with the default
 * limits of pkg/validation/limits.go. */
static void pyroscope_finds_a_valid_profile(void)
{
	struct served s = {.port = 0};
	Pprof__Profile *p;
	size_t bytes;
	int64_t held;

	fixture_init(&s.fixture);
	fixture_fill(&s.fixture);
	for (uint64_t i = 0; i < MANY_STACKS; i++)
		fixture_block(&s.fixture, BLOCK_HEAP, 16 + i, 4321,
			      FIXTURE_STACK(&s.fixture, STACK_END_COMPLETE,
					    FIXTURE_BASE + 0x11,
					    FIXTURE_BASE + 0x1000000 + 16 * i));
	fixture_fill_traffic(&s.fixture);
	served_start(&s, "0");
	p = scrape(&s, &bytes);
	/* max_profile_size_bytes */
	CHECK(bytes <= (size_t)4 * 1024 * 1024);
	/* max_profile_stacktrace_samples */
	CHECK(p->n_sample > 1000 && p->n_sample <= 16000);
	for (size_t i = 0; i < p->n_sample; i++) {
		/* max_profile_stacktrace_sample_labels is 100. Labels become series. */
		CHECK_INT(p->sample[i]->n_label, 0);
		/* max_profile_stacktrace_depth: deeper ones lose their leaves. */
		CHECK(p->sample[i]->n_location_id <= 1000);
	}
	/* max_profile_symbol_value_length: longer ones lose their beginning. */
	for (size_t i = 0; i < p->n_string_table; i++)
		CHECK(strlen(p->string_table[i]) <= 65535);
	for (size_t i = 0; i < p->n_location; i++)
		CHECK(p->location[i]->id != 0);
	for (size_t i = 0; i < p->n_function; i++)
		CHECK(p->function[i]->id != 0);
	for (size_t i = 0; i < p->n_sample_type; i++)
		CHECK(!strchr(p->string_table[p->sample_type[i]->type], '-'));
	/* What was folded is not lost. */
	held = 2 * 1024 * 1024 + 3100 + 64 + 7;
	held += (int64_t)MANY_STACKS * 16 + (int64_t)MANY_STACKS * (MANY_STACKS - 1) / 2;
	CHECK_INT(profile_sum(p, "inuse_space"), held);
	CHECK_INT(profile_sum(p, "inuse_objects"), MANY_STACKS + 7);
	pprof__profile__free_unpacked(p, NULL);
	served_end(&s);
}

/* --- the examples ------------------------------------------------------------------- */

static char *example(const char *name)
{
	char path[256];
	char *text = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), SOURCE_DIR "/examples/fleet/%s", name);
	f = fopen(path, "re");
	REQUIRE(f && getdelim(&text, &size, '\0', f) > 0);
	fclose(f);
	return text;
}

/* The number after a key. */
static long seconds(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	REQUIRE(at);
	return strtol(at + strlen(key) + strspn(at + strlen(key), " =:\""), NULL, 10);
}

static void examples_keep_the_rules(void)
{
	_cleanup_(freep) char *parca = example("parca.yaml");
	_cleanup_(freep) char *alloy = example("alloy.alloy");
	_cleanup_(freep) char *collector = example("otel-collector.yaml");
	struct served s;
	Pprof__Profile *p;

	/* parca-dev/parca, pkg/config/config.go, UnmarshalYAML(): the timeout is longer
	 * than the interval; CheckTargetAddress(): no "/" in a target; Validate(): a
	 * store. */
	CHECK(seconds(parca, "scrape_timeout") > seconds(parca, "scrape_interval"));
	CHECK_CONTAINS(parca, "object_storage:");
	CHECK_CONTAINS(parca, "targets: ['127.0.0.1:9911']");
	CHECK_CONTAINS(parca, "path: /debug/pprof/allocs\n");
	/* The same, SampleType, and pkg/scrape/scrape.go, KeepSet(): types are compared
	 * with their units. */
	CHECK_CONTAINS(parca, "{type: inuse_space, unit: bytes}");
	CHECK_CONTAINS(parca, "{type: alloc_space, unit: bytes}");
	begin(&s);
	p = scrape(&s, NULL);
	CHECK(has_type(p, "inuse_space", "bytes") && has_type(p, "alloc_space", "bytes"));
	pprof__profile__free_unpacked(p, NULL);
	served_end(&s);
	/* grafana/alloy, .../scrape/scrape.go: names of blocks and attributes in
	 * Arguments and ProfilingConfig, and which are on unless they are turned off in
	 * DefaultProfilingConfig. */
	CHECK_CONTAINS(alloy, "pyroscope.scrape \"");
	CHECK(seconds(alloy, "scrape_interval") >= 2);
	CHECK_CONTAINS(alloy, "profiling_config {");
	CHECK_CONTAINS(alloy, "profile.memory {");
	CHECK_CONTAINS(alloy, "path    = \"/debug/pprof/allocs\"");
	CHECK_CONTAINS(alloy, "profile.block { enabled = false }");
	CHECK_CONTAINS(alloy, "profile.goroutine { enabled = false }");
	CHECK_CONTAINS(alloy, "profile.mutex { enabled = false }");
	CHECK_CONTAINS(alloy, "profile.process_cpu { enabled = false }");
	/* grafana/pyroscope, pkg/validation/validate.go, ValidateLabels(): a profile
	 * without the label service_name is refused. */
	CHECK_CONTAINS(alloy, "\"service_name\" = ");
	/* open-telemetry/opentelemetry-collector-contrib, receiver/prometheusreceiver/
	 * config.go: scrape_configs are below `config`, and are not empty; what it does
	 * not support is an error. */
	CHECK_CONTAINS(collector, "  prometheus:\n    config:\n      scrape_configs:\n");
	CHECK(!strstr(collector, "remote_write") && !strstr(collector, "rule_files"));
	/* open-telemetry/opentelemetry-collector, exporter/otlphttpexporter/README.md:
	 * the endpoint is required, without the path of a signal. */
	CHECK_CONTAINS(collector, "    endpoint: http://127.0.0.1:4318\n");
}

int main(void)
{
	RUN(alloy_can_take_differences);
	RUN(parca_finds_a_valid_profile);
	RUN(pyroscope_finds_a_valid_profile);
	RUN(examples_keep_the_rules);
	return check_done();
}
