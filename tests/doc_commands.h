/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of memtrace that README.md, docs/ and examples/README.md show. */
#ifndef TESTS_DOC_COMMANDS_H
#define TESTS_DOC_COMMANDS_H

#define DOC_COMMAND_WORDS 32
/* Stands for PID, $! and $(...). */
#define DOC_COMMAND_PID "1"

struct doc_command {
	const char *page;
	const char *line; /* as the page has it */
	char text[512];   /* the words as a shell splits them, each ended by NUL */
	char *argv[DOC_COMMAND_WORDS + 1];
	int argc;
};

typedef void doc_command_visitor(void *data, struct doc_command *command);

/* Visit every command line, also those within sentences and tables. Returns how many
 * there are. */
unsigned doc_commands_visit(doc_command_visitor *visit, void *data);

#endif
