// SPDX-License-Identifier: Apache-2.0
/*
 * Targets whose files are links or replaced: memtrace must not open files outside of
 * their root directory, nor files that they may not read.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "decoy.h"
#include "live/files.h"
#include "live/room.h"
#include "live/trace.h"

/* --- other files at the path of a debug file -------------------------------------- */

/* memtrace must not open `decoy`, which is outside of the target's root directory. */
static void check_unopened(const struct room *room, const char *decoy)
{
	struct live_process *target = room_start(room);
	struct decoy watched = decoy_watch(decoy);

	check_refused(target, "", "is stripped");
	decoy_check(&watched, decoy);
	live_destroy(target);
}

static void links_out_of_the_root_directory(void)
{
	struct room room = room_make("linked");
	char *decoy = live_path("decoy"), up[600];

	files_copy(DEBUG, decoy);
	REQUIRE(!symlink(decoy, room.debug));
	check_unopened(&room, decoy);
	unlink(room.debug);
	snprintf(up, sizeof(up), "../../../../../../../../../../../../../..%s", decoy);
	REQUIRE(!symlink(up, room.debug));
	check_unopened(&room, decoy);
	unlink(decoy);
	free(decoy);
	room_deinit(&room);
}

/* Symbolic links that lead out of the target's root directory, at the paths of the
 * program and of its perf map. memtrace must open neither. */
static void links_out_in_place_of_what_is_mapped(void)
{
	struct room room = room_make_for(DEBUG, "led-out");
	char *program = live_path("decoy-program"), *map = live_path("decoy-map");
	char up[600], perf_map[600];
	struct live_process *target, *memtrace;
	struct decoy watched_program, watched_map;
	json_t *report;

	files_copy(DEBUG, program);
	files_copy("/etc/passwd", map);
	target = room_start(&room);
	REQUIRE(!unlink(room.program));
	snprintf(up, sizeof(up), "../../../../../../../../../../../../../..%s", program);
	REQUIRE(!symlink(up, room.program));
	snprintf(perf_map, sizeof(perf_map), "%s/tmp/perf-%d.map", room.root,
		 (int)live_pid(target));
	files_make_folders(perf_map);
	snprintf(up, sizeof(up), "../../../../../../../../../../../../../..%s", map);
	REQUIRE(!symlink(up, perf_map));
	watched_program = decoy_watch(program);
	watched_map = decoy_watch(map);
	memtrace = memtrace_start(live_pid(target), "");
	oracle_do(target, "run 10");
	report = memtrace_stop(memtrace);
	CHECK(live_int(report, "heap.live_blocks") >= 10);
	json_decref(report);
	decoy_check(&watched_program, program);
	decoy_check(&watched_map, map);
	oracle_do(target, "release");
	live_destroy(target);
	unlink(perf_map);
	unlink(program);
	unlink(map);
	free(program);
	free(map);
	room_deinit(&room);
}

static void no_regular_files(void)
{
	struct room room = room_make("special");

	REQUIRE(!mkfifo(room.debug, 0644));
	check_unopened(&room, room.debug);
	unlink(room.debug);
	/* The device number of /dev/null (Documentation/admin-guide/devices.txt). */
	REQUIRE(!mknod(room.debug, S_IFCHR | 0666, 1 << 8 | 3));
	check_unopened(&room, room.debug);
	unlink(room.debug);
	REQUIRE(!mkdir(room.debug, 0755));
	check_unopened(&room, room.debug);
	rmdir(room.debug);
	room_deinit(&room);
}

/* --- what the target may not read --------------------------------------------------- */

/* User and group ids without privileges. */
#define NOBODY "65534:65534"

/* A folder with a program that has neither symbols nor a build-id, and names "x.debug" as
 * its debug file. A program of an unprivileged user. */
struct trap {
	char folder[48], program[64], debug[64], secret[64];
};

static struct trap trap_make(void)
{
	struct trap trap = {.folder = "/tmp/memtrace-trap-XXXXXX"};
	char command[3000];

	REQUIRE(mkdtemp(trap.folder) && !chmod(trap.folder, 0755));
	snprintf(trap.program, sizeof(trap.program), "%s/program", trap.folder);
	snprintf(trap.debug, sizeof(trap.debug), "%s/x.debug", trap.folder);
	snprintf(trap.secret, sizeof(trap.secret), "%s/secret", trap.folder);
	snprintf(command, sizeof(command),
		 "cd %s && cp %s x.debug && "
		 "objcopy --remove-section=.note.gnu.build-id "
		 "--remove-section=.gnu_debuglink %s program && "
		 "objcopy --add-gnu-debuglink=x.debug program && chmod 755 program && "
		 "mv x.debug secret && chown " NOBODY " . program",
		 trap.folder, DEBUG, PROGRAM);
	REQUIRE(!system(command));
	return trap;
}

static void trap_remove(const struct trap *trap)
{
	unlink(trap->debug);
	unlink(trap->secret);
	unlink(trap->program);
	rmdir(trap->folder);
}

static struct live_process *trap_start(const struct trap *trap)
{
	const char *const argv[] = {"chroot", "--userspec=" NOBODY, "/", trap->program,
				    NULL};

	return start_ready(argv);
}

/* A link to `decoy` is at the path of the debug file: memtrace must not open it. */
static void check_link_unopened(const struct trap *trap, const char *decoy)
{
	struct live_process *target = trap_start(trap);
	struct decoy watched;

	REQUIRE(!symlink(decoy, trap->debug));
	watched = decoy_watch(decoy);
	check_refused(target, "", "is stripped");
	decoy_check(&watched, decoy);
	live_destroy(target);
	unlink(trap->debug);
}

/* A link to a file of the kernel is at the path of the debug file. */
static void links_to_files_of_the_kernel(void)
{
	static const char *const decoys[] = {
		"/sys/kernel/tracing/README", "/sys/kernel/tracing/trace",
		"/sys/kernel/uevent_seqnum", "/proc/version"};
	struct trap trap = trap_make();
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(decoys) / sizeof(*decoys); i++) {
		if (access(decoys[i], R_OK))
			continue;
		check_link_unopened(&trap, decoys[i]);
		count++;
	}
	CHECK(count > 1);
	trap_remove(&trap);
}

/* Files of root at the path of the debug file. They have the right checksum, so only
 * their owner and mode tell them from a debug file. */
static void files_that_the_target_may_not_read(void)
{
	struct trap trap = trap_make();
	struct live_process *target;
	struct decoy watched;

	REQUIRE(!chmod(trap.secret, 0600));
	check_link_unopened(&trap, trap.secret);
	/* Readable, but of other users, as in a folder that is not searchable. */
	REQUIRE(!chmod(trap.secret, 0644));
	check_link_unopened(&trap, trap.secret);
	/* No link. The group is not the target's. */
	REQUIRE(!chmod(trap.secret, 0640) && !rename(trap.secret, trap.debug));
	target = trap_start(&trap);
	watched = decoy_watch(trap.debug);
	check_refused(target, "", "is stripped");
	decoy_check(&watched, trap.debug);
	live_destroy(target);
	trap_remove(&trap);
}

/* The same for a program that has symbols, so that memtrace traces it and reads its
 * source lines. The program is linked to its debug file by name. */
static void files_that_the_target_may_not_read_for_lines(void)
{
	struct trap trap = trap_make();
	struct live_process *target, *memtrace;
	char command[500];
	struct decoy watched;
	json_t *report;

	snprintf(command, sizeof(command),
		 "cd %s && objcopy --strip-debug --remove-section=.note.gnu.build-id "
		 "--remove-section=.gnu_debuglink %s program && cp secret x.debug && "
		 "objcopy --add-gnu-debuglink=x.debug program && rm x.debug && "
		 "chown " NOBODY " program",
		 trap.folder, DEBUG);
	REQUIRE(!system(command));
	REQUIRE(!chmod(trap.secret, 0600) && !symlink(trap.secret, trap.debug));
	target = trap_start(&trap);
	watched = decoy_watch(trap.secret);
	memtrace = memtrace_start(live_pid(target), "");
	oracle_do(target, "run 10");
	report = memtrace_stop(memtrace);
	CHECK(live_int(report, "heap.live_blocks") >= 10);
	decoy_check(&watched, trap.secret);
	json_decref(report);
	oracle_do(target, "release");
	live_destroy(target);
	trap_remove(&trap);
}

/* The same file, readable for the target and without a link, is used. */
static void a_debug_file_that_the_target_may_read(void)
{
	struct trap trap = trap_make();
	struct live_process *target, *memtrace;
	json_t *report;

	REQUIRE(!rename(trap.secret, trap.debug) && !chmod(trap.debug, 0644));
	target = trap_start(&trap);
	memtrace = memtrace_start(live_pid(target), "");
	oracle_do(target, "run 10");
	report = memtrace_stop(memtrace);
	CHECK(live_int(report, "heap.live_blocks") >= 10);
	json_decref(report);
	oracle_do(target, "release");
	live_destroy(target);
	trap_remove(&trap);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(links_out_of_the_root_directory);
	RUN_WITH_RETURN_PROBES(links_out_in_place_of_what_is_mapped);
	RUN(no_regular_files);
	RUN(links_to_files_of_the_kernel);
	RUN(files_that_the_target_may_not_read);
	RUN_WITH_RETURN_PROBES(files_that_the_target_may_not_read_for_lines);
	RUN_WITH_RETURN_PROBES(a_debug_file_that_the_target_may_read);
	CHECK(probes_gone(probes_before));
	probes_destroy(probes_before);
	return check_done();
}
