/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the text format of OpenMetrics 1.0 (https://openmetrics.io, "Text format"; also
 * prometheus/OpenMetrics, specification/OpenMetrics.md): families of samples with TYPE,
 * UNIT and HELP, and "# EOF" at the end. The caller checks `out` for failed writes.
 */
#ifndef SERVE_OPENMETRICS_H
#define SERVE_OPENMETRICS_H

#include <stdint.h>
#include <stdio.h>

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

enum openmetrics_kind {
	METRIC_GAUGE,
	METRIC_COUNTER, /* its samples end in "_total" */
	METRIC_INFO,    /* its samples end in "_info" */
};

struct openmetrics_family {
	const char
		*name; /* without the suffix of its samples; ends in "_" and the unit */
	const char *unit; /* "bytes", "seconds"; "": none */
	const char *help; /* one sentence */
	enum openmetrics_kind kind;
};

/* A label. The value may be anything that a target chooses: it is made valid UTF-8, and
 * escaped. NULL is "". */
struct openmetrics_label {
	const char *name, *value;
};

void openmetrics_begin(FILE *out, const struct openmetrics_family *family);

/* Write a sample of the family, with `count` labels. */
void openmetrics_u64(FILE *out, const struct openmetrics_family *family,
		     const struct openmetrics_label labels[], size_t count,
		     uint64_t value);
/* A time in ns, written in seconds. */
void openmetrics_seconds(FILE *out, const struct openmetrics_family *family,
			 uint64_t value_ns);

void openmetrics_end(FILE *out);

#endif
