// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "target/elf.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct plan *, plan_destroy);

static size_t table_length(void)
{
	size_t n = 0;

	while (alloc_libc_functions[n].name)
		n++;
	return n;
}

/* An entry that frees needs no return: the block goes at entry, and free cannot fail. */
static bool wants_return(const struct alloc_function *function, bool mappings)
{
	return function->effect != EFFECT_FREE || mappings;
}

static const struct plan_site *site_at(const struct plan *plan, uint64_t offset)
{
	for (size_t i = 0; i < plan->sites.len; i++)
		if (plan->sites.data[i].entry_offset == offset)
			return &plan->sites.data[i];
	return NULL;
}

static struct error *required_missing(const struct plan *plan,
				      const struct alloc_function *function)
{
	return error_create(
		ERROR_NOT_FOUND,
		"%s does not define %s: name the file that holds the allocator "
		"with --lib PATH",
		plan->allocator.module_path, function->name);
}

static struct error *add_skip(struct plan *plan, const struct alloc_function *function,
			      const struct plan_site *other)
{
	const struct plan_skip skip = {
		.function = function,
		.same_as = other ? other->function : NULL,
	};

	/* Whether a call is a malloc or a free could not be told. */
	if (function->required)
		return error_create(
			ERROR_UNSUPPORTED,
			other ? "%s: %s has the same code as %s"
			      : "%s: %s is an indirect function%s, which cannot "
				"be probed: name another file with --lib PATH",
			plan->allocator.module_path, function->name,
			other ? other->function->name : "");
	return vec_push(&plan->skipped, skip) ? NULL : error_no_memory();
}

static struct error *add_function(struct plan *plan,
				  const struct alloc_function *function,
				  const struct elf_symbol *symbol, bool mappings)
{
	if (!symbol->name) {
		if (function->required)
			return required_missing(plan, function);
		return vec_push(&plan->missing, function) ? NULL : error_no_memory();
	}

	const struct plan_site *other = site_at(plan, symbol->file_offset);
	if (other || symbol->type == STT_GNU_IFUNC)
		return add_skip(plan, function, other);

	struct plan_site site = {
		.function = function,
		.address = symbol->address,
		.entry_offset = symbol->file_offset,
		.wants_return = wants_return(function, mappings),
		.reason = "first instruction",
	};
	if (site.wants_return)
		site.return_offset = symbol->file_offset;
	return vec_push(&plan->sites, site) ? NULL : error_no_memory();
}

static struct error *fill(struct plan *plan, bool mappings)
{
	size_t count = table_length();
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_(freep) const char **names = calloc(count, sizeof(*names));
	_cleanup_(freep) struct elf_symbol *symbols = calloc(count, sizeof(*symbols));

	if (!names || !symbols)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		names[i] = alloc_libc_functions[i].name;

	struct error *err = elf_file_open(plan->allocator.open_path, &file);
	if (!err)
		err = elf_file_find_functions(file, names, count, symbols);
	if (err)
		return error_prefix(err, "allocator %s", plan->allocator.module_path);

	if (elf_file_build_id(file)) {
		plan->build_id = strdup(elf_file_build_id(file));
		if (!plan->build_id)
			return error_no_memory();
	}
	for (size_t i = 0; i < count; i++) {
		if (alloc_libc_functions[i].mapping && !mappings)
			continue;
		err = add_function(plan, &alloc_libc_functions[i], &symbols[i], mappings);
		if (err)
			return err;
	}
	return NULL;
}

struct error *plan_build_for(struct allocator *allocator, bool mappings,
			     struct plan **ret)
{
	_cleanup_(plan_destroyp) struct plan *plan = calloc(1, sizeof(*plan));

	if (!plan) {
		allocator_deinit(allocator);
		return error_no_memory();
	}
	plan->allocator = *allocator;
	*allocator = (struct allocator){0};

	struct error *err = fill(plan, mappings);
	if (err)
		return err;
	*ret = take(plan);
	return NULL;
}

struct error *plan_build(const struct proc *proc, const struct proc_maps *maps,
			 const struct plan_options *options, struct plan **ret)
{
	struct allocator allocator;
	struct error *err = allocator_find(proc, maps, options->library, &allocator);

	if (!err)
		err = plan_build_for(&allocator, options->mappings, ret);
	/* The file may be gone because the process is. */
	if (err && err->code != ERROR_GONE && proc_has_exited(proc)) {
		error_destroy(err);
		return error_create(ERROR_GONE, "process %d (%s) has exited", proc->pid,
				    proc->command);
	}
	return err;
}

void plan_destroy(struct plan *plan)
{
	if (!plan)
		return;
	allocator_deinit(&plan->allocator);
	free(plan->build_id);
	vec_deinit(&plan->sites);
	vec_deinit(&plan->skipped);
	vec_deinit(&plan->missing);
	free(plan);
}
