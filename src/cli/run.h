/* SPDX-License-Identifier: Apache-2.0 */
/* A whole run of memtrace, from the command line to the exit status. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

/* Run memtrace as the command line says. Prints errors on stderr, one line each. Returns
 * the exit status of the process: 0 on success, 1 on a run-time failure, 2 on a usage
 * error, or the status of session_run(). */
int cli_run(int argc, char *argv[]);

#endif
