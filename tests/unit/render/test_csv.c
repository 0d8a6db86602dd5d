// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include "render/views/csv_field.h"

#define HEADER "pid,stack_id,total,count,histogram,stacktrace,class\r\n"

static void rows_have_the_columns_of_jeprofl(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_mappings(&f);

	_cleanup_(freep) char *text = fixture_render(&f, "csv", NULL);

	CHECK_STR(text, HEADER
		  "4321,2,2097152,2,\"1048576..2097151=2\",\"400010 - malloc\n"
		  "400310 - [libblob.so]\n400110 - main_loop\n"
		  "[truncated: stack depth limit]\",heap\r\n"
		  "4321,0,2050,2,\"512..1023=1 1024..2047=1\",\"400010 - malloc\n"
		  "400210 - Cache::insert(std::string const&)\n"
		  "400110 - main_loop\",heap\r\n"
		  "4321,1,1050,1,\"1024..2047=1\",\"400014 - malloc\n"
		  "400218 - Cache::insert(std::string const&)\n"
		  "400118 - main_loop\",heap\r\n"
		  "4321,3,64,1,\"64..127=1\",\"400010 - malloc\n400410 - [unknown]\n"
		  "[truncated: no frame pointer]\",heap\r\n"
		  "4321,,7,1,\"4..7=1\",\"[no stack: it was not stored]\",heap\r\n"
		  "4321,2,8192,1,\"8192..16383=1\",\"400010 - malloc\n"
		  "400310 - [libblob.so]\n400110 - main_loop\n"
		  "[truncated: stack depth limit]\",mapping\r\n"
		  "4321,0,4096,1,\"4096..8191=1\",\"400010 - malloc\n"
		  "400210 - Cache::insert(std::string const&)\n"
		  "400110 - main_loop\",mapping\r\n");
}

static void processes_by_their_pid(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_second(&f);

	_cleanup_(freep) char *text = fixture_render(&f, "csv", NULL);

	CHECK_CONTAINS(text, "\r\n4321,2,2097152,2,");
	CHECK_CONTAINS(text,
		       "\r\n99,4,5000,1,\"4096..8191=1\",\"400510 - other\",heap,1,\"");
	/* The process of these blocks is unknown. */
	CHECK_CONTAINS(text, "\r\n,,7,1,");
}

/* The histogram does not need the list of blocks. */
static void histogram_without_blocks(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_report(&f);
	for (size_t i = 0; i < f.report->sections[0].row_count; i++)
		f.report->sections[0].rows[i].block_count = 0;

	_cleanup_(freep) char *text = fixture_render(&f, "csv", NULL);

	CHECK_CONTAINS(text, "4321,2,2097152,2,\"1048576..2097151=2\",\"400010 - ");
	CHECK_CONTAINS(text, "4321,0,2050,2,\"512..1023=1 1024..2047=1\",\"400010 - ");
}

/* Reads one field as specified by RFC 4180. Returns the text after its separator. */
static const char *read_field(const char *at, char *field, size_t size)
{
	size_t len = 0;
	bool quoted = *at == '"';

	for (at += quoted;; at++) {
		REQUIRE(*at && len + 1 < size);
		if (quoted && *at == '"' && *++at != '"')
			break;
		if (!quoted && (*at == ',' || *at == '\r'))
			break;
		field[len++] = *at;
	}
	field[len] = '\0';
	if (*at == ',')
		return at + 1;
	REQUIRE(at[0] == '\r' && at[1] == '\n');
	return at + 2;
}

static void names_cannot_break_a_record(void)
{
	static const char *const symbols[] = {
		"a\"b,c", "\"", "\"\"", "=cmd|' /C calc'!A0", "a\r\nb,\"", "x\xff",
	};
	static const char *const shown[] = {
		"a\"b,c", "\"", "\"\"", "=cmd|' /C calc'!A0", "a\\x0d\\x0ab,\"", "x\\xff",
	};

	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		_cleanup_(fixture_deinit) struct fixture f;
		char field[256], want[256];

		fixture_init(&f);
		uint64_t leaf = fixture_symbol(&f, symbols[i], "/x,\"\n");
		uint32_t stack = FIXTURE_STACK(&f, STACK_END_COMPLETE, leaf);

		fixture_block(&f, BLOCK_HEAP, 9, 1, stack);

		_cleanup_(freep) char *text = fixture_render(&f, "csv", NULL);
		const char *at = text + strlen(HEADER);

		REQUIRE(!strncmp(text, HEADER, strlen(HEADER)));
		for (int column = 0; column < 7; column++) {
			at = read_field(at, field, sizeof(field));
			snprintf(want, sizeof(want), "400010 - %s", shown[i]);
			if (column == 5)
				CHECK_STR(field, want);
			/* A spreadsheet would take such a field for a formula. */
			CHECK(!strchr("=+-@\t\r", field[0]) || !field[0]);
		}
		CHECK_STR(field, "heap");
		CHECK_STR(at, "");
	}
}

static void formulas_become_text(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", "\"\""},          {"plain, text", "\"plain, text\""},
		{"=1+1", "\"'=1+1\""}, {"+1", "\"'+1\""},
		{"-1", "\"'-1\""},     {"@SUM(A1)", "\"'@SUM(A1)\""},
		{"\t=1", "\"'\t=1\""}, {"\r=1", "\"'\r=1\""},
		{"a=1", "\"a=1\""},    {"\"=1", "\"\"\"=1\""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);

		REQUIRE(out);
		csv_write_field(cases[i].text, out);
		REQUIRE(!fclose(out));
		CHECK_STR(text, cases[i].want);
		free(text);
	}
}

int main(void)
{
	RUN(formulas_become_text);
	RUN(rows_have_the_columns_of_jeprofl);
	RUN(processes_by_their_pid);
	RUN(histogram_without_blocks);
	RUN(names_cannot_break_a_record);
	return check_done();
}
