// SPDX-License-Identifier: Apache-2.0
/* Numbers and texts that are written can be read again. All other input is refused. */
#include "check.h"

#include "confined/wire.h"
#include "util/cleanup.h"

static void comes_back(void)
{
	_cleanup_(strbuf_deinit) struct strbuf bytes = {0};
	struct wire in;

	wire_put_u32(&bytes, UINT32_MAX);
	wire_put_text(&bytes, "text");
	wire_put_text(&bytes, NULL);
	wire_put_text(&bytes, "");
	wire_put_u64(&bytes, UINT64_MAX - 1);
	in = wire_read(&bytes);
	CHECK_INT(wire_get_u32(&in), UINT32_MAX);
	CHECK_STR(wire_get_text(&in), "text");
	CHECK(!wire_get_text(&in));
	CHECK_STR(wire_get_text(&in), "");
	CHECK(!wire_is_done(&in));
	CHECK(wire_get_u64(&in) == UINT64_MAX - 1);
	CHECK(wire_is_done(&in));
}

/* Cut off at each length: no read beyond the end, and the error is noticed. */
static void cut_short(void)
{
	_cleanup_(strbuf_deinit) struct strbuf bytes = {0};

	wire_put_text(&bytes, "a text");
	wire_put_u64(&bytes, 7);
	for (size_t len = 0; len < bytes.len; len++) {
		/* Exactly that size, so that a sanitizer notices reads beyond it. */
		char *copy = malloc(len ? len : 1);
		struct wire in = {.at = copy, .end = copy + len};

		REQUIRE(copy);
		memcpy(copy, bytes.data, len);
		(void)wire_get_text(&in);
		(void)wire_get_u64(&in);
		CHECK(in.failed);
		CHECK(!wire_is_done(&in));
		CHECK_INT(wire_get_u32(&in), 0);
		CHECK(!wire_get_text(&in));
		free(copy);
	}
}

static void hostile(void)
{
	_cleanup_(strbuf_deinit) struct strbuf bytes = {0};
	struct wire in;

	/* A text that is longer than the input, and one whose NUL is cut off. */
	wire_put_u32(&bytes, UINT32_MAX - 1);
	in = wire_read(&bytes);
	CHECK(!wire_get_text(&in) && in.failed);
	bytes.len = 0;
	wire_put_text(&bytes, "abc");
	bytes.data[bytes.len - 1] = 'd';
	in = wire_read(&bytes);
	CHECK(!wire_get_text(&in) && in.failed);

	/* A text with a NUL before its end: its length is not the one that was sent. */
	bytes.len = 0;
	wire_put_text(&bytes, "abc");
	bytes.data[sizeof(uint32_t) + 1] = '\0';
	in = wire_read(&bytes);
	CHECK(!wire_get_text(&in) && in.failed);

	/* A count that the input is too short for. */
	bytes.len = 0;
	wire_put_u32(&bytes, 3);
	wire_put_u32(&bytes, 1);
	wire_put_u32(&bytes, 2);
	in = wire_read(&bytes);
	CHECK(!wire_get_count(&in, 4) && in.failed);
	in = wire_read(&bytes);
	CHECK_INT(wire_get_count(&in, 2), 3);
}

int main(void)
{
	RUN(comes_back);
	RUN(cut_short);
	RUN(hostile);
	return check_done();
}
