// SPDX-License-Identifier: Apache-2.0
/*
 * Maps each file named by an argument as executable, whatever it contains. For each line
 * on stdin except "quit" it allocates 100 blocks of 64 bytes.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void *volatile last;

__attribute__((noinline)) static void site_mapper(void)
{
	for (int i = 0; i < 100; i++)
		last = malloc(64);
}

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(99);
}

int main(int argc, char *argv[])
{
	char command[64];
	ssize_t n;

	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY);
		struct stat st;

		if (fd < 0 || fstat(fd, &st))
			return 98;
		/* For an empty file, map a page beyond its end. */
		if (mmap(NULL, st.st_size ? (size_t)st.st_size : 4096,
			 PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			return 97;
		close(fd);
	}
	say("{\"ready\":\"mapper\"}\n");
	while ((n = read(STDIN_FILENO, command, sizeof(command))) > 0) {
		if (!strncmp(command, "quit", 4))
			break;
		site_mapper();
		say("{\"done\":true}\n");
	}
	return 0;
}
