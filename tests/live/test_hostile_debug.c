// SPDX-License-Identifier: Apache-2.0
/*
 * Targets that forge a debug file: the probes in them, and in processes that share a
 * library with them, must not be set by it.
 */
#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "check.h"
#include "live/breakpoints.h"
#include "live/files.h"
#include "live/room.h"
#include "live/trace.h"

#define HEADLESS    ALLOCATORS_DIR "/headless_stripped"
#define DEPART_S    10
#define DEPARTS_MAX 8

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

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(a_forged_debug_file);
	RUN_WITH_RETURN_PROBES(a_debug_file_of_the_target);
	RUN(a_debug_file_when_all_would_be_probed);
	RUN_WITH_RETURN_PROBES(a_debug_file_when_the_main_thread_exits);
	CHECK(probes_gone(probes_before));
	probes_destroy(probes_before);
	return check_done();
}
