// SPDX-License-Identifier: Apache-2.0
#include "serve/http.h"

#include <dlfcn.h>
#include <stddef.h>

/* The soname guarantees the interface. */
#define SONAME "libmicrohttpd.so.12"

struct http http;

static const struct {
	const char *name;
	size_t offset; /* in struct http */
} functions[] = {
#define FUNCTION(name)                                                                   \
	{                                                                                \
		"MHD_" #name, offsetof(struct http, name)                                \
	}
	FUNCTION(add_response_header),
	FUNCTION(create_response_from_buffer_with_free_callback_cls),
	FUNCTION(destroy_response),
	FUNCTION(get_connection_info),
	FUNCTION(get_connection_values),
	FUNCTION(lookup_connection_value),
	FUNCTION(queue_response),
	FUNCTION(resume_connection),
	FUNCTION(start_daemon),
	FUNCTION(suspend_connection),
#undef FUNCTION
};

struct error *http_load(void)
{
	/* Until the process ends: GnuTLS does not support unloading. */
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_NODELETE);

	if (!library)
		return error_create(ERROR_NOT_FOUND,
				    "cannot load the HTTP library: %s: install "
				    "libmicrohttpd",
				    dlerror());
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		/* POSIX permits converting the result of dlsym() to a function
		 * pointer. */
		void **at = (void **)((char *)&http + functions[i].offset);

		*at = dlsym(library, functions[i].name);
		if (!*at)
			return error_create(ERROR_NOT_FOUND, SONAME " has no %s",
					    functions[i].name);
	}
	return NULL;
}
