// SPDX-License-Identifier: Apache-2.0
#include "session/retries.h"

#define FIRST_NS UINT64_C(1000000000)
#define MAX_NS   (60 * FIRST_NS)

/* The index of the process, or the count. */
static size_t find(const struct retries *retries, int pid)
{
	size_t i = 0;

	while (i < retries->count && retries->list[i].pid != pid)
		i++;
	return i;
}

/* The index of the entry for a further process. */
static size_t make_room(struct retries *retries)
{
	size_t first = 0;

	if (retries->count < RETRIES_MAX)
		return retries->count++;
	for (size_t i = 1; i < retries->count; i++)
		if (retries->list[i].at_ns < retries->list[first].at_ns)
			first = i;
	return first;
}

void retries_failed(struct retries *retries, int pid, uint64_t now_ns)
{
	size_t i = find(retries, pid);
	uint64_t pause_ns = FIRST_NS;

	if (i < retries->count)
		pause_ns = 2 * retries->list[i].pause_ns;
	else
		i = make_room(retries);
	if (pause_ns > MAX_NS)
		pause_ns = MAX_NS;
	retries->list[i] = (struct retry){pid, pause_ns, now_ns + pause_ns};
}

void retries_forget(struct retries *retries, int pid)
{
	size_t i = find(retries, pid);

	if (i < retries->count)
		retries->list[i] = retries->list[--retries->count];
}

int retries_choose(const struct retries *retries, const int pids[], size_t count,
		   uint64_t now_ns)
{
	uint64_t due_ns = UINT64_MAX;
	int due = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = find(retries, pids[i]);
		const struct retry *retry = &retries->list[at];

		if (at == retries->count)
			return pids[i];
		if (retry->at_ns > now_ns || retry->at_ns >= due_ns)
			continue;
		due_ns = retry->at_ns;
		due = pids[i];
	}
	return due;
}
