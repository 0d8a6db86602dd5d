// SPDX-License-Identifier: Apache-2.0
/* flamegraph.pl, by Brendan Gregg, reads our collapsed stacks. The titles of its frames
 * must have the numbers of the report. */
#include "readers/readers.h"

#include "util/strbuf.h"

#define SCRIPT "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"

/* Makes the graph. The script must not complain about its input. */
static char *draw(struct fixture *f, struct temp_dir *dir)
{
	char command[512], complaints[4096];

	readers_write(f, "collapsed", dir, "a.folded");
	snprintf(command, sizeof(command),
		 "perl " SCRIPT " --hash --minwidth=0 --countname=bytes %s/a.folded "
		 "2>%s/stderr",
		 dir->path, dir->path);

	char *svg = readers_run(command);

	CHECK_STR(temp_dir_read(dir, "stderr", complaints, sizeof(complaints)), "");
	return svg;
}

/* Escapes text and numbers like the script, which writes angle brackets as
 * parentheses. */
static void append_xml(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			strbuf_append(out, "&amp;");
		else if (*text == '<')
			strbuf_append_char(out, '(');
		else if (*text == '>')
			strbuf_append_char(out, ')');
		else if (*text == '"')
			strbuf_append(out, "&quot;");
		else
			strbuf_append_char(out, *text);
	}
}

static long long number(const char *text)
{
	long long n = 0;

	for (; (*text >= '0' && *text <= '9') || *text == ','; text++)
		n = *text == ',' ? n : n * 10 + *text - '0';
	return n;
}

/* The sum of the bytes of all frames with this name. */
static long long bytes_of(const char *svg, const char *name)
{
	_cleanup_(strbuf_deinit) struct strbuf title = {0};
	long long sum = 0;

	strbuf_append(&title, "<title>");
	append_xml(&title, name);
	strbuf_append(&title, " (");
	for (; (svg = strstr(svg, strbuf_text(&title))); svg += title.len)
		sum += number(svg + title.len);
	return sum;
}

/* A semicolon would separate frames in a collapsed stack. */
static void collapse(const char *name, struct strbuf *ret)
{
	for (; *name; name++) {
		if (*name == ';')
			strbuf_append(ret, "\\x3b");
		else
			strbuf_append_char(ret, *name);
	}
}

/* Checks each function of the report: the bytes of all stacks that contain it. */
static void check_functions(const char *svg, json_t *report)
{
	_cleanup_(functions_deinit) struct functions functions = {0};

	functions_add(&functions, json_object_get(report, "heap"), "size_bytes", 1);
	functions_add(&functions, json_object_get(report, "mappings"), "size_bytes", 1);
	CHECK(functions.list.len >= 4);
	vec_foreach (function, &functions.list) {
		_cleanup_(strbuf_deinit) struct strbuf name = {0};

		/* pprof's name for it; here it is [unknown]. */
		if (strcmp(function->name, "<unknown>"))
			collapse(function->name, &name);
		else
			strbuf_append(&name, "[unknown]");
		CHECK_INT(bytes_of(svg, strbuf_text(&name)), function->cum);
	}
}

static long long total(const struct report *report)
{
	long long sum = 0;

	for (size_t i = 0; i < report->section_count; i++)
		sum += (long long)report->sections[i].listed.estimated_bytes;
	return sum;
}

static void check_graph(struct fixture *f)
{
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	_cleanup_(freep) char *svg = draw(f, &dir);
	json_auto_t *report = readers_json(f);

	CHECK_INT(bytes_of(svg, "all"), total(f->report));
	check_functions(svg, report);
}

static void sums_are_those_of_the_report(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_second(&f);
	fixture_fill_mappings(&f);
	check_graph(&f);
}

static void sampled_sums(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	f.snap->sampling.every = 100;
	check_graph(&f);
}

static void hostile_names(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	f.symbols.data[0].name = "a;b 12;<script>\"&";
	f.symbols.data[1].name = "operator new(unsigned long) [clone .cold]";
	f.symbols.data[2].name = "\x1b[2J\xff\xc3\x28 x;\n y";
	check_graph(&f);
}

int main(void)
{
	readers_need(SCRIPT, "libdevel-nytprof-perl");
	RUN(sums_are_those_of_the_report);
	RUN(sampled_sums);
	RUN(hostile_names);
	return check_done();
}
