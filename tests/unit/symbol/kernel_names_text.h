/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNIT_SYMBOL_KERNEL_NAMES_TEXT_H
#define UNIT_SYMBOL_KERNEL_NAMES_TEXT_H

#include <string.h>

#include "check.h"
#include "symbol/kernel_names.h"
#include "util/cleanup.h"

/* The names of a /proc/kallsyms with this text. */
static inline struct kernel_names *read_text(const char *text)
{
	_cleanup_(fclosep) FILE *file = fmemopen((void *)text, strlen(text), "r");
	struct kernel_names *names;

	REQUIRE(file);
	names = kernel_names_read(file);
	REQUIRE(names);
	return names;
}

#endif
