// SPDX-License-Identifier: Apache-2.0
#include "bpf/claims.h"

#include <errno.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/syscall.h"

#define TRIES    10000
#define PAUSE_US 100

bool claims_take(int fd, uint64_t key, uint64_t owner)
{
	int err = -EEXIST;

	for (int i = 0; err == -EEXIST && i < TRIES; i++) {
		if (i)
			usleep(PAUSE_US);
		err = sys_bpf_insert(fd, &key, &owner);
	}
	return !err;
}

void claims_give(int fd, uint64_t key)
{
	(void)sys_bpf_element(BPF_MAP_DELETE_ELEM, fd, &key, NULL);
}
