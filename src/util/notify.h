/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a service manager how this process is: sd_notify(3), whose protocol is stable. */
#ifndef UTIL_NOTIFY_H
#define UTIL_NOTIFY_H

#include <stdbool.h>

/* Send a state such as "READY=1" to the socket that $NOTIFY_SOCKET names. False: there is
 * none, or it does not take it. Never waits. */
bool notify_manager(const char *state);

#endif
