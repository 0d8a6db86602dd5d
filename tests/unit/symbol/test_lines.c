// SPDX-License-Identifier: Apache-2.0
#include "unit/symbol/compare_lines.h"

int main(int argc, char **argv)
{
	make_work_dir();
	for (int i = 1; i < argc; i++) {
		SHELL("cp %s x", argv[i]);
		struct line_module *m = open_module("x");
		struct line_resources r = plain_resources();
		struct comparison c = compare_lines(m, &r, "x", "x", 20000);
		printf("%s: %u addresses, %u lines, %u inlined, %u unnamed %u differences (%s)\n", argv[i], c.addresses,
		       c.with_lines, c.inlined, c.unnamed, c.differences, line_module_missing(m));
		line_module_destroy(m);
	}
	remove_work_dir();
	return 0;
}
