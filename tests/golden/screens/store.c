// SPDX-License-Identifier: Apache-2.0
/* A server in C with three leaks, for golden screens (README.md): commands, sessions and
 * lines of the log that are never freed. The rest of what it allocates is bounded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

struct request {
	unsigned number;
	char text[64];
};

struct session {
	struct session *next;
	unsigned number;
	char peer[200];
};

static struct session *sessions;
static char *last_reply;
static char **table;

static NOINLINE void *zmalloc(size_t size)
{
	void *made = malloc(size);

	if (!made)
		abort();
	return made;
}

static NOINLINE void init_tables(void)
{
	table = calloc(4096, sizeof(*table));
	for (unsigned i = 0; table && i < 40; i++)
		table[i] = zmalloc(1000);
}

static NOINLINE void log_line(const struct request *request)
{
	char line[120];

	snprintf(line, sizeof(line), "request %u: %s", request->number, request->text);
	if (request->number % 5 == 0)
		table[40] = strdup(line);
}

static NOINLINE void open_session(const struct request *request)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		abort();
	session->number = request->number;
	session->next = sessions;
	sessions = session;
	log_line(request);
}

static NOINLINE void process_command(const struct request *request)
{
	char *copy = zmalloc(6000);

	memcpy(copy, request->text, sizeof(request->text));
	table[41] = copy;
	free(last_reply);
	last_reply = zmalloc(2000 + request->number % 100);
	if (request->number % 4 == 0)
		table[42] = strdup(request->text);
}

static NOINLINE void read_request(unsigned number)
{
	struct request request = {.number = number};

	snprintf(request.text, sizeof(request.text), "set key-%u value-%u", number,
		 number * 7);
	process_command(&request);
	if (number % 3 == 0)
		open_session(&request);
}

static NOINLINE void event_loop(void)
{
	for (unsigned i = 1;; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		read_request(i);
	}
}

int main(void)
{
	init_tables();
	event_loop();
}
