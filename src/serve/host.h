/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of a request's Host header, against DNS rebinding: a page of another site can
 * make a browser connect to this machine under that site's name, and would then read the
 * answer. Such a request has a name in its Host header that is not of this machine.
 */
#ifndef SERVE_HOST_H
#define SERVE_HOST_H

#include <stdbool.h>

/* Does this Host header name this machine: a numeric address or "localhost", with or
 * without a port? */
bool host_is_local(const char *host);

#endif
