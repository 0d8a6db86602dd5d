// SPDX-License-Identifier: Apache-2.0
/* Names of registers in assembler. */
#include "arch/arch.h"

#include <string.h>

/* The first eight registers: their names for 8, 4, 2 and 1 bytes (Intel SDM volume 1,
 * 3.4.1). */
static const char *const names[8][4] = {
	{"rax", "eax", "ax", "al"},  {"rcx", "ecx", "cx", "cl"},
	{"rdx", "edx", "dx", "dl"},  {"rbx", "ebx", "bx", "bl"},
	{"rsp", "esp", "sp", "spl"}, {"rbp", "ebp", "bp", "bpl"},
	{"rsi", "esi", "si", "sil"}, {"rdi", "edi", "di", "dil"},
};

/* "r8" to "r15", with "d", "w" or "b" for their lower parts. */
static bool find_numbered(const char *name, size_t len, uint8_t *number, uint8_t *size)
{
	static const char suffixes[] = "dwb";
	unsigned n = 0;
	size_t i = 1;

	while (i < len && i < 3 && name[i] >= '0' && name[i] <= '9')
		n = n * 10 + (unsigned)(name[i++] - '0');
	if (len < 2 || name[0] != 'r' || name[1] == '0' || n < 8 || n > 15)
		return false;
	*size = 8;
	if (i < len) {
		const char *suffix = strchr(suffixes, name[i]);

		if (!suffix)
			return false;
		*size = (uint8_t)(4 >> (suffix - suffixes));
		i++;
	}
	*number = (uint8_t)n;
	return i == len;
}

bool arch_register_find(const char *name, size_t len, uint8_t *number, uint8_t *size)
{
	for (uint8_t n = 0; n < 8; n++) {
		for (unsigned part = 0; part < 4; part++) {
			if (strlen(names[n][part]) != len ||
			    memcmp(names[n][part], name, len) != 0)
				continue;
			*number = n;
			*size = (uint8_t)(8 >> part);
			return true;
		}
	}
	return find_numbered(name, len, number, size);
}
