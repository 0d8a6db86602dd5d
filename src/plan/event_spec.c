// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include <linux/perf_event.h>

#include "plan/event.h"
#include "allocator/allocator_otel.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/nearest.h"
#include "util/units.h"

#define FIELDS_MAX 3

/* The kinds of fields after the event's kind. */
enum field {
	FIELD_NONE,
	FIELD_PATH,
	FIELD_GROUP,
	FIELD_NAME,
	FIELD_PLACE,  /* NAME or NAME+OFFSET */
	FIELD_HZ,     /* the word "hz" */
	FIELD_NUMBER, /* last field; 1 if left out */
};

struct counter {
	const char *name;
	uint32_t selector;
};

/* The names of perf-list(1). */
static const struct counter software[] = {
	{"page-faults", PERF_COUNT_SW_PAGE_FAULTS},
	{"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS},
	{"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS},
	{NULL, 0},
};

static const struct counter hardware[] = {
	{"cpu-cycles", PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", PERF_COUNT_HW_CACHE_MISSES},
	{"branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-misses", PERF_COUNT_HW_BRANCH_MISSES},
	{"bus-cycles", PERF_COUNT_HW_BUS_CYCLES},
	{"stalled-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	{"stalled-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
	{"ref-cycles", PERF_COUNT_HW_REF_CPU_CYCLES},
	{NULL, 0},
};

static const struct {
	const char *name, *form;
	enum field fields[FIELDS_MAX];
	const struct counter *counters;
} kinds[EVENT_KIND_COUNT] = {
	[EVENT_UPROBE] = {"uprobe",
			  "uprobe:PATH:FUNCTION[+OFFSET]",
			  {FIELD_PATH, FIELD_PLACE},
			  NULL},
	[EVENT_URETPROBE] = {"uretprobe",
			     "uretprobe:PATH:FUNCTION",
			     {FIELD_PATH, FIELD_NAME},
			     NULL},
	[EVENT_USDT] = {"usdt",
			"usdt:PATH:PROVIDER:NAME",
			{FIELD_PATH, FIELD_GROUP, FIELD_NAME},
			NULL},
	[EVENT_KPROBE] = {"kprobe", "kprobe:FUNCTION[+OFFSET]", {FIELD_PLACE}, NULL},
	[EVENT_KRETPROBE] = {"kretprobe", "kretprobe:FUNCTION", {FIELD_NAME}, NULL},
	[EVENT_TRACEPOINT] = {"tracepoint",
			      "tracepoint:CATEGORY:NAME",
			      {FIELD_GROUP, FIELD_NAME},
			      NULL},
	[EVENT_PROFILE] = {"profile", "profile:hz:N", {FIELD_HZ, FIELD_NUMBER}, NULL},
	[EVENT_SOFTWARE] = {"software",
			    "software:NAME[:N]",
			    {FIELD_NAME, FIELD_NUMBER},
			    software},
	[EVENT_HARDWARE] = {"hardware",
			    "hardware:NAME[:N]",
			    {FIELD_NAME, FIELD_NUMBER},
			    hardware},
};

#define NUMBER_MAX UINT64_C(1000000000)

static struct error *usage(const char *text, const char *why, const char *form)
{
	_cleanup_(freep) char *shown = escape_dup(text);

	if (!shown)
		return error_no_memory();
	return error_create(ERROR_USAGE, "--event: expected %s; got '%s'%s%s", form,
			    shown, *why ? ": " : "", why);
}

static struct error *unknown_kind(const char *text)
{
	size_t len = strcspn(text, ":");
	_cleanup_(freep) char *given = strndup(text, len);
	_cleanup_(strbuf_deinit) struct strbuf message = {0};
	struct nearest nearest = {.wanted = given};

	if (!given)
		return error_no_memory();
	if (!strcmp(given, OTEL_PROVIDER))
		return error_create(ERROR_USAGE,
				    "--event: expected " OTEL_PROVIDER " without it: the "
				    "option --otel-memory traces the blocks that these "
				    "probes report, and --event "
				    "usdt:PATH:" OTEL_PROVIDER ":alloc counts them");
	strbuf_append(&message, "'");
	escape_text(&message, given);
	strbuf_append(&message, "' is not a kind of event");
	for (size_t i = 0; i < EVENT_KIND_COUNT; i++)
		nearest_offer(&nearest, kinds[i].name, strlen(kinds[i].name));
	nearest_append(&nearest, &message);
	return usage(text, strbuf_text(&message),
		     "one of uprobe, uretprobe, usdt, kprobe, kretprobe, tracepoint, "
		     "profile, software and hardware with what belongs to it, such as "
		     "uprobe:libc.so.6:malloc");
}

static struct error *set_counter(const struct counter *counters, const char *form,
				 struct event_spec *spec)
{
	_cleanup_(strbuf_deinit) struct strbuf message = {0};
	struct nearest nearest = {.wanted = spec->name};

	for (const struct counter *c = counters; c->name; c++) {
		if (!strcmp(c->name, spec->name)) {
			spec->selector = c->selector;
			return NULL;
		}
		nearest_offer(&nearest, c->name, strlen(c->name));
	}
	strbuf_append(&message, "'");
	escape_text(&message, spec->name);
	strbuf_append(&message, "' is not a counter");
	nearest_append(&nearest, &message);
	if (!nearest.count) {
		strbuf_append(&message, ": there are");
		for (const struct counter *c = counters; c->name; c++)
			strbuf_appendf(&message, "%s %s", c == counters ? "" : ",",
				       c->name);
	}
	return usage(spec->text, strbuf_text(&message), form);
}

/* Parse "name+16" or "name+0x10". */
static bool parse_place(const char *text, struct event_spec *spec)
{
	const char *plus = strrchr(text, '+');
	char *end;

	if (plus && plus[1] >= '0' && plus[1] <= '9') {
		spec->offset = strtoull(plus + 1, &end, 0);
		if (*end || spec->offset > NUMBER_MAX)
			return false;
	} else {
		plus = text + strlen(text);
	}
	spec->name = strndup(text, (size_t)(plus - text));
	return spec->name && *spec->name;
}

/* Split the text into `wanted` fields; returns the number found. Fields are counted
 * from the end, because a path may contain colons, and names do not. */
static size_t split(char *text, char *ret[], size_t wanted)
{
	size_t n = 0;

	while (n + 1 < wanted) {
		char *colon = strrchr(text, ':');

		if (!colon)
			break;
		*colon = '\0';
		ret[wanted - 1 - n++] = colon + 1;
	}
	ret[wanted - 1 - n++] = text;
	return n;
}

/* Split a path from a function's name. C++ names contain double colons, so the name
 * begins after the first single colon. */
static size_t split_function(char *text, char *ret[2])
{
	for (char *at = strchr(text, ':'); at; at = strchr(at, ':')) {
		if (at[1] != ':') {
			*at = '\0';
			ret[0] = text;
			ret[1] = at + 1;
			return 2;
		}
		at += 2;
	}
	return 1;
}

static bool set_field(enum field field, char *text, struct event_spec *spec)
{
	switch (field) {
	case FIELD_NONE:
		return false;
	case FIELD_PATH:
		return *text && (spec->path = strdup(text));
	case FIELD_GROUP:
		return *text && (spec->group = strdup(text));
	case FIELD_NAME:
		return *text && (spec->name = strdup(text));
	case FIELD_PLACE:
		return parse_place(text, spec);
	case FIELD_HZ:
		return !strcmp(text, "hz");
	case FIELD_NUMBER:
		return units_parse_integer(text, 1, NUMBER_MAX, &spec->number);
	}
	return false;
}

static struct error *parse(const char *text, size_t kind, struct event_spec *spec)
{
	const enum field *fields = kinds[kind].fields;
	_cleanup_(freep) char *rest = strdup(text + strlen(kinds[kind].name) + 1);
	char *at[FIELDS_MAX];
	size_t wanted = 0, found;

	if (!rest)
		return error_no_memory();
	while (wanted < FIELDS_MAX && fields[wanted])
		wanted++;
	/* A number at the end may be left out, except for a profile. */
	if (fields[wanted - 1] == FIELD_NUMBER && fields[0] != FIELD_HZ &&
	    !strchr(rest, ':'))
		wanted--;
	found = fields[0] == FIELD_PATH && wanted == 2 ? split_function(rest, at)
						       : split(rest, at, wanted);
	if (found != wanted)
		return usage(text, "", kinds[kind].form);
	for (size_t i = 0; i < wanted; i++)
		if (!set_field(fields[i], at[i], spec))
			return usage(text, "", kinds[kind].form);
	if (spec->group && strchr(spec->group, ':'))
		return usage(text, "", kinds[kind].form);
	return kinds[kind].counters
		       ? set_counter(kinds[kind].counters, kinds[kind].form, spec)
		       : NULL;
}

struct error *event_spec_parse(const char *text, struct event_spec *ret)
{
	size_t len = strcspn(text, ":"), kind = 0;
	struct error *err;

	*ret = (struct event_spec){.number = 1};
	while (kind < EVENT_KIND_COUNT &&
	       (strlen(kinds[kind].name) != len || strncmp(kinds[kind].name, text, len)))
		kind++;
	if (kind == EVENT_KIND_COUNT)
		return unknown_kind(text);
	if (!text[len])
		return usage(text, "", kinds[kind].form);
	ret->kind = (enum event_kind)kind;
	ret->text = strdup(text);
	err = ret->text ? parse(text, kind, ret) : error_no_memory();
	if (err)
		event_spec_deinit(ret);
	return err;
}

void event_spec_deinit(struct event_spec *spec)
{
	free(spec->text);
	free(spec->path);
	free(spec->group);
	free(spec->name);
	*spec = (struct event_spec){.number = 1};
}

bool event_is_in_file(enum event_kind kind)
{
	return kind == EVENT_UPROBE || kind == EVENT_URETPROBE || kind == EVENT_USDT;
}

uint64_t event_period(const struct event_spec *spec)
{
	return spec->kind == EVENT_SOFTWARE || spec->kind == EVENT_HARDWARE ? spec->number
									    : 1;
}
