// SPDX-License-Identifier: Apache-2.0
#include "symbol/fetcher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "confined/confined.h"
#include "symbol/debuginfod.h"
#include "symbol/fetch_files.h"
#include "util/cleanup.h"
#include "util/clock.h"

/* Request with the time in seconds, and a build-id in hex. The answer carries the file.
 */
#define FETCH 0x200

#define S_NS  UINT64_C(1000000000)

/* The child ends a request itself, within a second or two of its time. */
#define GRACE_NS (5 * S_NS)

struct fetcher {
	struct confined *child;
	struct fetcher_options options;
	uint64_t file_ns;   /* longest time for a file, ns */
	uint64_t left_ns;   /* time left for files of this report, ns */
	uint64_t run_bytes; /* of all files so far */
	unsigned late;      /* files that took too long, since the start */
	unsigned lost;      /* since fetcher_lost() */
	char why[128];
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

/* Set a limit of libdebuginfod, unless the user has set a smaller one. 0 and what is no
 * number mean no limit there. */
static void set_limit(const char *name, uint64_t limit)
{
	const char *text = getenv(name);
	uint64_t own = text ? strtoull(text, NULL, 10) : 0;
	char number[24];

	if (own && own <= limit)
		return;
	snprintf(number, sizeof(number), "%" PRIu64, limit);
	setenv(name, number, 1);
}

/* Answer a request, in the child. `state`: the largest file, bytes. */
static struct error *answer(void *state, struct confined_request *request)
{
	uint32_t time_s = wire_get_u32(&request->in);
	struct build_id id;
	char path[40], time[16];
	int fd;

	/* By the descriptor, as a directory above it may be root's alone. With "/." it is
	 * not a link, so that libdebuginfod also removes old files there. */
	if (request->fd >= 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d/.", request->fd);
		setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	}
	snprintf(time, sizeof(time), "%" PRIu32, time_s);
	setenv("DEBUGINFOD_MAXTIME", time, 1);
	set_limit("DEBUGINFOD_MAXSIZE", *(const uint64_t *)state);
	if (!parse_id(wire_get_text(&request->in), &id))
		return NULL;
	fd = debuginfod_fetch(&id);
	if (fd >= 0)
		*request->ret_fd = fd;
	if (fd >= 0 || fd == -ENOENT)
		return NULL;
	return error_errno(ERROR_IO, -fd,
			   fd == -ETIME ? "no server sent it in time"
					: "no server could send it");
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

/* The longest time for a file, ns. */
static uint64_t file_time_ns(void)
{
	const char *text = getenv("DEBUGINFOD_MAXTIME");
	uint64_t time_s = text ? strtoull(text, NULL, 10) : 0;

	return (time_s && time_s < UINT32_MAX ? time_s : FETCHER_FILE_S) * S_NS;
}

static struct error *start_with(struct fetcher *fetcher,
				const struct landlock_files *files)
{
	const struct fetcher_options *own = &fetcher->options;
	const struct confined_service service = {FETCH, 1, answer,
						 &fetcher->options.file_bytes};
	const struct confined_options options = {
		.kind = CONFINED_CLIENT,
		.name = "memtrace-fetch",
		.services = &service,
		.service_count = 1,
		.answer_ns = fetcher->file_ns + GRACE_NS,
		.file_bytes = own->file_bytes,
		.files = files,
		.stopping_ns = own->stopping_ns,
		.stopping_arg = own->stopping_arg,
	};
	_cleanup_(error_destroyp) struct error *why = NULL;
	/* Even without a seccomp filter (`why`) the child is another user's process. */
	struct error *err = confined_start(&options, &fetcher->child, &why);

	if (!err && why)
		say_unfiltered(own, why);
	return err;
}

/* Without a cache of its own, libdebuginfod finds a directory for its files itself. */
static struct error *start(struct fetcher *fetcher)
{
	struct fetch_files files;
	struct error *err;

	if (fetcher->options.cache < 0)
		return start_with(fetcher, NULL);
	err = fetch_files_init(&files, fetcher->options.cache);
	if (!err) {
		err = start_with(fetcher, &files.files);
		fetch_files_deinit(&files);
	}
	return err;
}

struct error *fetcher_create(const struct fetcher_options *options, struct fetcher **ret)
{
	struct fetcher *fetcher = calloc(1, sizeof(*fetcher));
	struct error *err;

	if (!fetcher)
		return error_no_memory();
	fetcher->options = *options;
	if (!fetcher->options.file_bytes)
		fetcher->options.file_bytes = FETCHER_FILE_BYTES;
	fetcher->file_ns = file_time_ns();
	fetcher_begin_report(fetcher);
	err = start(fetcher);
	if (err) {
		free(fetcher);
		return error_prefix(err, "debug files cannot be fetched");
	}
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

void fetcher_begin_report(struct fetcher *fetcher)
{
	fetcher->left_ns = 2 * fetcher->file_ns;
}

static int lose(struct fetcher *fetcher, const char *why)
{
	fetcher->lost++;
	snprintf(fetcher->why, sizeof(fetcher->why), "%s", why);
	return -1;
}

/* Why no file is fetched now; NULL: one can be. */
static const char *obstacle(const struct fetcher *fetcher)
{
	const struct fetcher_options *o = &fetcher->options;

	if (o->stopping_ns && o->stopping_ns(o->stopping_arg) >= CONFINED_LATE_NS)
		return "the run ends";
	if (!confined_pid(fetcher->child))
		return "the process memtrace-fetch has ended";
	if (fetcher->late >= FETCHER_LATE_MAX)
		return "the servers took too long for three files";
	if (fetcher->left_ns < S_NS)
		return "the servers took too long for this report";
	if (fetcher->run_bytes > FETCHER_RUN_BYTES)
		return "16 GiB were fetched";
	return NULL;
}

/* Ask the child. */
static struct error *fetch(struct fetcher *fetcher, const char *build_id, int *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	uint64_t begin_ns = clock_now_ns(), took_ns;
	uint64_t most_ns =
		fetcher->left_ns < fetcher->file_ns ? fetcher->left_ns : fetcher->file_ns;
	struct error *err;

	wire_put_u32(&in, (uint32_t)(most_ns / S_NS));
	wire_put_text(&in, build_id);
	err = confined_call(fetcher->child, FETCH, &in, fetcher->options.cache, &out,
			    ret);
	took_ns = clock_now_ns() - begin_ns;
	fetcher->left_ns -= took_ns < fetcher->left_ns ? took_ns : fetcher->left_ns;
	return err;
}

int fetcher_fetch(struct fetcher *fetcher, const char *build_id)
{
	const char *why = obstacle(fetcher);
	_cleanup_(error_destroyp) struct error *err = NULL;
	struct stat st;
	int fd;

	if (why)
		return lose(fetcher, why);
	err = fetch(fetcher, build_id, &fd);
	if (err) {
		fetcher->late += err->saved_errno == ETIME;
		return lose(fetcher, err->message);
	}
	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0)
		fetcher->run_bytes += (uint64_t)st.st_size;
	return fd;
}

unsigned fetcher_lost(struct fetcher *fetcher, const char **ret_why)
{
	unsigned lost = fetcher->lost;

	fetcher->lost = 0;
	*ret_why = fetcher->why;
	return lost;
}
