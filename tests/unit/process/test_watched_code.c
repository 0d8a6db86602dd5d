// SPDX-License-Identifier: Apache-2.0
/* What is kept of the kernel's events about code: from exec to exit, for children, too,
 * and within a limit. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "process/watched_code.h"

#define WANTED 10

static bool is_wanted(void *arg, int pid)
{
	(void)arg;
	return pid == WANTED;
}

static bool has_our_root(void *arg, int pid)
{
	(void)pid;
	return *(const bool *)arg;
}

static bool root_is_ours = true;

static struct watched_codes *create(void)
{
	struct watched_codes *codes = watched_codes_create(
		&(const struct watched_codes_options){.is_wanted = is_wanted,
						      .has_our_root = has_our_root,
						      .arg = &root_is_ours});

	REQUIRE(codes);
	return codes;
}

static void execute(struct watched_codes *codes, int pid, uint64_t time_ns)
{
	watched_codes_hear(codes, &(const struct watch_event){.kind = WATCH_EXEC,
							      .pid = pid,
							      .time_ns = time_ns});
}

static void fork_child(struct watched_codes *codes, int parent, int pid)
{
	watched_codes_hear(codes, &(const struct watch_event){.kind = WATCH_FORK,
							      .pid = pid,
							      .parent = parent});
}

static void end(struct watched_codes *codes, int pid, uint64_t time_ns)
{
	watched_codes_hear(codes, &(const struct watch_event){.kind = WATCH_EXIT,
							      .pid = pid,
							      .time_ns = time_ns});
}

static void map_page(struct watched_codes *codes, int pid, uint64_t page,
		     const char *path)
{
	watched_codes_hear(codes, &(const struct watch_event){.kind = WATCH_MAP,
							      .pid = pid,
							      .time_ns = page,
							      .start = page << 12,
							      .end = (page + 1) << 12,
							      .inode = page,
							      .path = path});
}

/* Checks the paths in address order, each followed by a space. "nothing": unknown
 * process. */
static void check_paths(const struct watched_codes *codes, int pid, const char *want)
{
	struct watched_code *code = watched_codes_get(codes, pid);
	struct watched_mappings list;
	char text[256] = "";

	if (!code) {
		CHECK_STR("nothing", want);
		return;
	}
	REQUIRE(watched_code_list(code, &list));
	vec_foreach (m, &list.list) {
		strcat(text, (*m)->path);
		strcat(text, " ");
	}
	CHECK_STR(text, want);
	watched_mappings_deinit(&list);
	watched_code_release(code);
}

static void from_exec_on(void)
{
	struct watched_codes *codes = create();

	map_page(codes, WANTED, 1, "/before");
	check_paths(codes, WANTED, "nothing");
	execute(codes, WANTED, 5);
	map_page(codes, WANTED, 7, "/library");
	map_page(codes, WANTED, 3, "/program");
	check_paths(codes, WANTED, "/program /library ");

	struct watched_code *code = watched_codes_get(codes, WANTED);

	CHECK_INT(code->since_ns, 5);
	CHECK(code->has_our_root);
	CHECK_STR(code->mappings.data[0].path, "/library");
	watched_code_release(code);
	execute(codes, WANTED, 9);
	check_paths(codes, WANTED, "");
	/* This process is not wanted. */
	execute(codes, 99, 5);
	map_page(codes, 99, 3, "/program");
	check_paths(codes, 99, "nothing");
	watched_codes_destroy(codes);
}

static void later_ones_lie_over_earlier_ones(void)
{
	struct watched_codes *codes = create();

	execute(codes, WANTED, 1);
	map_page(codes, WANTED, 4, "/old");
	map_page(codes, WANTED, 5, "/beside");
	map_page(codes, WANTED, 4, "/new");
	check_paths(codes, WANTED, "/new /beside ");
	watched_codes_destroy(codes);
}

static void children(void)
{
	struct watched_codes *codes = create();

	/* Children of a process that runs since before the start are known once they
	 * execute a program. */
	fork_child(codes, WANTED, 20);
	map_page(codes, 20, 2, "/parents");
	check_paths(codes, 20, "nothing");
	root_is_ours = false;
	execute(codes, 20, 5);
	root_is_ours = true;
	map_page(codes, 20, 3, "/program");
	fork_child(codes, 20, 21);
	check_paths(codes, 21, "/program ");

	struct watched_code *code = watched_codes_get(codes, 21);

	CHECK(code->has_our_root);
	watched_code_release(code);
	/* Mappings after the fork are separate. */
	map_page(codes, 21, 8, "/childs");
	map_page(codes, 20, 9, "/parents");
	check_paths(codes, 20, "/program /parents ");
	check_paths(codes, 21, "/program /childs ");
	/* The pid now belongs to another process. */
	fork_child(codes, 98, 21);
	check_paths(codes, 21, "nothing");
	watched_codes_destroy(codes);
}

static struct proc_mapping page_of(uint64_t page, bool executable, char *path)
{
	return (struct proc_mapping){.start = page << 12,
				     .end = (page + 1) << 12,
				     .inode = page,
				     .executable = executable,
				     .path = path};
}

static void what_was_there_before(void)
{
	struct watched_codes *codes = create();
	struct proc_mapping list[] = {
		page_of(2, true, "/library"),
		page_of(3, true, "/program"),
		page_of(4, false, "/program"),
		page_of(0, true, "[vdso]"),
	};
	struct proc_maps maps = {.mappings = {.data = list, .len = 4}};

	/* The child was forked before the mappings of its parent were read. The event
	 * arrives now. */
	watched_codes_begin_with(codes, WANTED, &maps, "/program", 5);
	fork_child(codes, WANTED, 20);
	check_paths(codes, 20, "/library /program ");
	map_page(codes, 20, 8, "/childs");
	check_paths(codes, 20, "/library /program /childs ");
	check_paths(codes, WANTED, "/library /program ");

	struct watched_code *code = watched_codes_get(codes, 20);

	CHECK_INT(code->since_ns, 5);
	CHECK(code->has_our_root);
	CHECK_STR(code->mappings.data[0].path, "/program");
	CHECK_INT(code->mappings.data[0].time_ns, 5);
	watched_code_release(code);

	/* If something is known already, it stays. */
	maps.mappings.len = 1;
	watched_codes_begin_with(codes, 20, &maps, NULL, 9);
	check_paths(codes, 20, "/library /program /childs ");
	/* Not for unwanted processes. */
	watched_codes_begin_with(codes, 99, &maps, NULL, 9);
	check_paths(codes, 99, "nothing");

	/* After events were lost, /proc is read again. */
	watched_codes_hear(codes, &(const struct watch_event){.kind = WATCH_LOST});
	watched_codes_begin_with(codes, WANTED, &maps, NULL, 9);
	check_paths(codes, WANTED, "/library ");
	watched_codes_destroy(codes);
}

static void until_some_time_after_the_end(void)
{
	struct watched_codes *codes = create();

	fork_child(codes, WANTED, 20);
	execute(codes, 20, 1);
	map_page(codes, 20, 2, "/program");
	fork_child(codes, 20, 21);
	end(codes, 20, 100);
	check_paths(codes, 20, "/program ");
	watched_codes_sweep(codes, 100);
	check_paths(codes, 20, "/program ");
	watched_codes_sweep(codes, 101);
	check_paths(codes, 20, "nothing");
	check_paths(codes, 21, "/program ");
	watched_codes_hear(codes, &(const struct watch_event){.kind = WATCH_LOST});
	check_paths(codes, 21, "nothing");
	watched_codes_destroy(codes);
}

/* A process that exceeds the limit is dropped completely, and takes no memory. */
static void no_more_than_there_is_room_for(void)
{
	struct watched_codes *codes = create();
	char *path = calloc(1, 4001);

	REQUIRE(path);
	memset(path, '/', 4000);
	for (int child = 20; child < 26; child++) {
		fork_child(codes, WANTED, child);
		execute(codes, child, 1);
		for (unsigned i = 1; i <= 1000; i++)
			map_page(codes, child, i, path);
	}
	struct watched_code *first = watched_codes_get(codes, 20);

	CHECK(first);
	watched_code_release(first);
	check_paths(codes, 24, "nothing");
	for (int child = 20; child < 24; child++)
		end(codes, child, 1);
	watched_codes_sweep(codes, 2);
	execute(codes, WANTED, 1);
	map_page(codes, WANTED, 1, "/program");
	check_paths(codes, WANTED, "/program ");
	for (unsigned i = 2; i <= 1024; i++)
		map_page(codes, WANTED, i, "");
	struct watched_code *many = watched_codes_get(codes, WANTED);

	CHECK(many);
	watched_code_release(many);
	map_page(codes, WANTED, 1025, "");
	check_paths(codes, WANTED, "nothing");
	watched_codes_destroy(codes);
	free(path);
}

/* Programs need memory, too, even those that have mapped nothing yet. */
static void no_more_programs_than_there_is_room_for(void)
{
	struct watched_codes *codes = create();
	int child = 20;

	for (; child < 20 + (16 << 20) / 32; child++) {
		fork_child(codes, WANTED, child);
		execute(codes, child, 1);
	}
	fork_child(codes, WANTED, child);
	execute(codes, child, 1);
	check_paths(codes, 20, "");
	check_paths(codes, child, "nothing");
	watched_codes_destroy(codes);
}

int main(void)
{
	RUN(from_exec_on);
	RUN(later_ones_lie_over_earlier_ones);
	RUN(children);
	RUN(what_was_there_before);
	RUN(until_some_time_after_the_end);
	RUN(no_more_than_there_is_room_for);
	RUN(no_more_programs_than_there_is_room_for);
	return check_done();
}
