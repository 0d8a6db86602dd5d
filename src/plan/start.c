// SPDX-License-Identifier: Apache-2.0
#include "plan/start.h"

const char *start_doubt(const struct cfi *cfi, const struct elf_symbol *symbol)
{
	struct cfi_fde fde;

	if (cfi && cfi_find_fde(cfi, symbol->address, &fde))
		return fde.start == symbol->address
			       ? NULL
			       : "by the file's unwind information its symbol points "
				 "into another function";
	return symbol->is_from_debug
		       ? "a debug file has its symbol, and the file's unwind information "
			 "has no function there"
		       : NULL;
}
