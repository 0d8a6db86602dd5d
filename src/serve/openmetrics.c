// SPDX-License-Identifier: Apache-2.0
#include "serve/openmetrics.h"

#include <inttypes.h>

#include "util/cleanup.h"
#include "util/escape.h"

static const struct {
	const char *type, *suffix;
} kinds[] = {
	[METRIC_GAUGE] = {"gauge", ""},
	[METRIC_COUNTER] = {"counter", "_total"},
	[METRIC_INFO] = {"info", "_info"},
};

void openmetrics_begin(FILE *out, const struct openmetrics_family *family)
{
	fprintf(out, "# TYPE %s %s\n", family->name, kinds[family->kind].type);
	if (*family->unit)
		fprintf(out, "# UNIT %s %s\n", family->name, family->unit);
	fprintf(out, "# HELP %s %s\n", family->name, family->help);
}

/* escape_text() leaves UTF-8 without control characters. */
static void put_value(FILE *out, const char *value)
{
	_cleanup_(freep) char *escaped = escape_dup(value ? value : "");

	for (const char *at = escaped ? escaped : ""; *at; at++) {
		if (*at == '"' || *at == '\\')
			putc('\\', out);
		putc(*at, out);
	}
}

static void put_name(FILE *out, const struct openmetrics_family *family,
		     const struct openmetrics_label labels[], size_t count)
{
	fprintf(out, "%s%s", family->name, kinds[family->kind].suffix);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%s%s=\"", i ? "," : "{", labels[i].name);
		put_value(out, labels[i].value);
		putc('"', out);
	}
	fputs(count ? "} " : " ", out);
}

void openmetrics_u64(FILE *out, const struct openmetrics_family *family,
		     const struct openmetrics_label labels[], size_t count,
		     uint64_t value)
{
	put_name(out, family, labels, count);
	fprintf(out, "%" PRIu64 "\n", value);
}

void openmetrics_seconds(FILE *out, const struct openmetrics_family *family,
			 uint64_t value_ns)
{
	put_name(out, family, NULL, 0);
	fprintf(out, "%" PRIu64 ".%09" PRIu64 "\n", value_ns / 1000000000,
		value_ns % 1000000000);
}

void openmetrics_end(FILE *out)
{
	fputs("# EOF\n", out);
}
