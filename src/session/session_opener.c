// SPDX-License-Identifier: Apache-2.0
/* The helper that opens files of targets (util/open_helper.h). */
#include "session/session_private.h"

#include "confined/shed.h"
#include "util/open_helper.h"

static void shed(void)
{
	/* If a sandbox forbids this, the rest of memtrace keeps its privileges too. */
	error_destroy(shed_for_opening());
}

struct error *session_start_opener(void)
{
	return open_helper_start(
		&(const struct open_helper_options){shed, session_say_hung});
}
