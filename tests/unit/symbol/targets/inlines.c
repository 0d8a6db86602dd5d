// SPDX-License-Identifier: Apache-2.0
/* Calls that are inlined over several levels, in one file and from a header, with
 * branches, loops and cold paths between them. test_lines compares it with addr2line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inlines.h"

struct list {
	struct list *next;
	size_t size;
	char bytes[];
};

static struct list *head;

static inline __attribute__((always_inline)) struct list *make(size_t size)
{
	struct list *list = malloc(sizeof(*list) + size);

	if (!list)
		abort();
	list->next = head;
	list->size = size;
	return list;
}

static inline __attribute__((always_inline)) struct list *fill(size_t size, int byte)
{
	struct list *list = make(size);

	for (size_t i = 0; i < size; i++)
		list->bytes[i] = (char)(byte + header_twice((int)i));
	return list;
}

static inline __attribute__((always_inline)) void push(size_t size, int byte)
{
	if (size > 100)
		head = fill(size, byte);
	else
		head = make(size); /* another call of the same function */
}

__attribute__((noinline)) size_t outer(int n)
{
	size_t sum = 0;

	for (int i = 0; i < n; i++) {
		push((size_t)i * 10, i);
		sum += header_sum(head->bytes, head->size);
	}
	return sum;
}

__attribute__((noinline, cold)) static void complain(const char *what)
{
	fprintf(stderr, "wrong: %s\n", what);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return header_twice(x) - header_twice(y);
}

__attribute__((noinline)) static int recurse(int n)
{
	if (n <= 0)
		return (int)outer(3);
	return recurse(n - 1) + header_twice(n);
}

int main(int argc, char *argv[])
{
	int numbers[] = {4, 3, 2, 1};

	if (argc > 1 && !strcmp(argv[1], "--fail"))
		complain(argv[1]);
	qsort(numbers, 4, sizeof(*numbers), compare);
	printf("%p %zu %d\n", (void *)outer, outer(20), recurse(argc));
	fflush(stdout);
	/* Wait until stdin is closed. */
	while (getchar() != EOF)
		;
	while (head) {
		struct list *next = head->next;

		free(head);
		head = next;
	}
	return 0;
}
