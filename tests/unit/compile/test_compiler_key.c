// SPDX-License-Identifier: Apache-2.0
/* Whatever the compiled code depends on changes the key of its entry in the cache. */
#include "compile/compiler_key.h"

#include <stdlib.h>

#include "bpf/kernel_identity.h"
#include "check.h"

/* --- stand-ins -------------------------------------------------------------------- */

/* The key as another version of memtrace computes it. */
bool key_of_other_version(const struct source *source, const struct headers *headers,
			  struct cache_key *ret);

static const char *kernel;

/* Replaces the one of src/bpf: the kernel can be chosen. NULL: it cannot be
 * identified. */
bool kernel_identity_append(struct strbuf *text)
{
	if (kernel)
		strbuf_append(text, kernel);
	return kernel;
}

#undef MEMTRACE_VERSION
#define MEMTRACE_VERSION "0.0.other"
#define compiler_key     key_of_other_version
#include "compile/compiler_key.c"
#undef compiler_key

/* --- tests ------------------------------------------------------------------------ */

static char text[64];
static char *flags[3];
static struct source source;
static struct headers headers;

/* What the tests change. */
static void begin(void)
{
	static char first[8], second[8];

	strcpy(text, "int one;");
	strcpy(first, "-DA=1");
	strcpy(second, "-DB");
	flags[0] = first;
	flags[1] = second;
	source.text = text;
	source.flags.list = flags;
	source.flags.count = 2;
	headers.is_embedded = true;
	kernel = "kernel one";
	unsetenv("LD_LIBRARY_PATH");
	unsetenv("LD_PRELOAD");
}

static struct cache_key key(void)
{
	struct cache_key key = {{0}};

	CHECK(compiler_key(&source, &headers, &key));
	return key;
}

static bool equal(struct cache_key one, struct cache_key other)
{
	return !memcmp(&one, &other, sizeof(one));
}

static void the_same(void)
{
	struct cache_key one;

	begin();
	one = key();
	begin();
	CHECK(equal(one, key()));
}

/* One letter of the text or of a flag, another number of flags. */
static void source_and_flags(void)
{
	struct cache_key one;

	begin();
	one = key();
	text[4] = '2';
	CHECK(!equal(one, key()));

	begin();
	flags[0][4] = '2';
	CHECK(!equal(one, key()));

	begin();
	source.flags.count = 1;
	CHECK(!equal(one, key()));

	begin();
	flags[2] = flags[1];
	source.flags.count = 3;
	CHECK(!equal(one, key()));

	/* The same letters, in other words. */
	begin();
	strcpy(flags[0], "-DA=");
	strcpy(flags[1], "1-DB");
	CHECK(!equal(one, key()));
}

static void kernel_and_memtrace(void)
{
	struct cache_key one, other;

	begin();
	one = key();
	kernel = "kernel two";
	CHECK(!equal(one, key()));

	begin();
	REQUIRE(key_of_other_version(&source, &headers, &other));
	CHECK(!equal(one, other));
}

/* The dynamic linker may load another libbcc. */
static void libraries(void)
{
	static const char *const names[] = {"LD_LIBRARY_PATH", "LD_PRELOAD"};
	struct cache_key one;

	begin();
	one = key();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		begin();
		setenv(names[i], "/other", 1);
		CHECK(!equal(one, key()));
	}
}

/* What the code depends on is not known. */
static void no_key(void)
{
	struct cache_key none;

	begin();
	kernel = NULL;
	CHECK(!compiler_key(&source, &headers, &none));
	begin();
	headers.is_embedded = false;
	CHECK(!compiler_key(&source, &headers, &none));
}

int main(void)
{
	RUN(the_same);
	RUN(source_and_flags);
	RUN(kernel_and_memtrace);
	RUN(libraries);
	RUN(no_key);
	return check_done();
}
