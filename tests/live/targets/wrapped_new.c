/* SPDX-License-Identifier: Apache-2.0 */
/* A library to preload: its operators call the next ones by a pointer, so its code does
 * not show which functions they call. */
#include <dlfcn.h>
#include <stddef.h>

static void *(*next_new)(size_t), *(*next_new_array)(size_t);
static void (*next_delete)(void *);

void *_Znwm(size_t size);
void *_Znam(size_t size);
void _ZdlPv(void *block);

__attribute__((constructor)) static void find_next(void)
{
	*(void **)&next_new = dlsym(RTLD_NEXT, "_Znwm");
	*(void **)&next_new_array = dlsym(RTLD_NEXT, "_Znam");
	*(void **)&next_delete = dlsym(RTLD_NEXT, "_ZdlPv");
}

void *_Znwm(size_t size)
{
	return next_new(size);
}

void *_Znam(size_t size)
{
	return next_new_array(size);
}

void _ZdlPv(void *block)
{
	next_delete(block);
}
