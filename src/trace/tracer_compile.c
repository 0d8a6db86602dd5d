// SPDX-License-Identifier: Apache-2.0
/* Compiles and loads the programs for the configuration. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "arch/arch.h"
#include "bpf/offsets_reader.h"
#include "trace/tracer_state.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/phases.h"
#include "util/priority.h"
#include "util/quiet_thread.h"

DEFINE_CLEANUP(struct source *, source_destroy);
DEFINE_CLEANUP(struct compiler *, compiler_destroy);
DEFINE_CLEANUP(struct headers *, headers_destroy);

struct error *tracer_check_kernel(const struct tracer *t)
{
	if (arch.refuses)
		return error_create(ERROR_UNSUPPORTED, "memtrace %s", arch.refuses);
	if (t->by_hash && t->config->table_memory_bytes)
		return error_create(
			ERROR_UNSUPPORTED,
			"tables are hashes on this kernel (before Linux 5.12), which "
			"take all their memory at the start: use --max-allocations and "
			"--max-stacks instead of --table-memory");
	if (t->config->tables == TABLES_ARRAYS && !t->features.atomics)
		return error_create(
			ERROR_UNSUPPORTED,
			"this kernel's BPF has no compare-and-exchange (Linux 5.12), "
			"which arrays need: use --tables hashes");
	if (!t->features.reads_kernel)
		return error_create(
			ERROR_PERMISSION,
			"this kernel is locked down (lockdown=confidentiality): no BPF "
			"program may read its memory, as memtrace has to; with "
			"lockdown=integrity it may");
	if (t->config->attach == ATTACH_MULTI && !t->features.uprobe_multi)
		return error_create(
			ERROR_UNSUPPORTED,
			"this kernel has no uprobe_multi (Linux 6.6) that serves all "
			"threads of a process (6.10): use --attach perf");
	return NULL;
}

/* Rewrite the error if the kernel refused a table: the user can choose a smaller one. */
static struct error *explain_compile(struct error *err, const struct tracer *t)
{
	struct error *better;

	if (!err || !err->detail || !strstr(err->detail, "could not open bpf map"))
		return err;
	if (strstr(err->detail, strerror(EMFILE)))
		better =
			error_create(ERROR_COMPILE,
				     "too few file descriptors for the tables: raise the "
				     "limit (ulimit -n)");
	else if (strstr(err->detail, strerror(EPERM)))
		better =
			error_create(ERROR_PERMISSION,
				     "the kernel does not allow the tables: CAP_BPF is "
				     "needed, and before Linux 5.11 a raised memory lock "
				     "limit (ulimit -l unlimited)");
	else
		better = error_create(ERROR_COMPILE,
				      "the kernel refused the tables for %" PRIu64
				      " blocks and %" PRIu64
				      " stacks: lower --max-allocations or "
				      "--max-stacks%s",
				      t->run.max_allocations, t->run.max_stacks,
				      t->run.traffic ? ", or --max-threads" : "");
	better = error_with_detail(better, err->detail);
	error_destroy(err);
	return better;
}

static struct error *check_forks(const struct source_run *so)
{
	const char *option =
		so->execs == EXECS_OF_TRACED ? "follow-forks" : "follow-exec-of";

	if (so->scope != SCOPE_FORKS)
		return NULL;
	if (so->pid_namespace.inode)
		return error_create(ERROR_UNSUPPORTED,
				    "--%s works only from the initial pid "
				    "namespace: run memtrace on the host",
				    option);
	if (!so->offsets.has_task)
		return error_create(ERROR_UNSUPPORTED,
				    "--%s needs the kernel's type information "
				    "(CONFIG_DEBUG_INFO_BTF)",
				    option);
	if (so->execs != EXECS_OF_TRACED && !so->offsets.has_live)
		return error_create(ERROR_UNSUPPORTED,
				    "--follow-exec-of cannot notice when a process ends "
				    "on this kernel: use --pid with --follow-forks");
	return NULL;
}

/* Add to t->run what the kernel and the state of the tracer allow. */
static void complete_run(struct tracer *t)
{
	struct source_run *run = &t->run;

	run->ticks = t->ticks;
	run->cookies = t->features.cookies;
	run->sessions = tracer_uses_sessions(t, tracer_preferred_ops(t));
	run->no_atomics = t->by_hash;
	run->no_task_btf = !t->features.task_btf;
	run->may_goto =
		tracer_uses_may_goto(t, tracer_preferred_ops(t)) && !run->thorough;
	run->checks = tracer_has_checks(t);
	pid_namespace_read(&run->pid_namespace);
	offsets_reader_get(t->setup.offsets, &t->cache, &run->offsets);
}

static struct error *open_headers(struct tracer *t, const struct source_run *so,
				  struct headers **ret)
{
	struct error *err = headers_create(t->config->headers_mode,
					   t->config->headers_dir, &so->offsets, ret);

	if (!err)
		t->headers_kind = (*ret)->kind;
	return err;
}

/* Start to compile these programs for the maps of the run, which exist or will exist. */
static struct error *start_more(struct source_run so, unsigned programs,
				const struct meanings *meanings, struct headers *headers,
				struct tracer *t, struct compiler **ret)
{
	_cleanup_(source_destroyp) struct source *source = NULL;
	struct error *err;

	so.programs = programs;
	so.maps_are_there = true;
	err = source_build(&so, meanings, &source);
	return err ? err
		   : compiler_start(source, headers, &t->cache, t->is_refused,
				    t->setup.compilers, ret);
}

struct error *tracer_compile_more(struct tracer *t, unsigned programs,
				  struct compiler **ret)
{
	_cleanup_(headers_destroyp) struct headers *headers = NULL;
	_cleanup_(compiler_destroyp) struct compiler *compiler = NULL;
	struct source_run so;
	struct meanings meanings = {0};
	struct error *err;

	complete_run(t);
	so = t->run;
	err = open_headers(t, &so, &headers);
	so.one_process &= t->attachment.ops == &attach_uprobe_multi;
	/* Compile for the same argument registers. */
	vec_foreach (site, &t->source->sites)
		if (!err && !vec_push(&meanings.list, *site))
			err = error_no_memory();
	if (!err)
		err = start_more(so, programs, &meanings, headers, t, &compiler);
	vec_deinit(&meanings.list);
	if (!err)
		err = explain_compile(compiler_wait(compiler, t->compiler), t);
	if (!err)
		*ret = take(compiler);
	return err;
}

static bool has_two_processors(void)
{
	cpu_set_t set;

	/* It fails if there are more processors than `set` has room for. */
	return sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) > 1;
}

unsigned tracer_compiler_count(void)
{
	return has_two_processors() ? 2 : 1;
}

/*
 * A second compilation, parallel to t->compiler's, for the programs of sites inside
 * functions: each program that walks stacks takes the compiler and the verifier 0.3 s.
 * Unused (`compiler` is NULL) if all programs are of this kind, or if a single
 * processor would have to do the work that both compilations have in common (0.2 s)
 * twice.
 */
struct beside {
	struct tracer *tracer;
	struct compiler *compiler;
	unsigned programs; /* source_run.programs */
	struct headers *headers;
	struct error *err; /* of the second thread */
};

static void beside_deinit(struct beside *b)
{
	compiler_destroy(b->compiler);
	headers_destroy(b->headers);
	error_destroy(b->err);
}

/* Begin to compile t->compiled, and wait for t->compiler. */
static struct error *compile(struct tracer *t, struct source_run so,
			     const struct meanings *meanings, struct beside *b)
{
	struct error *err = open_headers(t, &so, &b->headers);

	b->tracer = t;
	b->programs = t->compiled & 1u << SOURCE_ON_RESULT;
	if (b->programs == t->compiled || !has_two_processors())
		b->programs = 0;
	so.programs = t->compiled & ~b->programs;
	if (!err)
		err = source_build(&so, meanings, &t->source);
	if (!err)
		err = compiler_start(t->source, b->headers, &t->cache, t->is_refused,
				     t->setup.compilers, &t->compiler);
	if (!err && b->programs)
		err = start_more(so, b->programs, meanings, b->headers, t, &b->compiler);
	return err ? err : explain_compile(compiler_wait(t->compiler, NULL), t);
}

/* Wait for the parallel compilation, and load its programs. */
static void *load_beside(void *arg)
{
	_cleanup_(priority_restore) struct priority priority;
	struct beside *b = arg;

	priority_raise(&priority);
	b->err = explain_compile(compiler_wait(b->compiler, b->tracer->compiler),
				 b->tracer);
	if (!b->err)
		b->err = tracer_load_programs(b->tracer, b->compiler, b->programs);
	return NULL;
}

/* Load all programs. This thread loads the programs of t->compiler, and another one the
 * programs of the parallel compilation. */
static struct error *load(struct tracer *t, struct beside *b)
{
	struct error *err = t->mode->begin_load ? t->mode->begin_load(t) : NULL;
	pthread_t thread;
	bool has_thread;

	if (err)
		return err;
	has_thread = b->compiler && !quiet_thread_start(&thread, NULL, load_beside, b);
	err = t->mode->load(t, b->programs);
	if (has_thread)
		pthread_join(thread, NULL);
	else if (b->compiler)
		load_beside(b);
	return err ? err : take(b->err);
}

/* The depth to try after the kernel refused to verify the program that walks stacks: each
 * frame makes it larger. 0: give up. */
static unsigned lower_depth(unsigned depth)
{
	return depth > 64 ? 64 : depth > 32 ? 32 : 0;
}

static void keep(const struct tracer *t, const struct beside *b)
{
	compiler_keep(t->compiler);
	if (b->compiler)
		compiler_keep(b->compiler);
}

/* The kernel refuses the code: remove it from the cache. Returns true if some of it was
 * from the cache: newly compiled code may be accepted. */
static bool drop(const struct tracer *t, const struct beside *b)
{
	compiler_drop(t->compiler);
	if (b->compiler)
		compiler_drop(b->compiler);
	return compiler_had_code(t->compiler) ||
	       (b->compiler && compiler_had_code(b->compiler));
}

struct error *tracer_compile(struct tracer *t, const struct meanings *meanings)
{
	for (;;) {
		bool is_refused = false;
		_cleanup_(beside_deinit) struct beside beside = {.compiler = NULL};
		unsigned lower = lower_depth(t->run.stack_depth);
		struct error *err;

		phases_begin(t->setup.phases, "kernel types", clock_now_ns());
		complete_run(t);
		err = check_forks(&t->run);
		if (err)
			return err;
		phases_begin(t->setup.phases, "compiling", clock_now_ns());
		err = compile(t, t->run, meanings, &beside);
		/* If it does not compile, a smaller depth does not help. */
		if (err) {
			lower = 0;
		} else {
			phases_begin(t->setup.phases, "verifying", clock_now_ns());
			err = load(t, &beside);
			is_refused =
				err && err->code == ERROR_COMPILE && drop(t, &beside);
		}
		if (!err)
			keep(t, &beside);
		if (!err || err->code != ERROR_COMPILE ||
		    (t->run.thorough && !lower && !is_refused))
			return err;
		error_destroy(err);
		tracer_close_programs(t);
		compiler_destroy(t->compiler);
		source_destroy(t->source);
		t->compiler = NULL;
		t->source = NULL;
		if (is_refused) {
			t->is_refused = true;
			continue;
		}
		if (t->run.thorough)
			t->run.stack_depth = lower;
		t->run.thorough = true;
	}
}
