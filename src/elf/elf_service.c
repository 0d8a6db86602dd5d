// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "elf/elf_wire.h"
#include "util/cleanup.h"
#include "util/vec.h"

#define NAMES_MAX 65536u

struct elf_service {
	VEC(struct elf_file *) files; /* indexed by handle; NULL: closed */
};

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

struct elf_service *elf_service_create(void)
{
	return calloc(1, sizeof(struct elf_service));
}

void elf_service_destroy(struct elf_service *service)
{
	if (!service)
		return;
	vec_foreach (file, &service->files)
		elf_file_close(*file);
	vec_deinit(&service->files);
	free(service);
}

static struct error *answer_open(struct elf_service *service,
				 struct confined_request *request)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	const char *name = wire_get_text(&request->in);
	int fd = request->fd;
	struct error *err;
	size_t handle = 0;

	request->fd = -1;
	err = elf_file_open_as(fd, name ? name : "?", &elf_tables_here, &file);
	if (err)
		return err;
	while (handle < service->files.len && service->files.data[handle])
		handle++;
	if (handle == service->files.len && !vec_push(&service->files, NULL))
		return error_no_memory();
	service->files.data[handle] = take(file);
	wire_put_u32(request->out, (uint32_t)handle);
	return NULL;
}

static void answer_close(struct elf_service *service, uint32_t handle)
{
	elf_file_close(service->files.data[handle]);
	service->files.data[handle] = NULL;
}

static struct error *answer_find_functions(struct elf_file *file,
					   struct confined_request *request)
{
	uint32_t count = wire_get_count(&request->in, sizeof(uint32_t));
	_cleanup_(freep) const char **names = calloc(count + 1, sizeof(*names));
	_cleanup_(freep) struct elf_symbol *found = calloc(count + 1, sizeof(*found));
	struct error *err;

	if (!names || !found || count > NAMES_MAX)
		return error_no_memory();
	for (uint32_t i = 0; i < count; i++) {
		names[i] = wire_get_text(&request->in);
		if (!names[i])
			names[i] = "";
	}
	err = elf_file_find_functions(file, names, count, found);
	for (uint32_t i = 0; !err && i < count; i++)
		elf_put_symbol(request->out, &found[i]);
	return err;
}

static struct error *answer_offer_functions(struct elf_file *file,
					    struct confined_request *request)
{
	struct nearest nearest = {.wanted = wire_get_text(&request->in)};
	struct error *err =
		nearest.wanted ? elf_file_offer_functions(file, &nearest) : NULL;

	elf_put_nearest(request->out, &nearest);
	return err;
}

static struct error *answer_read_links(struct elf_file *file, struct strbuf *out)
{
	struct elf_links links;
	struct error *err = elf_links_read(file, &links);

	if (err)
		return err;
	elf_put_links(out, &links);
	elf_links_deinit(&links);
	return NULL;
}

static struct error *answer_find_usdt(struct elf_file *file,
				      struct confined_request *request)
{
	const char *provider = wire_get_text(&request->in);
	const char *name = wire_get_text(&request->in);
	struct nearest nearest = {.wanted = wire_get_text(&request->in)};
	struct usdt_places places = {0};
	struct error *err = NULL;

	if (provider && name)
		err = usdt_find(file, provider, name, nearest.wanted ? &nearest : NULL,
				&places);
	elf_put_places(request->out, &places);
	elf_put_nearest(request->out, &nearest);
	vec_deinit(&places.list);
	return err;
}

static struct error *answer_has_symbols(struct elf_file *file, struct strbuf *out)
{
	bool has_symbols;
	struct error *err = file->tables->has_symbols(file, &has_symbols);

	wire_put_u32(out, !err && has_symbols);
	return err;
}

static struct error *answer_read_debuglink(struct elf_file *file, struct strbuf *out)
{
	struct elf_debuglink link;
	struct error *err = file->tables->read_debuglink(file, &link);

	wire_put_text(out, link.name);
	wire_put_u32(out, link.checksum);
	return err;
}

static struct error *answer_try_debug(struct elf_file *file,
				      struct confined_request *request)
{
	const char *name = wire_get_text(&request->in);
	struct elf_debuglink link = {.checksum = wire_get_u32(&request->in)};
	struct error *err;
	int fd = request->fd;
	bool serves;

	snprintf(link.name, sizeof(link.name), "%s", name ? name : "");
	request->fd = -1;
	err = file->tables->try_debug(file, fd, &link, &serves);
	wire_put_u32(request->out, serves);
	return err;
}

static struct error *answer(void *state, struct confined_request *request)
{
	struct elf_service *service = state;
	struct elf_file *file = NULL;
	uint32_t handle;

	if (request->number == ELF_OPEN)
		return answer_open(service, request);
	handle = wire_get_u32(&request->in);
	if (handle < service->files.len)
		file = service->files.data[handle];
	if (!file)
		return error_create(ERROR_NOT_FOUND, "nothing is open as %u", handle);
	switch (request->number) {
	case ELF_CLOSE:
		answer_close(service, handle);
		return NULL;
	case ELF_FIND_FUNCTIONS:
		return answer_find_functions(file, request);
	case ELF_OFFER_FUNCTIONS:
		return answer_offer_functions(file, request);
	case ELF_READ_LINKS:
		return answer_read_links(file, request->out);
	case ELF_FIND_USDT:
		return answer_find_usdt(file, request);
	case ELF_HAS_SYMBOLS:
		return answer_has_symbols(file, request->out);
	case ELF_READ_DEBUGLINK:
		return answer_read_debuglink(file, request->out);
	default:
		return answer_try_debug(file, request);
	}
}

struct confined_service elf_service_entry(struct elf_service *service)
{
	return (struct confined_service){
		.first = ELF_OPEN,
		.count = ELF_END - ELF_OPEN,
		.answer = answer,
		.state = service,
	};
}
