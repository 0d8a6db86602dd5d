// SPDX-License-Identifier: Apache-2.0
/* Whether a process has other code mapped than its probes were planned for. */
#include "check.h"

#include "tracees/tracee.h"

static struct proc_mapping mapping(uint64_t start, uint64_t inode, bool executable)
{
	return (struct proc_mapping){.start = start,
				     .end = start + 0x1000,
				     .inode = inode,
				     .dev_minor = 1,
				     .executable = executable,
				     .path = strdup("/lib/some.so")};
}

static void add(struct proc_maps *maps, uint64_t start, uint64_t inode, bool executable)
{
	REQUIRE(vec_push(&maps->mappings, mapping(start, inode, executable)));
}

/* Two libraries, mapped now as they were at the last plan. */
static struct tracee two_libraries(void)
{
	struct tracee t = {0};

	for (int i = 0; i < 2; i++) {
		struct proc_maps *maps = i ? &t.planned : &t.modules.maps;

		add(maps, 0x10000, 1, false);
		add(maps, 0x20000, 1, true);
		add(maps, 0x50000, 2, true);
	}
	return t;
}

static void deinit(struct tracee *t)
{
	proc_maps_deinit(&t->planned);
	modules_deinit(&t->modules);
}

static void same_code(void)
{
	struct tracee t = two_libraries();

	CHECK(!tracee_has_other_code(&t));
	/* Data, and anonymous code. */
	add(&t.modules.maps, 0x70000, 3, false);
	add(&t.modules.maps, 0x80000, 0, true);
	CHECK(!tracee_has_other_code(&t));
	deinit(&t);
}

/* Changes each attribute of the last mapping. */
static void other_code(void)
{
	for (int part = 0; part < 8; part++) {
		struct tracee t = two_libraries();
		struct proc_mapping *last = &t.modules.maps.mappings.data[2];

		switch (part) {
		case 0:
			last->start += 0x100;
			break;
		case 1:
			last->end += 0x1000;
			break;
		case 2:
			last->file_offset = 0x1000;
			break;
		case 3:
			last->inode = 9;
			break;
		case 4:
			last->dev_minor = 9;
			break;
		case 5: /* the second library is unmapped */
			last->executable = false;
			break;
		case 6: /* a third library is mapped */
			add(&t.modules.maps, 0x90000, 3, true);
			break;
		default: /* without a plan */
			proc_maps_deinit(&t.planned);
		}
		if (!tracee_has_other_code(&t))
			CHECK_FAIL("part %d", part);
		deinit(&t);
	}
}

int main(void)
{
	RUN(same_code);
	RUN(other_code);
	return check_done();
}
