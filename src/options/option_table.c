// SPDX-License-Identifier: Apache-2.0
#include "options/option_table.h"

#include <string.h>

#include "bpf/cache.h"
#include "options/option_choices.h"
#include "util/units.h"

#define FIELD(member)                                                                    \
	.offset = offsetof(struct options, member),                                      \
	.size = sizeof(((struct options *)NULL)->member)

/* One year: far from the range where sums of nanoseconds overflow. */
#define TIME_MIN_NS (10 * UNITS_NS_PER_MS)
#define TIME_MAX_NS (8760 * UNITS_NS_PER_HOUR)

#define PATTERN                                                                          \
	"a file name, which may contain %p (process), %t (time), %n (number) and %%, "   \
	"or '-'"

#define OPTION(id, ...) [OPTION_##id] = {__VA_ARGS__, .group = GROUP},

const struct option_row option_rows[OPTION_ID_COUNT] = {
#include "options/option_rows.h"
};
