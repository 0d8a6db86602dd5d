// SPDX-License-Identifier: Apache-2.0
#include "symbol/fetcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "confined/confined.h"
#include "symbol/debuginfod.h"
#include "util/cleanup.h"

/* Request with a build-id in hex. The answer carries the file. */
#define FETCH 0x200

struct fetcher {
	struct confined *child;
	struct fetcher_options options;
};

static bool parse_id(const char *hex, struct build_id *ret)
{
	size_t size = hex ? strlen(hex) : 0;

	if (!size || size % 2 || size / 2 > sizeof(ret->bytes))
		return false;
	ret->size = size / 2;
	for (size_t i = 0; i < ret->size; i++) {
		unsigned byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return false;
		ret->bytes[i] = (unsigned char)byte;
	}
	return true;
}

/* Answer a request, in the child. */
static struct error *answer(void *state, struct confined_request *request)
{
	struct build_id id;
	char path[40];

	(void)state;
	/* By the descriptor, as a directory above it may be root's alone. With "/." it is
	 * not a link, so that libdebuginfod also removes old files there. */
	if (request->fd >= 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d/.", request->fd);
		setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	}
	if (parse_id(wire_get_text(&request->in), &id))
		*request->ret_fd = debuginfod_fetch(&id);
	return NULL;
}

static void say_unfiltered(const struct fetcher_options *options, const struct error *why)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	strbuf_appendf(
		&text,
		"warning: debug files are fetched in a process without a filter: %s",
		why->message);
	if (options->warn)
		options->warn(options->warn_arg, strbuf_text(&text));
}

struct error *fetcher_create(const struct fetcher_options *own, struct fetcher **ret)
{
	const struct confined_service service = {FETCH, 1, answer, NULL};
	const struct confined_options options = {
		.kind = CONFINED_CLIENT,
		.name = "memtrace-fetch",
		.services = &service,
		.service_count = 1,
		.stopping_ns = own->stopping_ns,
		.stopping_arg = own->stopping_arg,
	};
	struct fetcher *fetcher = calloc(1, sizeof(*fetcher));
	_cleanup_(error_destroyp) struct error *why = NULL;
	struct error *err;

	if (!fetcher)
		return error_no_memory();
	fetcher->options = *own;
	/* Even without a seccomp filter (`why`) the child is another user's process. */
	err = confined_start(&options, &fetcher->child, &why);
	if (err) {
		free(fetcher);
		return error_prefix(err, "debug files cannot be fetched");
	}
	if (why)
		say_unfiltered(own, why);
	*ret = fetcher;
	return NULL;
}

void fetcher_destroy(struct fetcher *fetcher)
{
	if (!fetcher)
		return;
	confined_destroy(fetcher->child);
	free(fetcher);
}

int fetcher_fetch(struct fetcher *fetcher, const char *build_id)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	_cleanup_(error_destroyp) struct error *err = NULL;
	int fd;

	if (fetcher->options.stopping_ns &&
	    fetcher->options.stopping_ns(fetcher->options.stopping_arg) >=
		    CONFINED_LATE_NS)
		return -1;
	wire_put_text(&in, build_id);
	err = confined_call(fetcher->child, FETCH, &in, fetcher->options.cache, &out,
			    &fd);
	return fd;
}
