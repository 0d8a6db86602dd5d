// SPDX-License-Identifier: Apache-2.0
/* The message if a capability or a feature of the kernel is missing. */
#include "check.h"

#include <errno.h>
#include <stdbool.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/privileges.h"
#include "process/proc.h"
#include "util/cleanup.h"

#define BIT(number) (UINT64_C(1) << (number))
#define PTRACE      BIT(19)
#define ADMIN       BIT(21)
#define PERFMON     BIT(38)
#define BPF         BIT(39)
#define CURRENT     40 /* cap_last_cap since Linux 5.9 */
#define OLD         37 /* cap_last_cap before Linux 5.8 */

/* `missing`: the capabilities that the message must name before its colon; "" for
 * none. */
static void check_capabilities(uint64_t capabilities, unsigned last, const char *missing)
{
	const struct privileges p = {
		.capabilities = capabilities,
		.last_capability = last,
		.has_uprobes = true,
		/* The errno of a missing capability is not a separate problem. */
		.bpf_errno = *missing ? EPERM : 0,
	};
	_cleanup_(error_destroyp) struct error *err = privileges_judge(&p);
	char want[128];

	if (!*missing) {
		CHECK(!err);
		return;
	}
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_PERMISSION);
	CHECK_CONTAINS(err->message, "tracing needs root: try sudo (CAP_");
	snprintf(want, sizeof(want), " are enough; missing: %s)", missing);
	CHECK_CONTAINS(err->message, want);
}

static void capabilities(void)
{
	check_capabilities(~UINT64_C(0), CURRENT, "");
	check_capabilities(BPF | PERFMON | PTRACE, CURRENT, "");
	check_capabilities(ADMIN | PTRACE, CURRENT, "");
	check_capabilities(0, CURRENT, "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE");
	check_capabilities(PTRACE, CURRENT, "CAP_BPF, CAP_PERFMON");
	check_capabilities(BPF | PTRACE, CURRENT, "CAP_PERFMON");
	check_capabilities(PERFMON | PTRACE, CURRENT, "CAP_BPF");
	check_capabilities(BPF | PERFMON, CURRENT, "CAP_SYS_PTRACE");
	check_capabilities(~(BPF | ADMIN), CURRENT, "CAP_BPF");
	check_capabilities(ADMIN, CURRENT, "CAP_SYS_PTRACE");
	check_capabilities(ADMIN | PTRACE, OLD, "");
	check_capabilities(PTRACE, OLD, "CAP_SYS_ADMIN");
	check_capabilities(0, OLD, "CAP_SYS_ADMIN, CAP_SYS_PTRACE");
	check_capabilities(BPF | PERFMON | PTRACE, OLD, "CAP_SYS_ADMIN");
}

static void check_kernel(struct privileges p, enum error_code code, const char *word)
{
	_cleanup_(error_destroyp) struct error *err = NULL;

	p.last_capability = CURRENT;
	err = privileges_judge(&p);
	if (!word) {
		CHECK(!err);
		return;
	}
	REQUIRE(err);
	CHECK_INT(err->code, code);
	CHECK_CONTAINS(err->message, word);
}

static void kernels(void)
{
	const uint64_t all = ~UINT64_C(0);

	check_kernel((struct privileges){.capabilities = all, .has_uprobes = true}, 0,
		     NULL);
	/* A feature that the kernel lacks is missing for root, too: it is reported
	 * first. */
	check_kernel((struct privileges){.has_uprobes = true, .bpf_errno = ENOSYS},
		     ERROR_UNSUPPORTED, "no BPF");
	check_kernel((struct privileges){.capabilities = all, .bpf_errno = ENOSYS},
		     ERROR_UNSUPPORTED, "no BPF");
	check_kernel((struct privileges){.bpf_errno = EPERM}, ERROR_UNSUPPORTED,
		     "no uprobes");
	/* Without /sys the features are unknown: the attach will fail with a message. */
	check_kernel((struct privileges){.capabilities = all, .sys_missing = true}, 0,
		     NULL);
	check_kernel((struct privileges){.capabilities = all,
					 .has_uprobes = true,
					 .bpf_errno = EPERM},
		     ERROR_PERMISSION, "by the memory lock limit (ulimit -l)");
	check_kernel((struct privileges){.capabilities = all,
					 .has_uprobes = true,
					 .bpf_errno = EINVAL},
		     ERROR_UNSUPPORTED, strerror(EINVAL));
	/* In a container the user is already root. */
	check_kernel((struct privileges){.is_root = true, .has_uprobes = true},
		     ERROR_PERMISSION, "needs root outside of this sandbox");
}

static bool set_effective(uint64_t mask)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return false;
	data[0].effective = (uint32_t)mask & data[0].permitted;
	data[1].effective = (uint32_t)(mask >> 32) & data[1].permitted;
	return syscall(SYS_capset, &header, data) == 0;
}

/* Drops capabilities in a child and returns the message that it gets. */
static void check_here(uint64_t mask, char message[512])
{
	int fds[2], status;

	REQUIRE(pipe(fds) == 0);
	fflush(stdout);

	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (pid == 0) {
		if (!set_effective(mask))
			_exit(2);

		struct error *err = proc_check_privileges();
		if (err)
			dprintf(fds[1], "%s", err->message);
		_exit(0);
	}
	close(fds[1]);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
	memset(message, 0, 512);
	REQUIRE(read(fds[0], message, 511) >= 0);
	close(fds[0]);
}

static void this_machine(void)
{
	struct privileges p;
	char message[512];

	REQUIRE(!privileges_read(&p));
	CHECK_INT(p.is_root, geteuid() == 0);
	CHECK(p.last_capability >= 30 && p.last_capability < 64);
	if (p.bpf_errno == ENOSYS || (!p.has_uprobes && !p.sys_missing) ||
	    p.last_capability < 39) {
		CHECK_NOT_FOR_KERNEL("no BPF, no uprobes or no CAP_BPF");
		return;
	}

	check_here(0, message);
	CHECK_CONTAINS(message, "missing: CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE)");
	if ((p.capabilities & (BPF | PERFMON | PTRACE)) != (BPF | PERFMON | PTRACE) ||
	    p.bpf_errno) {
		CHECK_SKIP_PART("the capabilities are missing");
		return;
	}
	check_here(BPF | PERFMON | PTRACE, message);
	CHECK_STR(message, "");
	check_here(BPF | PTRACE, message);
	CHECK_CONTAINS(message, "missing: CAP_PERFMON)");
}

int main(void)
{
	RUN(capabilities);
	RUN(kernels);
	RUN(this_machine);
	return check_done();
}
