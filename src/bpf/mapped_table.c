// SPDX-License-Identifier: Apache-2.0
#include "bpf/mapped.h"

#include <errno.h>

struct error *mapped_table(int fd, size_t bytes, void **ret)
{
	*ret = mapped_open(fd, bytes);
	return *ret ? NULL : error_errno(ERROR_IO, errno, "cannot map a BPF table");
}
