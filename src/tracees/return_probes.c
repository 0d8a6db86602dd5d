// SPDX-License-Identifier: Apache-2.0
#include "tracees/return_probes.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "compile/dispatch.h"
#include "tracees/runtimes.h"
#include "tracees/confinement.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/escape.h"
#include "util/path.h"
#include "util/say_note.h"

static const char risk_go[] =
	"Go moves stacks, and crashes when it finds the probe's address there";
static const char risk_cxx[] =
	"it is a C++ program: an exception that leaves the probed function ends it";

/* Texts of refusals by verdict: [0] for one process, [1] for all that map a file. */
#define OF_ALL "it would be in all processes that map the file, and "

static const char *const seccomp_refusals[][2] = {
	[TRAMPOLINE_KILLS] = {"a thread has a seccomp filter, which may kill the process "
			      "for the system call of this kernel's return probes",
			      OF_ALL "a seccomp filter may kill one of them for the "
				     "system call of this kernel's return probes"},
	[TRAMPOLINE_UNTESTED] = {"a thread has a seccomp filter, and memtrace could not "
				 "test whether this kernel's return probes pass one",
				 OF_ALL "memtrace could not test whether this kernel's "
					"return probes pass a seccomp filter"},
};
static const char *const shadow_refusals[][2] = {
	[TRAMPOLINE_KILLS] = {"a thread has a shadow stack, and this kernel kills the "
			      "process at a return probe",
			      OF_ALL "this kernel kills those that have a shadow stack"},
	[TRAMPOLINE_UNTESTED] = {"a thread has a shadow stack, and memtrace could not "
				 "test whether this kernel's return probes respect it",
				 OF_ALL "memtrace could not test whether this kernel's "
					"return probes respect a shadow stack"},
};

#define DISPATCH "a thread uses syscall user dispatch (prctl(2)), "
#define DISPATCH_STOPS                                                                   \
	DISPATCH "which stops the system call of this kernel's return probes"
#define DISPATCH_UNTESTED                                                                \
	DISPATCH "and memtrace could not test whether this kernel's return probes pass " \
		 "it"

static const char *const dispatch_refusals[][2] = {
	[TRAMPOLINE_KILLS] = {DISPATCH_STOPS, OF_ALL DISPATCH_STOPS},
	[TRAMPOLINE_UNTESTED] = {DISPATCH_UNTESTED, OF_ALL DISPATCH_UNTESTED},
};

static const char others_refusal[] =
	"they are not safe in another process of this run, and would come to it, too";

/* The result for other processes is reused for this long, ns. */
#define OTHERS_NS UINT64_C(500000000)

static enum trampoline_verdict test_seccomp(struct return_probes *r)
{
	if (!r->has_tested_seccomp)
		r->seccomp = trampoline_test_seccomp();
	r->has_tested_seccomp = true;
	return r->seccomp;
}

static enum trampoline_verdict test_shadow_stack(struct return_probes *r)
{
	if (!r->has_tested_shadow_stack)
		r->shadow_stack = trampoline_test_shadow_stack();
	r->has_tested_shadow_stack = true;
	return r->shadow_stack;
}

static enum trampoline_verdict test_dispatch(struct return_probes *r)
{
	if (!r->has_tested_dispatch)
		r->dispatch = trampoline_test_dispatch();
	r->has_tested_dispatch = true;
	return r->dispatch;
}

/* Returns false if the kernel cannot answer: hardly any process uses it. */
static bool uses_dispatch(struct return_probes *r, int pid)
{
	if (!r->dispatch_program)
		r->dispatch_program = dispatch_open();
	return dispatch_ask(r->dispatch_program, pid) == DISPATCH_USED;
}

/* Any process of the machine may map the file, now or later, so check them all. */
static bool any_uses_dispatch(struct return_probes *r)
{
	uint64_t now_ns = clock_now_ns();

	if (!r->all_read_ns || now_ns - r->all_read_ns > OTHERS_NS) {
		r->any_uses_dispatch = uses_dispatch(r, DISPATCH_ALL_PROCESSES);
		r->all_read_ns = now_ns;
	}
	return r->any_uses_dispatch;
}

const char *return_probes_refuse(void *self, int pid)
{
	struct return_probes *r = self;
	bool is_wide = r->is_wide || !pid;
	const struct confinement found =
		is_wide ? (struct confinement){true, true} : confinement_read(pid);

	if (found.has_seccomp && test_seccomp(r) != TRAMPOLINE_PASSES)
		return seccomp_refusals[r->seccomp][is_wide];
	if (found.has_shadow_stack && test_shadow_stack(r) != TRAMPOLINE_PASSES)
		return shadow_refusals[r->shadow_stack][is_wide];
	if ((is_wide ? any_uses_dispatch(r) : uses_dispatch(r, pid)) &&
	    test_dispatch(r) != TRAMPOLINE_PASSES)
		return dispatch_refusals[r->dispatch][is_wide];
	return NULL;
}

void return_probes_deinit(struct return_probes *r)
{
	if (r->dispatch_program > 0)
		close(r->dispatch_program);
	r->dispatch_program = 0;
}

static bool is_any_refused(struct return_probes *r)
{
	for (size_t i = 0; i < r->pid_count; i++)
		if (return_probes_refuse(r, r->pids[i]))
			return true;
	return false;
}

const char *return_probes_refuse_together(void *self, int pid)
{
	struct return_probes *r = self;
	const char *refusal = return_probes_refuse(r, pid);
	uint64_t now_ns = clock_now_ns();

	if (refusal || r->is_wide)
		return refusal;
	if (!r->others_read_ns || now_ns - r->others_read_ns > OTHERS_NS) {
		r->others_refusal = is_any_refused(r) ? others_refusal : NULL;
		r->others_read_ns = now_ns;
	}
	return r->others_refusal;
}

const char *return_probes_risk(const struct proc_maps *maps, const struct proc *proc)
{
	const struct runtime *runtime = runtime_of(maps, proc);

	if (runtime && runtime->is_go)
		return risk_go;
	vec_foreach (m, &maps->mappings) {
		const char *name = path_base_name(m->path);

		if (m->executable && (!strncmp(name, "libstdc++.so", 12) ||
				      !strncmp(name, "libc++.so", 9)))
			return risk_cxx;
	}
	return NULL;
}

void return_probes_warn(const struct tracee *tracee)
{
	const char *risk = return_probes_risk(&tracee->modules.maps, tracee->proc);
	_cleanup_(freep) char *command = risk ? escape_dup(tracee->command) : NULL;

	if (risk)
		say_note("warning: pid %d (%s): a return probe changes its stack: %s; "
			 "use uprobe: if the entry of the function will do",
			 tracee->pid, command ? command : "?", risk);
}

void return_probes_say(const struct plan *plan, bool bodies)
{
	if (plan->refusal)
		say_note("no return probes are used: %s", plan->refusal);
	vec_foreach (object, &plan->objects) {
		vec_foreach (site, &object->sites) {
			if (!site->wants_return || !site->no_returns || !bodies)
				continue;
			say_note("%s has a return probe: %s", site->function->name,
				 site->no_returns);
		}
	}
}

void return_probes_say_unsafe(struct return_probes *r, const struct plan *plan, int pid,
			      bool bodies, FILE *out)
{
	const char *refusal = plan_has_return_probes(plan, bodies)
				      ? return_probes_refuse(r, pid)
				      : NULL;

	if (refusal)
		fprintf(out, "not traced: a return probe is not safe: %s\n", refusal);
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

static void warn_of_wrong_sites(const struct check_verdict *v, const char *module)
{
	uint64_t calls = v->agreed + v->differed + v->missed;

	say_note("warning: memtrace misread %s in %s, or the program has changed its "
		 "code: %" PRIu64 " of %" PRIu64 " checked calls returned another result "
		 "than expected, and %" PRIu64
		 " were not noticed before they returned. %s.",
		 v->function, module, v->differed, calls, v->missed,
		 consequence_of(v->outcome));
}

void return_probes_say_verdict(const struct check_verdict *verdict, bool verbose)
{
	_cleanup_(freep) char *module = escape_dup(verdict->module);

	if (verdict->outcome != CHECK_RIGHT)
		warn_of_wrong_sites(verdict, module ? module : "?");
	else if (verbose && !verdict->agreed)
		say_note("%s in %s: its probes are not checked, as none of its calls "
			 "could be compared",
			 verdict->function, module ? module : "?");
	else if (verbose)
		say_note("%s in %s: the probes were right for %" PRIu64 " calls",
			 verdict->function, module ? module : "?", verdict->agreed);
}
