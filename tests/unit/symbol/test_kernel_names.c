// SPDX-License-Identifier: Apache-2.0
#include "kernel_names_text.h"

#include "symbol_table.h"
#include "util/cleanup.h"

#define BASE UINT64_C(0xffffffff81000000)

/* A symbolizer of the kernel over one that knows one function of user space. */
static struct symbolizer *over(const struct kernel_names *names)
{
	static const struct symbol_row row = {0x1000, 0x2000, "user", "/bin/user"};
	struct symbolizer *user, *both;

	REQUIRE(!symbolizer_table_create(&row, 1, &user));
	REQUIRE(!symbolizer_with_kernel(user, names, &both));
	return both;
}

static void check_name(struct symbolizer *symbolizer, uint64_t address, const char *name,
		       const char *module, uint64_t offset)
{
	struct symbol symbol = {0};

	REQUIRE(!symbolizer->ops->resolve(symbolizer, address, &symbol));
	CHECK_STR(symbol.name ? symbol.name : "none", name);
	CHECK_STR(symbol.module ? symbol.module : "none", module);
	CHECK_INT(symbol.offset, offset);
	symbol_deinit(&symbol);
}

/* Unsorted input. Data symbols are ignored. If several symbols have one address, the
 * first counts. */
static void functions(void)
{
	struct kernel_names *names = read_text("ffffffff81000000 T _stext\n"
					       "ffffffff81000000 T _text\n"
					       "ffffffff81000200 t inner\n"
					       "ffffffff81000100 T outer\n"
					       "ffffffff81000180 D data\n"
					       "ffffffffc0000000 t init\t[ext4]\n"
					       "ffffffffc0000040 W weak\t[ext4]\n");
	struct symbolizer *symbolizer = over(names);

	CHECK(!kernel_names_are_hidden(names));
	check_name(symbolizer, BASE, "_stext", "[kernel]", 0);
	check_name(symbolizer, BASE + 0xff, "_stext", "[kernel]", 0xff);
	check_name(symbolizer, BASE + 0x100, "outer", "[kernel]", 0);
	check_name(symbolizer, BASE + 0x190, "outer", "[kernel]", 0x90);
	check_name(symbolizer, BASE + 0x201, "inner", "[kernel]", 1);
	check_name(symbolizer, UINT64_C(0xffffffffc0000041), "weak", "[ext4]", 1);
	/* An address below all functions, and user space addresses. */
	check_name(symbolizer, BASE - 1, "none", "none", 0);
	check_name(symbolizer, 0x1010, "user", "/bin/user", 0x10);
	check_name(symbolizer, 0x3000, "none", "none", 0);
	symbolizer_destroy(symbolizer);
	kernel_names_destroy(names);
}

/* kernel.kptr_restrict: every address is 0. */
static void hidden(void)
{
	struct kernel_names *names = read_text("0000000000000000 T _text\n"
					       "0000000000000000 t inner\t[ext4]\n");
	struct symbolizer *symbolizer = over(names);

	CHECK(kernel_names_are_hidden(names));
	check_name(symbolizer, BASE, "none", "none", 0);
	symbolizer_destroy(symbolizer);
	kernel_names_destroy(names);
}

static void garbage(void)
{
	struct kernel_names *names = read_text("\n"
					       "x\n"
					       "ffffffff81000000\n"
					       "ffffffff81000000 \n"
					       "ffffffff81000000 T\n"
					       "ffffffff81000000 T \n"
					       "ffffffff81000000 T \t[m]\n"
					       "ffffffffffffffffffff T far [\n"
					       "ffffffff81000010 T last");
	struct symbolizer *symbolizer = over(names);

	check_name(symbolizer, BASE + 0x11, "last", "[kernel]", 1);
	check_name(symbolizer, BASE, "none", "none", 0);
	symbolizer_destroy(symbolizer);
	kernel_names_destroy(names);
}

int main(void)
{
	RUN(functions);
	RUN(hidden);
	RUN(garbage);
	return check_done();
}
