/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers with units, read from people and written for people. Neither direction
 * depends on the locale.
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
 * The parsers take the whole string: digits, where allowed a fraction ("1.5", ".5") and
 * directly behind it a unit. No sign, no space, no hexadecimal, no exponent. What lies
 * below the resolution of the result is cut off. They return false, and leave *ret
 * alone, when `s` is anything else or the result does not fit.
 */

/* Bytes: "4096", "4096B", "4K", "1.5M", "2GB", "1KiB", "1T". Units are powers of 1024 in
 * each spelling, upper or lower case. A fraction needs a unit above B. */
bool units_parse_size(const char *s, uint64_t *ret) __attribute__((warn_unused_result));

/* How many: "65536", "64K", "1.5M", "1G". Powers of 1024, no B. */
bool units_parse_count(const char *s, uint64_t *ret) __attribute__((warn_unused_result));

/* Nanoseconds from "250us", "500ms", "1.5s", "2m", "1h"; a number without a unit is in
 * units of `default_ns` nanoseconds. Units are lower case. */
bool units_parse_duration(const char *s, uint64_t default_ns, uint64_t *ret)
	__attribute__((warn_unused_result));

/* A whole number from `min` to `max`, both included. */
bool units_parse_integer(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
	__attribute__((warn_unused_result));

/* A formatted number, by value: printf("%s", units_format_bytes(n).s). */
struct units_text {
	char s[32];
};

/* "960 B", "1.5 KiB", "12.3 MiB", rounded to the nearest tenth. */
struct units_text units_format_bytes(uint64_t bytes);

/* "250 us", "850 ms", "12.3 s", "2 m 05 s", "3 h 12 m", "4 d 01 h"; cut off, not
 * rounded: an age says what has passed. */
struct units_text units_format_duration(uint64_t ns);

/* "960", "1.2 k", "3.4 M": powers of 1000, rounded to the nearest tenth. */
struct units_text units_format_count(uint64_t n);

/* The same for a number per second, with a tenth below 10: "0.3", "12", "1.2 k".
 * Negative and not-a-number give "0". */
struct units_text units_format_rate(double per_second);

/* A time of CLOCK_REALTIME in the local zone by strftime(3), in fewer than 32 bytes;
 * "unknown time" for what there is no date of. */
#define UNITS_DATE "%Y-%m-%d %H:%M:%S %z"
struct units_text units_format_time(uint64_t unix_ns, const char *format)
	__attribute__((format(strftime, 2, 0)));

#endif
