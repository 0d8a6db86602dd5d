// SPDX-License-Identifier: Apache-2.0
#include "util/quiet_thread.h"

#include <signal.h>

int quiet_thread_start(pthread_t *ret, const pthread_attr_t *attributes,
		       void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	int err;

	/* The new thread inherits the mask, so that no signal comes to it first. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(ret, attributes, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}
