// SPDX-License-Identifier: Apache-2.0
#include "confined/filter_rules.h"

#include <errno.h>

#include "confined/refusal.h"

/* The calls that came with Linux 6.6 and later. On x86-64 others begin at 512. */
#define NUMBER_NEWER     452
#define NUMBER_NEWER_END 512

void filter_release(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

struct error *filter_failed(int result)
{
	return error_errno(refusal_code(-result), -result,
			   "no seccomp filter can be loaded");
}

int filter_load(scmp_filter_ctx filter)
{
	int result;

	errno = 0;
	result = seccomp_load(filter);
	/* For any error of the kernel, which is still in errno. */
	return result == -ECANCELED && errno ? -errno : result;
}

int filter_add_calls(scmp_filter_ctx filter, uint32_t action, const int calls[],
		     size_t count)
{
	int result = 0;

	for (size_t i = 0; i < count && !result; i++) {
		/* Some machines lack some calls. */
		if (calls[i] >= 0)
			result = seccomp_rule_add(filter, action, calls[i], 0);
	}
	return result;
}

int filter_add_command(scmp_filter_ctx filter, uint32_t action, int call,
		       unsigned command)
{
	const struct scmp_arg_cmp is_command = {.arg = 1,
						.op = SCMP_CMP_MASKED_EQ,
						.datum_a = UINT32_MAX,
						.datum_b = command};

	return seccomp_rule_add(filter, action, call, 1, is_command);
}

int filter_refuse_newer(scmp_filter_ctx filter)
{
	int result =
		seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	for (int call = NUMBER_NEWER; call < NUMBER_NEWER_END && !result; call++)
		result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0);
	return result;
}
