/* SPDX-License-Identifier: Apache-2.0 */
/* A whole run, from the command line to the exit status. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

/* Run memtrace as the command line says. Returns the process's exit status: 0 on
 * success, 1 when something failed at run time, 2 on a usage error. Errors have been
 * printed to stderr, one line each. */
int cli_run(int argc, char *argv[]);

#endif
