// SPDX-License-Identifier: Apache-2.0
#include "code/other_code.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "util/clock.h"

/* Pages in memory that are not the file's are as if they were swapped out. */
static bool is_swapped;
/* The clock is put forward by so much at each look, ns. */
static uint64_t step_ns, passed_ns;

/* Instead of the C library's. */
ssize_t pread(int fd, void *ret, size_t size, off_t offset)
{
	const uint64_t present = UINT64_C(1) << 63, swapped = UINT64_C(1) << 62,
		       of_file = UINT64_C(1) << 61;
	ssize_t n = syscall(SYS_pread64, fd, ret, size, offset);
	uint64_t *pages = ret;

	for (ssize_t i = 0; is_swapped && i < n / 8; i++)
		if ((pages[i] & (present | of_file)) == present)
			pages[i] ^= present | swapped;
	return n;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int result = (int)syscall(SYS_clock_gettime, clock, ret);

	passed_ns += step_ns;
	ret->tv_sec += (time_t)(passed_ns / 1000000000);
	return result;
}

#define PAGES 4

/* A file of PAGES pages. */
struct file {
	int fd;
	char path[32];
	size_t page;
	struct file_names names;
};

static void file_of(struct file *file, size_t pages)
{
	char path[] = "/tmp/memtrace-other-XXXXXX";

	file->fd = mkstemp(path);
	file->page = (size_t)sysconf(_SC_PAGESIZE);
	REQUIRE(file->fd >= 0 && !unlink(path) &&
		!ftruncate(file->fd, (off_t)(pages * file->page)) &&
		file_names_ask(file->fd, NULL, &file->names));
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
}

static void file_init(struct file *file)
{
	file_of(file, PAGES);
}

static unsigned char *map_pages(const struct file *file, int flags, size_t pages)
{
	unsigned char *code =
		mmap(NULL, pages * file->page, PROT_READ | PROT_EXEC, flags, file->fd, 0);

	REQUIRE(code != MAP_FAILED);
	/* Have the page there, and not changed. */
	CHECK_INT(*(volatile unsigned char *)code, 0);
	return code;
}

static void map_at(const struct file *file, unsigned char *at, size_t pages)
{
	REQUIRE(mmap(at, pages * file->page, PROT_READ | PROT_EXEC,
		     MAP_PRIVATE | MAP_FIXED, file->fd, 0) == at);
}

static unsigned char *map(const struct file *file, int flags)
{
	return map_pages(file, flags, PAGES);
}

static void change(const struct file *file, unsigned char *code, size_t page)
{
	unsigned char *at = code + page * file->page;

	REQUIRE(!mprotect(at, file->page, PROT_READ | PROT_WRITE));
	*at = 0xcc;
	REQUIRE(!mprotect(at, file->page, PROT_READ | PROT_EXEC));
}

static const struct other_runs *find(struct other_code *others, const struct file *file)
{
	const struct other_runs *runs = NULL;

	CHECK(!other_code_find(others, &file->names, file->path, &runs));
	REQUIRE(runs);
	return runs;
}

static void only_changed_pages_are_found(void)
{
	struct file file, none;
	struct other_code *others = other_code_create();
	const struct other_runs *runs;
	unsigned char *code;

	file_init(&file);
	file_init(&none);
	code = map(&file, MAP_PRIVATE);
	map(&none, MAP_PRIVATE);
	change(&file, code, 1);
	change(&file, code, 2);
	CHECK_INT(find(others, &none)->list.len, 0);
	runs = find(others, &file);
	REQUIRE(runs->list.len == 1);
	CHECK_INT(runs->list.data[0].pid, getpid());
	CHECK(runs->list.data[0].address == (uintptr_t)code + file.page);
	CHECK_INT(runs->list.data[0].file_offset, file.page);
	CHECK_INT(runs->list.data[0].size, 2 * file.page);
	/* The same search within a second. */
	change(&file, code, 3);
	CHECK(find(others, &file) == runs && runs->list.data[0].size == 2 * file.page);
	other_code_destroy(others);

	for (int i = 0; i < 2; i++) {
		is_swapped = i;
		others = other_code_create();
		CHECK_INT(find(others, &file)->list.data[0].size, 3 * file.page);
		other_code_destroy(others);
	}
	is_swapped = false;
	close(file.fd);
	close(none.fd);
}

/* Pages that were written to after the last search. */
static void pages_are_searched_again(void)
{
	struct file file;
	struct other_code *others = other_code_create();
	const struct other_runs *runs = NULL;
	uint64_t first_ns = clock_now_ns(), now_ns;
	unsigned char *code;

	file_init(&file);
	code = map(&file, MAP_PRIVATE);
	CHECK_INT(find(others, &file)->list.len, 0);
	change(&file, code, 1);
	CHECK(!other_code_find_anew(others, &file.names, file.path, first_ns, &runs));
	CHECK_INT(runs->list.len, 0);
	now_ns = clock_now_ns();
	CHECK(!other_code_find_anew(others, &file.names, file.path, now_ns, &runs));
	REQUIRE(runs->list.len == 1);
	CHECK_INT(runs->list.data[0].file_offset, file.page);
	CHECK(find(others, &file) == runs);
	other_code_destroy(others);
	close(file.fd);
}

/* Starts a process that has changed the first page of the file. */
static pid_t start_changer(const struct file *file)
{
	int ready[2];
	pid_t child;
	char c;

	REQUIRE(!pipe(ready));
	child = fork();
	REQUIRE(child >= 0);
	if (!child) {
		change(file, map(file, MAP_PRIVATE), 0);
		(void)!write(ready[1], "x", 1);
		pause();
		_exit(0);
	}
	CHECK_INT(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	CHECK_INT(waitpid(child, NULL, 0), child);
}

/* The list of processes is kept for a second, but probes are not set by it alone. */
static void a_process_that_has_just_started_is_found(void)
{
	struct file file;
	struct other_code *others = other_code_create();
	const struct other_runs *runs = NULL;
	pid_t child;

	file_init(&file);
	CHECK_INT(find(others, &file)->list.len, 0);
	child = start_changer(&file);
	CHECK(!other_code_find_anew(others, &file.names, file.path, clock_now_ns(),
				    &runs));
	REQUIRE(runs && runs->list.len == 1);
	CHECK_INT(runs->list.data[0].pid, child);
	end(child);
	other_code_destroy(others);
	close(file.fd);
}

static void other_processes_are_found(void)
{
	struct file file;
	struct other_code *others = other_code_create();
	const struct other_runs *runs;
	struct other_run gone, unread;
	pid_t child;

	file_init(&file);
	child = start_changer(&file);
	runs = find(others, &file);
	REQUIRE(runs->list.len == 1);
	CHECK_INT(runs->list.data[0].pid, child);
	CHECK_INT(runs->list.data[0].size, file.page);
	CHECK_INT(other_code_unread(others), 0);
	/* It is there, but its memory is taken as unreadable. */
	gone = unread = *runs->list.data;
	gone.address = 0;
	unread.is_unread = true;
	CHECK(!other_code_is_unread(others, &gone));
	CHECK(other_code_is_unread(others, &unread));
	CHECK_INT(other_code_unread(others), 0);
	CHECK(other_code_is_unread(others, runs->list.data));
	CHECK(other_code_is_unread(others, runs->list.data));
	CHECK_INT(other_code_unread(others), 1);
	end(child);
	CHECK(!other_code_is_unread(others, runs->list.data));
	CHECK(!other_code_is_unread(others, &unread));
	CHECK_INT(other_code_unread(others), 1);
	other_code_destroy(others);
	close(file.fd);
}

static void run(const char *command)
{
	REQUIRE(system(command) == 0);
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	return fd;
}

/* Two overlays with the same lower layer map the same file under other names. */
static void files_of_a_layer_are_found(void)
{
	char dir[] = "/tmp/memtrace-overlays-XXXXXX";
	struct file one = {.page = (size_t)sysconf(_SC_PAGESIZE)}, other = one;
	struct other_code *others = other_code_create();
	const struct other_runs *runs;

	REQUIRE(mkdtemp(dir) && !unshare(CLONE_NEWNS) &&
		!mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		!mount("none", dir, "tmpfs", 0, NULL) && !chdir(dir));
	run("mkdir low a aw am b bw bm && head -c 16384 /dev/zero > low/file && "
	    "mount -t overlay -o lowerdir=low,upperdir=a,workdir=aw one am && "
	    "mount -t overlay -o lowerdir=low,upperdir=b,workdir=bw two bm");
	one.fd = open_file("am/file");
	other.fd = open_file("bm/file");
	snprintf(one.path, sizeof(one.path), "/proc/self/fd/%d", one.fd);
	REQUIRE(file_names_ask(one.fd, NULL, &one.names) &&
		file_names_ask(other.fd, NULL, &other.names));
	change(&other, map(&other, MAP_PRIVATE), 1);
	runs = find(others, &one);
	REQUIRE(runs->list.len == 1);
	CHECK_INT(runs->list.data[0].file_offset, one.page);
	other_code_destroy(others);
	close(one.fd);
	close(other.fd);
	run("cd / && umount -l $OLDPWD");
	REQUIRE(!chdir("/"));
	rmdir(dir);
}

/* The mappings that were added are not read again. */
static void mappings_can_be_added(void)
{
	struct file file;
	struct other_code *others = other_code_create();
	struct proc_maps none = {0};

	file_init(&file);
	change(&file, map(&file, MAP_PRIVATE), 0);
	CHECK(!other_code_add(others, getpid(), &none));
	CHECK_INT(find(others, &file)->list.len, 0);
	other_code_destroy(others);
	close(file.fd);
}

/* What one process can cost is bounded. The rest is not taken as unchanged. */
static void excess_is_unread(void)
{
	struct file file;
	const struct other_runs *runs;
	const struct other_run *last;
	struct other_code *others = other_code_create();

	file_init(&file);
	for (int i = 0; i < 300; i++)
		change(&file, map(&file, MAP_PRIVATE), 0);
	runs = find(others, &file);
	REQUIRE(runs->list.len > 1 && runs->list.len <= 257);
	last = &runs->list.data[runs->list.len - 1];
	CHECK(!runs->list.data[0].is_unread && last->is_unread);
	CHECK_INT(last->pid, getpid());
	CHECK_INT(last->file_offset, 0);
	CHECK_INT(last->size, PAGES * file.page);
	CHECK(other_code_is_unread(others, last));
	CHECK_INT(other_code_unread(others), 1);
	other_code_destroy(others);
	close(file.fd);
}

/* The same for a process that has changed very many parts. */
static void excess_of_parts_is_unread(void)
{
	enum {
		PARTS = 1025
	};
	struct file file;
	const struct other_runs *runs;
	struct other_code *others = other_code_create();
	unsigned char *code, *after;

	file_of(&file, (size_t)2 * PARTS);
	/* Two mappings, the larger one first. */
	code = mmap(NULL, (2 * PARTS + 3) * file.page, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(code != MAP_FAILED);
	after = code + (2 * PARTS + 1) * file.page;
	map_at(&file, code, (size_t)2 * PARTS);
	map_at(&file, after, 2);
	/* One mapping, and not one for each page. */
	REQUIRE(!mprotect(code, 2 * PARTS * file.page, PROT_READ | PROT_WRITE));
	for (size_t i = 0; i < PARTS; i++)
		code[2 * i * file.page] = 0xcc;
	REQUIRE(!mprotect(code, 2 * PARTS * file.page, PROT_READ | PROT_EXEC));
	change(&file, after, 0);
	runs = find(others, &file);
	CHECK_INT(other_code_unread(others), 1);
	CHECK(runs->list.len <= PARTS + 1);
	REQUIRE(runs->list.len);
	CHECK(runs->list.data[runs->list.len - 1].is_unread);
	other_code_destroy(others);
	close(file.fd);
}

/* Of a large mapping not each page is asked for. The rest is compared. */
static void the_rest_of_a_large_mapping_is_compared(void)
{
	const size_t pages = 16384 + 8;
	struct file file;
	const struct other_runs *runs;
	struct other_code *others = other_code_create();
	unsigned char *code;

	file_of(&file, pages);
	code = map_pages(&file, MAP_PRIVATE, pages);
	REQUIRE(!mprotect(code, pages * file.page, PROT_READ | PROT_WRITE));
	code[(pages - 1) * file.page] = 0xcc;
	REQUIRE(!mprotect(code, pages * file.page, PROT_READ | PROT_EXEC));
	runs = find(others, &file);
	REQUIRE(runs->list.len == 1);
	CHECK_INT(runs->list.data[0].file_offset, 16384 * file.page);
	CHECK_INT(runs->list.data[0].size, 8 * file.page);
	CHECK(!runs->list.data[0].is_unread);
	other_code_destroy(others);
	close(file.fd);
}

static bool is_unread(const struct other_runs *runs, int pid)
{
	vec_foreach (run, &runs->list)
		if (run->pid == pid && run->is_unread && !run->file_offset &&
		    run->size == UINT64_MAX)
			return true;
	return false;
}

/* The list of processes can be read, their mappings cannot. */
static void processes_without_a_list_are_unread(void)
{
	struct other_code *others = other_code_create();
	const struct other_runs *runs = NULL;
	struct rlimit was, few;
	struct error *err;
	struct file file;
	int lowest;

	file_init(&file);
	lowest = dup(0);
	REQUIRE(lowest >= 0 && !close(lowest) && !getrlimit(RLIMIT_NOFILE, &was));
	few = was;
	few.rlim_cur = (rlim_t)lowest + 1;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &few));
	err = other_code_find(others, &file.names, file.path, &runs);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &was));
	REQUIRE(!err && runs);
	CHECK(is_unread(runs, getpid()));
	CHECK(other_code_unread(others) > 0);
	other_code_destroy(others);
	close(file.fd);
}

/* After 10 s no further process is looked at. */
static void a_search_takes_no_longer(void)
{
	struct other_code *others = other_code_create();
	const struct other_runs *runs;
	struct file file;

	file_init(&file);
	change(&file, map(&file, MAP_PRIVATE), 0);
	step_ns = UINT64_C(11000000000);
	runs = find(others, &file);
	step_ns = passed_ns = 0;
	CHECK(is_unread(runs, getpid()));
	other_code_destroy(others);
	close(file.fd);
}

static void memory_is_read_a_million_times(void)
{
	struct other_code *others = other_code_create();
	unsigned reads = 0;

	while (reads < 2000000 && other_code_may_read(others, 1))
		reads++;
	CHECK_INT(reads, 1000000);
	CHECK_INT(other_code_unread(others), 1);
	other_code_destroy(others);
}

/* Mappings of other files, however many, do not hide what a process has changed. */
static void other_mappings_do_not_matter(void)
{
	struct file file, many;
	struct other_code *others = other_code_create();
	const struct other_runs *runs;

	file_init(&file);
	file_init(&many);
	change(&file, map(&file, MAP_PRIVATE), 0);
	for (int i = 0; i < 5000; i++)
		map(&many, MAP_PRIVATE);
	change(&file, map(&file, MAP_PRIVATE), 0);
	runs = find(others, &file);
	REQUIRE(runs->list.len == 2);
	CHECK(!runs->list.data[0].is_unread && !runs->list.data[1].is_unread);
	CHECK_INT(other_code_unread(others), 0);
	other_code_destroy(others);
	close(file.fd);
	close(many.fd);
}

/* No descriptor is left: this does not mean that no process maps the file. */
static void processes_that_cannot_be_listed(void)
{
	struct other_code *others = other_code_create();
	const struct other_runs *runs;
	struct rlimit was, none;
	struct error *err;
	struct file file;

	file_init(&file);
	change(&file, map(&file, MAP_PRIVATE), 0);
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &was));
	none = was;
	none.rlim_cur = 0;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &none));
	err = other_code_find(others, &file.names, file.path, &runs);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &was));
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_IO);
	error_destroy(err);
	CHECK_INT(find(others, &file)->list.len, 1);
	other_code_destroy(others);
	close(file.fd);
}

static void reasons_name_the_process(void)
{
	struct other_code *others = other_code_create();
	const char *one = other_code_reason(others, 17);

	CHECK_STR(one, "its code in the memory of process 17 differs from the file");
	CHECK(other_code_reason(others, 18) != one);
	CHECK(other_code_reason(others, 17) == one);
	CHECK_STR(
		other_code_unread_reason(others, 17),
		"its code in the memory of process 17 cannot be compared with the file: "
		"trace single processes with -p PID");
	other_code_destroy(others);
}

int main(void)
{
	RUN(only_changed_pages_are_found);
	RUN(pages_are_searched_again);
	RUN(a_process_that_has_just_started_is_found);
	RUN(other_processes_are_found);
	RUN(mappings_can_be_added);
	if (!geteuid() && !system("grep -qw overlay /proc/filesystems"))
		RUN(files_of_a_layer_are_found);
	else
		puts("not run: overlays need root and overlayfs");
	RUN(excess_is_unread);
	RUN(excess_of_parts_is_unread);
	RUN(the_rest_of_a_large_mapping_is_compared);
	RUN(processes_without_a_list_are_unread);
	RUN(a_search_takes_no_longer);
	RUN(memory_is_read_a_million_times);
	RUN(other_mappings_do_not_matter);
	RUN(processes_that_cannot_be_listed);
	RUN(reasons_name_the_process);
	return check_done();
}
