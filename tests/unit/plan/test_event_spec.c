// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <linux/perf_event.h>

#include "plan/event.h"
#include "util/cleanup.h"

static const char *or_none(const char *text)
{
	return text ? text : "none";
}

static void check(const char *text, enum event_kind kind, const char *path,
		  const char *group, const char *name, uint64_t offset, uint64_t number)
{
	struct event_spec spec;
	_cleanup_(error_destroyp) struct error *err = event_spec_parse(text, &spec);

	if (err) {
		CHECK_FAIL("%s: %s", text, err->message);
		return;
	}
	CHECK_INT(spec.kind, kind);
	CHECK_STR(spec.text, text);
	CHECK_STR(or_none(spec.path), path);
	CHECK_STR(or_none(spec.group), group);
	CHECK_STR(or_none(spec.name), name);
	CHECK_INT(spec.offset, offset);
	CHECK_INT(spec.number, number);
	event_spec_deinit(&spec);
}

static void refused(const char *text, const char *why)
{
	struct event_spec spec;
	_cleanup_(error_destroyp) struct error *err = event_spec_parse(text, &spec);

	if (!err) {
		CHECK_FAIL("'%s' was taken", text);
		event_spec_deinit(&spec);
		return;
	}
	CHECK_INT(err->code, ERROR_USAGE);
	CHECK_CONTAINS(err->message, "--event: expected ");
	CHECK_CONTAINS(err->message, why);
}

static void functions(void)
{
	check("uprobe:libc.so.6:malloc", EVENT_UPROBE, "libc.so.6", "none", "malloc", 0,
	      1);
	check("uprobe:/a/b:f+16", EVENT_UPROBE, "/a/b", "none", "f", 16, 1);
	check("uprobe:/a/b:f+0x1f", EVENT_UPROBE, "/a/b", "none", "f", 31, 1);
	/* C++ and Rust names. */
	check("uprobe:a:operator+", EVENT_UPROBE, "a", "none", "operator+", 0, 1);
	check("uprobe:a:std::vec::push+4", EVENT_UPROBE, "a", "none", "std::vec::push", 4,
	      1);
	check("uretprobe:a:f", EVENT_URETPROBE, "a", "none", "f", 0, 1);
	check("kprobe:do_exit+4", EVENT_KPROBE, "none", "none", "do_exit", 4, 1);
	check("kretprobe:do_exit", EVENT_KRETPROBE, "none", "none", "do_exit", 0, 1);
	for (const char *const *text =
		     (const char *const[]){"uprobe:", "uprobe:a", "uprobe:a:",
					   "uprobe::f", "uprobe:a:+4", "uprobe:a:f+4x",
					   "uprobe", "uprobe:a:f+99999999999", NULL};
	     *text; text++)
		refused(*text, "uprobe:PATH:FUNCTION[+OFFSET]");
	refused("uretprobe:a", "uretprobe:PATH:FUNCTION");
	refused("kprobe:", "kprobe:FUNCTION[+OFFSET]");
}

static void probes_and_tracepoints(void)
{
	check("usdt:libc.so.6:libc:setjmp", EVENT_USDT, "libc.so.6", "libc", "setjmp", 0,
	      1);
	/* Paths may contain colons. */
	check("usdt:/a:b/c:p:n", EVENT_USDT, "/a:b/c", "p", "n", 0, 1);
	check("tracepoint:kmem:kmalloc", EVENT_TRACEPOINT, "none", "kmem", "kmalloc", 0,
	      1);
	refused("usdt:a:b", "usdt:PATH:PROVIDER:NAME");
	refused("usdt:::", "usdt:PATH:PROVIDER:NAME");
	refused("tracepoint:kmem", "tracepoint:CATEGORY:NAME");
	refused("tracepoint:a:b:c", "tracepoint:CATEGORY:NAME");
	refused("tracepoint::b", "tracepoint:CATEGORY:NAME");
}

static void counters(void)
{
	struct event_spec spec;

	check("profile:hz:99", EVENT_PROFILE, "none", "none", "none", 0, 99);
	check("software:page-faults:10", EVENT_SOFTWARE, "none", "none", "page-faults", 0,
	      10);
	check("software:page-faults", EVENT_SOFTWARE, "none", "none", "page-faults", 0,
	      1);
	check("hardware:cache-misses:1000", EVENT_HARDWARE, "none", "none",
	      "cache-misses", 0, 1000);
	REQUIRE(!event_spec_parse("software:context-switches:2", &spec));
	CHECK_INT(spec.selector, PERF_COUNT_SW_CONTEXT_SWITCHES);
	CHECK_INT(event_period(&spec), 2);
	event_spec_deinit(&spec);
	/* A sample counts as one, whatever the frequency. */
	REQUIRE(!event_spec_parse("profile:hz:99", &spec));
	CHECK_INT(event_period(&spec), 1);
	event_spec_deinit(&spec);
	for (const char *const *text =
		     (const char *const[]){"profile", "profile:", "profile:99",
					   "profile:hz", "profile:hz:", "profile:hz:0",
					   "profile:hz:-1", "profile:Hz:9",
					   "profile:hz:9:9", NULL};
	     *text; text++)
		refused(*text, "profile:hz:N");
	refused("software:page-faults:0", "software:NAME[:N]");
	refused("software:", "software:NAME[:N]");
	refused("software:page-fault:1", "the nearest is page-faults");
	refused("hardware:zzz", "there are cpu-cycles, instructions, ");
}

static void kinds(void)
{
	refused("", "not a kind of event");
	refused(":", "not a kind of event");
	refused("uprobes:a:b", "the nearest are uprobe, kprobe");
	refused("trace\npoint:a:b", "'trace\\x0apoint'");
	CHECK(event_is_in_file(EVENT_USDT));
	CHECK(!event_is_in_file(EVENT_KPROBE));
}

int main(void)
{
	RUN(functions);
	RUN(probes_and_tracepoints);
	RUN(counters);
	RUN(kinds);
	return check_done();
}
