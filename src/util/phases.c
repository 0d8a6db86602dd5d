// SPDX-License-Identifier: Apache-2.0
#include "util/phases.h"

#include <inttypes.h>

void phases_end(struct phases *phases, uint64_t now_ns)
{
	if (phases->count)
		phases->list[phases->count - 1].time_ns += now_ns - phases->last_ns;
	phases->last_ns = now_ns;
}

void phases_begin(struct phases *phases, const char *name, uint64_t now_ns)
{
	if (!phases)
		return;
	phases_end(phases, now_ns);
	if (phases->count < PHASES_MAX)
		phases->list[phases->count++] = (struct phase){.name = name};
}

/* Rounded to milliseconds. */
static uint64_t to_ms(uint64_t time_ns)
{
	return (time_ns + 500000) / 1000000;
}

void phases_append(const struct phases *phases, struct strbuf *ret)
{
	uint64_t sum_ns = 0, sum_ms;

	for (size_t i = 0; i < phases->count; i++)
		sum_ns += phases->list[i].time_ns;
	sum_ms = to_ms(sum_ns);
	strbuf_appendf(ret, "%" PRIu64 ".%03" PRIu64 " s", sum_ms / 1000, sum_ms % 1000);
	for (size_t i = 0; i < phases->count; i++)
		strbuf_appendf(ret, "%s%s %" PRIu64 " ms", i ? ", " : ": ",
			       phases->list[i].name, to_ms(phases->list[i].time_ns));
}
