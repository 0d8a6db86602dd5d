/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmicrohttpd, which only runs with --listen load. It loads GnuTLS, too: together
 * they would take 2.7 MB of each run.
 */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include <microhttpd.h>

#include "util/error.h"

/* The functions that are used, named as in microhttpd.h without MHD_. */
struct http {
	__typeof__(MHD_add_response_header) *add_response_header;
	__typeof__(MHD_create_response_from_buffer_with_free_callback_cls)
		*create_response_from_buffer_with_free_callback_cls;
	__typeof__(MHD_destroy_response) *destroy_response;
	__typeof__(MHD_get_connection_info) *get_connection_info;
	__typeof__(MHD_get_connection_values) *get_connection_values;
	__typeof__(MHD_lookup_connection_value) *lookup_connection_value;
	__typeof__(MHD_queue_response) *queue_response;
	__typeof__(MHD_resume_connection) *resume_connection;
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_suspend_connection) *suspend_connection;
};

/* Set by http_load(), and inherited by forked processes. */
extern struct http http;

/* Load the library. ERROR_NOT_FOUND: it is not installed, or is another version. */
struct error *http_load(void) __attribute__((warn_unused_result));

#endif
