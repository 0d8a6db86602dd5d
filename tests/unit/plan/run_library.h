/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For unit.plan.returns_run: an allocator's library, and the sites of each of its
 * functions on kernels of different ages.
 */
#ifndef TESTS_UNIT_PLAN_RUN_LIBRARY_H
#define TESTS_UNIT_PLAN_RUN_LIBRARY_H

#include "check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "allocator/allocator.h"
#include "code/callees.h"
#include "code/cfg.h"
#include "code/reach.h"
#include "elf/elf.h"
#include "plan/returns.h"
#include "plan/site.h"
#include "unwind/cfi.h"
#include "util/cleanup.h"

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define ALL           (EMULATED_BRANCH | EMULATED_PUSH | EMULATED_NOPS)
#define FUNCTIONS_MAX 256

/* Sets of instructions that kernels of different ages emulate. Last: none. */
static const unsigned variants[] = {ALL, ALL | EMULATED_CALL, EMULATED_BRANCH, 0};

#define VARIANTS COUNT(variants)

struct function {
	const struct alloc_function *kind;
	struct elf_symbol symbol;
	enum result_width width;
	struct return_sites sites[VARIANTS];
	const char *why[VARIANTS]; /* why no sites were found, or NULL */
	struct return_sites whole; /* sites that see whole calls, if is_fused */
	struct cfg cfg;            /* empty if the code is not understood */
	unsigned calls, failed;
};

struct library {
	const char *label;
	char *path;         /* without symbolic links */
	const char *folder; /* folder of the other libraries; NULL: this machine's */
	const char *linker; /* dynamic linker that loads it */
	char *build_id;
	struct elf_file *elf;
	struct cfi *cfi;
	struct allocators allocators;
	struct callees callees;
	struct cfg_source source;
	struct function functions[FUNCTIONS_MAX];
	size_t count, whole_count;
};

static inline size_t read_code(void *arg, uint64_t address, uint8_t *ret, size_t size)
{
	const struct library *library = arg;

	return callees_read(&library->callees, address, ret, size);
}

static inline bool find_extent(void *arg, uint64_t address, uint64_t *start,
			       uint64_t *end)
{
	const struct library *library = arg;
	struct cfi_fde fde;

	if (!library->cfi || !cfi_find_fde(library->cfi, address, &fde))
		return false;
	*start = fde.start;
	*end = fde.end;
	return true;
}

static inline void check_sites(const struct function *f, unsigned variant)
{
	const struct return_sites *sites = &f->sites[variant];

	CHECK(sites->list.len > 0 && sites->list.len <= RETURN_SITES_MAX);
	for (size_t i = 0; i < sites->list.len; i++) {
		const struct return_site *s = &sites->list.data[i];

		CHECK(i == 0 || sites->list.data[i - 1].address < s->address);
		CHECK(s->value[0].kind || (s->has_condition && s->value[1].kind));
		CHECK(s->is_emulated || !s->has_condition);
		CHECK(s->reason);
	}
}

static inline void add_function(struct library *library,
				const struct allocator_function *found,
				struct returns all[VARIANTS])
{
	struct function *f = &library->functions[library->count];

	for (size_t i = 0; i < library->count; i++)
		if (library->functions[i].symbol.address == found->symbol.address)
			return;
	REQUIRE(library->count < FUNCTIONS_MAX);
	library->count++;
	*f = (struct function){.kind = found->function,
			       .symbol = found->symbol,
			       .width = site_result_width(found->function->effect)};
	if (cfg_read(&library->source, f->symbol.address, f->symbol.size_bytes, &f->cfg))
		cfg_deinit(&f->cfg);
	for (unsigned v = 0; v < VARIANTS; v++) {
		f->why[v] = returns_find(
			&all[v],
			&(struct returns_request){.address = f->symbol.address,
						  .size = f->symbol.size_bytes,
						  .width = f->width,
						  .asked = RETURN_NO_SIZE},
			&f->sites[v]);
		if (f->why[v])
			return_sites_deinit(&f->sites[v]);
		else
			check_sites(f, v);
	}
}

static inline bool is_probed(void *arg, uint64_t address)
{
	const struct library *library = arg;

	for (size_t i = 0; i < library->count; i++)
		if (library->functions[i].symbol.address == address &&
		    !library->functions[i].kind->mapping)
			return true;
	return false;
}

/* Finds whole calls in one library. */
struct finding {
	struct library *library;
	struct reach reach;
};

static inline bool may_call(void *arg, uint64_t address)
{
	return reach_any(&((struct finding *)arg)->reach, address);
}

/* Is there a traced function at this address? Then calls that continue there are seen
 * there. */
static inline bool is_seen(const struct library *library, uint64_t address)
{
	for (size_t i = 0; i < library->count; i++) {
		const struct function *f = &library->functions[i];

		if (f->symbol.address == address &&
		    (f->whole.is_fused || !strcmp(f->kind->name, "malloc")))
			return true;
	}
	return false;
}

static inline bool is_covered(void *arg, uint64_t address)
{
	return is_seen(((const struct finding *)arg)->library, address);
}

/* The sites of memtrace on a kernel that emulates all of these instructions. */
static inline void find_wholes(struct library *library)
{
	struct finding finding = {.library = library,
				  .reach = {.source = &library->source,
					    .is_probed = is_probed,
					    .arg = library}};
	struct returns all = {.source = &library->source,
			      .emulated = variants[0],
			      .is_covered = is_covered,
			      .calls = may_call,
			      .arg = &finding};

	for (size_t i = 0; i < library->count; i++) {
		struct function *f = &library->functions[i];
		const struct returns_request request = {.address = f->symbol.address,
							.size = f->symbol.size_bytes,
							.width = f->width,
							.asked = site_asked(f->kind)};

		if (request.asked != RETURN_NO_SIZE)
			returns_find(&all, &request, &f->whole);
		library->whole_count += f->whole.is_fused;
	}
	returns_deinit(&all);
	reach_deinit(&finding.reach);
}

static inline void find_sites(struct library *library)
{
	vec_foreach (allocator, &library->allocators.list) {
		struct returns all[VARIANTS] = {0};

		for (unsigned v = 0; v < VARIANTS; v++)
			all[v] = (struct returns){
				.source = &library->source,
				.emulated = variants[v],
				.has_hooks = !strcmp(allocator->label, LABEL_GLIBC)};
		vec_foreach (found, &allocator->functions)
			add_function(library, found, all);
		for (unsigned v = 0; v < VARIANTS; v++)
			returns_deinit(&all[v]);
	}
	find_wholes(library);
}

static inline void library_deinit(struct library *library)
{
	for (size_t i = 0; i < library->count; i++) {
		cfg_deinit(&library->functions[i].cfg);
		for (unsigned v = 0; v < VARIANTS; v++)
			return_sites_deinit(&library->functions[i].sites[v]);
		return_sites_deinit(&library->functions[i].whole);
	}
	if (library->source.read)
		callees_deinit(&library->callees);
	for (size_t i = 0; i < library->allocators.list.len; i++)
		allocator_deinit(&library->allocators.list.data[i]);
	vec_deinit(&library->allocators.list);
	cfi_close(library->cfi);
	elf_file_close(library->elf);
	free(library->path);
	free(library->build_id);
}

/* False if the file does not exist or has no allocator. */
static inline bool library_open(struct library *library)
{
	struct allocator_file file = {
		.module_path = library->path, .text_end = UINT64_MAX, .is_named = true};
	const struct allocator_options options = {.mappings = true};
	_cleanup_(freep) char *why = NULL;
	const struct elf_symbol *first;
	int fd;

	_cleanup_(error_destroyp) struct error *error =
		elf_file_open(library->path, &library->elf);
	if (error)
		return false;
	if (elf_file_build_id(library->elf))
		library->build_id = strdup(elf_file_build_id(library->elf));
	REQUIRE(!target_file_named(NULL, library->path, &file.file));
	REQUIRE(!allocators_scan(&file, &options, &library->allocators, &why));
	target_file_release(file.file);
	if (!library->allocators.list.len ||
	    !library->allocators.list.data[0].functions.len)
		return false;
	fd = open(library->path, O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0 && !cfi_open_file(fd, &library->cfi));
	first = &library->allocators.list.data[0].functions.data[0].symbol;
	REQUIRE(!callees_init(&library->callees, library->elf,
			      first->address - first->file_offset));
	library->source = (struct cfg_source){.read = read_code,
					      .extent = find_extent,
					      .arg = library,
					      .callees = &library->callees};
	find_sites(library);
	return true;
}

#endif
