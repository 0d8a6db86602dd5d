// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <inttypes.h>

#include "util/cleanup.h"
#include "util/escape.h"
#include "util/say_note.h"

static void print_probe(FILE *out, const struct plan_site *site, const char *kind,
			uint64_t offset, const char *reason)
{
	fprintf(out, "  %-18s 0x%-10" PRIx64 " %-7s %s", site->function->name, offset,
		kind, reason);
	if (offset != site->offset)
		fprintf(out, ", %" PRIu64 " bytes in", offset - site->offset);
	fputc('\n', out);
}

/* A USDT probe with a semaphore: its program checks whether the probe is traced. */
static void print_gated(FILE *out, const struct plan_site *site)
{
	fprintf(out, "  %-18s 0x%-10" PRIx64 " %-7s %s, semaphore at %#" PRIx64 "\n",
		site->function->name, site->entry_offset, "entry", site->reason,
		site->ref_ctr);
}

static void print_body(FILE *out, const struct plan_site *site)
{
	static const char *const kinds[] = {
		[BODY_WHOLE] = "call",    [BODY_ENTRY] = "entry",
		[BODY_RETURN] = "result", [BODY_FAILURE] = "failure",
		[BODY_STOP] = "stop",
	};

	for (size_t i = 0; i < site->body.count; i++) {
		const struct body_site *at = &site->body.sites[i];

		print_probe(out, site, kinds[at->part], site->offset + at->delta,
			    at->reason);
	}
}

/* Print the sites that see the result. Sites in other functions can be anywhere in the
 * file. */
static void print_returns(FILE *out, const struct plan_site *site)
{
	vec_foreach (at, &site->returns.entries)
		print_probe(out, site, "entry",
			    site->offset + (at->address - site->address), at->reason);
	vec_foreach (at, &site->returns.list) {
		uint64_t offset = site->offset + (at->address - site->address);

		if (at->is_shared)
			fprintf(out,
				"  %-18s 0x%-10" PRIx64 " %-7s %s, in another function\n",
				site->function->name, offset, "result", at->reason);
		else
			print_probe(out, site, at->is_whole ? "call" : "result", offset,
				    at->reason);
	}
}

/* Print a return probe and, with `bodies`, why no site can replace it. */
static void print_return(FILE *out, const struct plan_site *site, bool bodies)
{
	bool is_same = site->return_offset == site->entry_offset;

	print_probe(out, site, "return", site->return_offset,
		    is_same ? site->reason : "emulated, at the return address");
	if (bodies && site->no_returns)
		fprintf(out, "  %-18s a return probe: %s\n", "", site->no_returns);
}

/* Print the probes of a function. */
static void print_site(FILE *out, const struct plan_site *site, bool bodies)
{
	if (bodies && site->body.count) {
		print_body(out, site);
		return;
	}
	if (site->ref_ctr)
		print_gated(out, site);
	else if (!bodies || !site->returns.is_fused)
		print_probe(out, site, "entry", site->entry_offset, site->reason);
	if (bodies && site->returns.is_complete)
		print_returns(out, site);
	else if (site->wants_return)
		print_return(out, site, bodies);
}

/* Print one property of an object. `text` may come from the target. */
static void print_fact(FILE *out, const char *name, const char *text)
{
	_cleanup_(freep) char *shown = escape_dup(text);

	fprintf(out, "%-10s %s\n", name, shown ? shown : "(out of memory)");
}

static void print_skip(FILE *out, const struct plan_skip *skip)
{
	const char *name = skip->function->name;

	switch (skip->why) {
	case PLAN_SKIP_SAME:
		fprintf(out, "  %s is the same code as %s\n", name, skip->other->name);
		break;
	case PLAN_SKIP_JUMP:
		fprintf(out, "  %s only jumps to %s\n", name, skip->other->name);
		break;
	case PLAN_SKIP_INDIRECT:
		fprintf(out, "  %s is an indirect function and not probed\n", name);
		break;
	case PLAN_SKIP_REFUSED:
		fprintf(out, "  %s is not probed: %s\n", name, skip->reason);
		break;
	case PLAN_SKIP_UNWANTED:
		fprintf(out, "  %s is left out by --function\n", name);
		break;
	}
}

static void print_object(const struct plan_object *object, bool bodies, FILE *out)
{
	print_fact(out, "allocator", object->allocator.label);
	print_fact(out, "file", object->allocator.module_path);
	print_fact(out, "build-id", object->build_id ? object->build_id : "none");
	if (object->allocator.debug_path)
		print_fact(out, "names from", object->allocator.debug_path);
	fprintf(out, "\n  %-18s %-12s %-7s %s\n", "function", "file offset", "probe",
		"place");
	vec_foreach (site, &object->sites)
		print_site(out, site, bodies);
	if (object->skipped.len)
		fputc('\n', out);
	vec_foreach (skip, &object->skipped)
		print_skip(out, skip);
	if (object->missing.len)
		fputs("\nnot in this file:", out);
	vec_foreach (function, &object->missing)
		fprintf(out, " %s", (*function)->name);
	if (object->missing.len)
		fputc('\n', out);
	vec_foreach (function, &object->allocator.hidden)
		fprintf(out, "%s is not found though it must be there: not traced\n",
			(*function)->name);
}

static void print_event(const struct plan *plan, FILE *out)
{
	print_fact(out, "event", plan->event->text);
	vec_foreach (place, &plan->places.list) {
		print_fact(out, "file", target_file_name(place->file));
		fprintf(out, "file offset %#" PRIx64, place->offset);
		if (place->ref_ctr)
			fprintf(out, ", semaphore at %#" PRIx64, place->ref_ctr);
		fputc('\n', out);
	}
}

void plan_print(const struct plan *plan, bool bodies, FILE *out)
{
	if (plan->event)
		print_event(plan, out);
	vec_foreach (object, &plan->objects) {
		if (object != plan->objects.data)
			fputc('\n', out);
		print_object(object, bodies, out);
	}
	if (plan->refusal)
		fprintf(out, "\nno return probes: %s\n", plan->refusal);
}

static void warn_untraced(void *arg, const struct plan_object *object,
			  const struct alloc_function *function, const char *reason)
{
	_cleanup_(freep) char *path = escape_dup(object->allocator.module_path);

	(void)arg;
	say_note("warning: %s: %s %s%s: %s", path ? path : "?", function->name,
		 reason ? "cannot be traced: " : "is not found",
		 reason ? reason : " though it must be there",
		 alloc_function_frees(function)
			 ? "blocks that it frees stay listed"
			 : "its blocks are not counted, and their frees are reported as "
			   "frees of unknown blocks");
}

void plan_warn_untraced(const struct plan *plan)
{
	plan_untraced(plan, warn_untraced, NULL);
}

/* --- USDT probes -------------------------------------------------------------------- */

static bool is_refused_like(const struct plan_skip *a, const struct plan_skip *b)
{
	return a->why == PLAN_SKIP_REFUSED && b->why == PLAN_SKIP_REFUSED &&
	       a->function == b->function && a->reason == b->reason;
}

/* The number of places that are refused like the one at `first`; 0: an earlier one is. */
static size_t count_refused(const struct plan_object *object, size_t first)
{
	const struct plan_skip *skipped = object->skipped.data;
	size_t n = 0;

	for (size_t i = 0; i < object->skipped.len; i++) {
		if (!is_refused_like(&skipped[i], &skipped[first]))
			continue;
		if (i < first)
			return 0;
		n++;
	}
	return n;
}

static void warn_untraced_usdt(const struct plan_object *object)
{
	_cleanup_(freep) char *escaped = escape_dup(object->allocator.module_path);
	const char *path = escaped ? escaped : "?";

	for (size_t i = 0; i < object->skipped.len; i++) {
		const struct plan_skip *skip = &object->skipped.data[i];
		size_t n = count_refused(object, i);

		if (n == 1)
			say_note("a probe %s of %s is not traced: %s",
				 skip->function->name, path, skip->reason);
		else if (n)
			say_note("%zu probes %s of %s are not traced: %s", n,
				 skip->function->name, path, skip->reason);
	}
	if (object->allocator.places_left_out)
		say_note("%zu more places of USDT probes in %s are not traced: memtrace "
			 "traces %d for each probe",
			 object->allocator.places_left_out, path, USDT_PLACES_MAX);
}

void plan_warn_untraced_usdt(const struct plan *plan)
{
	vec_foreach (object, &plan->objects)
		warn_untraced_usdt(object);
}
