// SPDX-License-Identifier: Apache-2.0
#include "report/view.h"

struct report report_view(const struct report *report,
			  const struct report_options *options)
{
	struct report view = *report;

	view.options = *options;
	for (size_t i = 0; i < view.section_count; i++) {
		struct report_section *section = &view.sections[i];

		/* Rows are in their order before the cut to the top. */
		if (options->top && options->top < section->row_count)
			section->row_count = options->top;
	}
	return view;
}
