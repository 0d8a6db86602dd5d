// SPDX-License-Identifier: Apache-2.0
#include "cli/return_probes.h"

#include <inttypes.h>
#include <string.h>

#include "cli/own_heaps.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/path.h"

static const char risk_go[] =
	"Go moves stacks, and crashes when it finds the probe's address there";
static const char risk_filtered[] =
	"it has a seccomp filter or a shadow stack, "
	"which may end it at the probe's system call or return";
static const char risk_cxx[] =
	"it is a C++ program: an exception that leaves the probed function ends it";

const char *return_probes_risk(const struct proc_maps *maps, bool is_filtered)
{
	const char *heap = own_heap_of(maps);

	if (heap && strstr(heap, "Go"))
		return risk_go;
	if (is_filtered)
		return risk_filtered;
	vec_foreach (m, &maps->mappings) {
		const char *name = path_base_name(m->path);

		if (m->executable && (!strncmp(name, "libstdc++.so", 12) ||
				      !strncmp(name, "libc++.so", 9)))
			return risk_cxx;
	}
	return NULL;
}

void return_probes_warn(const struct tracee *tracee, FILE *out)
{
	const char *risk = return_probes_risk(
		&tracee->modules.maps, !tracee->proc || proc_is_filtered(tracee->proc));
	_cleanup_(freep) char *command = risk ? escape_dup(tracee->command) : NULL;

	if (risk)
		fprintf(out,
			"memtrace: warning: pid %d (%s): "
			"a return probe changes its stack: %s; "
			"use uprobe: if the entry of the function will do\n",
			tracee->pid, command ? command : "?", risk);
}

void return_probes_say(const struct plan *plan, bool bodies, FILE *out)
{
	vec_foreach (object, &plan->objects) {
		vec_foreach (site, &object->sites) {
			if (!site->wants_return || !site->no_returns || !bodies)
				continue;
			fprintf(out, "memtrace: %s has a return probe: %s\n",
				site->function->name, site->no_returns);
		}
	}
}

static const char *consequence_of(enum check_outcome outcome)
{
	switch (outcome) {
	case CHECK_REPLACED:
		return "From now on memtrace probes where it returns. Blocks that were "
		       "counted before may be wrong";
	case CHECK_LOST:
		return "Where it returns no probe is possible, so its calls are not "
		       "counted any more";
	case CHECK_KEPT:
		return "Its numbers may be wrong. Better probes need --pid, or are not "
		       "possible";
	case CHECK_RIGHT:
		break;
	}
	return NULL;
}

static void warn_of_wrong_sites(const struct check_verdict *v, const char *module,
				FILE *out)
{
	uint64_t calls = v->agreed + v->differed + v->missed;

	fprintf(out,
		"memtrace: warning: memtrace misread %s in %s, "
		"or the program has changed its code: ",
		v->function, module);
	fprintf(out,
		"%" PRIu64 " of %" PRIu64 " checked calls returned "
		"another result than expected, ",
		v->differed, calls);
	fprintf(out, "and %" PRIu64 " were not noticed before they returned. %s.\n",
		v->missed, consequence_of(v->outcome));
}

void return_probes_say_verdict(const struct check_verdict *verdict, bool verbose,
			       FILE *out)
{
	_cleanup_(freep) char *module = escape_dup(verdict->module);

	if (verdict->outcome != CHECK_RIGHT)
		warn_of_wrong_sites(verdict, module ? module : "?", out);
	else if (verbose && !verdict->agreed)
		fprintf(out,
			"memtrace: %s in %s: its probes are not checked, as none of its "
			"calls could be compared\n",
			verdict->function, module ? module : "?");
	else if (verbose)
		fprintf(out,
			"memtrace: %s in %s: the probes were right for %" PRIu64
			" calls\n",
			verdict->function, module ? module : "?", verdict->agreed);
}
