/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of confined children: starts them, and answers what they ask. */
#ifndef TESTS_UNIT_CONFINED_CONFINED_PARENT_H
#define TESTS_UNIT_CONFINED_CONFINED_PARENT_H

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "confined/confined.h"
#include "unit/confined/confined_child.h"
#include "util/cleanup.h"
#include "util/clock.h"

/* How much later it is than by the kernel's clock, ns, and what a message and a question
 * add. */
static uint64_t passed_ns, per_message_ns, per_question_ns;

static char allowed_path[64];
static unsigned finds;

/* Allows one file, by its path only. */
static inline int find(void *arg, int dir, const char *path, bool no_follow)
{
	(void)arg;
	finds++;
	if (dir < 0 && !strcmp(path, allowed_path))
		return open(path, O_PATH | O_CLOEXEC | (no_follow ? O_NOFOLLOW : 0));
	if (dir < 0 && (!strcmp(path, "/dev/null") || !strcmp(path, directory_path)))
		return open(path, O_PATH | O_CLOEXEC);
	errno = EACCES;
	return -1;
}

static bool is_refused;

static inline bool may_open(void *arg, const char *path, int place)
{
	(void)arg;
	(void)place;
	return !is_refused || strcmp(path, directory_path);
}

static char heard[64];

static inline void hear(void *arg, const char *phase)
{
	(void)arg;
	passed_ns += per_message_ns;
	snprintf(heard, sizeof(heard), "%s", phase);
}

static inline int give_file(void *arg, struct wire *question)
{
	int fds[2];

	(void)arg;
	passed_ns += per_question_ns;
	if (wire_get_u32(question) != 42 || pipe2(fds, O_CLOEXEC))
		return -1;
	REQUIRE(write(fds[1], "given", 5) == 5);
	close(fds[1]);
	return fds[0];
}

/* When a signal asked for the end, CLOCK_MONOTONIC ns; 0: none has. */
static uint64_t stopped_ns;

static inline uint64_t stopping_ns(void *arg)
{
	(void)arg;
	return stopped_ns ? clock_now_ns() - stopped_ns : 0;
}

/* As if the signal had come so long ago. */
static inline void stop_before(uint64_t ns)
{
	stopped_ns = clock_now_ns() - ns;
}

/* The largest file that a client may write; 0: any. */
static uint64_t file_bytes;

static inline struct confined *start_with(enum confined_kind kind,
					  const struct landlock_files *files)
{
	static int state = 1;
	const struct confined_service service = {ATTEMPT, END - ATTEMPT, answer, &state};
	const struct confined_options options = {
		.kind = kind,
		.files = files,
		.file_bytes = file_bytes,
		.name = "test-confined",
		.services = &service,
		.service_count = 1,
		.policy = {.find = find, .may_open = may_open},
		.progress = hear,
		.question = give_file,
		.stopping_ns = stopping_ns,
	};
	_cleanup_(error_destroyp) struct error *why = NULL;
	struct confined *confined = NULL;
	struct error *err = confined_start(&options, &confined, &why);

	if (err || why)
		fprintf(stderr, "%s\n", err ? err->message : why->message);
	REQUIRE(!err && !why);
	return confined;
}

static inline struct confined *start(enum confined_kind kind)
{
	return start_with(kind, NULL);
}

/* Returns the answer's text, or the error message; to be freed. */
static inline char *ask_text(struct confined *confined, enum request number,
			     const char *text)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	_cleanup_(error_destroyp) struct error *err = NULL;
	const char *got;
	struct wire wire;

	if (text)
		wire_put_text(&in, text);
	err = confined_call(confined, number, &in, -1, &out, NULL);
	if (err)
		return strdup(err->message);
	wire = wire_read(&out);
	got = wire_get_text(&wire);
	return strdup(got ? got : "(null)");
}

static inline void check_text(struct confined *confined, enum request number,
			      const char *text, const char *want)
{
	char *got = ask_text(confined, number, text);

	CHECK_CONTAINS(got, want);
	free(got);
}

#endif
