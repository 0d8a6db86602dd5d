// SPDX-License-Identifier: Apache-2.0
/* Includes follow the order of src/CMakeLists.txt: the files of a folder include only
 * folders below it. <bcc/...> is included only in compile/ and symbol/bcc.c, and headers
 * of probes/ only in the rooms that shared_headers names. */
#include "check.h"

#include <dirent.h>
#include <stdbool.h>

#define MAX_BELOW 8

static const struct room {
	const char *name;
	const char *below[MAX_BELOW]; /* rooms whose headers it may include; and theirs */
} rooms[] = {
	{"arch", {NULL}},
	{"util", {"arch"}},
	{"confined", {"util"}},
	{"snapshot", {"util"}},
	{"elf", {"confined"}},
	{"process", {"elf"}},
	{"reach", {"process", "snapshot"}},
	{"allocator", {"process"}},
	{"unwind", {"process"}},
	{"code", {"unwind", "allocator"}},
	{"plan", {"code"}},
	{"dwarf", {"process"}},
	{"symbol", {"dwarf"}},
	{"frames", {"util"}},
	{"report", {"frames", "snapshot", "symbol"}},
	{"causes", {"report"}},
	{"diff", {"report"}},
	{"render", {"causes", "diff"}},
	{"render/text", {"render"}},
	{"render/json", {"render"}},
	{"render/flame", {"render"}},
	{"render/html", {"render/text", "render/flame"}},
	{"render/pprof", {"render"}},
	{"render/views", {"render/text"}},
	{"render/diff", {"render/views", "render/json"}},
	{"render/table", {"render/diff", "render/html", "render/pprof"}},
	{"bpf", {"process", "snapshot"}},
	{"kernel_heap", {"plan"}},
	{"compile", {"bpf", "kernel_heap"}},
	{"attach", {"bpf", "plan"}},
	{"drain", {"compile"}},
	{"unwind_miss", {"drain"}},
	{"trace", {"attach", "unwind_miss"}},
	{"files", {"util"}},
	{"options", {"files", "trace", "render/views"}},
	{"progress", {"options", "symbol", "report"}},
	{"tracees", {"progress"}},
	{"output", {"progress", "render/table"}},
	{"screen", {"output"}},
	{"observe", {"output"}},
	{"serve", {"observe"}},
	{"session", {"tracees", "screen", "serve", "reach"}},
	{"cli", {"session"}},
	/* Of options only the option table; see src/CMakeLists.txt. */
	{"manual", {"options"}},
};

#define ROOM_COUNT  (sizeof(rooms) / sizeof(*rooms))

#define SHARERS_MAX 8

/* The headers of probes/, and the rooms that share them. */
static const struct shared {
	const char *name;
	const char *rooms[SHARERS_MAX + 1];
} shared_headers[] = {
	{"abi.h",
	 {"bpf", "kernel_heap", "compile", "attach", "drain", "unwind_miss", "trace"}},
	{"abi_sites.h", {"compile"}},
	{"abi_walk.h", {"compile", "drain", "unwind_miss", "trace"}},
	{"peak_record.h", {"drain"}},
	{"traffic_record.h", {"compile", "drain"}},
	{"unwind_step.h", {"unwind", "code", "unwind_miss"}},
};

#define SHARED_COUNT (sizeof(shared_headers) / sizeof(*shared_headers))

/* Of each header, by the index of a room: the room includes it. */
static bool is_shared_with[SHARED_COUNT][SHARERS_MAX];

static const struct room *find_room(const char *name)
{
	for (size_t i = 0; i < ROOM_COUNT; i++) {
		if (!strcmp(rooms[i].name, name))
			return &rooms[i];
	}
	return NULL;
}

static bool may_include(const struct room *room, const char *other)
{
	if (!strcmp(room->name, other))
		return true;
	for (size_t i = 0; i < MAX_BELOW && room->below[i]; i++) {
		const struct room *below = find_room(room->below[i]);

		REQUIRE(below && below < room);
		if (may_include(below, other))
			return true;
	}
	return false;
}

static const struct shared *find_shared(const char *name)
{
	for (size_t i = 0; i < SHARED_COUNT; i++) {
		if (!strcmp(shared_headers[i].name, name))
			return &shared_headers[i];
	}
	return NULL;
}

/* May the room include this header of probes/? */
static bool shares(const struct room *room, const struct shared *header)
{
	for (size_t i = 0; header->rooms[i]; i++) {
		if (strcmp(header->rooms[i], room->name) != 0)
			continue;
		is_shared_with[header - shared_headers][i] = true;
		return true;
	}
	return false;
}

/* The name of an included header without a folder. False: it is another line. */
static bool header_of(const char *line, char ret[64])
{
	int end = 0;

	sscanf(line, "#include \"%63[a-z_.]\"%n", ret, &end);
	return end;
}

/* The room of an included header: what is before the last '/'. False: it has none. */
static bool room_of(const char *line, char ret[64])
{
	char *slash;

	if (sscanf(line, "#include \"%63[a-z_/]", ret) != 1)
		return false;
	slash = strrchr(ret, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return find_room(ret);
}

/* Returns the number of checked include lines. */
static unsigned check_file(const struct room *room, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[1024], other[64];
	unsigned judged = 0;

	REQUIRE(f);
	while (fgets(line, sizeof(line), f)) {
		bool bcc_file = !strcmp(room->name, "compile") ||
				strstr(path, "/symbol/bcc.c") ||
				strstr(path, "/symbol/fd_guard");

		if (!strncmp(line, "#include <bcc/", 14)) {
			judged++;
			CHECK(bcc_file);
		}
		if (header_of(line, other)) {
			const struct shared *header = find_shared(other);

			judged++;
			check_state.checks++;
			if (!header || !shares(room, header))
				CHECK_FAIL("%s includes %s, which has no rule for %s",
					   path, other, room->name);
		}
		if (!room_of(line, other))
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
	CHECK(judged > 1000);
}

/* After includes_run_one_way(), which has noted who includes them. */
static void every_shared_header_has_a_rule(void)
{
	DIR *dir = opendir(SOURCE_DIR "/probes");

	REQUIRE(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		const char *dot = strrchr(e->d_name, '.');

		if (dot && !strcmp(dot, ".h") && !find_shared(e->d_name))
			CHECK_FAIL("probes/%s has no rule", e->d_name);
	}
	closedir(dir);
	for (size_t i = 0; i < SHARED_COUNT; i++)
		for (size_t k = 0; shared_headers[i].rooms[k]; k++)
			if (!is_shared_with[i][k])
				CHECK_FAIL("%s does not include %s",
					   shared_headers[i].rooms[k],
					   shared_headers[i].name);
}

/* A folder without a rule would not be checked. */
static void check_folders(const char *below)
{
	char path[512];
	DIR *dir;

	snprintf(path, sizeof(path), SOURCE_DIR "/src/%s", below);
	dir = opendir(path);
	REQUIRE(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		char name[400];

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s%s%s", below, *below ? "/" : "",
			 e->d_name);
		if (!find_room(name))
			CHECK_FAIL("src/%s has no rule", name);
		else
			check_folders(name);
	}
	closedir(dir);
}

static void every_folder_is_a_room(void)
{
	check_folders("");
	CHECK(find_room("render/views"));
}

/* --- the drawing of the rooms in docs/architecture.md ------------------------------ */

#define GROUP_MAX 8

/* Rooms on one side of an arrow. */
struct group {
	const struct room *rooms[GROUP_MAX];
	size_t count;
};

/* Arrows of the drawing, by the index of a room and of its `below`. */
static bool is_drawn[ROOM_COUNT][MAX_BELOW];

static void draw_arrow(const struct room *from, const struct room *to)
{
	check_state.checks++;
	for (size_t i = 0; i < MAX_BELOW && from->below[i]; i++) {
		if (!strcmp(from->below[i], to->name)) {
			is_drawn[from - rooms][i] = true;
			return;
		}
	}
	CHECK_FAIL(
		"docs/architecture.md has an arrow from %s to %s; no rule here allows it",
		from->name, to->name);
}

/* Read "name" or "{ name, name }". Returns what follows; NULL: no rooms are there. */
static const char *read_group(const char *at, struct group *ret)
{
	bool has_brace;
	char name[64];

	ret->count = 0;
	at += strspn(at, " ");
	has_brace = *at == '{';
	at += has_brace;
	do {
		size_t len;

		at += strspn(at, " ,");
		len = strspn(at, "abcdefghijklmnopqrstuvwxyz_/");
		if (!len || len >= sizeof(name) || ret->count == GROUP_MAX)
			return NULL;
		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		ret->rooms[ret->count] = find_room(name);
		if (!ret->rooms[ret->count++]) {
			CHECK_FAIL(
				"docs/architecture.md draws %s; src/ has no such folder",
				name);
			return NULL;
		}
		at += len;
	} while (has_brace && *at == ',');
	return at + strspn(at, " }");
}

/* A line has chains of groups: "a -> b -> { c, d }     e -> f". */
static void read_drawing(const char *line)
{
	struct group from, to;
	const char *at = read_group(line, &from);

	while (at && *at && *at != '\n') {
		bool is_arrow = !strncmp(at, "->", 2);

		at = read_group(at + (is_arrow ? 2 : 0), &to);
		for (size_t i = 0; at && is_arrow && i < from.count; i++)
			for (size_t k = 0; k < to.count; k++)
				draw_arrow(from.rooms[i], to.rooms[k]);
		from = to;
	}
	CHECK(at != NULL);
}

static void the_drawing_shows_the_rules(void)
{
	FILE *f = fopen(SOURCE_DIR "/docs/architecture.md", "re");
	char line[1024];

	REQUIRE(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "    ", 4) && strstr(line, "->"))
			read_drawing(line);
	fclose(f);
	for (size_t i = 0; i < ROOM_COUNT; i++)
		for (size_t k = 0; k < MAX_BELOW && rooms[i].below[k]; k++)
			if (!is_drawn[i][k])
				CHECK_FAIL(
					"docs/architecture.md has no arrow from %s to %s",
					rooms[i].name, rooms[i].below[k]);
}

int main(void)
{
	RUN(includes_run_one_way);
	RUN(every_shared_header_has_a_rule);
	RUN(every_folder_is_a_room);
	RUN(the_drawing_shows_the_rules);
	return check_done();
}
