/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and libraries of two reports that stand for each other although their names
 * differ: renamed files, and other versions. Private to diff/diff.c and to renderers of
 * its result. */
#ifndef DIFF_DIFF_MODULES_H
#define DIFF_DIFF_MODULES_H

#include "report/report.h"
#include "util/string_table.h"
#include "util/vec.h"

/* Why two files are taken for one. */
enum module_match {
	MATCH_PATH,     /* the same name in another directory */
	MATCH_BUILD_ID, /* the same build-id */
	MATCH_VERSION,  /* the same name without version numbers */
	/* Two functions or more have the same names, and at least half of the functions
	 * of the file with fewer. */
	MATCH_FUNCTIONS,
	MATCH_KINDS,
};

struct matched_module {
	const char *old, *new; /* paths, borrowed from the reports */
	enum module_match by;
};

struct matched_modules {
	VEC(struct matched_module) list;
	struct string_table old; /* the paths of the old report; the first ones are those
				    of `list`, in its order */
};

/*
 * Fill `ret`, which is empty, with the pairs of files, in the order of the old report.
 * Files with one name in both reports are one file, and are listed only if their
 * directories differ. Any other file is matched with at most one, which has no namesake
 * itself, in the order of enum module_match. Of more than 2,000 files none is matched.
 * Fails only when out of memory.
 */
struct error *diff_modules_match(const struct report *old, const struct report *new,
				 struct matched_modules *ret)
	__attribute__((warn_unused_result));
void diff_modules_deinit(struct matched_modules *modules);

/* The path of the new report's file for a file of the old report; the same path if it has
 * no other, or when out of memory. */
const char *diff_modules_new_path(struct matched_modules *modules, const char *old);

/* The length of a file's name without its version: "libfoo" for "libfoo.so.1.2" and
 * "libfoo-2.0.so", "python" for "python3.11". */
size_t diff_modules_stem_len(const char *name);

/* The words for a match: "another version". Static string. */
const char *diff_modules_words(enum module_match by);

#endif
