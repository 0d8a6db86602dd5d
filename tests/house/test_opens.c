// SPDX-License-Identifier: Apache-2.0
/* Only util/regular_file.c (place_find()) may follow paths that a target chooses. The
 * list below has all other files of src/, headers too, that open, inspect, create, rename
 * or remove paths, and says who chooses these paths. */
#include "check.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>

static const struct opener {
	const char *file;
	unsigned lines; /* number of lines with such calls */
	const char *paths;
} openers[] = {
	{"attach/attach_hold.c", 1, "/proc/self/fd/N of a file that is held"},
	{"attach/attach_perf.c", 1, "/sys"},
	{"attach/attach_wide.c", 4, "/proc/self/fd/N of a file that is held"},
	{"bpf/cache.c", 12, "its own directory, which the user may name"},
	{"bpf/code.c", 1, "libraries that libbcc was made of"},
	{"compile/compiler_child.c", 2, "libbcc by its name, /"},
	{"attach/detach_all.c", 2, "/proc/self/fd"},
	{"bpf/file_numbers.c", 2, "/proc/self/fd/N of a file that is held"},
	{"compile/headers.c", 8, "the kernel's headers and a temporary folder"},
	{"kernel_heap/kernel_events.c", 8, "tracefs"},
	{"bpf/kernel_identity.c", 1, "/sys/kernel/notes"},
	{"bpf/offsets_reader.c", 1, "its own program"},
	{"kernel_heap/kernel_points.c", 1, "tracefs"},
	{"compile/source_sizes.c", 1, "/proc/self"},
	{"tracees/system_wide.c", 2, "/proc, and what the user names"},
	{"observe/feed.c", 1, "/proc/self"},
	{"serve/http.c", 1, "libmicrohttpd by its name"},
	{"serve/listener.c", 4, "what the user names"},
	{"screen/screen.c", 1, "/proc/self/fd/N of its memory file"},
	{"session/fetch_cache.c", 4, "what the user names"},
	{"files/new_file.c", 15, "output files"},
	{"cli/prime.c", 2, "/dev/null and its own program"},
	{"progress/stuck.c", 12,
	 "/proc/self, and the scheduler's figures of a task of ours"},
	{"progress/reading.c", 2, "what the user names"},
	{"cli/run.c", 1, "/dev/null"},
	{"output/debug_packages.c", 3, "dpkg's lists of files"},
	{"output/snapshot_file.c", 1, "what the user names"},
	{"tracees/tracees.c", 1, "/proc/kallsyms"},
	{"tracees/tracees_recall.c", 1, "/"},
	{"confined/broker.c", 3,
	 "/proc of a confined child, and again what a policy has found"},
	{"confined/confined.c", 1, "/proc of a confined child"},
	{"confined/landlock.c", 1, "/dev/null, and what a child may open"},
	{"confined/serve.c", 3, "/dev/null, /, /proc/self"},
	{"confined/shed.c", 1, "/proc/self"},
	{"manual/main.c", 2, "templates, when memtrace is built"},
	{"frames/filter_file.c", 1, "what the user names"},
	{"symbol/bcc.c", 1, "/proc/PID/exe"},
	{"symbol/code_maps.c", 2, "/proc/PID; looks at what libbcc is about to open"},
	{"symbol/debuginfod.c", 1, "libdebuginfod by its name"},
	{"dwarf/debug_search.c", 1, "debug directories of the machine"},
	{"symbol/file_list.c", 3, "what the user names"},
	{"symbol/fd_guard.c", 2, "/proc/self/fd, /dev/null"},
	{"symbol/given_maps.c", 2, "what libbcc opens by fopen(), passed on"},
	{"dwarf/lines.c", 1, "/proc/PID/root"},
	{"symbol/perf_map.c", 1, "/proc/PID/root"},
	{"dwarf/split_search.c", 1, "debug directories of the machine"},
	{"allocator/allocator.c", 3, "/proc/PID/exe, and what the user names"},
	{"process/children.c", 1, "/proc"},
	{"process/unit.c", 1, "/proc"},
	{"tracees/confinement.c", 1, "/proc/PID"},
	{"process/debug_file.c", 1, "/"},
	{"elf/elf_open.c", 2, "of elf_file_open(): its callers are listed, too"},
	{"elf/elf.h", 1, "elf_file_open() itself"},
	{"process/file_names.c", 2, "of file_names_of_path(): the same"},
	{"process/file_names.h", 1, "file_names_of_path() itself"},
	{"util/file_pages.c", 1, "/proc/self"},
	{"process/linker.c", 1, "/proc/PID"},
	{"process/mapped_files.c", 1, "/proc/PID"},
	{"process/live_thread.c", 6, "/proc/PID"},
	{"process/live_thread.h", 1, "living_open() itself"},
	{"bpf/mm_locks.c", 2, "/proc and /proc/PID"},
	{"process/named.c", 4, "/proc"},
	{"process/open_policy.c", 8, "debug directories of the machine, /proc/PID"},
	{"code/other_code.c", 4,
	 "/proc, /proc/PID, /proc/self/fd/N of a file that is held"},
	{"process/privileges.c", 2, "/proc/sys and other paths of the kernel"},
	{"process/proc.c", 9, "/proc/PID"},
	{"process/procfs.c", 1, "/proc/PID"},
	{"process/timed_read.c", 2, "/proc/PID"},
	{"process/timed_read.h", 1, "timed_read_open() itself"},
	{"util/lanes.c", 3, "/proc/PID, for process/timed_read.c"},
	{"process/stand_in.c", 1, "/proc/self/fd/N of its own list"},
	{"process/spawn.c", 1, "the command that the user gives"},
	{"process/target_file.c", 2, "what the user names"},
	{"reach/held.c", 4, "/proc/PID/fdinfo and the links of /proc/PID/fd"},
	{"reach/pages.c", 1, "/proc/PID"},
	{"reach/shared.c", 2, "/proc/PID/map_files, and again if it is in memory"},
	{"reach/stacks.c", 1, "/proc/PID"},
	{"reach/threads.c", 1, "/proc/PID"},
	{"unwind/image_store.c", 4, "/"},
	{"unwind/same_text.c", 1, "/proc/PID"},
	{"util/cpu_queue.c", 1, "/proc/thread-self"},
	{"util/file_limit.c", 1, "/"},
	{"util/open_child.c", 8, "for util/open_helper.c"},
	{"util/open_child.h", 2, "its functions themselves"},
	{"util/open_helper.c", 14, "for util/regular_file.c and confined/broker.c"},
	{"util/open_helper.h", 2, "its functions themselves"},
	{"util/priority.c", 1, "/proc/loadavg"},
	{"util/regular_file.c", 7, "the one place"},
	{"util/regular_file.h", 2, "its functions themselves"},
};

#define OPENERS (sizeof(openers) / sizeof(*openers))

static const char *const calls[] = {
	"open",
	"open64",
	"openat",
	"openat64",
	"openat2",
	"fopen",
	"fopen64",
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
	"live_thread_open",
	"timed_read_open",
	"open_call_find",
	"open_call_reopen",
	"bind",
	"connect",
	/* What creates, moves, changes or removes. */
	"mkdir",
	"mkdirat",
	"mkdtemp",
	"mkstemp",
	"mkstemps",
	"mkostemps",
	"mknod",
	"mknodat",
	"mkfifo",
	"mkfifoat",
	"link",
	"linkat",
	"symlink",
	"symlinkat",
	"rename",
	"renameat",
	"renameat2",
	"unlink",
	"unlinkat",
	"rmdir",
	"remove",
	"chmod",
	"fchmodat",
	"chown",
	"lchown",
	"fchownat",
	"utime",
	"utimes",
	"lutimes",
	"utimensat",
	"futimesat",
	"setxattr",
	"lsetxattr",
	"getxattr",
	"lgetxattr",
	"listxattr",
	"removexattr",
	/* What changes how paths are followed. */
	"chdir",
	"chroot",
	"pivot_root",
	"mount",
	"umount",
	"umount2",
	"open_tree",
	"move_mount",
	"fsopen",
	"name_to_handle_at",
	/* What else takes a path. */
	"fstatat64",
	"stat64",
	"lstat64",
	"euidaccess",
	"eaccess",
	"pathconf",
	"canonicalize_file_name",
	"ftw",
	"fts_open",
	"scandirat",
	"dlmopen",
	"execl",
	"execle",
	"execlp",
	"fanotify_mark",
	"bpf_obj_pin",
	"swapon",
	"acct",
	"shm_open",
	"shm_unlink",
	"tmpnam",
	"tempnam",
};

/* The same calls by syscall(2): prefixes of their numbers' names. */
static const char *const numbers[] = {
	"SYS_open",        "SYS_stat",           "SYS_exec",
	"SYS_readlink",    "SYS_mount",          "SYS_faccess",
	"SYS_truncate",    "SYS_name_to_handle", "SYS_mk",
	"SYS_link",        "SYS_symlink",        "SYS_rename",
	"SYS_unlink",      "SYS_rmdir",          "SYS_chmod",
	"SYS_fchmodat",    "SYS_chown",          "SYS_lchown",
	"SYS_fchownat",    "SYS_utime",          "SYS_setxattr",
	"SYS_lsetxattr",   "SYS_chdir",          "SYS_chroot",
	"SYS_pivot_root",  "SYS_umount",         "SYS_move_mount",
	"SYS_inotify_add", "SYS_fanotify_mark",  "SYS_access",
	"SYS_creat",       "SYS_newfstatat",     "SYS_lstat",
};

/* A section of the manual, as in open(2): a comment. */
static bool is_section(const char *at)
{
	return at[0] == '(' && isdigit(at[1]) && at[2] == ')';
}

/* Does the line contain such a call? Parts of longer words do not count. */
static bool has_call(const char *line)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		size_t len = strlen(calls[i]);

		for (const char *at = line; (at = strstr(at, calls[i])); at += len)
			if (at[len] == '(' && !is_section(at + len) &&
			    (at == line || (!isalnum(at[-1]) && at[-1] != '_')))
				return true;
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (strstr(line, numbers[i]))
			return true;
	return false;
}

/* The number of lines with such calls. */
static unsigned lines_that_open(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[1024];
	unsigned found = 0;

	REQUIRE(f);
	while (fgets(line, sizeof(line), f)) {
		const char *text = line + strspn(line, " \t");

		/* Skip comments, but not "*ret = open(...)". */
		if (strncmp(text, "* ", 2) && strncmp(text, "/*", 2) && has_call(text))
			found++;
	}
	fclose(f);
	return found;
}

static void check_file(const char *name, bool is_used[OPENERS])
{
	const char *dot = strrchr(name, '.');
	char path[1024];
	unsigned lines;
	size_t i = 0;

	if (!dot || (strcmp(dot, ".c") != 0 && strcmp(dot, ".h") != 0))
		return;
	snprintf(path, sizeof(path), SOURCE_DIR "/src/%s", name);
	lines = lines_that_open(path);
	if (!lines)
		return;
	while (i < OPENERS && strcmp(openers[i].file, name) != 0)
		i++;
	check_state.checks++;
	if (i == OPENERS) {
		CHECK_FAIL("src/%s opens paths: use process/target_file.h, or list here "
			   "whose they are",
			   name);
		return;
	}
	is_used[i] = true;
	if (lines != openers[i].lines)
		CHECK_FAIL("src/%s opens paths in %u lines, and %u are listed here: look "
			   "whose they are",
			   name, lines, openers[i].lines);
}

/* Check the files of a folder of src/, and of those in it. Returns their number. */
static unsigned check_folder(const char *folder, bool is_used[OPENERS])
{
	unsigned files = 0;
	char path[1024];
	DIR *dir;

	snprintf(path, sizeof(path), SOURCE_DIR "/src/%s", folder);
	dir = opendir(path);
	REQUIRE(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		char name[768];

		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s%s%s", folder, *folder ? "/" : "",
			 e->d_name);
		if (e->d_type == DT_DIR) {
			files += check_folder(name, is_used);
		} else {
			check_file(name, is_used);
			files++;
		}
	}
	closedir(dir);
	return files;
}

static void openers_are_listed(void)
{
	bool is_used[OPENERS] = {false};

	CHECK(check_folder("", is_used) > 500);
	for (size_t i = 0; i < OPENERS; i++)
		if (!is_used[i])
			CHECK_FAIL("src/%s opens no paths any more", openers[i].file);
}

/* The scan sees calls, and no comments or longer words. */
static void calls_are_seen(void)
{
	CHECK(has_call("if (!rename(from, to))"));
	CHECK(has_call("unlinkat(fd, name, 0);"));
	CHECK(has_call("syscall(SYS_renameat2, fd, from, fd, to, 0)"));
	CHECK(has_call("\t\tmkdir(path, 0700);"));
	CHECK(!has_call("list_unlink(list);"));
	CHECK(!has_call("link->next = NULL;"));
	CHECK(!has_call("fstat(fd, &st)"));
	CHECK(!has_call("dev_t device; /* as reported by stat(2) */"));
}

int main(void)
{
	RUN(calls_are_seen);
	RUN(openers_are_listed);
	return check_done();
}
