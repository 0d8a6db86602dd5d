// SPDX-License-Identifier: Apache-2.0
#include "util/fd_table.h"

#include <pthread.h>

/* A process has one table, so there is one lock. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

void fd_table_hold(void)
{
	pthread_mutex_lock(&table_lock);
}

void fd_table_release(void)
{
	pthread_mutex_unlock(&table_lock);
}

void fd_table_cut_off(void)
{
	/* A thread that does not exist here may hold it. */
	pthread_mutex_init(&table_lock, NULL);
}
