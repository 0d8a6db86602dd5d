// SPDX-License-Identifier: Apache-2.0
/* sqlite3 imports our CSV table and exports it as JSON, which must equal memtrace's own
 * JSON report: numbers, and names byte by byte. */
#include "readers/readers.h"

#include "util/strbuf.h"

static json_t *query(const char *path, const char *sql)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "sqlite3 -json :memory: '.import --csv %s t' '%s'", path, sql);

	_cleanup_(freep) char *text = readers_run(command);
	json_t *json = json_loads(text, 0, NULL);

	if (!json)
		CHECK_FAIL("%s", text);
	REQUIRE(json);
	return json;
}

static const char *text_of(json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	REQUIRE(text);
	return text;
}

/* In a table without types, numbers are text. */
static long long number_of(json_t *row, const char *key)
{
	return strtoll(text_of(row, key), NULL, 10);
}

/* The lines of a stack, made from its frames in JSON. */
static void append_frames(json_t *stack, struct strbuf *ret)
{
	json_t *frame;
	size_t i;

	json_array_foreach (json_object_get(stack, "frames"), i, frame) {
		const char *symbol = json_string_value(json_object_get(frame, "symbol"));
		const char *module = json_string_value(json_object_get(frame, "module"));

		strbuf_appendf(ret, "%s%s - ", i ? "\n" : "",
			       text_of(frame, "address") + strlen("0x"));
		if (symbol)
			strbuf_append(ret, symbol);
		else if (module)
			strbuf_appendf(ret, "[%s]", strrchr(module, '/') + 1);
		else
			strbuf_append(ret, "[unknown]");
	}
}

static void check_row(json_t *row, json_t *stack, const char *class)
{
	_cleanup_(strbuf_deinit) struct strbuf frames = {0};
	const char *trace = text_of(row, "stacktrace");

	append_frames(stack, &frames);
	CHECK_STR(text_of(row, "class"), class);
	CHECK_INT(number_of(row, "total"), readers_number(stack, "size_bytes"));
	CHECK_INT(number_of(row, "count"), readers_number(stack, "blocks"));
	if (json_is_integer(json_object_get(stack, "stack")))
		CHECK_INT(number_of(row, "stack_id"), readers_number(stack, "stack"));
	else
		CHECK_STR(text_of(row, "stack_id"), "");
	/* Text after the frames says why the stack is not complete. */
	CHECK(!strncmp(trace, strbuf_text(&frames), frames.len));
	trace += frames.len;
	CHECK(!*trace || !strncmp(trace, "\n[truncated: ", 13) ||
	      (!frames.len && !strncmp(trace, "[no ", 4)));
}

static void check_section(json_t *rows, size_t *at, json_t *section, const char *class)
{
	json_t *stack;
	size_t i;

	json_array_foreach (json_object_get(section, "stacks"), i, stack)
		check_row(json_array_get(rows, (*at)++), stack, class);
}

/* Compares the table that sqlite3 has imported with the report. */
static void check_table(struct fixture *f)
{
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	size_t at = 0;

	readers_write(f, "csv", &dir, "a.csv");

	const char *path = temp_dir_path(&dir, "a.csv");
	json_auto_t *report = readers_json(f);
	json_auto_t *rows = query(path, "select * from t");
	json_auto_t *sums =
		query(path, "select class, cast(sum(total) as text) as total, "
			    "cast(sum(count) as text) as count from t "
			    "group by class order by class");
	json_t *heap = json_object_get(report, "heap");
	json_t *mappings = json_object_get(report, "mappings");

	check_section(rows, &at, heap, "heap");
	if (json_is_object(mappings))
		check_section(rows, &at, mappings, "mapping");
	CHECK_INT(json_array_size(rows), at);
	CHECK_INT(number_of(json_array_get(sums, 0), "total"),
		  f->report->sections[0].listed.estimated_bytes);
	CHECK_INT(number_of(json_array_get(sums, 0), "count"),
		  f->report->sections[0].listed.estimated_count);
}

static void rows_are_those_of_the_report(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_second(&f);
	fixture_fill_mappings(&f);
	check_table(&f);
}

static void sampled_rows(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	f.snap->sampling.every = 100;
	check_table(&f);
}

static void hostile_names(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	f.symbols.data[0].name = "\"\"\",\r\n=1+1,'\"; drop table t; --\"";
	f.symbols.data[1].name = "=cmd|' /C calc'!A0";
	f.symbols.data[2].name = "\x1b[2J\xff\xc3\x28\xe2\x80\xae\t";
	f.symbols.data[3].module = "/opt/\",=\"\n.so";
	check_table(&f);
	readers_write(&f, "csv", &dir, "a.csv");

	/* A cell must not look like a formula. */
	json_auto_t *cells = query(
		temp_dir_path(&dir, "a.csv"),
		"select count(*) as n from t where substr(stacktrace, 1, 1) in "
		"(\"=\", \"+\", \"-\", \"@\") or substr(histogram, 1, 1) in (\"=\", "
		"\"+\", \"-\", \"@\")");

	CHECK_INT(json_integer_value(json_object_get(json_array_get(cells, 0), "n")), 0);
}

int main(void)
{
	readers_need("/usr/bin/sqlite3", "sqlite3");
	RUN(rows_are_those_of_the_report);
	RUN(sampled_rows);
	RUN(hostile_names);
	return check_done();
}
