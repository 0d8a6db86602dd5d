// SPDX-License-Identifier: Apache-2.0
/* Paths that a target chooses are followed in util/regular_file.c alone (place_find()).
 * Every other file of src/ that opens or looks at paths is listed here, with whose paths
 * they are. */
#include "check.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>

static const struct opener {
	const char *file, *paths;
} openers[] = {
	{"bpf/attach_hold.c", "/proc/self/fd/N of a file that is held"},
	{"bpf/attach_perf.c", "/sys"},
	{"bpf/cache.c", "its own directory, which the user may name"},
	{"bpf/code.c", "libraries that libbcc was made of"},
	{"bpf/compiler_child.c", "libbcc by its name"},
	{"bpf/detach_all.c", "/proc/self/fd"},
	{"bpf/file_numbers.c", "/proc/self/fd/N of a file that is held"},
	{"bpf/headers.c", "the kernel's headers and a temporary folder"},
	{"bpf/kernel_events.c", "tracefs"},
	{"bpf/kernel_identity.c", "/sys/kernel/notes"},
	{"bpf/kernel_offsets.c", "its own program"},
	{"bpf/kernel_points.c", "tracefs"},
	{"bpf/source.c", "/proc/self"},
	{"cli/everyone.c", "/proc, and what the user names"},
	{"cli/new_file.c", "output files"},
	{"cli/prime.c", "/dev/null and its own program"},
	{"cli/reading.c", "what the user names"},
	{"cli/run.c", "/dev/null"},
	{"cli/snapshot_file.c", "what the user names"},
	{"cli/tracees.c", "/proc/kallsyms"},
	{"cli/tracees_recall.c", "/"},
	{"confined/broker.c",
	 "/proc of a confined child, and again what a policy has found"},
	{"confined/confined.c", "/proc of a confined child"},
	{"confined/serve.c", "/dev/null"},
	{"report/filter_file.c", "what the user names"},
	{"symbol/bcc.c", "/proc/PID/exe"},
	{"symbol/code_maps.c", "/proc/PID; looks at what libbcc is about to open"},
	{"symbol/debuginfod.c", "libdebuginfod by its name"},
	{"symbol/debug_search.c", "debug directories of the machine"},
	{"symbol/fd_guard.c", "/proc/self/fd, /dev/null"},
	{"symbol/given_maps.c", "what libbcc opens by fopen(), passed on"},
	{"symbol/lines.c", "/proc/PID/root"},
	{"symbol/perf_map.c", "/proc/PID/status"},
	{"symbol/split_search.c", "debug directories of the machine"},
	{"target/allocator.c", "/proc/PID/exe, and what the user names"},
	{"target/children.c", "/proc"},
	{"target/confinement.c", "/proc/PID"},
	{"target/debug_file.c", "/"},
	{"target/elf.c", "of elf_file_open(): whoever calls it is listed, too"},
	{"target/file_names.c", "of file_names_of_path(): the same"},
	{"target/file_pages.c", "/proc/self"},
	{"target/linker.c", "/proc/PID"},
	{"target/living.c", "/proc/PID"},
	{"target/open_policy.c", "debug directories of the machine, /proc/PID"},
	{"target/privileges.c", "/proc/sys and other paths of the kernel"},
	{"target/proc.c", "/proc/PID"},
	{"target/procfs.c", "/proc/PID"},
	{"target/stand_in.c", "/proc/self/fd/N of its own list"},
	{"target/spawn.c", "the command that the user gives"},
	{"target/target_file.c", "what the user names"},
	{"unwind/image_store.c", "/"},
	{"unwind/same_text.c", "/proc/PID"},
	{"util/file_limit.c", "/"},
	{"util/open_helper.c", "for util/regular_file.c and confined/broker.c"},
	{"util/regular_file.c", "the one place"},
};

#define OPENERS (sizeof(openers) / sizeof(*openers))

static const char *const calls[] = {
	"open",
	"openat",
	"fopen",
	"stat",
	"lstat",
	"access",
	"place_open",
	"open_helper_find",
	"open_helper_reopen",
	"opendir",
	"realpath",
	"readlink",
	"elf_file_open",
	"regular_file_open",
	"file_names_of_path",
	"creat",
	"open_by_handle_at",
	"execve",
	"fstatat",
	"statx",
	"statfs",
	"statvfs",
	"faccessat",
	"readlinkat",
	"truncate",
	"freopen",
	"scandir",
	"nftw",
	"glob",
	"dlopen",
	"execv",
	"execvp",
	"execvpe",
	"execveat",
	"posix_spawn",
	"posix_spawnp",
	"popen",
	"system",
	"mkostemp",
	"bpf_obj_get",
	"inotify_add_watch",
	"living_open",
};

/* The same calls by syscall(2): what the names of their numbers begin with. */
static const char *const numbers[] = {
	"SYS_open",  "SYS_stat",    "SYS_exec",     "SYS_readlink",
	"SYS_mount", "SYS_faccess", "SYS_truncate", "SYS_name_to_handle",
};

/* Does the line call one of them? Not where it is a part of another word. */
static bool has_call(const char *line)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		size_t len = strlen(calls[i]);

		for (const char *at = line; (at = strstr(at, calls[i])); at += len)
			if (at[len] == '(' &&
			    (at == line || (!isalnum(at[-1]) && at[-1] != '_')))
				return true;
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (strstr(line, numbers[i]))
			return true;
	return false;
}

static bool opens(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[1024];
	bool found = false;

	REQUIRE(f);
	while (fgets(line, sizeof(line), f)) {
		const char *text = line + strspn(line, " \t");

		/* No code, or the definition of the function itself. */
		if (*text != '*' && strncmp(text, "/*", 2) != 0 && has_call(text))
			found = true;
	}
	fclose(f);
	return found;
}

static void openers_are_listed(void)
{
	bool is_used[OPENERS] = {false};
	DIR *src = opendir(SOURCE_DIR "/src");

	REQUIRE(src);
	for (struct dirent *room; (room = readdir(src));) {
		char folder[512];
		DIR *dir;

		snprintf(folder, sizeof(folder), SOURCE_DIR "/src/%s", room->d_name);
		dir = room->d_name[0] != '.' && room->d_type == DT_DIR ? opendir(folder)
								       : NULL;
		for (struct dirent *e; dir && (e = readdir(dir));) {
			const char *dot = strrchr(e->d_name, '.');
			char name[768], path[1024];
			size_t i = 0;

			snprintf(name, sizeof(name), "%s/%s", room->d_name, e->d_name);
			snprintf(path, sizeof(path), SOURCE_DIR "/src/%s", name);
			if (!dot || strcmp(dot, ".c") != 0 || !opens(path))
				continue;
			while (i < OPENERS && strcmp(openers[i].file, name) != 0)
				i++;
			check_state.checks++;
			if (i < OPENERS)
				is_used[i] = true;
			else
				CHECK_FAIL(
					"src/%s opens paths: use target/target_file.h, "
					"or list here whose they are",
					name);
		}
		if (dir)
			closedir(dir);
	}
	closedir(src);
	for (size_t i = 0; i < OPENERS; i++)
		if (!is_used[i])
			CHECK_FAIL("src/%s opens no paths any more", openers[i].file);
}

int main(void)
{
	RUN(openers_are_listed);
	return check_done();
}
