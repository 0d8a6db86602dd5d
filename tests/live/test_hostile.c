// SPDX-License-Identifier: Apache-2.0
/*
 * Targets that attack memtrace: the files that they forge, link and replace must not
 * affect files that others use, and memtrace must not open files outside of their root
 * directory.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "decoy.h"
#include "large_elf.h"
#include "live/breakpoints.h"
#include "live/files.h"
#include "live/trace.h"

#define PROGRAM     ALLOCATORS_DIR "/allocators_stripped"
#define DEBUG       ALLOCATORS_DIR "/allocators_static"
#define HEADLESS    ALLOCATORS_DIR "/headless_stripped"
#define TIMEOUT_S   60
#define DEPART_S    10
#define DEPARTS_MAX 8

static struct probes *probes_before;

/* --- a root directory of its own ---------------------------------------------------- */

/* A target's root directory: the stripped program, and the path of its debug file. */
struct room {
	char *root, *program, *debug;
	char id[64]; /* build-id, hexadecimal */
};

/* The nth program header of this type. The file is mapped at `bytes`. */
static const Elf64_Phdr *segment(const unsigned char *bytes, unsigned type, unsigned nth)
{
	const Elf64_Ehdr *h = (const void *)bytes;
	const Elf64_Phdr *list = (const void *)(bytes + h->e_phoff);

	for (unsigned i = 0; i < h->e_phnum; i++)
		if (list[i].p_type == type && !nth--)
			return &list[i];
	return NULL;
}

static unsigned char *map_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r+e");
	struct stat st;
	unsigned char *bytes;

	REQUIRE(file && !fstat(fileno(file), &st));
	*size = (size_t)st.st_size;
	bytes = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	REQUIRE(bytes != MAP_FAILED);
	fclose(file);
	return bytes;
}

static void read_build_id(const char *path, char ret[64])
{
	size_t size;
	unsigned char *bytes = map_file(path, &size);
	const Elf64_Phdr *notes;

	*ret = '\0';
	for (unsigned n = 0; !*ret && (notes = segment(bytes, PT_NOTE, n)); n++) {
		const Elf64_Nhdr *note = (const void *)(bytes + notes->p_offset);

		for (unsigned i = 0;
		     note->n_type == NT_GNU_BUILD_ID && i < note->n_descsz; i++)
			snprintf(ret + 2 * i, 3, "%02x",
				 ((const unsigned char *)(note + 1))[4 + i]);
	}
	REQUIRE(*ret);
	munmap(bytes, size);
}

static struct room room_make_for(const char *program, const char *name)
{
	struct room room = {.root = live_path(name)};

	REQUIRE(!mkdir(room.root, 0755) || errno == EEXIST);
	REQUIRE(asprintf(&room.program, "%s/program", room.root) > 0);
	files_copy(program, room.program);
	read_build_id(room.program, room.id);
	REQUIRE(asprintf(&room.debug, "%s/usr/lib/debug/.build-id/%.2s/%s.debug",
			 room.root, room.id, room.id + 2) > 0);
	files_make_folders(room.debug);
	unlink(room.debug);
	return room;
}

static struct room room_make(const char *name)
{
	return room_make_for(PROGRAM, name);
}

static void room_deinit(struct room *room)
{
	unlink(room->debug);
	free(room->debug);
	free(room->program);
	free(room->root);
}

static struct live_process *room_start_as(const struct room *room, const char *how)
{
	const char *const argv[] = {"chroot", room->root, "/program", how, NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, TIMEOUT_S);

	if (!ready)
		live_fail("the target did not start: %s", live_stderr(target));
	json_decref(ready);
	return target;
}

static struct live_process *room_start(const struct room *room)
{
	return room_start_as(room, NULL);
}

/* memtrace must refuse the target. One of the printed reasons must be `reason`. */
static void check_refused(struct live_process *target, const char *options,
			  const char *reason)
{
	struct live_process *memtrace = memtrace_start_plain(live_pid(target), options);

	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	CHECK_CONTAINS(live_stderr(memtrace), reason);
	live_destroy(memtrace);
	oracle_do(target, "run 10");
	oracle_do(target, "release");
	CHECK(live_is_running(target));
}

/* --- forged debug files ------------------------------------------------------------ */

/* Adds `by` to the symbols of this name. Returns their number. */
static unsigned forge(const char *path, const char *name, uint64_t by)
{
	size_t size;
	unsigned char *bytes = map_file(path, &size);
	const Elf64_Ehdr *h = (const void *)bytes;
	const Elf64_Shdr *sections = (const void *)(bytes + h->e_shoff);
	unsigned count = 0;

	for (unsigned i = 0; i < h->e_shnum; i++) {
		Elf64_Sym *symbols = (void *)(bytes + sections[i].sh_offset);
		const char *names =
			(const char *)bytes + sections[sections[i].sh_link].sh_offset;

		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		for (size_t n = 0; n < sections[i].sh_size / sizeof(*symbols); n++) {
			if (strcmp(names + symbols[n].st_name, name) != 0)
				continue;
			symbols[n].st_value += by;
			count++;
		}
	}
	munmap(bytes, size);
	return count;
}

/* The value of the first symbol of this name. */
static uint64_t symbol_value(const char *path, const char *name)
{
	size_t size;
	unsigned char *bytes = map_file(path, &size);
	const Elf64_Ehdr *h = (const void *)bytes;
	const Elf64_Shdr *sections = (const void *)(bytes + h->e_shoff);
	uint64_t value = 0;

	for (unsigned i = 0; i < h->e_shnum && !value; i++) {
		const Elf64_Sym *symbols = (const void *)(bytes + sections[i].sh_offset);
		const char *names =
			(const char *)bytes + sections[sections[i].sh_link].sh_offset;

		for (size_t n = 0; sections[i].sh_type == SHT_SYMTAB && !value &&
				   n < sections[i].sh_size / sizeof(*symbols);
		     n++)
			if (!strcmp(names + symbols[n].st_name, name))
				value = symbols[n].st_value;
	}
	munmap(bytes, size);
	REQUIRE(value);
	return value;
}

/* The debug file puts each function that memtrace probes into the middle of its code. */
static void a_forged_debug_file(void)
{
	static const char *const names[] = {
		"malloc",         "free",         "calloc",        "realloc",
		"memalign",       "valloc",       "pvalloc",       "aligned_alloc",
		"posix_memalign", "reallocarray", "__libc_malloc", "cfree",
	};
	struct room room = room_make("forged");
	unsigned forged = 0;

	files_copy(DEBUG, room.debug);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		forged += forge(room.debug, names[i], 1);
	CHECK(forged > 6);

	struct live_process *target = room_start(&room);

	check_refused(target, "", "points into another function");
	check_refused(target, "--follow-forks", "is stripped");
	live_destroy(target);
	room_deinit(&room);
}

/* A debug file of the target is used for the target alone, but not if other processes
 * would be probed, too. */
static void a_debug_file_of_the_target(void)
{
	struct room room = room_make("honest");

	files_copy(DEBUG, room.debug);

	struct live_process *target = room_start(&room);
	struct live_process *memtrace = memtrace_start(live_pid(target), "");

	oracle_do(target, "run 10");

	json_t *report = memtrace_stop(memtrace);

	CHECK(live_int(report, "heap.live_blocks") >= 10);
	json_decref(report);
	oracle_do(target, "release");
	check_refused(target, "--follow-forks", "is stripped");
	live_destroy(target);
	room_deinit(&room);
}

/* Gives the symbol `name` the value of the symbol `other`. */
static void forge_as(const char *path, const char *name, const char *other)
{
	uint64_t at = symbol_value(path, name);

	REQUIRE(forge(path, name, symbol_value(path, other) - at) > 0);
}

static void await_end_of_first(const struct live_process *target)
{
	double until_s = live_now_s() + TIMEOUT_S;
	bool has_ended = false;

	while (!has_ended && live_now_s() < until_s) {
		char *stat = files_read("/proc/%d/stat", live_pid(target));

		has_ended = strstr(stat, ") Z ");
		free(stat);
		live_sleep(0.01);
	}
	REQUIRE(has_ended);
}

/*
 * The main thread of the target has exited, so the kernel accepts probes only for all
 * processes that map the file. The target's debug file says that malloc() is at another
 * function. No other process may get probes because of this.
 */
static void a_debug_file_when_all_would_be_probed(void)
{
	static const struct {
		const char *options, *relay;
		/* A thread may live long enough for the kernel to probe this process
		 * only. */
		bool may_be_traced;
	} ways[] = {{"--attach perf", "settle", false}, {"", "relay 3", true}};
	struct room room = room_make_for(HEADLESS, "shared");
	struct live_process *other, *target;

	files_copy(ALLOCATORS_DIR "/headless_static", room.debug);
	forge_as(room.debug, "malloc", "site_keep");
	other = room_start_as(&room, "stay");
	target = room_start_as(&room, "left");
	await_end_of_first(target);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct live_process *memtrace;
		double until_s = live_now_s() + TIMEOUT_S;
		bool is_refused = false, is_traced = false;

		oracle_do(target, "%s", ways[i].relay);
		memtrace = memtrace_start_plain(live_pid(target), ways[i].options);
		while (!is_refused && !is_traced && live_now_s() < until_s) {
			is_refused = live_wait_stderr(
				memtrace, "that the process may have made", 0.1);
			is_traced = strstr(live_stderr(memtrace), "Ctrl-C ends");
		}
		CHECK(is_refused || (is_traced && ways[i].may_be_traced));
		CHECK_INT(breakpoints_count(live_pid(other)), 0);
		if (is_traced)
			live_signal(memtrace, SIGINT);
		CHECK_INT(live_wait(memtrace, TIMEOUT_S), is_traced ? 0 : 1);
		live_destroy(memtrace);
	}
	oracle_do(other, "keep 10 10");
	oracle_do(target, "keep 10 10");
	live_destroy(target);
	live_destroy(other);
	room_deinit(&room);
}

/* On a busy machine a thread of the relay may live long enough to hold the probes.
 * Returns whether none did, and memtrace has said so. */
static bool depart_once(const struct room *room, const struct live_process *other)
{
	struct live_process *target = room_start_as(room, "stay");
	struct live_process *memtrace = memtrace_start(live_pid(target), "");
	json_t *report;
	bool said;

	oracle_do(target, "relay 3");
	oracle_do(target, "depart");
	await_end_of_first(target);
	said = live_wait_stderr(memtrace, "may lose its probes", DEPART_S);
	CHECK_INT(breakpoints_count(live_pid(other)), 0);
	oracle_do(target, "keep 1000 10");
	report = memtrace_stop(memtrace);
	CHECK(live_int(report, "heap.live_blocks") >= 1000);
	json_decref(report);
	live_destroy(target);
	return said;
}

/* The main thread exits while memtrace traces: existing probes stay, and no other process
 * gets probes. */
static void a_debug_file_when_the_main_thread_exits(void)
{
	struct room room = room_make_for(HEADLESS, "leaving");
	struct live_process *other;
	bool said = false;

	files_copy(ALLOCATORS_DIR "/headless_static", room.debug);
	other = room_start_as(&room, "stay");
	for (int i = 0; i < DEPARTS_MAX && !said; i++)
		said = depart_once(&room, other);
	CHECK(said);
	live_destroy(other);
	room_deinit(&room);
}

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
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, TIMEOUT_S);

	if (!ready)
		live_fail("the target did not start: %s", live_stderr(target));
	json_decref(ready);
	return target;
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

/* --- mappings without end ---------------------------------------------------------- */

static int64_t rss_mib(const struct live_process *process)
{
	char *status = files_read("/proc/%d/status", live_pid(process));
	const char *line = strstr(status, "VmHWM:");
	int64_t kib = line ? strtoll(line + 6, NULL, 10) : -1;

	free(status);
	return kib / 1024;
}

/* All 30 blocks have their stack. But if memtrace gets no processor for a while, the
 * kernel's reports of so many mappings are lost. Then rules may be out of date, and the
 * mappings cannot be read: the 20 later stacks are cut, and counted: as
 * walks_over_budget if reading the mappings has used up the processor time, else as
 * walks_lost. */
static void check_whole_or_counted(const json_t *report)
{
	int64_t cut = live_int(report, "losses.walks_lost") +
		      live_int(report, "losses.walks_over_budget");
	int64_t whole = report_site(report, "heap", "site_allocate").blocks;

	CHECK_INT(live_int(report, "heap.live_blocks"), 30);
	if ((cut && cut != 20) || whole + cut != 30) {
		CHECK_FAIL("%" PRId64 " whole stacks, %" PRId64 " cut", whole, cut);
		json_dumpf(live_get(report, "losses"), stdout, 0);
		puts("");
	}
}

/* /proc/PID/maps has gigabytes of text: memtrace does not read it all, says so once, and
 * keeps counting. */
static void mappings_that_cannot_be_read(void)
{
	char top[] = "/tmp/memtrace-test-XXXXXX";

	REQUIRE(mkdtemp(top));

	const char *const argv[] = {MANY_MAPS_BINARY, top, NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, TIMEOUT_S), *report;

	REQUIRE(ready);
	json_decref(ready);

	struct live_process *memtrace = memtrace_start(live_pid(target), "--no-lines");

	oracle_do(target, "allocate 10");
	json_decref(memtrace_report(memtrace));
	oracle_do(target, "map 60000");
	oracle_do(target, "allocate 20");
	report = memtrace_report(memtrace);
	check_whole_or_counted(report);
	CHECK_INT(live_int(report, "losses.mappings_unread"), 1);
	json_decref(report);

	json_decref(memtrace_report(memtrace));

	const char *said = strstr(live_stderr(memtrace), "mappings cannot be read");

	CHECK(said && !strstr(said + 1, "mappings cannot be read"));
	printf("     at most %" PRId64 " MiB\n", rss_mib(memtrace));
	CHECK(rss_mib(memtrace) < 700);
	report = memtrace_stop(memtrace);
	check_whole_or_counted(report);
	json_decref(report);
	live_destroy(target);
}

/* As many mappings as the kernel allows, with short names: memtrace reads them all, and
 * reports have symbols as usual. */
static void as_many_mappings_as_there_can_be(void)
{
	char top[] = "/tmp/memtrace-test-XXXXXX";

	REQUIRE(mkdtemp(top));

	const char *const argv[] = {MANY_MAPS_BINARY, top, NULL};
	struct live_process *target = live_start(argv), *memtrace;
	double start_s;
	json_t *report;

	json_decref(live_read_json(target, TIMEOUT_S));
	oracle_do(target, "itself 65000");
	memtrace = memtrace_start(live_pid(target), "");
	oracle_do(target, "allocate 20");
	start_s = check_now_s();
	for (int i = 0; i < 3; i++)
		json_decref(memtrace_report(memtrace));
	printf("     3 reports: %.1f s, at most %" PRId64 " MiB\n",
	       check_now_s() - start_s, rss_mib(memtrace));
	CHECK(check_now_s() - start_s < 30);
	CHECK(rss_mib(memtrace) < 400);
	/* No mapping is left out. */
	CHECK(!strstr(live_stderr(memtrace), "of its mappings"));
	report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_allocate").blocks, 20);
	json_decref(report);
	live_destroy(target);
}

/* --- text that changes all the time ------------------------------------------------- */

static void text_that_changes_all_the_time(void)
{
	const char *const argv[] = {REWRITER_BINARY, LOADED_MALLOC, NULL};
	struct live_process *target = live_start(argv), *memtrace;
	json_t *report = live_read_json(target, TIMEOUT_S);

	REQUIRE(report);
	json_decref(report);
	/* The second run finds the changes that the first has left in the target. */
	for (int run = 0; run < 2; run++) {
		memtrace = memtrace_start(live_pid(target), "");
		oracle_do(target, "allocate");
		for (int i = 0; i < 3; i++)
			json_decref(memtrace_report(memtrace));
		oracle_do(target, "allocate");
		report = memtrace_stop(memtrace);
		CHECK_INT(report_site(report, "heap", "site_rewriter").blocks, 200);
		CHECK_INT(report_site(report, "heap", "site_rewriter").bytes, 200 * 64);
		json_decref(report);
		CHECK(live_is_running(target));
		CHECK(probes_gone(probes_before));
	}
	live_destroy(target);
}

/* The largest memory use of a child of memtrace. */
static int64_t children_rss_mib(const struct live_process *memtrace)
{
	char *children = files_read("/proc/%d/task/%d/children", live_pid(memtrace),
				    live_pid(memtrace));
	int64_t most = 0;

	for (char *at = strtok(children, " "); at; at = strtok(NULL, " ")) {
		char *status = files_read_if_any("/proc/%d/status", atoi(at));
		const char *line = status ? strstr(status, "VmHWM:") : NULL;
		int64_t mib = line ? strtoll(line + 6, NULL, 10) / 1024 : 0;

		most = mib > most ? mib : most;
		free(status);
	}
	free(children);
	return most;
}

/* The symbol table is a hole in the file. memtrace does not read it, says so once, and
 * needs no memory for it in any of its processes. */
static void a_symbol_table_of_2_gib(void)
{
	char top[] = "/tmp/memtrace-test-XXXXXX", path[48] = "/tmp/memtrace-large-XXXXXX";

	REQUIRE(mkdtemp(top));
	close(mkstemp(path));
	close(large_elf_make(path, ((uint64_t)2 << 30) / sizeof(Elf64_Sym)));

	const char *const argv[] = {MANY_MAPS_BINARY, top, NULL};
	struct live_process *target = live_start(argv), *memtrace;
	const char *said;
	json_t *report;

	json_decref(live_read_json(target, TIMEOUT_S));
	oracle_do(target, "library %s", path);
	memtrace = memtrace_start(live_pid(target), "");
	oracle_do(target, "allocate 20");
	json_decref(memtrace_report(memtrace));
	printf("     at most %" PRId64 " MiB, its children %" PRId64 " MiB\n",
	       rss_mib(memtrace), children_rss_mib(memtrace));
	CHECK(rss_mib(memtrace) < 300);
	CHECK(children_rss_mib(memtrace) < 300);
	said = strstr(live_stderr(memtrace), "symbol tables of more than 256 MiB");
	CHECK(said && !strstr(said + 1, "symbol tables of more than 256 MiB"));
	report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_allocate").blocks, 20);
	json_decref(report);
	live_destroy(target);
	unlink(path);
}

/* The process maps more files than memtrace opens. memtrace still finds the C library. */
static void files_without_end(void)
{
	enum {
		files = 5000,
		opened = 1024 /* OPENED_MAX of allocator/allocator.c */
	};
	char top[] = "/tmp/memtrace-test-XXXXXX";

	REQUIRE(mkdtemp(top));

	const char *const argv[] = {MANY_MAPS_BINARY, top, NULL};
	struct live_process *target = live_start(argv), *memtrace;
	json_t *report;

	json_decref(live_read_json(target, TIMEOUT_S));
	oracle_do(target, "files %d", files);
	memtrace = memtrace_start(live_pid(target), "");
	oracle_do(target, "allocate 20");
	json_decref(memtrace_report(memtrace));
	CHECK_CONTAINS(live_stderr(memtrace), "of its mappings have no function names");
	report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_allocate").blocks, 20);
	/* The files that memtrace did not open are counted. */
	CHECK(live_int(report, "losses.files_untraced") >= files - opened);
	json_decref(report);
	live_destroy(target);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(a_forged_debug_file);
	RUN_WITH_RETURN_PROBES(a_debug_file_of_the_target);
	RUN(a_debug_file_when_all_would_be_probed);
	RUN_WITH_RETURN_PROBES(a_debug_file_when_the_main_thread_exits);
	RUN(links_out_of_the_root_directory);
	RUN_WITH_RETURN_PROBES(links_out_in_place_of_what_is_mapped);
	RUN(no_regular_files);
	RUN(links_to_files_of_the_kernel);
	RUN(files_that_the_target_may_not_read);
	RUN_WITH_RETURN_PROBES(files_that_the_target_may_not_read_for_lines);
	RUN_WITH_RETURN_PROBES(a_debug_file_that_the_target_may_read);
	RUN(mappings_that_cannot_be_read);
	RUN(as_many_mappings_as_there_can_be);
	RUN(text_that_changes_all_the_time);
	RUN(a_symbol_table_of_2_gib);
	RUN(files_without_end);
	CHECK(probes_gone(probes_before));
	probes_destroy(probes_before);
	return check_done();
}
