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
static size_t make_room(struct retries *retries, uint64_t now_ns)
{
	size_t first = 0;

	if (retries->count < RETRIES_MAX)
		return retries->count++;
	retries->next_ns = now_ns + FIRST_NS;
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
		i = make_room(retries, now_ns);
	if (pause_ns > MAX_NS)
		pause_ns = MAX_NS;
	retries->list[i] = (struct retry){pid, pause_ns, now_ns + pause_ns};
}

void retries_remove(struct retries *retries, int pid)
{
	size_t i = find(retries, pid);

	if (i < retries->count)
		retries->list[i] = retries->list[--retries->count];
}

int retries_choose(struct retries *retries, const int pids[], size_t count,
		   uint64_t now_ns)
{
	uint64_t due_ns = UINT64_MAX;
	int due = 0, first = 0;

	if (now_ns < retries->next_ns)
		return 0;
	for (size_t i = 0; i < count; i++) {
		size_t at = find(retries, pids[i]);
		const struct retry *retry = &retries->list[at];

		/* The first one after the last that was chosen, or else the first. */
		if (at == retries->count) {
			if (!first || pids[i] > retries->last_pid)
				first = pids[i];
			if (first > retries->last_pid)
				break;
			continue;
		}
		if (retry->at_ns > now_ns || retry->at_ns >= due_ns)
			continue;
		due_ns = retry->at_ns;
		due = pids[i];
	}
	if (!first)
		return due;
	retries->last_pid = first;
	return first;
}
