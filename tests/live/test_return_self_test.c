// SPDX-License-Identifier: Apache-2.0
/*
 * memtrace's own test of the kernel: do return probes kill a process that has a seccomp
 * filter? It must agree with another experiment, and leave nothing behind.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/trampoline.h"
#include "check.h"
#include "live/trace.h"

#define TIMEOUT_S 60

static struct probes *probes_before;
static enum trampoline_verdict verdict;

int test_probed(int i);
__attribute__((noinline)) int test_probed(int i)
{
	__asm__ volatile("" : "+r"(i));
	return i + 1;
}

static long read_number(const char *path, const char *format)
{
	FILE *file = fopen(path, "re");
	long n = -1;

	REQUIRE(file && fscanf(file, format, &n) == 1);
	fclose(file);
	return n;
}

#define PMU "/sys/bus/event_source/devices/uprobe/"

/* The offset in our file of the function at this address. */
static uint64_t find_offset(uint64_t address)
{
	uint64_t start, end, offset;
	FILE *file = fopen("/proc/self/maps", "re");
	char line[4352];

	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end,
			   &offset) == 3 &&
		    start <= address && address < end) {
			fclose(file);
			return address - start + offset;
		}
	live_fail("a function is not mapped");
}

static int probe_return(pid_t pid)
{
	long bit = read_number(PMU "format/retprobe", "config:%ld");
	struct perf_event_attr attr = {
		.type = (uint32_t)read_number(PMU "type", "%ld"),
		.size = sizeof(attr),
		.config = UINT64_C(1) << bit,
		.uprobe_path = (uint64_t)(uintptr_t) "/proc/self/exe",
		.probe_offset = find_offset((uint64_t)(uintptr_t)test_probed),
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/* Child process: waits for the probe, and calls the function under a filter. */
static void run_filtered(int probed)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	char c;

	if (read(probed, &c, 1) != 1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(90);
	syscall(SYS_exit_group, test_probed(41));
}

/* Finds out by another experiment than memtrace's what the kernel does to such a
 * process. */
static enum trampoline_verdict experiment(void)
{
	uint64_t hits = 0;
	int probed[2], status, event;
	pid_t pid;

	REQUIRE(pipe(probed) == 0);
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_DUMPABLE, 0);
		run_filtered(probed[0]);
		_exit(91);
	}
	event = probe_return(pid);
	REQUIRE(event >= 0);
	REQUIRE(write(probed[1], "", 1) == 1);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	REQUIRE(read(event, &hits, sizeof(hits)) == sizeof(hits));
	close(event);
	close(probed[0]);
	close(probed[1]);
	if (WIFSIGNALED(status)) {
		CHECK_INT(WTERMSIG(status), SIGSYS);
		return TRAMPOLINE_KILLS;
	}
	CHECK_INT(WEXITSTATUS(status), 42);
	CHECK_INT(hits, 1);
	return TRAMPOLINE_PASSES;
}

static bool has_children(void)
{
	return waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD;
}

static void agrees_with_an_experiment(void)
{
	CHECK_INT(verdict, experiment());
	CHECK(!has_children());
	CHECK(probes_gone(probes_before));
}

#if defined(__x86_64__)

/* Can a process have a user shadow stack? A child tries it, which this may kill. */
static bool has_shadow_stacks(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		long result = SYS_arch_prctl;

		/* ARCH_SHSTK_ENABLE, ARCH_SHSTK_SHSTK. In assembly: with the shadow stack
		 * on, no function here could return. */
		__asm__ volatile("syscall"
				 : "+a"(result)
				 : "D"(0x5001L), "S"(1L)
				 : "rcx", "r11", "memory");
		_exit(result ? 1 : 0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void shadow_stacks(void)
{
	enum trampoline_verdict found = trampoline_test_shadow_stack();

	if (has_shadow_stacks())
		CHECK(found != TRAMPOLINE_UNTESTED);
	else
		CHECK_INT(found, TRAMPOLINE_PASSES);
	CHECK(!has_children());
	CHECK(probes_gone(probes_before));
}
#endif

/* If memtrace is killed during its test, at any moment, neither child nor probe is
 * left. */
static void killed_meanwhile(void)
{
	for (int i = 0; i < 12; i++) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		REQUIRE(pid >= 0);
		if (!pid) {
			/* Its children become children of this process. */
			for (;;)
				trampoline_test_seccomp();
		}
		live_sleep(0.02 + 0.017 * i);
		kill(pid, SIGKILL);
		REQUIRE(waitpid(pid, NULL, 0) == pid);

		double until_s = live_now_s() + 5;

		while (has_children() && live_now_s() < until_s)
			live_sleep(0.01);
		CHECK(!has_children());
	}
	CHECK(probes_gone(probes_before));
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	/* Processes that a killed process leaves behind become children of this one. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	live_allow_return_probes();
	verdict = trampoline_test_seccomp();
	RUN_WITH_RETURN_PROBES(agrees_with_an_experiment);
#if defined(__x86_64__)
	RUN(shadow_stacks);
#endif
	RUN_WITH_RETURN_PROBES(killed_meanwhile);
	probes_destroy(probes_before);
	return check_done();
}
