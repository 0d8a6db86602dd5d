// SPDX-License-Identifier: Apache-2.0
#include "util/whole_io.h"

#include <errno.h>
#include <unistd.h>

bool whole_pread(int fd, void *to, size_t size, uint64_t offset)
{
	for (size_t done = 0; done < size;) {
		ssize_t n =
			pread(fd, (char *)to + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

bool whole_write(int fd, const void *from, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)from + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}
