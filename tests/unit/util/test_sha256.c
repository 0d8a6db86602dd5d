// SPDX-License-Identifier: Apache-2.0
/* The examples of FIPS 180-2, appendix B, and sha256sum's output for lengths around those
 * that need one more block. */
#include "check.h"

#include "util/sha256.h"

static const char *hex(const void *data, size_t len)
{
	static char text[2 * SHA256_BYTES + 1];
	uint8_t hash[SHA256_BYTES];

	sha256(data, len, hash);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
	return text;
}

static void examples(void)
{
	static char million[1000000];

	memset(million, 'a', sizeof(million));
	CHECK_STR(hex("", 0), "e3b0c44298fc1c149afbf4c8996fb924"
			      "27ae41e4649b934ca495991b7852b855");
	CHECK_STR(hex("abc", 3), "ba7816bf8f01cfea414140de5dae2223"
				 "b00361a396177a9cb410ff61f20015ad");
	CHECK_STR(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
		  "248d6a61d20638b8e5c026930c3e6039"
		  "a33ce45964ff2167f6ecedd419db06c1");
	CHECK_STR(hex(million, sizeof(million)), "cdc76e5c9914fb9281a1c7e284d73e67"
						 "f1809a48a497200e046d39ccc7112cd0");
}

static void every_length(void)
{
	static char text[130];
	FILE *pipe;

	memset(text, 'x', sizeof(text));
	pipe = popen("i=0; t=; while [ $i -lt 130 ]; do printf %s \"$t\" | sha256sum; "
		     "t=x$t; i=$((i + 1)); done",
		     "re");
	REQUIRE(pipe);
	for (size_t len = 0; len < sizeof(text); len++) {
		char want[2 * SHA256_BYTES + 1];

		REQUIRE(fscanf(pipe, "%64s -", want) == 1);
		CHECK_STR(hex(text, len), want);
	}
	CHECK(!pclose(pipe));
}

static void base64(void)
{
	/* printf abc | openssl dgst -sha256 -binary | base64 */
	CHECK_STR(sha256_base64("abc").s, "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
	CHECK_STR(sha256_base64("").s, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

int main(void)
{
	RUN(examples);
	RUN(every_length);
	RUN(base64);
	return check_done();
}
