/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of hostile targets: one in a root directory of its own, in which it may
 * forge, link and replace files.
 */
#ifndef TESTS_LIVE_ROOM_H
#define TESTS_LIVE_ROOM_H

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
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

/* A target's root directory: the stripped program, and the path of its debug file. */
struct room {
	char *root, *program, *debug;
	char id[64]; /* build-id, hexadecimal */
};

/* The nth program header of this type. The file is mapped at `bytes`. */
static inline const Elf64_Phdr *segment(const unsigned char *bytes, unsigned type,
					unsigned nth)
{
	const Elf64_Ehdr *h = (const void *)bytes;
	const Elf64_Phdr *list = (const void *)(bytes + h->e_phoff);

	for (unsigned i = 0; i < h->e_phnum; i++)
		if (list[i].p_type == type && !nth--)
			return &list[i];
	return NULL;
}

static inline unsigned char *map_file(const char *path, size_t *size)
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

static inline void read_build_id(const char *path, char ret[64])
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

static inline struct room room_make_for(const char *program, const char *name)
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

static inline struct room room_make(const char *name)
{
	return room_make_for(PROGRAM, name);
}

static inline void room_deinit(struct room *room)
{
	unlink(room->debug);
	free(room->debug);
	free(room->program);
	free(room->root);
}

/* Start a target, and wait until it says that it is ready. */
static inline struct live_process *start_ready(const char *const argv[])
{
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, TIMEOUT_S);

	if (!ready)
		live_fail("the target did not start: %s", live_stderr(target));
	json_decref(ready);
	return target;
}

static inline struct live_process *room_start_as(const struct room *room, const char *how)
{
	const char *const argv[] = {"chroot", room->root, "/program", how, NULL};

	return start_ready(argv);
}

static inline struct live_process *room_start(const struct room *room)
{
	return room_start_as(room, NULL);
}

/* memtrace must refuse the target. One of the printed reasons must be `reason`. */
static inline void check_refused(struct live_process *target, const char *options,
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

#endif
