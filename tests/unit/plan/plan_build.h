/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of plans: builds a process's or a file's, and finds sites in it. */
#ifndef TESTS_UNIT_PLAN_PLAN_BUILD_H
#define TESTS_UNIT_PLAN_PLAN_BUILD_H

#include "check.h"

#include "plan/plan.h"
#include "util/cleanup.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

DEFINE_CLEANUP(struct proc *, proc_close);
DEFINE_CLEANUP(struct plan *, plan_destroy);

static inline struct error *build_on(int pid, const struct plan_options *options,
				     struct plan **ret)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps;

	REQUIRE(!proc_open(pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));

	struct error *err = plan_build(proc, &maps, options, ret);

	proc_maps_deinit(&maps);
	return err;
}

static inline struct error *build(int pid, const char *library, bool mappings,
				  struct plan **ret)
{
	const struct plan_options options = {.library = library, .mappings = mappings};

	return build_on(pid, &options, ret);
}

/* Builds the plan for the file at `path`. Messages name it `shown`. */
static inline struct error *build_path(const char *path, const char *shown,
				       const struct plan_options *options,
				       struct plan **ret)
{
	const struct allocator_options how = {.mappings = options->mappings};
	struct allocator_file file = {
		.module_path = shown,
		.module_start = 0x7f0000000000,
	};
	struct allocators found = {0};
	char *stripped = NULL;
	struct error *err = target_file_named(NULL, path, &file.file);

	if (!err)
		err = allocators_scan(&file, &how, &found, &stripped);
	target_file_release(file.file);
	free(stripped);
	if (!err)
		err = plan_build_for(&found, options, ret);
	CHECK(!found.list.data);
	return err;
}

/* The only object of the plan. */
static inline const struct plan_object *only(const struct plan *plan)
{
	REQUIRE(plan->objects.len == 1);
	return &plan->objects.data[0];
}

static inline const struct plan_site *site_of(const struct plan *plan, const char *name)
{
	vec_foreach (site, &only(plan)->sites)
		if (!strcmp(site->function->name, name))
			return site;
	return NULL;
}

static inline const struct plan_skip *skip_of(const struct plan *plan, const char *name)
{
	vec_foreach (skip, &only(plan)->skipped)
		if (!strcmp(skip->function->name, name))
			return skip;
	return NULL;
}

static inline void add_untraced(void *arg, const struct plan_object *object,
				const struct alloc_function *function, const char *reason)
{
	char *text = arg;

	CHECK(object->allocator.module_path);
	snprintf(text + strlen(text), 512 - strlen(text), " %s: %s", function->name,
		 reason ? reason : "hidden");
}

/* The text of plan_untraced(). Borrowed until the next call. */
static inline const char *untraced_of(const struct plan *plan)
{
	static char text[512];

	text[0] = '\0';
	plan_untraced(plan, add_untraced, text);
	return text;
}

static inline void check_refused(struct error *err, enum error_code code,
				 const char *const words[])
{
	REQUIRE(err);
	CHECK_INT(err->code, code);
	for (; *words; words++)
		CHECK_CONTAINS(err->message, *words);
	error_destroy(err);
}

#define CHECK_REFUSED(err, code, ...)                                                    \
	check_refused(err, code, (const char *const[]){__VA_ARGS__, NULL})

static inline char *print(const struct plan *plan)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	REQUIRE(f);
	plan_print(plan, false, f);
	REQUIRE(fclose(f) == 0);
	return text;
}

#endif
