// SPDX-License-Identifier: Apache-2.0
/* What is parsed as text: events, patterns, mangled names, numbers with units. */
#include "fuzz.h"

#include <string.h>

#include "plan/event.h"
#include "frames/filter.h"
#include "symbol/demangle.h"
#include "util/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report_filter *filter = report_filter_create();
	char *text = malloc(size + 1);
	struct event_spec spec;
	struct error *err;
	uint64_t number;

	FUZZ_REQUIRE(filter && text);
	memcpy(text, data, size);
	text[size] = '\0';
	err = event_spec_parse(text, &spec);
	if (!err)
		event_spec_deinit(&spec);
	error_destroy(err);
	error_destroy(report_filter_add(filter, FILTER_KEEP, text));
	free(demangle(text));
	(void)!units_parse_size(text, &number);
	(void)!units_parse_duration(text, 1, &number);
	(void)!units_parse_count(text, &number);
	report_filter_destroy(filter);
	free(text);
	return 0;
}
