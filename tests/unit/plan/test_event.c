// SPDX-License-Identifier: Apache-2.0
/* Probes of events, in this program itself. */
#include "check.h"

#include <sys/sdt.h>

#include "plan/plan.h"
#include "util/cleanup.h"

/* push %rbp; mov %rsp,%rbp; an instruction that the decoder does not know; ret. */
void probed(void);
#if defined(__x86_64__)
__asm__(".text\n.globl probed\n.type probed, @function\n"
	"probed:\n\tpush %rbp\n\tmov %rsp, %rbp\n\t.byte 0x0f, 0x0b\n\tpop %rbp\n\tret\n"
	"\tlock incl (%rsp)\n"
	".size probed, . - probed\n");
#endif

static const struct event_options options = {.is_shared = false};

static struct error *find(const char *text, struct event_sites *ret)
{
	struct event_spec spec;
	struct error *err;

	*ret = (struct event_sites){0};
	REQUIRE(!event_spec_parse(text, &spec));
	err = event_sites_find(&spec, NULL, NULL, &options, ret);
	event_spec_deinit(&spec);
	return err;
}

static void check_offset(const char *text, uint64_t beyond)
{
	struct event_sites base, sites;
	_cleanup_(error_destroyp) struct error *err = find(text, &sites);

	REQUIRE(!find("uprobe:/proc/self/exe:probed", &base));
	if (err)
		CHECK_FAIL("%s: %s", text, err->message);
	else if (sites.list.len == 1)
		CHECK_INT(sites.list.data[0].offset - base.list.data[0].offset, beyond);
	else
		CHECK_INT(sites.list.len, 1);
	event_sites_deinit(&sites);
	event_sites_deinit(&base);
}

static void check_refused(const char *text, enum error_code code, const char *why)
{
	struct event_sites sites;
	_cleanup_(error_destroyp) struct error *err = find(text, &sites);

	if (!err) {
		CHECK_FAIL("%s was taken", text);
	} else {
		CHECK_INT(err->code, code);
		CHECK_CONTAINS(err->message, why);
	}
	event_sites_deinit(&sites);
}

static void functions(void)
{
	check_offset("uprobe:/proc/self/exe:probed", 0);
	check_offset("uprobe:/proc/self/exe:probed+1", 1);
	check_offset("uprobe:/proc/self/exe:probed+0x4", 4);
	check_offset("uretprobe:/proc/self/exe:probed", 0);
	check_refused("uprobe:/proc/self/exe:probedd", ERROR_NOT_FOUND,
		      "has no function probedd: the nearest is probed");
	check_refused("uprobe:/no/such:f", ERROR_NOT_FOUND, "cannot open /no/such");
	check_refused("uprobe:libc.so.6:malloc", ERROR_USAGE, "has to be a path");
	check_refused("uprobe:/proc/self/status:f", ERROR_MALFORMED, "/proc/self/status");
}

/* A probe in the middle of an instruction would destroy the instruction. */
static void insides(void)
{
	check_refused("uprobe:/proc/self/exe:probed+2", ERROR_UNSUPPORTED,
		      "not known to be the beginning of an instruction");
	check_refused("uprobe:/proc/self/exe:probed+3", ERROR_UNSUPPORTED,
		      "not known to be the beginning of an instruction");
	check_refused("uprobe:/proc/self/exe:probed+5", ERROR_UNSUPPORTED,
		      "not known to be the beginning of an instruction");
	check_refused("uprobe:/proc/self/exe:probed+1000", ERROR_NOT_FOUND,
		      "is behind its end");
}

static void static_probes(void)
{
	struct event_sites sites;

	STAP_PROBE(unit, twice);
	STAP_PROBE(unit, twice);
	STAP_PROBE1(unit, once, 1);
	REQUIRE(!find("usdt:/proc/self/exe:unit:twice", &sites));
	CHECK_INT(sites.list.len, 2);
	CHECK(sites.list.data[0].offset != sites.list.data[1].offset);
	CHECK_INT(sites.list.data[0].ref_ctr, 0);
	event_sites_deinit(&sites);
	check_refused("usdt:/proc/self/exe:unit:one", ERROR_NOT_FOUND,
		      "has no USDT probe unit:one: the nearest is unit:once");
	check_refused("usdt:/proc/self/exe:none:xyz", ERROR_NOT_FOUND,
		      "has no USDT probe none:xyz");
}

static void plans(void)
{
	struct event_spec spec;
	struct plan *plan;
	_cleanup_(freep) char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	REQUIRE(out && !event_spec_parse("usdt:/proc/self/exe:unit:twice", &spec));
	REQUIRE(!plan_build_event(&spec, NULL, NULL, &options, &plan));
	CHECK_INT(plan_site_count(plan), 2);
	plan_print(plan, false, out);
	REQUIRE(!fclose(out));
	CHECK_CONTAINS(text, "event      usdt:/proc/self/exe:unit:twice\n");
	CHECK_CONTAINS(text, "file       /proc/self/exe\nfile offset 0x");
	plan_destroy(plan);
	event_spec_deinit(&spec);

	/* A kernel event has no probe places. */
	REQUIRE(!event_spec_parse("profile:hz:99", &spec));
	REQUIRE(!plan_build_event(&spec, NULL, NULL, &options, &plan));
	CHECK_INT(plan_site_count(plan), 0);
	plan_destroy(plan);
	event_spec_deinit(&spec);
}

int main(void)
{
	RUN(functions);
	RUN(insides);
	RUN(static_probes);
	RUN(plans);
	return check_done();
}
