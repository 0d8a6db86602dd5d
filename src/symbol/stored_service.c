// SPDX-License-Identifier: Apache-2.0
#include "symbol/stored_service.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"
#include "dwarf/elf_names.h"
#include "dwarf/line_module.h"
#include "symbol/names_wire.h"
#include "util/cleanup.h"
#include "util/vec.h"

/* As in dwarf/lines.c: bounds the work for malicious debug info to some 30 seconds. */
#define BUDGET_STEPS (UINT64_C(512) << 20)

/* One debug file. */
struct stored {
	struct debug_elf *image; /* for addresses */
	struct elf_names *names;
	struct line_module *lines;
};

struct stored_service {
	struct confined_server *server; /* of the current request */
	struct line_resources resources;
	VEC(struct stored *) files; /* by handle */
};

static void stored_destroy(struct stored *stored)
{
	if (!stored)
		return;
	debug_elf_close(stored->image);
	elf_names_destroy(stored->names);
	line_module_destroy(stored->lines);
	free(stored);
}

DEFINE_CLEANUP(struct stored *, stored_destroy);
DEFINE_CLEANUP(struct debug_elf *, debug_elf_close);

static int fetch(void *arg, const struct build_id *id)
{
	struct stored_service *service = arg;

	return names_ask_debug_file(service->server, id);
}

struct stored_service *stored_service_create(void)
{
	struct stored_service *service = calloc(1, sizeof(*service));

	if (service)
		service->resources = (struct line_resources){
			.search = {.root_fd = -1, .fetch = fetch, .fetch_arg = service},
			.budget = {.steps = BUDGET_STEPS},
			.memory_bytes = debug_elf_max_bytes(),
		};
	return service;
}

void stored_service_destroy(struct stored_service *service)
{
	if (!service)
		return;
	vec_foreach (stored, &service->files)
		stored_destroy(*stored);
	vec_deinit(&service->files);
	free(service);
}

/* Open a copy of the request's descriptor. */
static struct error *open_copy(const struct confined_request *request,
			       struct debug_elf **ret)
{
	int copy = fcntl(request->fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? error_create(ERROR_MALFORMED, "the request has no file")
			: debug_elf_open(copy, ret);
}

static struct error *answer_identify(struct confined_request *request)
{
	_cleanup_(debug_elf_closep) struct debug_elf *image = NULL;
	_cleanup_(strbuf_deinit) struct strbuf hex = {0};
	struct error *err = open_copy(request, &image);
	struct build_id id;

	if (err)
		return err;
	id = debug_elf_build_id(image);
	build_id_append(&hex, &id);
	if (hex.failed)
		return error_no_memory();
	wire_put_text(request->out, id.size ? hex.data : NULL);
	return NULL;
}

static bool has_id(const struct debug_elf *image, const char *wanted)
{
	_cleanup_(strbuf_deinit) struct strbuf hex = {0};
	struct build_id id = debug_elf_build_id(image);

	build_id_append(&hex, &id);
	return id.size && wanted && !hex.failed && !strcmp(hex.data, wanted);
}

static struct error *answer_open(struct stored_service *service,
				 struct confined_request *request)
{
	_cleanup_(stored_destroyp) struct stored *stored = calloc(1, sizeof(*stored));
	const char *path = wire_get_text(&request->in);
	struct debug_elf *image = NULL;
	struct error *err;

	if (!stored)
		return error_no_memory();
	err = open_copy(request, &stored->image);
	if (!err && !has_id(stored->image, wire_get_text(&request->in)))
		err = error_create(ERROR_NOT_FOUND, "the file has another build-id");
	if (!err)
		err = open_copy(request, &image);
	if (!err)
		err = elf_names_create(image, &stored->names);
	if (!err) {
		int fd = request->fd;

		request->fd = -1;
		err = line_module_create(fd, path ? path : "", &stored->lines);
	}
	if (err)
		return err;
	wire_put_u32(request->out, (uint32_t)service->files.len);
	if (!vec_push(&service->files, stored))
		return error_no_memory();
	(void)take(stored);
	return NULL;
}

static void demangle_in_place(char **name)
{
	char *plain = *name ? demangle(*name) : NULL;

	if (plain) {
		free(*name);
		*name = plain;
	}
}

/* The function's name: of the symbol table, or else of the debug info. */
static struct error *find_symbol(const struct stored *stored, uint64_t address,
				 const struct source_frames *sources, struct symbol *ret)
{
	const char *name = elf_names_find(stored->names, address, &ret->offset);
	size_t count = sources->list.len;

	if (!name && count) {
		name = sources->list.data[count - 1].function;
		ret->offset = sources->function_offset;
	}
	if (!name)
		return NULL;
	ret->name = strdup(name);
	return ret->name ? NULL : error_no_memory();
}

static struct error *look_up(struct stored_service *service, const struct stored *stored,
			     struct wire *in, struct symbol *symbol,
			     struct source_frames *sources)
{
	bool with_lines = wire_get_u32(in);
	struct debug_mapping mapping = {.size_bytes = wire_get_u64(in)};
	uint64_t offset, address;
	struct error *err = NULL;

	mapping.file_offset = wire_get_u64(in);
	offset = wire_get_u64(in);
	if (in->failed ||
	    !debug_elf_mapped_address(stored->image, &mapping, offset, &address))
		return NULL;
	if (with_lines)
		err = line_module_find_address(stored->lines, &service->resources,
					       address, sources);
	if (!err)
		err = find_symbol(stored, address, sources, symbol);
	demangle_in_place(&symbol->name);
	vec_foreach (frame, &sources->list)
		demangle_in_place(&frame->function);
	return err;
}

static struct error *answer_look_up(struct stored_service *service,
				    struct confined_request *request)
{
	uint32_t handle = wire_get_u32(&request->in);
	struct source_frames sources = {.function_offset = 0};
	struct symbol symbol = {0};
	struct error *err;

	if (handle >= service->files.len)
		return error_create(ERROR_NOT_FOUND, "no file is open as %u", handle);
	err = look_up(service, service->files.data[handle], &request->in, &symbol,
		      &sources);
	if (!err)
		names_put_frame(request->out, &symbol, &sources);
	symbol_deinit(&symbol);
	source_frames_deinit(&sources);
	return err;
}

static struct error *answer(void *state, struct confined_request *request)
{
	struct stored_service *service = state;

	service->server = request->server;
	switch (request->number) {
	case STORED_IDENTIFY:
		return answer_identify(request);
	case STORED_OPEN:
		return answer_open(service, request);
	default:
		return answer_look_up(service, request);
	}
}

struct confined_service stored_service_entry(struct stored_service *service)
{
	return (struct confined_service){
		.first = STORED_IDENTIFY,
		.count = STORED_END - STORED_IDENTIFY,
		.answer = answer,
		.state = service,
	};
}
