/* SPDX-License-Identifier: Apache-2.0 */
/* What memtrace refuses, it refuses in one line. For test programs. */
#ifndef LIVE_REFUSED_H
#define LIVE_REFUSED_H

#include <string.h>

#include "check.h"
#include "live/live.h"

#define REFUSED_TIMEOUT_S 30

/* memtrace, started so by `uid`, ends with this status and says one line on stderr, in
 * which both texts are. */
static void check_refused(const char *const argv[], uid_t uid, int status,
			  const char *one, const char *other)
{
	struct live_process *memtrace = live_start_as(argv, uid);
	const char *text;

	CHECK_INT(live_wait(memtrace, REFUSED_TIMEOUT_S), status);
	text = live_stderr(memtrace);
	CHECK_CONTAINS(text, one);
	CHECK_CONTAINS(text, other);
	CHECK(strchr(text, '\n') && !strchr(text, '\n')[1]);
	live_destroy(memtrace);
}

#endif
