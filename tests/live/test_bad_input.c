/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets and options that memtrace refuses: with one line on stderr that names the
 * culprit, and status 2 for wrong usage, 1 for all other errors. No probe is left behind,
 * and the target keeps running.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define TIMEOUT_S 30
#define NOBODY    65534

static struct probes *probes_before;

static void check_one_line(const char *what, const char *text, const char *culprit)
{
	size_t lines = 0;

	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	if (lines != 1 || text[strlen(text) - 1] != '\n')
		CHECK_FAIL("%s: not one line: %s", what, text);
	CHECK_CONTAINS(text, culprit);
}

/* Runs memtrace with `argv`. It must end with `status` and name `culprit`. */
static void check_refused(const char *const argv[], uid_t uid, int status,
			  const char *culprit)
{
	struct live_process *memtrace = live_start_as(argv, uid);
	int got = live_wait(memtrace, TIMEOUT_S);
	char what[256] = "";

	for (size_t i = 1; argv[i]; i++)
		snprintf(what + strlen(what), sizeof(what) - strlen(what), " %s",
			 argv[i]);
	if (got != status)
		CHECK_FAIL("memtrace%s: status %d, expected %d", what, got, status);
	check_one_line(what, live_stderr(memtrace), culprit);
	char *line = live_read_line(memtrace, 0.1);
	CHECK(!line);
	free(line);
	live_destroy(memtrace);
	CHECK(probes_gone(probes_before));
}

static void check_pid_refused(pid_t pid, const char *culprit)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	const char *const argv[] = {memtrace_path, "--pid", text, NULL};
	check_refused(argv, 0, 1, text);
	check_refused(argv, 0, 1, culprit);
}

static void no_such_process(void)
{
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid)
		_exit(0);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	check_pid_refused(pid, "no process");
}

static void a_zombie(void)
{
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid)
		_exit(0);
	siginfo_t info;
	REQUIRE(!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	check_pid_refused(pid, "exited");
	waitpid(pid, NULL, 0);
}

static void a_kernel_thread(void)
{
	char command[32] = "";
	FILE *file = fopen("/proc/2/comm", "re");

	if (file && fgets(command, sizeof(command), file) &&
	    !strcmp(command, "kthreadd\n"))
		check_pid_refused(2, "kernel thread");
	else
		CHECK_SKIP_PART("no kernel thread is visible here");
	if (file)
		fclose(file);
}

/* A program that never ends: pause() of i386 in a loop. */
static const unsigned char pause_forever[] = {
	0xb8, 0x1d, 0x00, 0x00, 0x00, /* mov $29, %eax */
	0xcd, 0x80,                   /* int $0x80 */
	0xeb, 0xf7,                   /* jmp to the beginning */
};

static void write_elf32(const char *path)
{
	struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment;
		unsigned char code[sizeof(pause_forever)];
	} file = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_EXEC,
			   .e_machine = EM_386,
			   .e_version = EV_CURRENT,
			   .e_entry = 0x8048000 + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
			   .e_phoff = sizeof(Elf32_Ehdr),
			   .e_ehsize = sizeof(Elf32_Ehdr),
			   .e_phentsize = sizeof(Elf32_Phdr),
			   .e_phnum = 1},
		.segment = {.p_type = PT_LOAD,
			    .p_vaddr = 0x8048000,
			    .p_filesz = sizeof(file),
			    .p_memsz = sizeof(file),
			    .p_flags = PF_R | PF_X,
			    .p_align = 4096},
	};
	FILE *out = fopen(path, "we");

	REQUIRE(out);
	memcpy(file.code, pause_forever, sizeof(pause_forever));
	REQUIRE(fwrite(&file, sizeof(file), 1, out) == 1);
	REQUIRE(!fchmod(fileno(out), 0755) && !fclose(out));
}

/* The error with which execv(2) refuses a file. 0: this kernel runs it. */
static int execution_error(const char *path)
{
	int status;
	pid_t child = fork();

	REQUIRE(child >= 0);
	if (child == 0) {
		/* exec(2) keeps the alarm: whatever runs ends. */
		alarm(1);
		execv(path, (char *const[]){(char *)path, NULL});
		_exit(errno);
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* Some kernels run no 32-bit programs. Memtrace meets no process of one there. */
static void a_32_bit_program(void)
{
	char *path = live_path("elf32");

	write_elf32(path);
	int error = execution_error(path);

	if (error) {
		CHECK_LEAVE_OUT_PART("this kernel runs no 32-bit programs: %s",
				     strerror(error));
		CHECK_INT(error, ENOEXEC);
		free(path);
		return;
	}
	struct live_process *target = live_start((const char *const[]){path, NULL});
	live_sleep(0.2);
	check_pid_refused(live_pid(target), "32-bit");
	CHECK(live_is_running(target));
	live_destroy(target);
	free(path);
}

static void a_program_without_an_allocator(void)
{
	const char *const argv[] = {NO_MALLOC_BINARY, NULL};
	struct live_process *target = live_start(argv);

	live_sleep(0.1);
	CHECK(live_is_running(target));
	check_pid_refused(live_pid(target), "--lib");
	CHECK(live_is_running(target));
	live_destroy(target);
}

static void without_privileges(void)
{
	struct live_process *oracle = oracle_start();
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));
	const char *const argv[] = {memtrace_path, "--pid", pid, NULL};
	check_refused(argv, NOBODY, 1, "CAP_");
	oracle_do(oracle, "run keep 10 1");
	live_destroy(oracle);
}

/* LLVM needs most of the memory. */
static void too_little_memory(void)
{
	const struct rlimit little = {160 << 20, RLIM_INFINITY};
	struct live_process *target = live_start((const char *const[]){"/bin/cat", NULL});
	struct rlimit before;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));
	REQUIRE(!getrlimit(RLIMIT_AS, &before));
	REQUIRE(!setrlimit(RLIMIT_AS, &little));

	const char *const argv[] = {memtrace_path, "--no-cache", "--pid", pid, NULL};

	check_refused(argv, 0, 1, "failed to map segment");
	REQUIRE(!setrlimit(RLIMIT_AS, &before));
	live_destroy(target);
}

/* memtrace is started without a stdout: the next file that it opens must not get the
 * reports. */
static void closed_standard_output(void)
{
	struct live_process *oracle = oracle_start();
	char command[512];

	snprintf(command, sizeof(command), "exec %s --pid %d -q -d 0.1 >&- <&-",
		 memtrace_path, (int)live_pid(oracle));
	const char *const argv[] = {"sh", "-c", command, NULL};
	check_refused(argv, 0, 1, "standard output");
	oracle_do(oracle, "run keep 10 1");
	live_destroy(oracle);
}

static void a_thread_that_is_no_process(void)
{
	struct live_process *oracle = oracle_start();

	/* The oracle started its pool's threads right after itself: find one of them. */
	for (pid_t tid = live_pid(oracle) + 1; tid < live_pid(oracle) + 64; tid++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)live_pid(oracle),
			 (int)tid);
		if (access(path, F_OK) != 0)
			continue;
		check_pid_refused(tid, "thread");
		break;
	}
	oracle_do(oracle, "run keep 10 1");
	live_destroy(oracle);
}

static void malformed_options(void)
{
	struct live_process *oracle = oracle_start();
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));
	const struct {
		const char *option, *value, *culprit;
	} bad[] = {
		{"--interval", "x", "x"},
		{"--interval", "-1", "-1"},
		{"--interval", "0", "--interval"},
		{"--interval", "1e400", "1e400"},
		{"--count", "-1", "-1"},
		{"--count", "99999999999999999999999", "99999999999999999999999"},
		{"--duration", "5parsecs", "5parsecs"},
		{"--duration", "nan", "nan"},
		{"--top", "1.5", "1.5"},
		{"--older", "", "--older"},
		{"--min-size", "4X", "4X"},
		{"--max-size", "99999999999G", "99999999999G"},
		{"--sample-every", "0", "--sample-every"},
		{"--max-allocations", "0", "--max-allocations"},
		{"--max-stacks", "many", "many"},
		{"--stack-depth", "0", "--stack-depth"},
		{"--stack-depth", "128", "128"},
		{"--sort", "ages", "ages"},
		{"--view", "everything", "everything"},
		{"--filter", "fn:[a", "a '[' is not closed"},
		{"--exclude", "line:7", "line:7"},
		{"--suppressions", "/nonexistent",
		 "--suppressions: cannot read /nonexistent"},
		{"--hide-frames", "/proc/self", "--hide-frames: cannot read /proc/self"},
		{"--color", "red", "red"},
		{"--format", "xml", "xml"},
		{"--pid", "1x", "1x"},
		{"--pid", "-5", "-5"},
		{"--pid", "99999999999", "99999999999"},
		{"--no-such-option", "1", "--no-such-option"},
		{"surplus", "word", "surplus"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *const argv[] = {memtrace_path, "--pid",      pid,
					    bad[i].option, bad[i].value, NULL};
		check_refused(argv, 0, 2, bad[i].culprit);
	}
	const char *const no_pid[] = {memtrace_path, "--interval", "1", NULL};
	check_refused(no_pid, 0, 2, "memtrace -p PID");
	const char *const no_value[] = {memtrace_path, "--pid", NULL};
	check_refused(no_value, 0, 2, "--pid");
	oracle_do(oracle, "run keep 10 1");
	live_destroy(oracle);
}

static void output_that_cannot_be_written(void)
{
	static const char missing[] = "/nonexistent/folder/report";
	struct live_process *oracle = oracle_start();
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));
	const char *const argv[] = {memtrace_path, "--pid", pid, "-o", missing, NULL};
	check_refused(argv, 0, 1, missing);

	/* memtrace notices a full disk at the first report. */
	const char *const full[] = {memtrace_path, "-q",  "--pid",     pid, "-i",
				    "0.2",         "-fo", "/dev/full", NULL};
	check_refused(full, 0, 1, "/dev/full");
	oracle_do(oracle, "run keep 10 1");
	live_destroy(oracle);
}

static void an_unknown_library(void)
{
	struct live_process *oracle = oracle_start();
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));
	const char *const argv[] = {memtrace_path, "--pid",           pid,
				    "--lib",       "libnothing.so.9", NULL};
	check_refused(argv, 0, 1, "libnothing.so.9");
	oracle_do(oracle, "run keep 10 1");
	live_destroy(oracle);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(no_such_process);
	RUN(a_zombie);
	RUN(a_kernel_thread);
	RUN(a_32_bit_program);
	RUN(a_program_without_an_allocator);
	RUN(without_privileges);
	RUN(too_little_memory);
	RUN(closed_standard_output);
	RUN(a_thread_that_is_no_process);
	RUN(malformed_options);
	RUN(output_that_cannot_be_written);
	RUN(an_unknown_library);
	probes_destroy(probes_before);
	return check_done();
}
