// SPDX-License-Identifier: Apache-2.0
/* Programs that cannot be started. */
#include "check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/spawn.h"

static void check_refusal(const char *file, enum error_code code, const char *text)
{
	char *argv[] = {(char *)(uintptr_t)file, NULL};
	struct spawn spawn;
	struct error *err = spawn_start(NULL, argv, NULL, &spawn);

	REQUIRE(err);
	CHECK_INT(err->code, code);
	CHECK_CONTAINS(err->message, text);
	CHECK_CONTAINS(err->message, file);
	error_destroy(err);
	/* No child is left. */
	CHECK(waitpid(-1, NULL, WNOHANG) < 0);
}

static void programs_that_are_not_there(void)
{
	check_refusal("/no/such/program", ERROR_NOT_FOUND, "cannot run");
	check_refusal("/dev/null", ERROR_PERMISSION, "cannot run");
}

/* As Yama does with ptrace_scope 3, and some sandboxes. */
static void refuse_ptrace(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	REQUIRE(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	REQUIRE(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* In a child: the filter stays, and LeakSanitizer traces the process at its end. */
static void programs_that_cannot_be_traced(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		check_state = (struct check_state){0};
		refuse_ptrace();
		check_refusal("/bin/true", ERROR_PERMISSION,
			      "ptrace_scope must be below 3");
		_exit(check_state.failures || !check_state.checks);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

int main(void)
{
	RUN(programs_that_are_not_there);
	RUN(programs_that_cannot_be_traced);
	return check_done();
}
