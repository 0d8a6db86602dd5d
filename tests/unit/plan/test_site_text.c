// SPDX-License-Identifier: Apache-2.0
/* Code in memory that cannot be read. */
#include "check.h"

#include <sys/resource.h>

#include "plan/site_text.h"
#include "target/target_file.h"
#include "unit/target/child.h"

/* The mappings were read before the process unmapped this code. */
static struct proc_mapping stale(const struct proc_maps *maps)
{
	vec_foreach (m, &maps->mappings) {
		struct proc_mapping copy = *m;

		if (!m->executable || !m->inode)
			continue;
		copy.end = copy.end - copy.start + 0x10000;
		copy.start = 0x10000;
		return copy;
	}
	REQUIRE(!"code");
	return (struct proc_mapping){0};
}

static const char *doubt(const struct proc *proc, const struct proc_mapping *m)
{
	static const uint8_t code[] = {0x90};
	struct proc_maps maps = {0};
	struct file_names names = {0};
	const struct site_target target = {.proc = proc, .maps = &maps};
	const struct text_file text = {.names = &names};
	const char *why;

	names.told = names.listed = file_name_of(m);
	REQUIRE(vec_push(&maps.mappings, *m));
	/* Beyond the code that is mapped now. */
	maps.mappings.data[0].file_offset = UINT64_C(1) << 40;
	why = site_text_doubt(&target, &text, UINT64_C(1) << 40, code, sizeof(code));
	vec_deinit(&maps.mappings);
	return why;
}

static void unmapped_or_unreadable(void)
{
	struct child child = child_fork(NULL, NULL);
	struct proc_maps maps;
	struct proc_mapping m;
	struct rlimit was, none;
	struct proc *proc;
	const char *why;

	REQUIRE(!proc_open(child.pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	proc_rest(proc);
	m = stale(&maps);
	CHECK(!doubt(proc, &m));

	/* The mappings cannot be read: nothing says that the code is not there. */
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &was));
	none = was;
	none.rlim_cur = 0;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &none));
	why = doubt(proc, &m);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &was));
	CHECK(why);
	CHECK_STR(why ? why : "", SITE_UNREADABLE);

	/* No process, no code. */
	child_kill(&child);
	CHECK(!doubt(proc, &m));
	child_end(&child);
	proc_maps_deinit(&maps);
	proc_close(proc);
}

int main(void)
{
	RUN(unmapped_or_unreadable);
	return check_done();
}
