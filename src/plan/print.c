// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <inttypes.h>

#include "util/cleanup.h"
#include "util/escape.h"

static void print_probe(FILE *out, const struct plan_site *site, const char *kind,
			uint64_t offset)
{
	fprintf(out, "  %-18s 0x%-10" PRIx64 " %-7s %s\n", site->function->name, offset,
		kind, site->reason);
}

void plan_print(const struct plan *plan, FILE *out)
{
	_cleanup_(freep) char *path = escape_dup(plan->allocator.module_path);

	fprintf(out, "allocator  %s\n", path ? path : "(out of memory)");
	fprintf(out, "build-id   %s\n", plan->build_id ? plan->build_id : "none");
	fprintf(out, "\n  %-18s %-12s %-7s %s\n", "function", "file offset", "probe",
		"place");
	for (size_t i = 0; i < plan->sites.len; i++) {
		const struct plan_site *site = &plan->sites.data[i];

		print_probe(out, site, "entry", site->entry_offset);
		if (site->wants_return)
			print_probe(out, site, "return", site->return_offset);
	}

	if (plan->skipped.len)
		fputc('\n', out);
	for (size_t i = 0; i < plan->skipped.len; i++) {
		const struct plan_skip *skip = &plan->skipped.data[i];

		if (skip->same_as)
			fprintf(out, "  %s is the same code as %s\n",
				skip->function->name, skip->same_as->name);
		else
			fprintf(out, "  %s is an indirect function and not probed\n",
				skip->function->name);
	}
	if (plan->missing.len)
		fputs("\nnot in this file:", out);
	for (size_t i = 0; i < plan->missing.len; i++)
		fprintf(out, " %s", plan->missing.data[i]->name);
	if (plan->missing.len)
		fputc('\n', out);
}
