// SPDX-License-Identifier: Apache-2.0
/* A small program that is built in two unusual ways: statically, and with its unwind
 * information only in .debug_frame. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_length(const void *a, const void *b)
{
	return (int)strlen(*(char *const *)a) - (int)strlen(*(char *const *)b);
}

__attribute__((noinline)) int plain_sort(char **words, size_t count);

int plain_sort(char **words, size_t count)
{
	char copy[64] = "";

	qsort(words, count, sizeof(*words), by_length);
	for (size_t i = 0; i < count; i++)
		snprintf(copy + strlen(copy), sizeof(copy) - strlen(copy), "%s ",
			 words[i]);
	return puts(copy);
}

int main(int argc, char **argv)
{
	return plain_sort(argv, (size_t)argc) < 0;
}
