// SPDX-License-Identifier: Apache-2.0
/* USDT probes that would take much work: at very many places, in a process that maps the
 * code very often. */
#include "said.h"

#include <sys/mman.h>

#include "plan/plan.h"
#include "unit/process/child.h"
#include "util/cleanup.h"
#include "util/clock.h"

DEFINE_CLEANUP(struct plan *, plan_destroy);

#if defined(__x86_64__)
#define MAPPINGS 60000

/* Without a bound, either case takes minutes. */
#define TIME_MAX_NS (20 * UINT64_C(1000000000))

#define NOTE(at, semaphore, provider, name)                                              \
	"	.pushsection .note.stapsdt,\"\",\"note\"\n"                                    \
	"	.balign 4\n"                                                                   \
	"	.4byte 992f-991f, 994f-993f, 3\n"                                              \
	"991:	.asciz \"stapsdt\"\n"                                                      \
	"992:	.balign 4\n"                                                               \
	"993:	.8byte " at ", 0, " semaphore "\n"                                       \
	"	.asciz \"" provider "\", \"" name "\", \"8@%rdi 8@%rsi\"\n"              \
	"994:	.balign 4\n"                                                               \
	"	.popsection\n"

/* A nop, and a note that says so. */
#define PROBE(provider, name) "990:	nop\n" NOTE("990b", "0", provider, name)

#define FUNCTION(name, body)                                                             \
	".globl " name "\n"                                                              \
	".type " name ", @function\n" name ":\n"                                         \
	"	.cfi_startproc\n" body "	ret\n"                                          \
	"	.cfi_endproc\n"                                                                \
	".size " name ", . - " name "\n"

void many_probes(void);
__asm__(".pushsection .text\n" /* clang-format off */
	FUNCTION("many_probes",
		 ".rept 3\n" PROBE("unit", "few") ".endr\n"
		 ".rept 4000\n" PROBE("unit", "many") ".endr\n"
		 ".rept 4100\n" PROBE("unit", "beyond") ".endr\n"
		 ".rept 4100\n" PROBE("otel_memory", "alloc") ".endr\n"
		 PROBE("otel_memory", "free")
		 ".rept 300\n"
			NOTE("990b + 1", "0", "otel_memory", "free")
			NOTE("many_probes", "990b", "otel_memory", "free")
		 ".endr\n")
	".popsection\n"); /* clang-format on */

static struct error *find(const char *text, const struct proc *proc,
			  const struct proc_maps *maps, size_t *ret)
{
	const struct event_options options = {.is_shared = false};
	struct event_sites sites = {0};
	struct event_spec spec;
	struct error *err;

	REQUIRE(!event_spec_parse(text, &spec));
	err = event_sites_find(&spec, proc, maps, &options, &sites);
	event_spec_deinit(&spec);
	*ret = sites.list.len;
	event_sites_deinit(&sites);
	return err;
}

/* A place without a probe would make the number of events wrong. */
static void a_probe_with_too_many_places(void)
{
	size_t count;
	_cleanup_(error_destroyp) struct error *err =
		find("usdt:/proc/self/exe:unit:beyond", NULL, NULL, &count);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_UNSUPPORTED);
	CHECK_CONTAINS(err->message, "unit:beyond");
	CHECK_CONTAINS(err->message, "4 places more than the 4096 that");
}

/* A line for each reason, not for each place. */
static void check_warnings(const struct plan *plan)
{
	_cleanup_(freep) char *text = NULL;
	struct said said = said_begin();
	size_t lines = 0;

	plan_warn_untraced_usdt(plan);
	text = said_end(said);
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	CHECK_INT(lines, 3);
	CHECK_CONTAINS(text, "300 probes otel_memory:free of /proc/self/exe are not "
			     "traced: no one-byte nop at its place\n");
	CHECK_CONTAINS(text, "300 probes otel_memory:free of /proc/self/exe are not "
			     "traced: its semaphore");
	CHECK_CONTAINS(text, "4 more places of USDT probes in /proc/self/exe");
}

static void a_program_with_too_many_places(void)
{
	struct allocator_file file = {.module_path = "/proc/self/exe"};
	const struct allocator_options how = {.otel = true};
	const struct plan_options options = {.otel = true, .unmapped = true};
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	struct allocators allocators = {0};
	char *stripped = NULL;

	REQUIRE(!target_file_named(NULL, file.module_path, &file.file));
	REQUIRE(!allocators_scan(&file, &how, &allocators, &stripped));
	target_file_release(file.file);
	REQUIRE(!plan_build_for(&allocators, &options, &plan));
	REQUIRE(plan->objects.len == 1);
	CHECK_INT(plan->objects.data[0].sites.len, 4096 + 1);
	CHECK_INT(plan->objects.data[0].allocator.places_left_out, 4);
	check_warnings(plan);
}

/* Maps the page of the probes again and again. Neighbours cannot be merged. */
static void map_often(void *path)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	extern const char __executable_start[];
	off_t at = (off_t)((uintptr_t)many_probes - (uintptr_t)__executable_start);

	at -= at % (off_t)page;
	for (int i = 0; i < MAPPINGS; i++)
		if (mmap(NULL, 8 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, at) ==
		    MAP_FAILED)
			_exit(1);
	close(fd);
}

static void a_process_with_too_many_mappings(void)
{
	char path[] = "/proc/self/exe";
	struct child child = child_fork(map_often, path);
	uint64_t begun = clock_now_ns();
	struct proc_maps maps;
	struct error *err;
	struct proc *proc;
	size_t count;

	REQUIRE(!proc_open(child.pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	CHECK(maps.mappings.len > MAPPINGS);
	err = find("usdt:test_unit_plan_usdt_budget:unit:many", proc, &maps, &count);
	if (err)
		CHECK_CONTAINS(err->message, "would take too long");
	CHECK(err);
	CHECK(clock_now_ns() - begun < TIME_MAX_NS);
	error_destroy(err);

	/* A few places are compared with all of them. */
	err = find("usdt:test_unit_plan_usdt_budget:unit:few", proc, &maps, &count);
	if (err)
		CHECK_FAIL("%s", err->message);
	error_destroy(err);
	CHECK_INT(count, 3);
	CHECK(clock_now_ns() - begun < TIME_MAX_NS);
	proc_maps_deinit(&maps);
	proc_close(proc);
	child_end(&child);
}
#endif

int main(void)
{
#if defined(__x86_64__)
	RUN(a_probe_with_too_many_places);
	RUN(a_program_with_too_many_places);
	RUN(a_process_with_too_many_mappings);
#endif
	return check_done();
}
