// SPDX-License-Identifier: Apache-2.0
#include "cli/offline.h"

#include <signal.h>
#include <unistd.h>

#include "confined/shed.h"
#include "util/cleanup.h"

struct error *offline_shed(const struct options *options)
{
	bool writes_files = options->output;
	struct error *err;

	for (size_t i = 0; i < OUTPUT_KIND_COUNT; i++)
		writes_files |= options->files[i] != NULL;
	err = shed_for_files(writes_files);
	if (!err || err->code != ERROR_UNSUPPORTED)
		return err;
	error_destroy(err);
	return NULL;
}

struct error *offline_run(const struct options *options, offline_fn *fn)
{
	_cleanup_(report_setup_deinit) struct report_setup setup;
	struct output output = {.path = NULL};
	struct error *err = report_setup_init(
		options, !options->output && isatty(STDOUT_FILENO), &setup);

	/* Make a write beyond RLIMIT_FSIZE fail with an error instead of a signal. */
	signal(SIGXFSZ, SIG_IGN);
	if (!err)
		err = output_open(options->output, options->force, &output);
	if (!err)
		err = fn(options, &setup, &output);
	output_close(&output);
	return err;
}
