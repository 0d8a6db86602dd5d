/* SPDX-License-Identifier: Apache-2.0 */
/* A server of a snapshot that is made up: a thread answers its questions, as a run does.
 */
#ifndef TESTS_SERVE_SERVED_H
#define TESTS_SERVE_SERVED_H

#include <pthread.h>
#include <stdatomic.h>

#include "http.h"
#include "report/recorded.h"
#include "serve/serve.h"
#include "unit/render/fixture.h"
#include "unit/render/fixture_timeline.h"

struct served {
	struct options options;
	struct report_setup setup;
	struct fixture fixture;
	struct serve *serve;
	unsigned port;
	pthread_t thread;
	atomic_bool is_over;
	atomic_uint answers;     /* how many questions were answered */
	atomic_uint delay_ms;    /* before each answer */
	atomic_bool refuses;     /* answers that no snapshot is available */
	atomic_uint with_blocks; /* how many asked for blocks */
	atomic_bool grows;       /* with each answer, the first block by 100 bytes */
};

static inline void *served_answer(void *arg)
{
	struct served *s = arg;

	while (!s->is_over) {
		struct pollfd fd = {.fd = serve_fd(s->serve), .events = POLLIN};

		bool wants_blocks;

		if (poll(&fd, 1, 20) <= 0 || !serve_is_asked(s->serve, &wants_blocks))
			continue;
		usleep(s->delay_ms * 1000);
		s->answers++;
		s->with_blocks += wants_blocks;
		if (s->refuses) {
			serve_refuse(s->serve, "no process: waiting\nfor one");
		} else {
			if (s->grows) {
				s->fixture.snap->blocks[BLOCK_HEAP].data[0].size_bytes +=
					100;
				s->fixture.snap->time_ns += FIXTURE_NS;
			}
			serve_answer(s->serve, s->fixture.snap, wants_blocks, 5000000);
		}
	}
	return NULL;
}

/* Serve the fixture's snapshot, which the caller has filled. */
static inline void served_start(struct served *s, const char *listen)
{
	const struct sockaddr_in *address;

	s->options = (struct options){.listen = listen,
				      .format = "text",
				      .view = "leaks",
				      .hide_frames = "default",
				      .top = 10,
				      .group_by = REPORT_GROUP_PATH};
	REQUIRE(!report_setup_init(&s->options, false, &s->setup));
	fixture_report(&s->fixture);
	REQUIRE(!report_record_names(s->fixture.snap, s->fixture.frames, NULL, NULL));
	REQUIRE(!serve_start(&s->options, &s->setup, &s->serve));
	address = (const struct sockaddr_in *)&serve_address(s->serve)->socket;
	s->port = ntohs(address->sin_port);
	REQUIRE(!pthread_create(&s->thread, NULL, served_answer, s));
}

static inline void served_begin(struct served *s)
{
	*s = (struct served){.port = 0};
	fixture_init(&s->fixture);
	fixture_fill(&s->fixture);
	fixture_fill_traffic(&s->fixture);
	served_start(s, "0");
}

static inline void served_end(struct served *s)
{
	s->is_over = true;
	pthread_join(s->thread, NULL);
	serve_stop(s->serve);
	report_setup_deinit(&s->setup);
	fixture_deinit(&s->fixture);
}

#endif
