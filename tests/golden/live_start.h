/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of --live: shows a stored snapshot on a terminal, and presses keys. */
#ifndef TESTS_GOLDEN_LIVE_START_H
#define TESTS_GOLDEN_LIVE_START_H

#include "check.h"

#include <string.h>

#include "vt.h"

#define SNAPSHOTS  TEST_DATA_DIR "/golden/screens"
#define TIMEOUT_MS 20000

static inline const char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), SNAPSHOTS "/%s.mts", name);
	return path;
}

static inline struct vt *start_with(const char *name, unsigned columns, unsigned lines,
				    const char *const *env)
{
	const char *argv[] = {MEMTRACE, "--replay", path_of(name), "--live", NULL};

	return vt_start(&(const struct vt_options){argv, env, columns, lines});
}

static inline struct vt *start(const char *name, unsigned columns, unsigned lines)
{
	struct vt *vt = start_with(name, columns, lines, NULL);

	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	return vt;
}

/* Press keys and wait for text that was not there before. */
static inline void press(struct vt *vt, const char *keys, const char *text)
{
	vt_press(vt, keys);
	check_state.checks++;
	if (!vt_wait(vt, text, TIMEOUT_MS))
		CHECK_FAIL("no \"%s\" behind \"%s\" in:\n%s", text, keys, vt_text(vt));
}

static inline void quit(struct vt *vt)
{
	vt_press(vt, "q");
	CHECK_INT(vt_wait_end(vt, TIMEOUT_MS), 0);
	vt_destroy(vt);
}

#endif
