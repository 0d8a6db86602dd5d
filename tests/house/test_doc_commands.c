// SPDX-License-Identifier: Apache-2.0
/* memtrace accepts every command line that README.md and docs/ show. */
#include "check.h"

#include "options/options.h"
#include "doc_commands.h"

static void check_command(void *data, struct doc_command *command)
{
	struct options options;
	struct error *err = options_parse(command->argc, command->argv, &options);

	(void)data;
	check_state.checks++;
	if (err)
		CHECK_FAIL("%s: \"%s\" is refused: %s", command->page, command->line,
			   err->message);
	error_destroy(err);
}

static void commands_are_accepted(void)
{
	CHECK(doc_commands_visit(check_command, NULL) > 80);
}

int main(void)
{
	RUN(commands_are_accepted);
	return check_done();
}
