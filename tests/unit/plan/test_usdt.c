// SPDX-License-Identifier: Apache-2.0
/* The plan for a program that reports blocks by USDT probes: this program. */
#include "check.h"

#include <sys/sdt.h>

#include "plan/plan.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct plan *, plan_destroy);

long far_away = 7;

/* Never called: only its probes matter. */
void tell(void *block, long size, double real);
__attribute__((noinline, used)) void tell(void *block, long size, double real)
{
	STAP_PROBE3(otel_memory, alloc, block, size, size);
	STAP_PROBE2(otel_memory, alloc, block, size);
	/* A probe with too few arguments, and one whose argument no probe can read. */
	STAP_PROBE1(otel_memory, alloc, block);
#undef STAP_SDT_ARG_CONSTRAINT
#define STAP_SDT_ARG_CONSTRAINT m
	STAP_PROBE2(otel_memory, alloc, block, far_away);
#undef STAP_SDT_ARG_CONSTRAINT
#define STAP_SDT_ARG_CONSTRAINT x
	STAP_PROBE2(otel_memory, alloc, real, real);
#undef STAP_SDT_ARG_CONSTRAINT
#define STAP_SDT_ARG_CONSTRAINT nor
	/* For the free probe only the first argument is needed. */
	STAP_PROBE2(otel_memory, free, block, far_away);
	STAP_PROBE1(otel_memory, other, block);
	/* A note whose address is not a nop: the instruction after it. */
	__asm__ volatile("990: nop\n"
			 "xorl %%eax, %%eax\n"
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b+1, _.stapsdt.base, 0\n"
			 ".asciz \"otel_memory\", \"free\", \"8@%%rdi\"\n"
			 "994: .balign 4\n"
			 /* Two notes for the same nop, as of functions that the linker
			  * folded. */
			 ".rept 2\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b, _.stapsdt.base, 0\n"
			 ".asciz \"otel_memory\", \"free\", \"8@%%rdi\"\n"
			 "994: .balign 4\n"
			 ".endr\n"
			 ".popsection\n"
			 :
			 :
			 : "eax");
}

/* Forged notes: into the middle of an instruction, with a semaphore that is another
 * variable, and where no unwind information is. */
#define NOTE(at, semaphore)                                                              \
	".pushsection .note.stapsdt,\"\",\"note\"\n"                                     \
	".balign 4\n"                                                                    \
	".4byte 992f-991f, 994f-993f, 3\n"                                               \
	"991: .asciz \"stapsdt\"\n"                                                      \
	"992: .balign 4\n"                                                               \
	"993: .8byte " at ", _.stapsdt.base, " semaphore "\n"                            \
	".asciz \"otel_memory\", \"free\", \"8@%rdi\"\n"                                 \
	"994: .balign 4\n"                                                               \
	".popsection\n"

__asm__(".pushsection .text\n"
	".type forged, @function\n"
	"forged:\n"
	"	.cfi_startproc\n"
	"	mov $0x90909090, %eax\n"
	"2:	nop\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size forged, . - forged\n"
	"3:	nop\n"
	"	ret\n"
	".popsection\n" /* clang-format off */
	NOTE("forged + 1", "0")
	NOTE("2b", "far_away")
	NOTE("3b", "0")); /* clang-format on */

static struct error *build_with(const char *path, const struct plan_options *options,
				struct plan **ret)
{
	struct allocator_file file = {.module_path = path};
	const struct allocator_options how = {.otel = true};
	struct allocators allocators = {0};
	char *stripped = NULL;

	REQUIRE(!target_file_named(NULL, path, &file.file));
	REQUIRE(!allocators_scan(&file, &how, &allocators, &stripped));
	target_file_release(file.file);
	CHECK(!stripped);
	return plan_build_for(&allocators, options, ret);
}

static struct error *build(const char *path, struct plan **ret)
{
	const struct plan_options options = {.otel = true, .unmapped = true};

	return build_with(path, &options, ret);
}

static void own_probes(void)
{
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	const struct plan_object *object;
	size_t unread = 0, few = 0, nops = 0, inside = 0, semaphores = 0, same = 0,
	       private = 0;

	REQUIRE(!build("/proc/self/exe", &plan));
	REQUIRE(plan->objects.len == 1);
	object = plan->objects.data;
	CHECK_STR(object->allocator.label, "otel_memory");
	REQUIRE(object->sites.len == 5);
	for (size_t i = 0; i < 5; i++) {
		const struct plan_site *site = &object->sites.data[i];

		CHECK_STR(site->function->name,
			  i >= 2 ? "otel_memory:free" : "otel_memory:alloc");
		CHECK(!site->wants_return);
		CHECK_INT(site->ref_ctr, 0);
		private += site->is_private;
		CHECK(site->usdt[0].kind == USDT_ARG_REGISTER ||
		      site->usdt[0].kind == USDT_ARG_MEMORY);
		if (i < 2)
			CHECK(site->usdt[1].kind != USDT_ARG_NONE);
		CHECK_INT(site->usdt[2].kind == USDT_ARG_NONE, i != 0);
	}
	vec_foreach (skipped, &object->skipped) {
		if (skipped->why == PLAN_SKIP_SAME) {
			same++;
			continue;
		}
		CHECK_INT(skipped->why, PLAN_SKIP_REFUSED);
		unread += !!strstr(skipped->reason, "cannot read it");
		few += !!strstr(skipped->reason, "too few");
		nops += !!strstr(skipped->reason, "no one-byte nop");
		inside += !!strstr(skipped->reason, "beginning of an instruction");
		semaphores += !!strstr(skipped->reason, "its semaphore is not in");
	}
	CHECK_INT(unread, 2);
	CHECK_INT(few, 1);
	CHECK_INT(nops, 1);
	CHECK_INT(inside, 1);
	CHECK_INT(semaphores, 1);
	/* One is where no unwind information is. */
	CHECK_INT(private, 1);
	CHECK_INT(same, 1);
	CHECK_INT(object->skipped.len, 7);
}

static void check_proven(const struct plan_options *options)
{
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	size_t bare = 0;

	REQUIRE(!build_with("/proc/self/exe", options, &plan));
	CHECK_INT(plan->objects.data[0].sites.len, 4);
	vec_foreach (site, &plan->objects.data[0].sites)
		CHECK(!site->is_private);
	vec_foreach (skipped, &plan->objects.data[0].skipped)
		bare += skipped->reason &&
			strstr(skipped->reason, "more than one process is probed");
	CHECK_INT(bare, 1);
}

/* If probes come to other processes, too, an instruction must be known to begin. So must
 * it if other processes are probed: a file of theirs may have taken over the process that
 * reads the notes. */
static void sites_in_several_processes_are_proven(void)
{
	struct plan_options options = {.otel = true, .unmapped = true, .is_shared = true};

	check_proven(&options);
	options.is_shared = false;
	options.has_others = true;
	check_proven(&options);
}

/* A file without these probes has no allocator of this kind. */
static void a_file_without_probes_is_refused(void)
{
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	struct error *err = build("/bin/sh", &plan);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_NOT_FOUND);
	CHECK_CONTAINS(err->message, "otel_memory:alloc");
	error_destroy(err);
}

int main(void)
{
	RUN(own_probes);
	RUN(sites_in_several_processes_are_proven);
	RUN(a_file_without_probes_is_refused);
	return check_done();
}
