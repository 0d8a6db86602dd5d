// SPDX-License-Identifier: Apache-2.0
/* Programs that cannot be started. */
#include "apart.h"
#include "check.h"
#include "refuse_call.h"

#include <errno.h>
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

static void without_ptrace(void)
{
	refuse_call(SYS_ptrace, EPERM);
	check_refusal("/bin/true", ERROR_PERMISSION, "ptrace_scope must be below 3");
}

/* As Yama does with ptrace_scope 3, and some sandboxes. Apart also because LeakSanitizer
 * traces the process at its end. */
static void programs_that_cannot_be_traced(void)
{
	CHECK_APART(without_ptrace());
}

int main(void)
{
	RUN(programs_that_are_not_there);
	RUN(programs_that_cannot_be_traced);
	return check_done();
}
