// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "kernel_heap/kernel_functions.h"
#include "check.h"
#include "util/cleanup.h"

static const char symbols[] = "ffffffff81000000 T _stext\n"
			      "ffffffff81000100 T vfs_read\n"
			      "ffffffff81000130 t vfs_readv\n"
			      "ffffffff81000200 W asm_exc_page_fault\n"
			      "ffffffff81000300 t reset\n"
			      "ffffffff82000000 D jiffies\n"
			      "ffffffff82000110 B vfs_reads\n"
			      "ffffffffc0000000 t reset\t[one]\n"
			      "ffffffffc0000080 t start_of_one\t[one]\n"
			      "ffffffffc0000040 t in_module\t[one]\n"
			      "damaged\n"
			      "\n"
			      "0\n"
			      "ffffffffc0000100 t";
static const char hidden[] = "0000000000000000 T vfs_read\n"
			     "0000000000000000 T vfs_readv\n";

static FILE *open_text(const char *text)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	REQUIRE(file);
	return file;
}

static void check_explained(const char *name, enum error_code code, const char *text)
{
	_cleanup_(fclosep) FILE *file = open_text(symbols);
	_cleanup_(error_destroyp) struct error *err =
		kernel_functions_explain(file, name);

	CHECK_INT(err->code, code);
	CHECK_STR(err->message, text);
}

static void explain(void)
{
	/* Data symbols are not functions. */
	check_explained("vfs_reed", ERROR_NOT_FOUND,
			"this kernel has no function vfs_reed: the nearest are vfs_read, "
			"vfs_readv");
	check_explained("jiffies", ERROR_NOT_FOUND,
			"this kernel has no function jiffies");
	check_explained(
		"asm_exc_page_fault", ERROR_UNSUPPORTED,
		"this kernel permits no probe in its function asm_exc_page_fault");
	check_explained("reset", ERROR_UNSUPPORTED,
			"this kernel has 2 functions named reset, and memtrace cannot "
			"tell which one is meant");

	struct error *err = kernel_functions_explain(NULL, "vfs_read");

	CHECK_STR(err->message, "this kernel has no function vfs_read");
	error_destroy(err);
}

static struct error *check_offset(const char *text, const char *name, uint64_t offset)
{
	_cleanup_(fclosep) FILE *file = open_text(text);

	return kernel_functions_check_offset(file, name, offset);
}

static void offsets(void)
{
	struct error *err;

	CHECK(!check_offset(symbols, "vfs_read", 0x2f));
	err = check_offset(symbols, "vfs_read", 0x30);
	REQUIRE(err);
	CHECK_STR(err->message, "the kernel's function vfs_read has 48 bytes: +48 is "
				"behind its end");
	CHECK_INT(err->code, ERROR_NOT_FOUND);
	error_destroy(err);
	/* Symbols of modules are not sorted. */
	CHECK(!check_offset(symbols, "in_module", 0x3f));
	err = check_offset(symbols, "in_module", 0x40);
	CHECK(err);
	error_destroy(err);
	/* The last symbol, one that does not exist, and hidden addresses. */
	CHECK(!check_offset(symbols, "start_of_one", UINT64_MAX));
	CHECK(!check_offset(symbols, "nowhere", UINT64_MAX));
	CHECK(!check_offset(hidden, "vfs_read", UINT64_MAX));
	CHECK(!kernel_functions_check_offset(NULL, "vfs_read", 1));
}

int main(void)
{
	RUN(explain);
	RUN(offsets);
	return check_done();
}
