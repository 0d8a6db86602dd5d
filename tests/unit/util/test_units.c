// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "util/units.h"

/* A value that no test expects: it shows that a refusal does not change *ret. */
#define UNTOUCHED UINT64_C(0xdeadbeef)

struct parsed {
	const char *text;
	uint64_t want;
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void parses_sizes(void)
{
	static const struct parsed cases[] = {
		{"0", 0},
		{"4096", 4096},
		{"007", 7},
		{"4096B", 4096},
		{"4096b", 4096},
		{"4K", 4096},
		{"4k", 4096},
		{"4KB", 4096},
		{"4kb", 4096},
		{"1KiB", 1024},
		{"1kib", 1024},
		{"1.5M", 1572864},
		{".5K", 512},
		{"1.1K", 1126},
		{"0.001K", 1},
		{"0K", 0},
		{"2G", UINT64_C(2) << 30},
		{"2GiB", UINT64_C(2) << 30},
		{"1T", UINT64_C(1) << 40},
		{"1.000000000000000000000000000001T", UINT64_C(1) << 40},
		{"0.999999999999999999999999999999K", 1023},
		{"0.3333333333333333333333333K", 341},
		{"1."
		 "500000000000000000000000000000000000000000000000000000000000000000000K",
		 1536},
		{"18446744073709551615", UINT64_MAX},
		{"16777215T", UINT64_C(16777215) << 40},
		{"16777215.999999999999T", UINT64_MAX - 1},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t got = UNTOUCHED;

		if (!units_parse_size(cases[i].text, &got))
			CHECK_FAIL("'%s' was refused", cases[i].text);
		else if (got != cases[i].want)
			CHECK_FAIL("'%s' gave %" PRIu64, cases[i].text, got);
		CHECK(got != UNTOUCHED);
	}
}

static void refuses_sizes(void)
{
	static const char *const cases[] = {
		"",
		"-1",
		"+1",
		" 1",
		"1 ",
		"1 K",
		"K",
		"B",
		".",
		".K",
		"1.",
		"1.K",
		"1.5",
		"1.5B",
		"1..5K",
		"1.5.5K",
		"0x10",
		"1e3",
		"1,5K",
		"1KK",
		"1Ki",
		"1iB",
		"1KBB",
		"1KiBx",
		"1P",
		"1X",
		"4 096",
		"inf",
		"nan",
		"1K\n",
		"\xc2\xb2",
		"18446744073709551616",
		"99999999999999999999999",
		"16777216T",
		"18014398509481984K",
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t got = UNTOUCHED;

		if (units_parse_size(cases[i], &got))
			CHECK_FAIL("'%s' gave %" PRIu64, cases[i], got);
		CHECK(got == UNTOUCHED);
	}
}

static void parses_counts(void)
{
	static const struct parsed good[] = {
		{"0", 0},       {"65536", 65536},  {"64K", 65536},
		{"64k", 65536}, {"1.5M", 1572864}, {"1G", 1 << 30},
	};
	static const char *const bad[] = {"",   "1KB", "1KiB", "1B",  "1.5",
					  "-1", "K",   "M1",   "1 K", "99999999999T"};

	for (size_t i = 0; i < COUNT(good); i++) {
		uint64_t got = UNTOUCHED;

		CHECK(units_parse_count(good[i].text, &got));
		CHECK_INT(got, good[i].want);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		uint64_t got = UNTOUCHED;

		if (units_parse_count(bad[i], &got))
			CHECK_FAIL("'%s' gave %" PRIu64, bad[i], got);
		CHECK(got == UNTOUCHED);
	}
}

static void parses_durations(void)
{
	static const struct parsed good[] = {
		{"0", 0},
		{"5", 5 * UNITS_NS_PER_S},
		{"0.5", UNITS_NS_PER_S / 2},
		{".25", UNITS_NS_PER_S / 4},
		{"250us", 250000},
		{"0.5us", 500},
		{"0.0001us", 0},
		{"500ms", 500000000},
		{"1.5s", 1500000000},
		{"1.000000001s", 1000000001},
		{"2m", 120 * UNITS_NS_PER_S},
		{"1.5m", 90 * UNITS_NS_PER_S},
		{"1h", 3600 * UNITS_NS_PER_S},
		{"5124095h", UINT64_C(5124095) * 3600 * UNITS_NS_PER_S},
	};
	static const char *const bad[] = {
		"",   "-5",  "+5",   "5 s", "s",   "5S",  "5sec", "5min",
		"5M", "5d",  "5mss", "1.",  "1.s", ".",   "1e3",  "5124096h",
		"x5", "5ss", "1:30", "\n5", "0x5", "5\n", "nan",  "18446744074",
	};
	uint64_t got;

	for (size_t i = 0; i < COUNT(good); i++) {
		got = UNTOUCHED;
		CHECK(units_parse_duration(good[i].text, UNITS_NS_PER_S, &got));
		CHECK_INT(got, good[i].want);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		got = UNTOUCHED;
		if (units_parse_duration(bad[i], UNITS_NS_PER_S, &got))
			CHECK_FAIL("'%s' gave %" PRIu64, bad[i], got);
		CHECK(got == UNTOUCHED);
	}
	/* The default unit is only for numbers without a unit. */
	CHECK(units_parse_duration("500", UNITS_NS_PER_MS, &got));
	CHECK_INT(got, 500000000);
	CHECK(units_parse_duration("2s", UNITS_NS_PER_MS, &got));
	CHECK_INT(got, 2 * UNITS_NS_PER_S);
}

static void parses_integers(void)
{
	static const char *const bad[] = {"",
					  "0",
					  "128",
					  "-1",
					  "+1",
					  "1.0",
					  "1K",
					  "0x1",
					  " 1",
					  "1 ",
					  "18446744073709551617"};
	uint64_t got = UNTOUCHED;

	for (size_t i = 0; i < COUNT(bad); i++) {
		if (units_parse_integer(bad[i], 1, 127, &got))
			CHECK_FAIL("'%s' gave %" PRIu64, bad[i], got);
		CHECK(got == UNTOUCHED);
	}
	CHECK(units_parse_integer("1", 1, 127, &got) && got == 1);
	CHECK(units_parse_integer("127", 1, 127, &got) && got == 127);
	CHECK(units_parse_integer("0", 0, 0, &got) && got == 0);
	CHECK(units_parse_integer("18446744073709551615", 0, UINT64_MAX, &got) &&
	      got == UINT64_MAX);
}

static void formats_bytes(void)
{
	CHECK_STR(units_format_bytes(0).s, "0 B");
	CHECK_STR(units_format_bytes(960).s, "960 B");
	CHECK_STR(units_format_bytes(1023).s, "1023 B");
	CHECK_STR(units_format_bytes(1024).s, "1.0 KiB");
	CHECK_STR(units_format_bytes(1536).s, "1.5 KiB");
	CHECK_STR(units_format_bytes(12897485).s, "12.3 MiB");
	CHECK_STR(units_format_bytes(1075).s, "1.0 KiB");
	CHECK_STR(units_format_bytes(1076).s, "1.1 KiB");
	/* 1023.9 KiB, and a value that is rounded up to the next unit. */
	CHECK_STR(units_format_bytes(1048473).s, "1023.9 KiB");
	CHECK_STR(units_format_bytes(1048575).s, "1.0 MiB");
	CHECK_STR(units_format_bytes(UINT64_C(1) << 30).s, "1.0 GiB");
	CHECK_STR(units_format_bytes(UINT64_C(1) << 40).s, "1.0 TiB");
	CHECK_STR(units_format_bytes(UINT64_C(1) << 50).s, "1.0 PiB");
	CHECK_STR(units_format_bytes(UINT64_C(1) << 60).s, "1.0 EiB");
	CHECK_STR(units_format_bytes(UINT64_MAX).s, "16.0 EiB");
}

static void formats_durations(void)
{
	const uint64_t s = UNITS_NS_PER_S;

	CHECK_STR(units_format_duration(0).s, "0 ns");
	CHECK_STR(units_format_duration(999).s, "999 ns");
	CHECK_STR(units_format_duration(1000).s, "1 us");
	CHECK_STR(units_format_duration(999999).s, "999 us");
	CHECK_STR(units_format_duration(850 * UNITS_NS_PER_MS).s, "850 ms");
	CHECK_STR(units_format_duration(s - 1).s, "999 ms");
	CHECK_STR(units_format_duration(s).s, "1.0 s");
	CHECK_STR(units_format_duration(12345 * UNITS_NS_PER_MS).s, "12.3 s");
	CHECK_STR(units_format_duration(60 * s - 1).s, "59.9 s");
	CHECK_STR(units_format_duration(60 * s).s, "1 m 00 s");
	CHECK_STR(units_format_duration(125 * s).s, "2 m 05 s");
	CHECK_STR(units_format_duration(3600 * s - 1).s, "59 m 59 s");
	CHECK_STR(units_format_duration(3600 * s).s, "1 h 00 m");
	CHECK_STR(units_format_duration((3 * 3600 + 12 * 60 + 59) * s).s, "3 h 12 m");
	CHECK_STR(units_format_duration(86400 * s - 1).s, "23 h 59 m");
	CHECK_STR(units_format_duration((4 * 86400 + 3600) * s).s, "4 d 01 h");
	CHECK_STR(units_format_duration(UINT64_MAX).s, "213503 d 23 h");
}

static void formats_counts(void)
{
	CHECK_STR(units_format_count(0).s, "0");
	CHECK_STR(units_format_count(960).s, "960");
	CHECK_STR(units_format_count(999).s, "999");
	CHECK_STR(units_format_count(1000).s, "1.0 k");
	CHECK_STR(units_format_count(1234).s, "1.2 k");
	CHECK_STR(units_format_count(999949).s, "999.9 k");
	CHECK_STR(units_format_count(999950).s, "1.0 M");
	CHECK_STR(units_format_count(3400000).s, "3.4 M");
	CHECK_STR(units_format_count(UINT64_C(5600000000)).s, "5.6 G");
	CHECK_STR(units_format_count(UINT64_MAX).s, "18.4 E");
}

static void formats_rates(void)
{
	CHECK_STR(units_format_rate(0).s, "0");
	CHECK_STR(units_format_rate(0.04).s, "0");
	CHECK_STR(units_format_rate(0.05).s, "0.1");
	CHECK_STR(units_format_rate(0.3).s, "0.3");
	CHECK_STR(units_format_rate(9.94).s, "9.9");
	CHECK_STR(units_format_rate(9.96).s, "10");
	CHECK_STR(units_format_rate(12.4).s, "12");
	CHECK_STR(units_format_rate(999.7).s, "1.0 k");
	CHECK_STR(units_format_rate(1234.5).s, "1.2 k");
	CHECK_STR(units_format_rate(1e300).s, "18.4 E");
	CHECK_STR(units_format_rate(18446744073709551615.0).s, "18.4 E");
	CHECK_STR(units_format_rate((double)INFINITY).s, "18.4 E");
	CHECK_STR(units_format_rate(-5).s, "0");
	CHECK_STR(units_format_rate((double)NAN).s, "0");
}

static void formats_times(void)
{
	REQUIRE(!setenv("TZ", "UTC0", 1));
	tzset();
	CHECK_STR(units_format_time(0, UNITS_DATE).s, "1970-01-01 00:00:00 +0000");
	CHECK_STR(units_format_time(1767323045999999999, UNITS_DATE).s,
		  "2026-01-02 03:04:05 +0000");
	/* The last representable time. */
	CHECK_STR(units_format_time(UINT64_MAX, "%Y").s, "2554");
	REQUIRE(!setenv("TZ", "XXX-5:30", 1));
	tzset();
	CHECK_STR(units_format_time(1767323045000000000, UNITS_DATE).s,
		  "2026-01-02 08:34:05 +0530");
}

int main(void)
{
	RUN(parses_sizes);
	RUN(refuses_sizes);
	RUN(parses_counts);
	RUN(parses_durations);
	RUN(parses_integers);
	RUN(formats_bytes);
	RUN(formats_durations);
	RUN(formats_counts);
	RUN(formats_rates);
	RUN(formats_times);
	return check_done();
}
