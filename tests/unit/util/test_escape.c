// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>

#include "check.h"
#include "util/cleanup.h"
#include "util/escape.h"

#define CHECK_ESCAPED(in, want)                                                          \
	do {                                                                             \
		_cleanup_(freep) char *escaped_ = escape_dup(in);                        \
		CHECK_STR(escaped_, want);                                               \
	} while (0)

static void printable_passes(void)
{
	CHECK_ESCAPED("", "");
	CHECK_ESCAPED("operator new(unsigned long)", "operator new(unsigned long)");
	CHECK_ESCAPED("a\\x1b\\n\"'<>&", "a\\x1b\\n\"'<>&");
	CHECK_ESCAPED(" ~", " ~");
	CHECK_ESCAPED("\u00a0\u00e9 \u03b1 \u4e2d\u6587 \U0001f600",
		      "\u00a0\u00e9 \u03b1 \u4e2d\u6587 \U0001f600");
	/* The first and last character of each length, and both neighbours of the
	 * surrogates. */
	CHECK_ESCAPED("\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff",
		      "\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff");
}

static void controls_do_not(void)
{
	CHECK_ESCAPED("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m");
	CHECK_ESCAPED("a\tb\nc\rd\be\a", "a\\x09b\\x0ac\\x0dd\\x08e\\x07");
	CHECK_ESCAPED("\x01\x1f\x7f", "\\x01\\x1f\\x7f");
	/* C1: NEL, CSI and the last one. */
	CHECK_ESCAPED("\xc2\x80\xc2\x85\xc2\x9b\xc2\x9f",
		      "\\xc2\\x80\\xc2\\x85\\xc2\\x9b\\xc2\\x9f");
}

static void malformed_does_not(void)
{
	CHECK_ESCAPED("\x80", "\\x80");
	CHECK_ESCAPED("a\xff"
		      "b\xfe",
		      "a\\xffb\\xfe");
	/* Overlong: '/', NUL, U+07FF and U+FFFF with one byte too many. */
	CHECK_ESCAPED("\xc0\xaf", "\\xc0\\xaf");
	CHECK_ESCAPED("\xc1\xbf", "\\xc1\\xbf");
	CHECK_ESCAPED("\xc0\x80", "\\xc0\\x80");
	CHECK_ESCAPED("\xe0\x9f\xbf", "\\xe0\\x9f\\xbf");
	CHECK_ESCAPED("\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf");
	/* Surrogates, alone and as a pair. */
	CHECK_ESCAPED("\xed\xa0\x80", "\\xed\\xa0\\x80");
	CHECK_ESCAPED("\xed\xbf\xbf", "\\xed\\xbf\\xbf");
	CHECK_ESCAPED("\xed\xa0\xbd\xed\xb8\x80", "\\xed\\xa0\\xbd\\xed\\xb8\\x80");
	/* Above U+10FFFF, and lead bytes that are never valid. */
	CHECK_ESCAPED("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	CHECK_ESCAPED("\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80");
	CHECK_ESCAPED("\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80");
}

static void cut_sequences_do_not_eat_what_follows(void)
{
	CHECK_ESCAPED("\xc3", "\\xc3");
	CHECK_ESCAPED("\xe4\xb8", "\\xe4\\xb8");
	CHECK_ESCAPED("\xf0\x9f\x98", "\\xf0\\x9f\\x98");
	CHECK_ESCAPED("\xc3"
		      "A",
		      "\\xc3A");
	CHECK_ESCAPED("\xe4\xb8"
		      "A",
		      "\\xe4\\xb8A");
	CHECK_ESCAPED("\xe4\x1b[", "\\xe4\\x1b[");
	CHECK_ESCAPED("\xe4\xc3\xa9", "\\xe4\xc3\xa9");
}

static void directional_controls_do_not(void)
{
	CHECK_ESCAPED("\u202a", "\\xe2\\x80\\xaa");
	CHECK_ESCAPED("x\u202ey", "x\\xe2\\x80\\xaey");
	CHECK_ESCAPED("\u2066\u2069", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9");
	CHECK_ESCAPED("\u200e\u200f", "\\xe2\\x80\\x8e\\xe2\\x80\\x8f");
	CHECK_ESCAPED("\u2028\u2029", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9");
	CHECK_ESCAPED("\u061c", "\\xd8\\x9c");
	/* Their neighbours are not escaped. */
	CHECK_ESCAPED("\u200d\u2010\u2027\u202f\u2065\u206a\u061b\u061d",
		      "\u200d\u2010\u2027\u202f\u2065\u206a\u061b\u061d");
}

static void bytes_may_hold_nul(void)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};

	strbuf_append(&out, "[");
	escape_bytes(&out, "a\0b", 3);
	escape_bytes(&out, "\xc3\xa9", 1);
	escape_bytes(&out, "", 0);
	escape_text(&out, "]");
	CHECK_STR(strbuf_text(&out), "[a\\x00b\\xc3]");
}

/* Table 3-7 of the Unicode standard, written down independently. */
static int passes(uint32_t b0, uint32_t b1, uint32_t b2)
{
	uint32_t code = (b0 & 0xf) << 12 | (b1 & 0x3f) << 6 | (b2 & 0x3f);

	if (b0 == 0xe0 ? b1 < 0xa0 : b1 < 0x80)
		return 0;
	if (b0 == 0xed ? b1 > 0x9f : b1 > 0xbf)
		return 0;
	if (b2 < 0x80 || b2 > 0xbf)
		return 0;
	return code != 0x200e && code != 0x200f && !(code >= 0x2028 && code <= 0x202e) &&
	       !(code >= 0x2066 && code <= 0x2069);
}

static void all_of_three_bytes(void)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	unsigned wrong = 0;

	for (uint32_t b0 = 0xe0; b0 <= 0xef; b0++) {
		for (uint32_t rest = 0; rest < 0x10000; rest++) {
			char in[3] = {(char)b0, (char)(rest >> 8), (char)rest};

			out.len = 0;
			escape_bytes(&out, in, 3);

			int same = out.len == 3 && !memcmp(out.data, in, 3);

			wrong += same != passes(b0, rest >> 8, rest & 0xff);
		}
	}
	CHECK_INT(wrong, 0);
}

int main(void)
{
	RUN(printable_passes);
	RUN(controls_do_not);
	RUN(malformed_does_not);
	RUN(cut_sequences_do_not_eat_what_follows);
	RUN(directional_controls_do_not);
	RUN(bytes_may_hold_nul);
	RUN(all_of_three_bytes);
	return check_done();
}
