// SPDX-License-Identifier: Apache-2.0
/* Code in memory that cannot be read, or that another process has changed. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plan/site_text.h"
#include "unit/process/child.h"

/* The mappings were read before the process unmapped this code. */
static struct proc_mapping stale(const struct proc_maps *maps)
{
	vec_foreach (m, &maps->mappings) {
		struct proc_mapping copy = *m;

		if (!m->executable || !m->inode)
			continue;
		copy.end = copy.end - copy.start + 0x10000;
		copy.start = 0x10000;
		return copy;
	}
	REQUIRE(!"code");
	return (struct proc_mapping){0};
}

static const char *doubt(const struct proc *proc, const struct proc_mapping *m)
{
	static const uint8_t code[] = {0x90};
	struct proc_maps maps = {0};
	struct file_names names = {0};
	const struct site_target target = {.proc = proc, .maps = &maps};
	const struct text_file text = {.names = &names};
	const char *why;

	names.reported = names.listed = file_name_of(m);
	REQUIRE(vec_push(&maps.mappings, *m));
	/* Beyond the code that is mapped now. */
	maps.mappings.data[0].file_offset = UINT64_C(1) << 40;
	why = site_text_doubt(&target, &text, UINT64_C(1) << 40, code, sizeof(code));
	vec_deinit(&maps.mappings);
	return why;
}

static void unmapped_or_unreadable(void)
{
	struct child child = child_fork(NULL, NULL);
	struct proc_maps maps;
	struct proc_mapping m;
	struct rlimit was, none;
	struct proc *proc;
	const char *why;

	REQUIRE(!proc_open(child.pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	proc_rest(proc);
	m = stale(&maps);
	CHECK(!doubt(proc, &m));

	/* The mappings cannot be read: nothing says that the code is not there. */
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &was));
	none = was;
	none.rlim_cur = 0;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &none));
	why = doubt(proc, &m);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &was));
	CHECK(why);
	CHECK_STR(why ? why : "", SITE_UNREADABLE);

	/* No process, no code. */
	child_kill(&child);
	CHECK(!doubt(proc, &m));
	child_end(&child);
	proc_maps_deinit(&maps);
	proc_close(proc);
}

#define PAGE 4096

/* Code of a process that has written one byte into it. */
static void check_written(uint8_t byte, size_t at, bool is_refused)
{
	/* mov $1, %eax; nop */
	static const uint8_t code[] = {0xb8, 1, 0, 0, 0, 0x90};
	const struct allocator allocator = {.module_path = "/nowhere"};
	struct site_others others = {.code = other_code_create()};
	const struct site_target target = {.unmapped = true, .others = &others};
	char path[] = "/tmp/memtrace-text-XXXXXX", reason[80];
	struct file_names names;
	int fd = mkstemp(path);
	uint8_t *memory;
	const char *why;

	REQUIRE(fd >= 0 && write(fd, code, sizeof(code)) == sizeof(code) &&
		!ftruncate(fd, PAGE) && file_names_ask(fd, NULL, &names));
	memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0);
	REQUIRE(memory != MAP_FAILED);
	memory[at] = byte;
	REQUIRE(!other_code_find(others.code, &names, path, &others.runs));
	why = site_text_doubt(&target, NULL, 0, code, sizeof(code));
	snprintf(reason, sizeof(reason),
		 "its code in the memory of process %d differs from the file", getpid());
	CHECK(!why == !is_refused);
	CHECK_STR(why ? why : reason, reason);
	CHECK(!why || site_is_doubt(why));
	CHECK(!site_text_check(&target, &allocator, 0, code, sizeof(code)) ==
	      !is_refused);
	/* What is before the code does not matter. */
	CHECK(!site_text_doubt(&target, NULL, 5, code + 5, 1));
	other_code_destroy(others.code);
	munmap(memory, PAGE);
	close(fd);
	unlink(path);
}

static void another_process_has_changed_it(void)
{
	check_written(0xb8, 0, false);
	check_written(2, 1, true);
	check_written(0xcc, 1, true);
	/* Where an instruction begins, a breakpoint executes the one of the file. */
	check_written(0xcc, 0, false);
	check_written(0xcc, 5, false);
}

/* Map PAGE bytes of a new file that begins with these bytes, at an address if not NULL.
 */
static uint8_t *map_code(const uint8_t *code, size_t size, void *address, int *ret_fd)
{
	uint8_t *memory;

	*ret_fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	REQUIRE(*ret_fd >= 0 && write(*ret_fd, code, size) == (ssize_t)size &&
		!ftruncate(*ret_fd, PAGE));
	memory = mmap(address, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_PRIVATE | (address ? MAP_FIXED : 0), *ret_fd, 0);
	REQUIRE(memory != MAP_FAILED);
	return memory;
}

/* Since its mappings were read, a process has mapped another file at the address, as
 * after an exec if addresses are not random. */
static void another_process_has_mapped_another_file(void)
{
	static const uint8_t code[] = {0x90, 0x90}, other[] = {0xc3, 0xc3};
	struct site_others others = {.code = other_code_create()};
	const struct site_target target = {.unmapped = true, .others = &others};
	struct file_names names;
	char path[64];
	int fd, other_fd;
	uint8_t *memory = map_code(code, sizeof(code), NULL, &fd);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	REQUIRE(file_names_ask(fd, NULL, &names));
	memory[1] = 0x91;
	REQUIRE(!other_code_find(others.code, &names, path, &others.runs));
	CHECK_CONTAINS(site_text_doubt(&target, NULL, 0, code, sizeof(code)), "differs");
	map_code(other, sizeof(other), memory, &other_fd);
	CHECK(!site_text_doubt(&target, NULL, 0, code, sizeof(code)));
	/* Here is the same file again. */
	REQUIRE(mmap(memory, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		     MAP_PRIVATE | MAP_FIXED, fd, 0) == memory);
	CHECK(!site_text_doubt(&target, NULL, 0, code, sizeof(code)));
	memory[0] = 0x91;
	CHECK_CONTAINS(site_text_doubt(&target, NULL, 0, code, sizeof(code)), "differs");
	other_code_destroy(others.code);
	munmap(memory, PAGE);
	close(fd);
	close(other_fd);
}

/* The same for the target. */
static void target_has_mapped_another_file(void)
{
	static const uint8_t code[] = {0x90, 0x90}, other[] = {0xc3, 0xc3};
	struct proc_maps maps;
	struct proc *proc, *later;
	struct file_names names;
	const struct text_file text = {.names = &names};
	int fd, other_fd;
	uint8_t *memory = map_code(code, sizeof(code), NULL, &fd);
	struct child child, child_later;

	REQUIRE(file_names_ask(fd, NULL, &names));
	memory[0] = 0x91;
	child = child_fork(NULL, NULL);
	REQUIRE(!proc_open(child.pid, &proc) && !proc_read_maps(proc, &maps));
	map_code(other, sizeof(other), memory, &other_fd);
	/* As if it were the same process. */
	child_later = child_fork(NULL, NULL);
	REQUIRE(!proc_open(child_later.pid, &later));

	const struct site_target before = {.proc = proc, .maps = &maps};
	const struct site_target after = {.proc = later, .maps = &maps};

	CHECK_STR(site_text_doubt(&before, &text, 0, code, sizeof(code)), SITE_CHANGED);
	CHECK(!site_text_doubt(&after, &text, 0, code, sizeof(code)));
	child_end(&child);
	child_end(&child_later);
	proc_maps_deinit(&maps);
	proc_close(proc);
	proc_close(later);
	munmap(memory, PAGE);
	close(fd);
	close(other_fd);
}

/* A process that cannot be compared counts as one that has changed the code. */
static void another_process_cannot_be_compared(void)
{
	static const uint8_t code[] = {0x90};
	const struct allocator allocator = {.module_path = "/nowhere"};
	struct other_runs runs = {0};
	struct site_others others = {.code = other_code_create(), .runs = &runs};
	const struct site_target target = {.unmapped = true, .others = &others};
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct child child = child_fork(NULL, NULL);
	struct other_run run = {.file_offset = PAGE, .size = PAGE};
	struct file_names names;
	uint8_t *memory;

	child_end(&child);
	REQUIRE(fd >= 0 && !ftruncate(fd, PAGE) && file_names_ask(fd, NULL, &names));
	run.file = names.listed;
	memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	REQUIRE(memory != MAP_FAILED && vec_reserve(&runs.list, 1));
	runs.list.len = 1;
	/* Behind the end of the file nothing can be read. */
	run.address = (uintptr_t)memory + PAGE;
	for (int is_unread = 0; is_unread < 2; is_unread++) {
		const char *why;

		run.is_unread = is_unread;
		run.pid = getpid();
		runs.list.data[0] = run;
		why = site_text_doubt(&target, NULL, PAGE, code, sizeof(code));
		CHECK_CONTAINS(why, "cannot be compared with the file");
		CHECK(site_text_check(&target, &allocator, PAGE, code, sizeof(code)));
		/* It has exited. */
		run.pid = child.pid;
		runs.list.data[0] = run;
		CHECK(!site_text_doubt(&target, NULL, PAGE, code, sizeof(code)));
		CHECK(!site_text_check(&target, &allocator, PAGE, code, sizeof(code)));
	}
	vec_deinit(&runs.list);
	other_code_destroy(others.code);
	munmap(memory, 2 * PAGE);
	close(fd);
}

int main(void)
{
	RUN(unmapped_or_unreadable);
	RUN(another_process_has_changed_it);
	RUN(another_process_has_mapped_another_file);
	RUN(target_has_mapped_another_file);
	RUN(another_process_cannot_be_compared);
	return check_done();
}
