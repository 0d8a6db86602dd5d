/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --wait-for: traces a process, and when it has ended the next one of that name. Each is
 * traced by a child of this process, in a run of its own. This process waits for them,
 * and owns what outlives a run: the server of --listen. Between two runs, the server
 * answers that no process is traced.
 */
#ifndef SESSION_SERVICE_H
#define SESSION_SERVICE_H

#include "options/options.h"
#include "util/error.h"

/*
 * Trace until a signal ends it. `print` prints and destroys the error of a run; its
 * second argument is options->verbose. *status is the exit status. options->pids[0] is
 * set to the process of each run.
 */
struct error *service_run(struct options *options,
			  void (*print)(struct error *err, unsigned verbose), int *status)
	__attribute__((warn_unused_result));

#endif
