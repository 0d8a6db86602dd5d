/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that gets no signals: they are for the thread that starts it. */
#ifndef UTIL_QUIET_THREAD_H
#define UTIL_QUIET_THREAD_H

#include <pthread.h>

/* pthread_create(3), for a thread that blocks all signals. */
int quiet_thread_start(pthread_t *ret, const pthread_attr_t *attributes,
		       void *(*run)(void *arg), void *arg);

#endif
