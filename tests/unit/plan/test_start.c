// SPDX-License-Identifier: Apache-2.0
/* Where functions begin: by the file, and not by whoever says so. */
#include "check.h"

#include <fcntl.h>

#include "plan/start.h"
#include "target/target_file.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct cfi *, cfi_close);

__attribute__((noinline)) static int described(int n)
{
	return n * n + 1;
}

static void places(void)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_(cfi_closep) struct cfi *cfi = NULL;
	const char *const names[] = {"described"};
	struct elf_symbol symbol;

	/* Not known when this is compiled: there is no copy for the number 3 alone. */
	volatile int three = 3;

	CHECK_INT(described(three), 10);
	REQUIRE(!elf_file_open("/proc/self/exe", &file));
	REQUIRE(!elf_file_find_functions(file, names, 1, &symbol) && symbol.name);
	REQUIRE(!cfi_open_file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &cfi));
	CHECK(!symbol.is_from_debug);
	CHECK(!start_doubt(cfi, &symbol));
	CHECK(!start_doubt(NULL, &symbol));

	/* A debug file is believed where the file itself says the same. */
	symbol.is_from_debug = true;
	CHECK(!start_doubt(cfi, &symbol));
	CHECK(start_doubt(NULL, &symbol));

	for (int forged = 0; forged < 2; forged++) {
		struct elf_symbol inside = symbol;

		inside.is_from_debug = forged;
		inside.address++;
		REQUIRE(start_doubt(cfi, &inside));
		CHECK_CONTAINS(start_doubt(cfi, &inside), "into another function");
	}

	/* Code of which the file has nothing to tell. */
	symbol.address = 1;
	CHECK(start_doubt(cfi, &symbol));
	symbol.is_from_debug = false;
	CHECK(!start_doubt(cfi, &symbol));
}

int main(void)
{
	RUN(places);
	return check_done();
}
