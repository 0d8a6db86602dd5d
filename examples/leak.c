// SPDX-License-Identifier: Apache-2.0
/*
 * A steady leak behind two call paths. copy_text() is called from three places: the log
 * frees the copy, the parser and the error page never do. A report must show which
 * caller forgot to free it; the line with malloc is the same for all three.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE           __attribute__((noinline))

#define REQUESTS_PER_S     200
#define HEADER_BYTES       200
#define ERROR_PAGE_BYTES   3000
#define REQUESTS_PER_ERROR 20

static const char *volatile last_text;

static NOINLINE char *copy_text(char filler, size_t size_bytes)
{
	char *text = malloc(size_bytes);

	if (!text)
		abort();
	memset(text, filler, size_bytes - 1);
	text[size_bytes - 1] = '\0';
	return text;
}

/* Leaks HEADER_BYTES a request. */
static NOINLINE void parse_request(void)
{
	last_text = copy_text('h', HEADER_BYTES);
}

/* Leaks ERROR_PAGE_BYTES an error. */
static NOINLINE void answer_error(void)
{
	last_text = copy_text('e', ERROR_PAGE_BYTES);
}

/* Leaks nothing. */
static NOINLINE void log_request(void)
{
	char *line = copy_text('l', 100);

	last_text = line;
	free(line);
}

static NOINLINE void handle_request(unsigned long number)
{
	parse_request();
	if (number % REQUESTS_PER_ERROR == 0)
		answer_error();
	log_request();
}

int main(void)
{
	const struct timespec pause = {.tv_nsec = 1000000000 / REQUESTS_PER_S};

	printf("leak: pid %d, %d requests a second: %d bytes lost in each, %d in every "
	       "%dth\n",
	       (int)getpid(), REQUESTS_PER_S, HEADER_BYTES, ERROR_PAGE_BYTES,
	       REQUESTS_PER_ERROR);
	fflush(stdout);
	for (unsigned long number = 1;; number++) {
		handle_request(number);
		nanosleep(&pause, NULL);
	}
}
