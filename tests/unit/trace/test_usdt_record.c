// SPDX-License-Identifier: Apache-2.0
/* Arguments of USDT probes, encoded for the BPF programs. */
#include "check.h"

#include <stddef.h>
#include <sys/user.h>

#include "trace/usdt_record.h"

/* Registers have the offsets of ptrace(2)'s struct user_regs_struct. */
static void registers(void)
{
#define AT(name) offsetof(struct user_regs_struct, name)
	static const size_t offsets[] = {
		AT(rax), AT(rcx), AT(rdx), AT(rbx), AT(rsp), AT(rbp), AT(rsi), AT(rdi),
		AT(r8),  AT(r9),  AT(r10), AT(r11), AT(r12), AT(r13), AT(r14), AT(r15),
	};
	char text[64];

	for (unsigned i = 0; i < 16; i++) {
		static const char *const names[] = {
			"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
			"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
		struct plan_site site = {0};
		struct abi_usdt record;

		snprintf(text, sizeof(text), "8@%%%s -4@-7(%%%s)", names[i], names[i]);
		usdt_args_parse(text, site.usdt, USDT_ARGS);
		usdt_record(&site, &record);
		CHECK_INT(record.arg[0].kind, ABI_USDT_VALUE);
		CHECK_INT(record.arg[0].base, offsets[i]);
		CHECK_INT(record.arg[0].index, ABI_USDT_NO_REGISTER);
		CHECK_INT(record.arg[0].value, 0);
		CHECK_INT(record.arg[0].size_bytes, 8);
		CHECK_INT(record.arg[0].is_signed, 0);
		CHECK_INT(record.arg[1].kind, ABI_USDT_MEMORY);
		CHECK_INT(record.arg[1].base, offsets[i]);
		CHECK_INT(record.arg[1].value, -7);
		CHECK_INT(record.arg[1].size_bytes, 4);
		CHECK_INT(record.arg[1].is_signed, 1);
		CHECK_INT(record.arg[2].kind, ABI_USDT_NOTHING);
	}
}

static void constants_and_scaled_indexes_are_recorded(void)
{
	struct plan_site site = {0};
	struct abi_usdt record;

	usdt_args_parse("-4@$-1 8@16(%rax,%r9,4) 8@(,%rcx,8)", site.usdt, USDT_ARGS);
	usdt_record(&site, &record);
	CHECK_INT(record.arg[0].kind, ABI_USDT_VALUE);
	CHECK_INT(record.arg[0].base, ABI_USDT_NO_REGISTER);
	CHECK_INT(record.arg[0].value, -1);
	CHECK_INT(record.arg[1].index, AT(r9));
	CHECK_INT(record.arg[1].index_shift, 2);
	CHECK_INT(record.arg[1].value, 16);
	CHECK_INT(record.arg[2].base, ABI_USDT_NO_REGISTER);
	CHECK_INT(record.arg[2].index, AT(rcx));
	CHECK_INT(record.arg[2].index_shift, 3);
}

int main(void)
{
	RUN(registers);
	RUN(constants_and_scaled_indexes_are_recorded);
	return check_done();
}
