// SPDX-License-Identifier: Apache-2.0
#include "symbol/names_service.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/frame_lookup.h"
#include "symbol/names_wire.h"
#include "util/cleanup.h"
#include "util/vec.h"

/* One process whose names are served. */
struct named {
	struct proc *proc;
	struct frame_lookup lookup;
};

struct names_service {
	struct names_options options;
	struct confined_server *server; /* of the current request */
	VEC(struct named *) processes;  /* by handle; NULL: closed */
};

static void named_destroy(struct named *named)
{
	if (!named)
		return;
	line_finder_destroy(named->lookup.lines);
	symbolizer_destroy(named->lookup.symbolizer);
	proc_close(named->proc);
	free(named);
}

DEFINE_CLEANUP(struct named *, named_destroy);

struct names_service *names_service_create(const struct names_options *options)
{
	struct names_service *service = calloc(1, sizeof(*service));

	if (service)
		service->options = *options;
	return service;
}

void names_service_destroy(struct names_service *service)
{
	if (!service)
		return;
	vec_foreach (named, &service->processes)
		named_destroy(*named);
	vec_deinit(&service->processes);
	free(service);
}

static void show_progress(void *arg, const char *phase)
{
	struct names_service *service = arg;

	confined_say(service->server, phase);
}

static int fetch(void *arg, const struct build_id *id)
{
	struct names_service *service = arg;

	return names_ask_debug_file(service->server, id);
}

static struct error *open_lines(struct names_service *service, struct named *named,
				const struct maps_text *maps)
{
	const struct line_options options = {
		.debug_dirs = service->options.debug_dirs,
		.fetch = service->options.debuginfod ? fetch : NULL,
		.fetch_arg = service,
		.progress = show_progress,
		.progress_arg = service,
		.maps = maps,
	};

	return service->options.no_lines
		       ? NULL
		       : line_finder_create(named->proc, &options, &named->lookup.lines);
}

static void put_left_out(const struct named *named, struct strbuf *out)
{
	const struct names_left_out left_out = {
		.names = symbolizer_bcc_left_out(named->lookup.symbolizer),
		.lines = named->lookup.lines ? line_finder_left_out(named->lookup.lines)
					     : 0,
	};

	names_put_left_out(out, &left_out);
}

/* Give the process a handle, reusing a closed one if possible. */
static struct error *add(struct names_service *service, struct named **named,
			 struct strbuf *out)
{
	size_t handle = 0;

	while (handle < service->processes.len && service->processes.data[handle])
		handle++;
	if (handle == service->processes.len && !vec_push(&service->processes, NULL))
		return error_no_memory();
	wire_put_u32(out, (uint32_t)handle);
	put_left_out(*named, out);
	service->processes.data[handle] = take(*named);
	return NULL;
}

static struct error *answer_open(struct names_service *service,
				 struct confined_request *request)
{
	_cleanup_(named_destroyp) struct named *named = calloc(1, sizeof(*named));
	int pid = (int)wire_get_u32(&request->in);
	int pidfd = request->fd;
	struct maps_text maps = {0};
	struct error *err;

	if (!named)
		return error_no_memory();
	request->fd = -1;
	named->lookup.keep_mangled = service->options.keep_mangled;
	err = proc_adopt(pid, pidfd, &named->proc);
	if (!err)
		err = symbolizer_bcc_create(pid, named->proc->pidfd,
					    &named->lookup.symbolizer, &maps);
	/* The same mappings, and they are read once. */
	if (!err)
		err = open_lines(service, named, &maps);
	free(maps.text);
	if (err)
		return err;
	return add(service, &named, request->out);
}

static struct error *answer_close(struct names_service *service, uint32_t handle)
{
	named_destroy(service->processes.data[handle]);
	service->processes.data[handle] = NULL;
	return NULL;
}

static struct error *answer_look_up(const struct named *named,
				    struct confined_request *request)
{
	struct source_frames sources;
	struct symbol symbol;
	struct error *err = frame_look_up(&named->lookup, wire_get_u64(&request->in),
					  &symbol, &sources);

	if (err)
		return err;
	names_put_frame(request->out, &symbol, &sources);
	symbol_deinit(&symbol);
	source_frames_deinit(&sources);
	return NULL;
}

static struct error *answer_missing(const struct named *named, struct strbuf *out)
{
	struct line_missing missing;
	bool is_one = named->lookup.lines &&
		      line_finder_next_missing(named->lookup.lines, &missing);

	wire_put_u32(out, is_one);
	if (is_one) {
		wire_put_text(out, missing.path);
		wire_put_text(out, missing.why);
	}
	return NULL;
}

static struct error *answer(void *state, struct confined_request *request)
{
	struct names_service *service = state;
	const struct named *named = NULL;
	uint32_t handle;

	service->server = request->server;
	if (request->number == NAMES_OPEN)
		return answer_open(service, request);
	handle = wire_get_u32(&request->in);
	if (handle < service->processes.len)
		named = service->processes.data[handle];
	if (!named)
		return error_create(ERROR_NOT_FOUND, "nothing is open as %u", handle);
	switch (request->number) {
	case NAMES_CLOSE:
		return answer_close(service, handle);
	case NAMES_LOOK_UP:
		return answer_look_up(named, request);
	case NAMES_CHANGED:
		wire_put_u32(request->out, frame_lookup_mappings_changed(&named->lookup));
		put_left_out(named, request->out);
		return NULL;
	default:
		return answer_missing(named, request->out);
	}
}

struct confined_service names_service_entry(struct names_service *service)
{
	return (struct confined_service){
		.first = NAMES_OPEN,
		.count = NAMES_END - NAMES_OPEN,
		.answer = answer,
		.state = service,
	};
}
