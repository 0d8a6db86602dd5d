/* SPDX-License-Identifier: Apache-2.0 */
/* memtrace refuses a request with one line. Included by one test program each. */
#ifndef LIVE_REFUSED_H
#define LIVE_REFUSED_H

#include <string.h>

#include "check.h"
#include "live/live.h"

#define REFUSED_TIMEOUT_S 30

/* Run argv as `uid`. Checks that it ends with this status and prints one line on stderr,
 * which contains both texts. */
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
