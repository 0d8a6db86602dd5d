// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "check.h"
#include "null_allocations.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

static void starts_empty(void)
{
	struct strbuf buf = {0};

	CHECK_STR(strbuf_text(&buf), "");
	strbuf_append(&buf, "");
	strbuf_append_bytes(&buf, NULL, 0);
	CHECK_INT(buf.len, 0);
	CHECK_STR(strbuf_text(&buf), "");

	_cleanup_(freep) char *text = strbuf_steal(&buf);

	CHECK_STR(text, "");
	strbuf_deinit(&buf);
}

static void appends(void)
{
	_cleanup_(strbuf_deinit) struct strbuf buf = {0};

	strbuf_append(&buf, "one");
	strbuf_append_char(&buf, ' ');
	strbuf_appendf(&buf, "%s=%d%%", "two", 2);
	strbuf_appendf(&buf, "%s", "");
	strbuf_append_bytes(&buf, "\0x", 2);
	CHECK_INT(buf.len, 12);
	CHECK(!memcmp(buf.data, "one two=2%\0x", 13));
	CHECK(!buf.failed);
}

/* Each length around each reallocation: there must always be room for the NUL. */
static void grows_byte_by_byte(void)
{
	_cleanup_(strbuf_deinit) struct strbuf buf = {0};
	size_t wrong = 0;

	for (size_t i = 0; i < 5000; i++) {
		strbuf_append_char(&buf, (char)('a' + i % 26));
		wrong += buf.len != i + 1 || buf.data[i + 1] != '\0';
	}
	for (size_t i = 0; i < 5000; i++)
		wrong += buf.data[i] != (char)('a' + i % 26);
	CHECK_INT(wrong, 0);
}

static void formats_across_growth(void)
{
	for (int len = 50; len < 140; len++) {
		_cleanup_(strbuf_deinit) struct strbuf buf = {0};

		strbuf_append(&buf, "0123456789");
		strbuf_appendf(&buf, "%*d", len, 7);
		CHECK_INT(buf.len, 10 + len);
		CHECK_INT(strlen(strbuf_text(&buf)), 10 + len);
		CHECK_INT(buf.data[buf.len - 1], '7');
	}
}

static void appends_numbers(void)
{
	static const uint64_t numbers[] = {0, 7, 10, 99, 100, 4294967296, UINT64_MAX};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		_cleanup_(strbuf_deinit) struct strbuf buf = {0};
		char text[64];

		snprintf(text, sizeof(text), "%" PRIu64 " %" PRIx64, numbers[i],
			 numbers[i]);
		strbuf_append_decimal(&buf, numbers[i]);
		strbuf_append_char(&buf, ' ');
		strbuf_append_hex(&buf, numbers[i]);
		CHECK_STR(strbuf_text(&buf), text);
	}
}

static void clears(void)
{
	_cleanup_(strbuf_deinit) struct strbuf buf = {0};

	strbuf_clear(&buf);
	strbuf_append(&buf, "first");

	const char *storage = buf.data;

	strbuf_clear(&buf);
	CHECK_STR(strbuf_text(&buf), "");
	strbuf_append(&buf, "next");
	CHECK_STR(strbuf_text(&buf), "next");
	CHECK(buf.data == storage);
}

static void steal_hands_over(void)
{
	struct strbuf buf = {0};

	strbuf_append(&buf, "mine");

	_cleanup_(freep) char *text = strbuf_steal(&buf);

	CHECK_STR(text, "mine");
	CHECK(!buf.data && !buf.len && !buf.cap);
	strbuf_append(&buf, "next");
	CHECK_STR(strbuf_text(&buf), "next");
	strbuf_deinit(&buf);
	CHECK_STR(strbuf_text(&buf), "");
}

static void out_of_memory_sticks(void)
{
	struct strbuf buf = {0};
	volatile size_t hopeless = SIZE_MAX / 4;

	strbuf_append(&buf, "kept");
	CHECK(!strbuf_reserve(&buf, hopeless));
	CHECK(buf.failed);
	strbuf_append(&buf, "dropped");
	strbuf_append_decimal(&buf, 3);
	strbuf_appendf(&buf, "%d", 1);
	strbuf_append_char(&buf, 'x');
	CHECK_STR(strbuf_text(&buf), "kept");
	CHECK(!strbuf_reserve(&buf, 1));
	CHECK(!strbuf_steal(&buf));
	CHECK(!buf.failed && !buf.data);

	/* The size calculation must not overflow. */
	strbuf_append(&buf, "kept");
	CHECK(!strbuf_reserve(&buf, SIZE_MAX));
	CHECK(buf.failed);
	strbuf_deinit(&buf);
	CHECK(!buf.failed);
}

int main(void)
{
	RUN(starts_empty);
	RUN(appends);
	RUN(grows_byte_by_byte);
	RUN(formats_across_growth);
	RUN(appends_numbers);
	RUN(clears);
	RUN(steal_hands_over);
	RUN(out_of_memory_sticks);
	return check_done();
}
