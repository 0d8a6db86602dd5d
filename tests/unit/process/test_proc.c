// SPDX-License-Identifier: Apache-2.0
/* Which processes are refused, with which messages, and what is read of other
 * processes. */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "process/proc.h"
#include "process/procfs.h"
#include "util/cleanup.h"
#include "unit/process/child.h"
#include "unit/elf/elf_builder.h"

DEFINE_CLEANUP(struct proc *, proc_close);

/* Checks for a refusal with `code` and all of these words. The last is NULL. */
static void check_refused(int pid, enum error_code code, const char *const words[])
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	_cleanup_(error_destroyp) struct error *err = proc_open(pid, &proc);

	REQUIRE(err);
	CHECK_INT(err->code, code);
	CHECK(!strchr(err->message, '\n'));
	for (; *words; words++)
		CHECK_CONTAINS(err->message, *words);
}

#define CHECK_REFUSED(pid, code, ...)                                                    \
	check_refused(pid, code, (const char *const[]){__VA_ARGS__, NULL})

static void no_such_process(void)
{
	struct child child = child_fork(NULL, NULL);
	char pid[16];

	child_end(&child);
	snprintf(pid, sizeof(pid), "%d", child.pid);
	CHECK_REFUSED(child.pid, ERROR_NOT_FOUND, "no process", pid);
	CHECK_REFUSED(0, ERROR_NOT_FOUND, "no process", "0");
	CHECK_REFUSED(-1, ERROR_NOT_FOUND, "no process", "-1");
	/* Higher than any pid (PID_MAX_LIMIT is 2^22). */
	CHECK_REFUSED(INT32_MAX, ERROR_NOT_FOUND, "no process");
}

static void ourselves(void)
{
	CHECK_REFUSED(getpid(), ERROR_UNSUPPORTED, "itself");
}

static void *wait_for_ever(void *argument)
{
	int *fds = argument, tid = (int)syscall(SYS_gettid);

	if (write(fds[1], &tid, sizeof(tid)) != sizeof(tid))
		_exit(1);
	for (;;)
		pause();
	return NULL;
}

static void start_thread(void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_for_ever, argument))
		_exit(1);
}

static void threads(void)
{
	int fds[2], tid;
	char pid_text[16];

	REQUIRE(pipe(fds) == 0);

	struct child child = child_fork(start_thread, fds);
	_cleanup_(proc_closep) struct proc *proc = NULL;

	REQUIRE(read(fds[0], &tid, sizeof(tid)) == sizeof(tid));
	snprintf(pid_text, sizeof(pid_text), "--pid %d", child.pid);
	CHECK_REFUSED(tid, ERROR_UNSUPPORTED, "thread of process", pid_text);

	REQUIRE(!proc_open(child.pid, &proc));
	CHECK(proc_has_thread(child.pid, (uint32_t)child.pid));
	CHECK(proc_has_thread(child.pid, (uint32_t)tid));
	CHECK(!proc_has_thread(child.pid, (uint32_t)getpid()));
	CHECK(!proc_has_thread(child.pid, UINT32_MAX));
	child_end(&child);
	CHECK(!proc_has_thread(child.pid, (uint32_t)tid));
	close(fds[0]);
	close(fds[1]);
}

static void zombies(void)
{
	struct child child = child_fork(NULL, NULL);

	child_kill(&child);
	CHECK_REFUSED(child.pid, ERROR_GONE, "zombie");
	child_end(&child);
}

/* The pid of a kernel thread, or 0 in a container. */
static int find_kernel_thread(void)
{
	DIR *dir = opendir("/proc");
	int found = 0;

	REQUIRE(dir);
	for (struct dirent *e; !found && (e = readdir(dir));) {
		_cleanup_(freep) char *text = NULL;
		int pid = atoi(e->d_name);
		struct procfs_stat st;
		size_t size;

		if (pid > 0 &&
		    !procfs_read(pid, "stat", PROCFS_SMALL_BYTES, &text, &size) &&
		    procfs_parse_stat(text, &st) && st.flags & PROCFS_PF_KTHREAD)
			found = pid;
	}
	closedir(dir);
	return found;
}

static void kernel_thread(void)
{
	int pid = find_kernel_thread();

	if (pid)
		CHECK_REFUSED(pid, ERROR_UNSUPPORTED, "kernel thread");
	else
		printf("     no kernel thread is visible here\n");
}

#if defined(__x86_64__)
static void program_of_32_bits(void)
{
	const char *dir = child_tmpdir();
	char path[96];
	struct child child;
	struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment;
		unsigned char code[9];
	} image = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
				       ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_EXEC,
			   .e_machine = EM_386,
			   .e_version = EV_CURRENT,
			   .e_entry =
				   BUILT_BASE + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
			   .e_phoff = sizeof(Elf32_Ehdr),
			   .e_ehsize = sizeof(Elf32_Ehdr),
			   .e_phentsize = sizeof(Elf32_Phdr),
			   .e_phnum = 1},
		.segment = {.p_type = PT_LOAD,
			    .p_vaddr = BUILT_BASE,
			    .p_filesz = sizeof(image),
			    .p_memsz = sizeof(image),
			    .p_flags = PF_R | PF_X,
			    .p_align = 0x1000},
		/* again: mov $29 (pause), %eax; int $0x80; jmp again */
		.code = {0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7},
	};

	snprintf(path, sizeof(path), "%s/thirty-two", dir);
	built_write(path, &image, sizeof(image));
	if (child_exec(path, &child)) {
		CHECK_REFUSED(child.pid, ERROR_UNSUPPORTED, "thirty-two", "32-bit");
		child_end(&child);
	} else {
		printf("     this kernel runs no 32-bit programs\n");
	}
	unlink(path);
	rmdir(dir);
}
#endif

/* An unprivileged user cannot read a process of root, and the message says what to do. */
static void another_users_process(void)
{
	if (geteuid()) {
		printf("     not root: cannot become another user\n");
		return;
	}

	struct child child = child_fork(NULL, NULL);
	int status, fds[2];
	char message[512] = "";

	REQUIRE(pipe(fds) == 0);
	fflush(stdout);

	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (pid == 0) {
		struct proc *proc;

		if (setgid(65534) || setuid(65534))
			_exit(2);

		struct error *err = proc_open(child.pid, &proc);
		if (!err || err->code != ERROR_PERMISSION)
			_exit(3);
		dprintf(fds[1], "%s", err->message);
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
	close(fds[1]);
	REQUIRE(read(fds[0], message, sizeof(message) - 1) >= 0);
	close(fds[0]);
	CHECK_CONTAINS(message, "tracing needs root: try sudo");
	CHECK_CONTAINS(message, "CAP_SYS_PTRACE");
	child_end(&child);
}

static void take_odd_name(void *argument)
{
	(void)argument;
	prctl(PR_SET_NAME, "a) Z 1\n) S (");
}

static void whole_life(void)
{
	struct child child = child_cat("/bin/cat");
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_memory memory;
	struct proc_maps maps;
	bool has_libc = false;

	REQUIRE(!proc_open(child.pid, &proc));
	CHECK_INT(proc->pid, child.pid);
	CHECK_STR(proc->command, "cat");
	REQUIRE(proc->executable);
	CHECK_STR(strrchr(proc->executable, '/'), "/cat");
	CHECK(!proc_has_exited(proc));

	REQUIRE(!proc_read_maps(proc, &maps));
	for (size_t i = 0; i < maps.mappings.len; i++) {
		const struct proc_mapping *m = &maps.mappings.data[i];

		CHECK(m->start < m->end);
		CHECK(!i || m->start >= m[-1].end);
		has_libc |= m->executable && strstr(m->path, "libc");
	}
	CHECK(has_libc);
	proc_maps_deinit(&maps);

	REQUIRE(!proc_read_memory(proc, &memory));
	CHECK(memory.vm_rss_bytes > 65536 && memory.vm_rss_bytes <= memory.vm_size_bytes);
	CHECK(memory.vm_hwm_bytes >= memory.vm_rss_bytes);
	CHECK(memory.rss_anon_bytes > 0 && memory.rss_file_bytes > 0);
	CHECK_INT(memory.rss_anon_bytes + memory.rss_file_bytes + memory.rss_shmem_bytes,
		  memory.vm_rss_bytes);
	CHECK(memory.vm_data_bytes > 0 && memory.vm_data_bytes % 1024 == 0);

	child_kill(&child);
	for (int reaped = 0; reaped < 2; reaped++) {
		struct error *err = proc_read_maps(proc, &maps);

		CHECK(proc_has_exited(proc));
		REQUIRE(err);
		CHECK_INT(err->code, ERROR_GONE);
		error_destroy(err);
		err = proc_read_memory(proc, &memory);
		REQUIRE(err);
		CHECK_INT(err->code, ERROR_GONE);
		CHECK_CONTAINS(err->message, "(cat) has exited");
		error_destroy(err);
		if (!reaped)
			child_end(&child);
	}
	proc_close(NULL);
}

#define LARGE_BYTES ((size_t)256 << 20)

static void take_memory(void *argument)
{
	volatile char *memory = malloc(LARGE_BYTES);

	(void)argument;
	REQUIRE(memory);
	for (size_t i = 0; i < LARGE_BYTES; i += 4096)
		memory[i] = 1;
}

/* Kill a process with much memory. The kernel takes some 10 ms to free it. In that time
 * the process has not exited, but has no memory any more. Returns true if that was
 * seen. */
static bool sees_lost_memory(void)
{
	struct child child = child_fork(take_memory, NULL);
	_cleanup_(proc_closep) struct proc *proc = NULL;
	bool is_seen = false, is_lost = false;

	REQUIRE(!proc_open(child.pid, &proc));
	CHECK(!proc_has_lost_memory(proc));
	kill(child.pid, SIGKILL);
	while (!proc_has_exited(proc)) {
		is_lost = proc_has_lost_memory(proc);
		is_seen |= is_lost && !proc_has_exited(proc);
	}
	CHECK(proc_has_lost_memory(proc));
	child_end(&child);
	CHECK(proc_has_lost_memory(proc));
	return is_seen;
}

static void an_exiting_process_has_no_memory(void)
{
	int tries = 20;

	while (tries && !sees_lost_memory())
		tries--;
	CHECK(tries);
}

static void odd_name(void)
{
	struct child child = child_fork(take_odd_name, NULL);
	_cleanup_(proc_closep) struct proc *proc = NULL;

	REQUIRE(!proc_open(child.pid, &proc));
	CHECK_STR(proc->command, "a) Z 1\n) S (");
	child_end(&child);
}

static void parse_stat(void)
{
	static const char good[] =
		"7 (x) Z 1 (y) S 6 7 7 34816 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 99\n";
	static const char *const bad[] = {
		"",
		"7 x",
		"7 (x)",
		"7 (x) ",
		"7 (x) S",
		"7 (x) S 1 7 7 34816 -1 4194560 1 2 3 4 5 6 7 8 20 0",
		"7 (x) S 1 7 7 34816 -1 -5 1 2 3 4 5 6 7 8 20 0 3",
		"7 (x) S 1 7 7 34816 -1 4294967296 1 2 3 4 5 6 7 8 20 0 3",
		"7 (x) S -1 7 7 34816 -1 5 1 2 3 4 5 6 7 8 20 0 3",
		"7 (x) S 4294967297 7 7 34816 -1 5 1 2 3 4 5 6 7 8 20 0 3",
		"7 (x) S 1 7 x 34816 -1 5 1 2 3 4 5 6 7 8 20 0 3",
		"7 (x) 5 1 7 7 34816 -1 5 1 2 3 4 5 6 7 8 20 0 3",
	};
	struct procfs_stat st;

	REQUIRE(procfs_parse_stat(good, &st));
	CHECK_INT(st.state, 'S');
	CHECK_INT(st.parent, 6);
	CHECK_INT(st.flags, 4194560);
	CHECK_INT(st.thread_count, 3);
	CHECK(!(st.flags & PROCFS_PF_KTHREAD));
	REQUIRE(procfs_parse_stat(
		"2 (kthreadd) I 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 "
		"0 18446744073709551615",
		&st));
	CHECK(st.flags & PROCFS_PF_KTHREAD);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (procfs_parse_stat(bad[i], &st))
			CHECK_FAIL("accepted: %s", bad[i]);
		check_state.checks++;
	}
}

static void status_numbers(void)
{
	static const char text[] = "Name:\tVmRSS: 1\nXVmRSS:\t2 kB\nVmRSS:\t  345 kB\n"
				   "Empty:\nMinus:\t-1\nBig:\t18446744073709551616\n"
				   "Mask:\t000001ffffffffff\nLast:\t7";
	uint64_t n = 0;

	CHECK(procfs_status_number(text, "VmRSS:", 10, &n));
	CHECK_INT(n, 345);
	CHECK(procfs_status_number(text, "Mask:", 16, &n));
	CHECK_INT(n, 0x1ffffffffff);
	CHECK(procfs_status_number(text, "Last:", 10, &n));
	CHECK_INT(n, 7);
	CHECK(!procfs_status_number(text, "Empty:", 10, &n));
	CHECK(!procfs_status_number(text, "Minus:", 10, &n));
	CHECK(!procfs_status_number(text, "Big:", 10, &n));
	CHECK(!procfs_status_number(text, "None:", 10, &n));
	CHECK(!procfs_status_number("", "None:", 10, &n));
}

static void namespace_pids(void)
{
	static const struct {
		const char *text;
		int pid;
	} cases[] = {
		{"Name:\tx\nNStgid:\t9\t8\nNSpid:\t4711\nNSpgid:\t6\n", 4711},
		{"Name:\tx\nNSpid:\t4711\t17\t1\nNSpgid:\t6\n", 1},
		{"Name:\tx\nNSpid:\t2147483647", 2147483647},
		/* Missing and malformed lines. */
		{"", 0},
		{"Name:\tx\nTgid:\t7\n", 0},
		{"Name:\tNSpid: 5\nXNSpid:\t5\n", 0},
		{"Name:\tx\nNSpid:\nNSpgid:\t6\n", 0},
		{"Name:\tx\nNSpid:\t7\t-1\n", 0},
		{"Name:\tx\nNSpid:\t7\tx\n", 0},
		{"Name:\tx\nNSpid:\t7\t2147483648\n", 0},
		{"Name:\tx\nNSpid:\t99999999999999999999\n", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(procfs_namespace_pid(cases[i].text), cases[i].pid);
}

/* Starts a child in a new pid namespace, with pid 1 there. */
static void start_in_namespace(void *argument)
{
	const int *fds = argument;
	pid_t pid = -1;

	if (!unshare(CLONE_NEWPID) || !unshare(CLONE_NEWUSER | CLONE_NEWPID))
		pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (write(fds[1], &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
}

static void other_pid_namespace(void)
{
	_cleanup_(proc_closep) struct proc *inner = NULL, *outer = NULL;
	int fds[2];
	pid_t pid;

	REQUIRE(pipe(fds) == 0);

	struct child child = child_fork(start_in_namespace, fds);

	REQUIRE(read(fds[0], &pid, sizeof(pid)) == sizeof(pid));
	REQUIRE(!proc_open(child.pid, &outer));
	CHECK_INT(outer->namespace_pid, child.pid);
	if (pid > 0) {
		REQUIRE(!proc_open(pid, &inner));
		CHECK_INT(inner->pid, pid);
		CHECK_INT(inner->namespace_pid, 1);
		kill(pid, SIGKILL);
	} else {
		CHECK_SKIP_PART("no pid namespace can be made here");
	}
	child_end(&child);
	close(fds[0]);
	close(fds[1]);
}

static void read_is_bounded(void)
{
	_cleanup_(freep) char *text = NULL;
	size_t size = 0;

	CHECK_INT(procfs_read(getpid(), "maps", 64, &text, &size), EFBIG);
	CHECK_INT(procfs_read(getpid(), "maps", PROCFS_MAPS_BYTES, &text, &size), 0);
	REQUIRE(text);
	CHECK_INT(strlen(text), size);
	CHECK(size > 64 && text[size - 1] == '\n');
}

int main(void)
{
	RUN(parse_stat);
	RUN(status_numbers);
	RUN(namespace_pids);
	RUN(read_is_bounded);
	RUN(no_such_process);
	RUN(ourselves);
	RUN(threads);
	RUN(zombies);
	RUN(kernel_thread);
#if defined(__x86_64__)
	RUN(program_of_32_bits);
#endif
	RUN(another_users_process);
	RUN(odd_name);
	RUN(other_pid_namespace);
	RUN(whole_life);
	RUN(an_exiting_process_has_no_memory);
	return check_done();
}
