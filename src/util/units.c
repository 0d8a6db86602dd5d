// SPDX-License-Identifier: Apache-2.0
#include "util/units.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Room for an exact product of a 64-bit number and a unit or a power of ten. */
__extension__ typedef unsigned __int128 wide;

#define FRACTION_DIGITS 18

struct number {
	uint64_t whole;
	uint64_t fraction; /* in units of 1 / scale */
	uint64_t scale;    /* a power of ten; 1: no fraction */
	const char *unit;  /* the text after the digits */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool parse_number(const char *s, struct number *ret)
{
	struct number n = {.scale = 1};
	const char *start = s;

	for (; is_digit(*s); s++) {
		if (__builtin_mul_overflow(n.whole, 10, &n.whole) ||
		    __builtin_add_overflow(n.whole, (uint64_t)(*s - '0'), &n.whole))
			return false;
	}
	if (*s == '.') {
		if (!is_digit(*++s))
			return false;
		/* Later digits are less than a nanosecond or byte in every unit. */
		for (int i = 0; is_digit(*s); s++, i++) {
			if (i >= FRACTION_DIGITS)
				continue;
			n.fraction = n.fraction * 10 + (uint64_t)(*s - '0');
			n.scale *= 10;
		}
	}
	if (s == start)
		return false;
	n.unit = s;
	*ret = n;
	return true;
}

static bool multiply(const struct number *n, uint64_t unit, uint64_t *ret)
{
	wide product = (wide)n->whole * unit + (wide)n->fraction * unit / n->scale;

	if (product > UINT64_MAX)
		return false;
	*ret = (uint64_t)product;
	return true;
}

/* Is `s` the lower-case word `lower`, in any case? */
static bool is_word(const char *s, const char *lower)
{
	for (; *lower; s++, lower++) {
		if ((*s | 0x20) != *lower)
			return false;
	}
	return !*s;
}

/* The factor of a binary unit letter in any case, or 0. */
static uint64_t binary_factor(char letter)
{
	static const char letters[] = "kmgt";
	const char *found = letter ? strchr(letters, letter | 0x20) : NULL;

	return found ? UINT64_C(1) << (10 * (found - letters + 1)) : 0;
}

bool units_parse_size(const char *s, uint64_t *ret)
{
	struct number n;

	if (!parse_number(s, &n))
		return false;

	uint64_t factor = binary_factor(*n.unit);

	if (factor) {
		const char *rest = n.unit + 1;

		if (*rest && !is_word(rest, "b") && !is_word(rest, "ib"))
			return false;
		return multiply(&n, factor, ret);
	}
	if (n.scale > 1 || (*n.unit && !is_word(n.unit, "b")))
		return false;
	*ret = n.whole;
	return true;
}

bool units_parse_count(const char *s, uint64_t *ret)
{
	struct number n;

	if (!parse_number(s, &n))
		return false;

	uint64_t factor = binary_factor(*n.unit);

	if (factor)
		return !n.unit[1] && multiply(&n, factor, ret);
	if (n.scale > 1 || *n.unit)
		return false;
	*ret = n.whole;
	return true;
}

bool units_parse_duration(const char *s, uint64_t default_ns, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"us", UNITS_NS_PER_US}, {"ms", UNITS_NS_PER_MS},  {"s", UNITS_NS_PER_S},
		{"m", UNITS_NS_PER_MIN}, {"h", UNITS_NS_PER_HOUR},
	};
	struct number n;

	if (!parse_number(s, &n))
		return false;
	if (!*n.unit)
		return multiply(&n, default_ns, ret);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (!strcmp(n.unit, units[i].name))
			return multiply(&n, units[i].ns, ret);
	}
	return false;
}

bool units_parse_integer(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	struct number n;

	if (!parse_number(s, &n) || n.scale > 1 || *n.unit)
		return false;
	if (n.whole < min || n.whole > max)
		return false;
	*ret = n.whole;
	return true;
}

/* Format `n` with one decimal in the largest unit that gives at least 1.0. Each of
 * `units` is `base` times the previous one. Rounds half up, into the next unit if
 * necessary. */
static struct units_text format_scaled(uint64_t n, uint64_t base,
				       const char *const *units)
{
	struct units_text text;
	uint64_t unit = 1;
	uint64_t whole = n, tenths = 0;
	size_t i = 0;

	while (whole >= base && units[i + 1]) {
		unit *= base;
		i++;
		whole = n / unit;
		tenths = (n % unit * 10 + unit / 2) / unit;
		whole += tenths / 10;
		tenths %= 10;
	}
	if (i)
		snprintf(text.s, sizeof(text.s), "%llu.%llu %s",
			 (unsigned long long)whole, (unsigned long long)tenths, units[i]);
	else
		snprintf(text.s, sizeof(text.s), "%llu%s%s", (unsigned long long)n,
			 *units[0] ? " " : "", units[0]);
	return text;
}

struct units_text units_format_bytes(uint64_t bytes)
{
	static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
					    "TiB", "PiB", "EiB", NULL};

	return format_scaled(bytes, 1024, units);
}

struct units_text units_format_count(uint64_t n)
{
	static const char *const units[] = {"", "k", "M", "G", "T", "P", "E", NULL};

	return format_scaled(n, 1000, units);
}

struct units_text units_format_rate(double per_second)
{
	struct units_text text;

	/* Also true for NaN. */
	if (!(per_second >= 0.05))
		return units_format_count(0);
	if (per_second < 9.95) {
		/* printf would take the decimal point from the locale. */
		unsigned tenths = (unsigned)(per_second * 10 + 0.5);

		snprintf(text.s, sizeof(text.s), "%u.%u", tenths / 10, tenths % 10);
		return text;
	}
	/* 2^64: the smallest double that does not fit. */
	if (per_second >= 18446744073709551616.0)
		return units_format_count(UINT64_MAX);
	return units_format_count((uint64_t)(per_second + 0.5));
}

struct units_text units_format_duration(uint64_t ns)
{
	struct units_text text;
	unsigned long long n = ns;

	if (ns < UNITS_NS_PER_US)
		snprintf(text.s, sizeof(text.s), "%llu ns", n);
	else if (ns < UNITS_NS_PER_MS)
		snprintf(text.s, sizeof(text.s), "%llu us", n / UNITS_NS_PER_US);
	else if (ns < UNITS_NS_PER_S)
		snprintf(text.s, sizeof(text.s), "%llu ms", n / UNITS_NS_PER_MS);
	else if (ns < UNITS_NS_PER_MIN)
		snprintf(text.s, sizeof(text.s), "%llu.%llu s", n / UNITS_NS_PER_S,
			 n % UNITS_NS_PER_S / (UNITS_NS_PER_S / 10));
	else if (ns < UNITS_NS_PER_HOUR)
		snprintf(text.s, sizeof(text.s), "%llu m %02llu s", n / UNITS_NS_PER_MIN,
			 n % UNITS_NS_PER_MIN / UNITS_NS_PER_S);
	else if (ns < UNITS_NS_PER_DAY)
		snprintf(text.s, sizeof(text.s), "%llu h %02llu m", n / UNITS_NS_PER_HOUR,
			 n % UNITS_NS_PER_HOUR / UNITS_NS_PER_MIN);
	else
		snprintf(text.s, sizeof(text.s), "%llu d %02llu h", n / UNITS_NS_PER_DAY,
			 n % UNITS_NS_PER_DAY / UNITS_NS_PER_HOUR);
	return text;
}

struct units_text units_format_time(uint64_t unix_ns, const char *format)
{
	time_t seconds = (time_t)(unix_ns / UNITS_NS_PER_S);
	struct units_text text;
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(text.s, sizeof(text.s), format, &tm))
		return (struct units_text){"unknown time"};
	return text;
}
