// SPDX-License-Identifier: Apache-2.0
/* Rows of real programs and libraries, compared with libdw's. */
#include "unit/unwind/row_compare.h"

#include <glob.h>
#include <link.h>

static void this_program(void)
{
	compare_file("/proc/self/exe", 500, 0, 90);
}

static void static_program(void)
{
	compare_file(TEST_STATIC_PROGRAM, 5000, 0, 90);
}

static void debug_frame(void)
{
	compare_file(TEST_DEBUG_FRAME, 20, 20, 90);
}

static int compare_loaded(struct dl_phdr_info *info, size_t size, void *argument)
{
	unsigned *compared = argument;
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (slash && (strstr(slash, "/libc.so") || strstr(slash, "/ld-linux"))) {
		compare_file(info->dlpi_name, 1000, 0, 90);
		++*compared;
	}
	return 0;
}

static void libc_and_linker(void)
{
	unsigned compared = 0;

	dl_iterate_phdr(compare_loaded, &compared);
	CHECK_INT(compared, 2);
}

/* Large libraries by other compilers and in other languages, as far as they are
 * installed. */
static void large_libraries(void)
{
	static const char *const names[] = {
		"libstdc++.so.6", "libcrypto.so.3",   "libLLVM-1*.so.1",     "libm.so.6",
		"libgcc_s.so.1",  "libclang-1*.so.1", "libpython3.*.so.1.0",
	};
	unsigned found = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char pattern[128];
		glob_t paths;

		snprintf(pattern, sizeof(pattern), "/usr/lib/*-linux-gnu/%s", names[i]);
		if (glob(pattern, 0, NULL, &paths) != 0) {
			CHECK_SKIP_PART("%s is not installed", names[i]);
			continue;
		}
		compare_file(paths.gl_pathv[0], 100, 0, 90);
		found++;
		globfree(&paths);
	}
	/* libm is a part of glibc. */
	CHECK(found > 0);
}

int main(void)
{
	made_up_init(&made_up);
	RUN(this_program);
	RUN(static_program);
	RUN(debug_frame);
	RUN(libc_and_linker);
	RUN(large_libraries);
	return check_done();
}
