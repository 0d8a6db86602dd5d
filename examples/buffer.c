// SPDX-License-Identifier: Apache-2.0
/*
 * A buffer that realloc() makes larger and larger. Two buffers grow by the same code:
 * the line buffer is emptied at each line, the history never is. There are never more
 * than two blocks, so counting blocks shows nothing, but the bytes of one block grow
 * without end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE      __attribute__((noinline))

#define APPENDS_PER_S 500
#define CHUNK_BYTES   1000
#define LINE_CHUNKS   50

struct buffer {
	char *data;
	size_t used, size; /* bytes */
};

static NOINLINE void buffer_grow(struct buffer *buffer)
{
	size_t size = buffer->size + buffer->size / 2 + CHUNK_BYTES;
	char *data = realloc(buffer->data, size);

	if (!data)
		abort();
	buffer->data = data;
	buffer->size = size;
}

static NOINLINE void buffer_append(struct buffer *buffer, char filler)
{
	if (buffer->size - buffer->used < CHUNK_BYTES)
		buffer_grow(buffer);
	memset(buffer->data + buffer->used, filler, CHUNK_BYTES);
	buffer->used += CHUNK_BYTES;
}

/* Bounded: the buffer is freed at the end of each line. */
static NOINLINE void add_to_line(struct buffer *line)
{
	buffer_append(line, 'l');
	if (line->used >= LINE_CHUNKS * CHUNK_BYTES) {
		free(line->data);
		*line = (struct buffer){0};
	}
}

/* Unbounded. */
static NOINLINE void remember(struct buffer *history)
{
	buffer_append(history, 'h');
}

int main(void)
{
	struct buffer line = {0}, history = {0};
	const struct timespec pause = {.tv_nsec = 1000000000 / APPENDS_PER_S};

	printf("buffer: pid %d, two buffers grow %d times a second by %d bytes, one of "
	       "them "
	       "for ever\n",
	       (int)getpid(), APPENDS_PER_S, CHUNK_BYTES);
	fflush(stdout);
	for (;;) {
		add_to_line(&line);
		remember(&history);
		nanosleep(&pause, NULL);
	}
}
