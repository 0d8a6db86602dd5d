// SPDX-License-Identifier: Apache-2.0
/* What goes wrong while a process is searched: it exits, it executes another program, or
 * the kernel does not give its memory. */
#include "check.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "process_state.h"
#include "unit/reach/arranged.h"

static volatile uint64_t in_data[2];

/* What happens when memory of the target is read the next time, or that at `at`. */
static struct {
	enum {
		NOTHING,
		KILL,
		EXEC,
		FAIL,
	} event;
	uint64_t at;
	pid_t pid;
	int errnum;
} next;

static bool executes_sleep(pid_t pid)
{
	char path[32], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	REQUIRE(file && fgets(name, sizeof(name), file));
	fclose(file);
	return !strcmp(name, "sleep\n");
}

static void happen(void)
{
	if (next.event == KILL) {
		kill(next.pid, SIGKILL);
		while (process_state(next.pid) != 'Z')
			usleep(1000);
	} else {
		kill(next.pid, SIGUSR1);
		while (!executes_sleep(next.pid))
			usleep(1000);
		child_await_sleep(next.pid);
	}
	next.event = NOTHING;
}

/* Instead of the C library's. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count,
			 const struct iovec *there, unsigned long there_count,
			 unsigned long flags)
{
	uint64_t from = (uint64_t)(uintptr_t)there->iov_base;

	if (!next.at || (next.at >= from && next.at - from < there->iov_len)) {
		if (next.event == FAIL) {
			errno = next.errnum;
			return -1;
		}
		if (next.event)
			happen();
	}
	return syscall(SYS_process_vm_readv, pid, here, here_count, there, there_count,
		       flags);
}

static void execute(int signal)
{
	(void)signal;
	execlp("sleep", "sleep", "1000", (char *)NULL);
	_exit(1);
}

static void arrange(void *unused)
{
	(void)unused;
	signal(SIGUSR1, execute);
	put(&in_data[0], 0, 0);
	put(word(10, 0), 11, 0);
	wash();
}

static const struct reach_words words = {.unaligned = false};

/* A process, and a table of its blocks. */
static struct reach_target start(struct child *ret, struct reach_table *ret_table)
{
	map_arena();
	*ret = child_fork(arrange, NULL);
	child_await_sleep(ret->pid);
	fill(ret_table);
	return (struct reach_target){.pid = ret->pid};
}

static uint64_t later(void)
{
	return clock_now_ns() + UINT64_C(20000000000);
}

static void check_gone(struct error *err)
{
	CHECK(err);
	if (err)
		CHECK_INT(err->code, ERROR_GONE);
	error_destroy(err);
}

/* Its memory does not fit the mappings that were read before. */
static void another_program_during_the_first_search(void)
{
	struct reach_effort effort = {0};
	struct reach_table table;
	struct child child;
	struct reach_target target = start(&child, &table);

	next.event = EXEC;
	next.at = 0;
	next.pid = child.pid;
	check_gone(reach_scan_first(&target, &words, &table, later(), &effort));
	CHECK(!next.event);
	child_end(&child);
}

/* Stop the process, and look again: `event` happens as soon as memory is read at
 * `at`. */
static struct error *verify(struct reach_target *target, struct reach_table *table,
			    int event, uint64_t at, struct reach_effort *ret)
{
	struct error *err;

	REQUIRE(!reach_scan_first(target, &words, table, later(), ret));
	REQUIRE(!reach_scan_stop(target, later()));
	next.event = event;
	next.at = at;
	next.pid = target->pid;
	err = reach_scan_verify(target, &words, table, later(), ret);
	if (event != FAIL)
		CHECK(!next.event);
	next.event = NOTHING;
	return err;
}

static void killed_before_its_memory_is_read(void)
{
	struct reach_effort effort = {0};
	struct reach_table table;
	struct child child;
	struct reach_target target = start(&child, &table);

	check_gone(verify(&target, &table, KILL, 0, &effort));
	child_end(&child);
}

/* Then it is not known which lost block leads to which. */
static void killed_while_lost_blocks_are_grouped(void)
{
	struct reach_effort effort = {0};
	struct reach_table table;
	struct child child;
	struct reach_target target = start(&child, &table);

	check_gone(verify(&target, &table, KILL, BLOCK(10), &effort));
	child_end(&child);
}

/* Which error it is says whether a page cannot be read, or nothing can be said. */
static void memory_that_is_not_given(void)
{
	const struct {
		int errnum;
		bool is_late;
	} cases[] = {{EFAULT, false}, {EIO, false}, {ENOMEM, true}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct reach_effort effort = {0};
		struct reach_table table;
		struct child child;
		struct reach_target target = start(&child, &table);

		next.errnum = cases[i].errnum;
		REQUIRE(!verify(&target, &table, FAIL,
				(uint64_t)(uintptr_t)in_data / 4096 * 4096, &effort));
		CHECK_INT(effort.is_late, cases[i].is_late);
		child_end(&child);
	}
}

int main(void)
{
	RUN(another_program_during_the_first_search);
	RUN(killed_before_its_memory_is_read);
	RUN(killed_while_lost_blocks_are_grouped);
	RUN(memory_that_is_not_given);
	return check_done();
}
