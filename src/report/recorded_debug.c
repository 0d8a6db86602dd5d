// SPDX-License-Identifier: Apache-2.0
#include "report/recorded_debug.h"

#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

struct completed {
	struct symbolizer base;
	struct symbolizer *recorded; /* NULL: no names were recorded */
	const struct snapshot *snap;
	uint32_t process;
	struct debug_store *store;
	bool with_lines;
	uint64_t address; /* that `sources` belong to */
	struct source_frames sources;
};

static void set_sources(struct completed *self, struct source_frames *sources)
{
	source_frames_deinit(&self->sources);
	self->sources = *sources;
	*sources = (struct source_frames){.function_offset = 0};
}

static bool has_lines(const struct source_frames *sources)
{
	vec_foreach (frame, &sources->list) {
		if (frame->line)
			return true;
	}
	return false;
}

static struct error *ask_recorded(struct completed *self, uint64_t address,
				  struct symbol *ret)
{
	const struct symbolizer_ops *ops = self->recorded ? self->recorded->ops : NULL;
	struct source_frames sources = {.function_offset = 0};
	struct error *err = NULL;

	*ret = (struct symbol){0};
	if (ops)
		err = ops->resolve(self->recorded, address, ret);
	if (!err && ops && ops->find_sources)
		err = ops->find_sources(self->recorded, address, &sources);
	if (err)
		symbol_deinit(ret);
	set_sources(self, &sources);
	self->address = address;
	return err;
}

/* Take over what the debug file says and the snapshot does not. */
static struct error *complete(struct completed *self,
			      const struct snapshot_module *module, struct symbol *found,
			      struct source_frames *sources, struct symbol *symbol)
{
	if (has_lines(sources))
		set_sources(self, sources);
	if (symbol->name || !found->name)
		return NULL;
	symbol->name = take(found->name);
	symbol->offset = found->offset;
	if (!symbol->module)
		symbol->module = strdup(module->path);
	return symbol->module ? NULL : error_no_memory();
}

static struct error *ask_store(struct completed *self, uint64_t address,
			       struct symbol *symbol)
{
	const struct snapshot_process *process =
		snapshot_process(self->snap, self->process);
	const struct snapshot_module *module =
		process ? snapshot_find_module(process, address) : NULL;
	struct source_frames sources = {.function_offset = 0};
	struct symbol found = {0};
	struct error *err;

	if (!module || !module->build_id)
		return NULL;

	const struct stored_code code = {
		.build_id = module->build_id,
		.path = module->path,
		.mapping_bytes = module->end - module->start,
		.file_offset = module->file_offset,
		.offset = address - module->start,
		.with_lines = self->with_lines,
	};

	err = debug_store_find(self->store, &code, &found, &sources);
	if (!err)
		err = complete(self, module, &found, &sources, symbol);
	symbol_deinit(&found);
	source_frames_deinit(&sources);
	return err;
}

static struct error *completed_resolve(struct symbolizer *base, uint64_t address,
				       struct symbol *ret)
{
	struct completed *self = (struct completed *)base;
	struct error *err = ask_recorded(self, address, ret);

	if (err)
		return err;
	if (!ret->name || (self->with_lines && !has_lines(&self->sources)))
		err = ask_store(self, address, ret);
	if (err)
		symbol_deinit(ret);
	return err;
}

static struct error *completed_find_sources(struct symbolizer *base, uint64_t address,
					    struct source_frames *ret)
{
	struct completed *self = (struct completed *)base;

	if (address != self->address)
		return NULL;
	*ret = self->sources;
	self->sources = (struct source_frames){.function_offset = 0};
	return NULL;
}

static void completed_destroy(struct symbolizer *base)
{
	struct completed *self = (struct completed *)base;

	symbolizer_destroy(self->recorded);
	source_frames_deinit(&self->sources);
	free(self);
}

static const struct symbolizer_ops completed_ops = {
	.resolve = completed_resolve,
	.find_sources = completed_find_sources,
	.destroy = completed_destroy,
};

struct error *report_debug_symbolizer(const struct snapshot *snap, uint32_t process,
				      struct symbolizer *recorded,
				      struct debug_store *store, bool with_lines,
				      struct symbolizer **ret)
{
	struct completed *self = calloc(1, sizeof(*self));

	if (!self) {
		symbolizer_destroy(recorded);
		return error_no_memory();
	}
	*self = (struct completed){
		.base = {.ops = &completed_ops},
		.recorded = recorded,
		.snap = snap,
		.process = process,
		.store = store,
		.with_lines = with_lines,
	};
	*ret = &self->base;
	return NULL;
}
