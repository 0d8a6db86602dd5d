// SPDX-License-Identifier: Apache-2.0
/*
 * Targets that want more than to be traced: what they forge, link and replace has no
 * effect on files that others use, and nothing outside of their root directory is opened.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/files.h"
#include "live/trace.h"

#define PROGRAM   ALLOCATORS_DIR "/allocators_stripped"
#define DEBUG     ALLOCATORS_DIR "/allocators_static"
#define TIMEOUT_S 60

static struct probes *probes_before;

/* --- a root directory of its own ---------------------------------------------------- */

/* The program without symbols, and the place where its debug file would be. */
struct room {
	char *root, *program, *debug;
	char id[64]; /* build-id */
};

/* A program header of this type, of a file that is mapped at `bytes`. */
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

static struct room room_make(const char *name)
{
	struct room room = {.root = live_path(name)};

	REQUIRE(!mkdir(room.root, 0755) || errno == EEXIST);
	REQUIRE(asprintf(&room.program, "%s/program", room.root) > 0);
	files_copy(PROGRAM, room.program);
	read_build_id(room.program, room.id);
	REQUIRE(asprintf(&room.debug, "%s/usr/lib/debug/.build-id/%.2s/%s.debug",
			 room.root, room.id, room.id + 2) > 0);
	files_make_folders(room.debug);
	unlink(room.debug);
	return room;
}

static void room_deinit(struct room *room)
{
	unlink(room->debug);
	free(room->debug);
	free(room->program);
	free(room->root);
}

static struct live_process *room_start(const struct room *room)
{
	const char *const argv[] = {"chroot", room->root, "/program", NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, TIMEOUT_S);

	if (!ready)
		live_fail("the target did not start: %s", live_stderr(target));
	json_decref(ready);
	return target;
}

/* memtrace refuses the target, for this reason among others. */
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

/* --- forged debug files --------------------------------------------------------------
 */

/* Move the symbols of this name. How many there were. */
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

/* Each function that memtrace wants lies in the middle of its code, by the debug file. */
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

/* What is right for the process itself is not asked when others would be probed, too. */
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

/* --- what lies where a debug file is expected ----------------------------------------
 */

/* Nobody opens `decoy`, which is outside of the target's root directory. */
static void check_unopened(const struct room *room, const char *decoy)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct live_process *target = room_start(room);
	char events[4096];

	REQUIRE(watch >= 0 && inotify_add_watch(watch, decoy, IN_OPEN) >= 0);
	check_refused(target, "--dry-run", "is stripped");
	CHECK_INT(read(watch, events, sizeof(events)), -1);
	CHECK_INT(errno, EAGAIN);
	close(watch);
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

static void no_regular_files(void)
{
	struct room room = room_make("special");

	REQUIRE(!mkfifo(room.debug, 0644));
	check_unopened(&room, room.debug);
	unlink(room.debug);
	/* As /dev/null is numbered (Documentation/admin-guide/devices.txt). */
	REQUIRE(!mknod(room.debug, S_IFCHR | 0666, 1 << 8 | 3));
	check_unopened(&room, room.debug);
	unlink(room.debug);
	REQUIRE(!mkdir(room.debug, 0755));
	check_unopened(&room, room.debug);
	rmdir(room.debug);
	room_deinit(&room);
}

/* --- mappings without end -------------------------------------------------------------
 */

static int64_t rss_mib(const struct live_process *process)
{
	char *status = files_read("/proc/%d/status", live_pid(process));
	const char *line = strstr(status, "VmHWM:");
	int64_t kib = line ? strtoll(line + 6, NULL, 10) : -1;

	free(status);
	return kib / 1024;
}

/* What /proc/PID/maps says of them has gigabytes: memtrace does without, says so once,
 * and counts as before. */
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
	CHECK_INT(report_site(report, "heap", "site_allocate").blocks, 30);
	CHECK_INT(live_int(report, "losses.mappings_unread"), 1);
	json_decref(report);

	json_decref(memtrace_report(memtrace));

	const char *said = strstr(live_stderr(memtrace), "mappings cannot be read");

	CHECK(said && !strstr(said + 1, "mappings cannot be read"));
	printf("     at most %" PRId64 " MiB\n", rss_mib(memtrace));
	CHECK(rss_mib(memtrace) < 700);
	report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_allocate").blocks, 30);
	json_decref(report);
	live_destroy(target);
}

/* The C library is found among more files than memtrace opens. */
static void files_without_end(void)
{
	enum {
		files = 5000,
		opened = 1024 /* OPENED_MAX of target/allocator.c */
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
	report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_allocate").blocks, 20);
	/* Those that are left out are counted. */
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
	RUN(links_out_of_the_root_directory);
	RUN(no_regular_files);
	RUN(mappings_that_cannot_be_read);
	RUN(files_without_end);
	CHECK(probes_gone(probes_before));
	probes_destroy(probes_before);
	return check_done();
}
