// SPDX-License-Identifier: Apache-2.0
#include "report/build.h"

struct error *report_judge(struct builder *b, uint32_t stack, enum filter_verdict *ret)
{
	const struct report_filter *filter = b->options->filter;
	unsigned matches;
	struct error *err;

	*ret = FILTER_SHOWN;
	if (!filter || report_filter_keeps_all(filter))
		return NULL;
	err = frame_namer_match(&b->namer, stack, &matches);
	if (!err)
		*ret = report_filter_judge(filter, matches);
	return err;
}
