// SPDX-License-Identifier: Apache-2.0
/* Includes follow the order of src/CMakeLists.txt: the files of a folder include only
 * folders below it. <bcc/...> is included only in bpf/ and symbol/bcc.c. */
#include "check.h"

#include <dirent.h>
#include <stdbool.h>

#define MAX_BELOW 10

static const struct room {
	const char *name;
	const char *below[MAX_BELOW]; /* transitive: includes the folders below these */
} rooms[] = {
	{"util", {NULL}},
	{"snapshot", {"util"}},
	{"confined", {"util"}},
	{"target", {"confined", "util"}},
	{"unwind", {"target", "confined", "util"}},
	{"plan", {"target", "confined", "unwind", "util"}},
	{"symbol", {"target", "confined", "util"}},
	{"report", {"snapshot", "symbol", "util"}},
	{"render", {"report", "snapshot", "symbol", "util"}},
	{"bpf", {"plan", "target", "unwind", "snapshot", "util"}},
	{"cli",
	 {"render", "bpf", "plan", "unwind", "report", "snapshot", "symbol", "target",
	  "confined", "util"}},
	/* Of cli only the option table; see options in src/CMakeLists.txt. */
	{"manual", {"cli", "bpf", "util"}},
};

#define ROOM_COUNT (sizeof(rooms) / sizeof(*rooms))

static bool may_include(const struct room *room, const char *other)
{
	if (!strcmp(room->name, other))
		return true;
	for (size_t i = 0; i < MAX_BELOW && room->below[i]; i++) {
		if (!strcmp(room->below[i], other))
			return true;
	}
	return false;
}

static bool is_room(const char *name)
{
	for (size_t i = 0; i < ROOM_COUNT; i++) {
		if (!strcmp(rooms[i].name, name))
			return true;
	}
	return false;
}

/* Returns the number of checked include lines. */
static unsigned check_file(const struct room *room, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[1024], other[64];
	unsigned judged = 0;

	REQUIRE(f);
	while (fgets(line, sizeof(line), f)) {
		bool bcc_room = !strcmp(room->name, "bpf") ||
				strstr(path, "/symbol/bcc.c") ||
				strstr(path, "/symbol/fd_guard");

		if (!strncmp(line, "#include <bcc/", 14)) {
			judged++;
			CHECK(bcc_room);
		}
		/* abi.h of probes/ is included without a folder, by bpf/ only. */
		if (!strncmp(line, "#include \"abi.h\"", 16)) {
			judged++;
			CHECK(!strcmp(room->name, "bpf"));
		}
		if (sscanf(line, "#include \"%63[a-z_]/", other) != 1 || !is_room(other))
			continue;
		judged++;
		check_state.checks++;
		if (!may_include(room, other))
			CHECK_FAIL(
				"%s includes a header of %s, which does not lie below %s",
				path, other, room->name);
	}
	fclose(f);
	return judged;
}

static void includes_run_one_way(void)
{
	unsigned judged = 0;

	for (size_t i = 0; i < ROOM_COUNT; i++) {
		char dir_path[512], path[1024];

		snprintf(dir_path, sizeof(dir_path), SOURCE_DIR "/src/%s", rooms[i].name);

		DIR *dir = opendir(dir_path);

		REQUIRE(dir);
		for (struct dirent *e; (e = readdir(dir));) {
			const char *dot = strrchr(e->d_name, '.');

			if (!dot || (strcmp(dot, ".c") && strcmp(dot, ".h")))
				continue;
			snprintf(path, sizeof(path), "%s/%s", dir_path, e->d_name);
			judged += check_file(&rooms[i], path);
		}
		closedir(dir);
	}
	/* Checks that the test has found include lines. */
	CHECK(judged > 100);
}

/* A folder without a rule would not be checked. */
static void every_folder_is_a_room(void)
{
	DIR *dir = opendir(SOURCE_DIR "/src");

	REQUIRE(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			CHECK(is_room(e->d_name));
	}
	closedir(dir);
}

int main(void)
{
	RUN(includes_run_one_way);
	RUN(every_folder_is_a_room);
	return check_done();
}
