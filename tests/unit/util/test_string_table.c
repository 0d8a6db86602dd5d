// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "util/string_table.h"

static void each_string_once(void)
{
	struct string_table table = {0};
	uint32_t index;
	char text[32];

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 5000; i++) {
			snprintf(text, sizeof(text), "%u", i);
			REQUIRE(string_table_add(&table, text, &index));
			CHECK_INT(index, i);
		}
	}
	REQUIRE(string_table_add(&table, "", &index));
	CHECK_INT(index, 5000);
	CHECK_STR(string_table_get(&table, 4999), "4999");
	CHECK_STR(string_table_get(&table, 5000), "");
	CHECK(!string_table_get(&table, 5001));
	CHECK(!string_table_get(&table, STRING_NONE));
	REQUIRE(string_table_add(&table, NULL, &index));
	CHECK_INT(index, STRING_NONE);
	string_table_deinit(&table);
	CHECK(!string_table_get(&table, 0));
}

static void takes_over_bytes(void)
{
	static const char bytes[] = "a\0\0bc";
	struct string_table table = {0};
	char *copy = malloc(sizeof(bytes));
	uint32_t index;

	REQUIRE(copy);
	memcpy(copy, bytes, sizeof(bytes));
	/* The last string has no NUL. */
	CHECK(!string_table_take(&table, copy, sizeof(bytes) - 1));
	CHECK(!table.bytes.data);
	REQUIRE(string_table_take(&table, copy, sizeof(bytes)));
	CHECK_STR(string_table_get(&table, 0), "a");
	CHECK_STR(string_table_get(&table, 1), "");
	CHECK_STR(string_table_get(&table, 2), "bc");
	CHECK(!string_table_get(&table, 3));
	for (uint32_t i = 0; i < 3; i++)
		CHECK_INT(string_table_index(&table, string_table_get(&table, i)), i);
	CHECK(string_table_owns(&table, copy + sizeof(bytes) - 1));
	CHECK(!string_table_owns(&table, copy + sizeof(bytes)));
	CHECK(!string_table_owns(&table, "a"));
	CHECK(!string_table_owns(&table, NULL));
	CHECK(!string_table_add(&table, "new", &index));
	string_table_deinit(&table);
}

int main(void)
{
	RUN(each_string_once);
	RUN(takes_over_bytes);
	return check_done();
}
