/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of profiles: unpacks them, and checks what pprof requires (CheckValid in
 * profile/profile.go of github.com/google/pprof). */
#ifndef TESTS_UNIT_RENDER_UNPACKED_PROFILE_H
#define TESTS_UNIT_RENDER_UNPACKED_PROFILE_H

#include <zlib.h>

#include "fixture.h"
#include "profile.pb-c.h"

#define PROFILE_CAP ((size_t)1 << 20)

struct unpacked {
	uint8_t *bytes;
	size_t len;
	Pprof__Profile *profile;
};

static inline void unpacked_deinit(struct unpacked *u)
{
	free(u->bytes);
	pprof__profile__free_unpacked(u->profile, NULL);
}

/* Frees `gz`. */
static inline struct unpacked unpack(char *gz, size_t len)
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

static inline struct unpacked render(struct fixture *f)
{
	size_t len;
	char *gz;

	fixture_report(f);
	gz = fixture_render(f, "pprof", &len);
	return unpack(gz, len);
}

static inline const char *text(const Pprof__Profile *p, int64_t index)
{
	REQUIRE(index >= 0 && (size_t)index < p->n_string_table);
	return p->string_table[index];
}

static inline const Pprof__Mapping *find_mapping(const Pprof__Profile *p, uint64_t id)
{
	for (size_t i = 0; i < p->n_mapping; i++) {
		if (p->mapping[i]->id == id)
			return p->mapping[i];
	}
	return NULL;
}

static inline const Pprof__Location *find_location(const Pprof__Profile *p, uint64_t id)
{
	for (size_t i = 0; i < p->n_location; i++) {
		if (p->location[i]->id == id)
			return p->location[i];
	}
	return NULL;
}

static inline const Pprof__Function *find_function(const Pprof__Profile *p, uint64_t id)
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
static inline void check_valid(const Pprof__Profile *p)
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

static inline int64_t sum(const Pprof__Profile *p, size_t value)
{
	int64_t total = 0;

	for (size_t i = 0; i < p->n_sample; i++)
		total += p->sample[i]->value[value];
	return total;
}

/* The function that a sample's frame shows; "" if none. */
static inline const char *frame_name(const Pprof__Profile *p, const Pprof__Sample *sample,
				     size_t frame)
{
	const Pprof__Location *l = find_location(p, sample->location_id[frame]);

	return l->n_line ? text(p, find_function(p, l->line[0]->function_id)->name) : "";
}

#endif
