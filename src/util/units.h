/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses and formats numbers with units for users, independent of the locale.
 */
#ifndef UTIL_UNITS_H
#define UTIL_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define UNITS_NS_PER_US   UINT64_C(1000)
#define UNITS_NS_PER_MS   UINT64_C(1000000)
#define UNITS_NS_PER_S    UINT64_C(1000000000)
#define UNITS_NS_PER_MIN  (60 * UNITS_NS_PER_S)
#define UNITS_NS_PER_HOUR (60 * UNITS_NS_PER_MIN)
#define UNITS_NS_PER_DAY  (24 * UNITS_NS_PER_HOUR)

/*
 * The parsers accept the whole string: digits, optionally a fraction ("1.5", ".5")
 * where allowed, and directly after it a unit. No sign, space, hexadecimal or exponent.
 * Digits below the resolution of the result are ignored. They return false, and leave
 * *ret unchanged, if `s` is anything else or the result does not fit.
 */

/* Bytes: "4096", "4096B", "4K", "1.5M", "2GB", "1KiB", "1T". Units are powers of 1024 in
 * each spelling, upper or lower case. A fraction needs a unit above B. */
bool units_parse_size(const char *s, uint64_t *ret) __attribute__((warn_unused_result));

/* A count: "65536", "64K", "1.5M", "1G". Powers of 1024, without B. */
bool units_parse_count(const char *s, uint64_t *ret) __attribute__((warn_unused_result));

/* A duration in ns: "250us", "500ms", "1.5s", "2m", "1h". A number without a unit is in
 * units of `default_ns` nanoseconds. Units are lower case. */
bool units_parse_duration(const char *s, uint64_t default_ns, uint64_t *ret)
	__attribute__((warn_unused_result));

/* An integer from `min` to `max`, both included. */
bool units_parse_integer(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
	__attribute__((warn_unused_result));

/* A formatted number, by value: printf("%s", units_format_bytes(n).s). */
struct units_text {
	char s[32];
};

/* "960 B", "1.5 KiB", "12.3 MiB", rounded to the nearest tenth. */
struct units_text units_format_bytes(uint64_t bytes);

/* "250 us", "850 ms", "12.3 s", "2 m 05 s", "3 h 12 m", "4 d 01 h"; truncated, not
 * rounded: an age is the time that has passed. */
struct units_text units_format_duration(uint64_t ns);

/* "960", "1.2 k", "3.4 M": powers of 1000, rounded to the nearest tenth. */
struct units_text units_format_count(uint64_t n);

/* Like units_format_count(), for a number per second, with one decimal below 10: "0.3",
 * "12", "1.2 k". Negative numbers and NaN give "0". */
struct units_text units_format_rate(double per_second);

/* A time of CLOCK_REALTIME in the local zone, formatted by strftime(3), in fewer than
 * 32 bytes; "unknown time" for a time without a date. */
#define UNITS_DATE "%Y-%m-%d %H:%M:%S %z"
struct units_text units_format_time(uint64_t unix_ns, const char *format)
	__attribute__((format(strftime, 2, 0)));

#endif
