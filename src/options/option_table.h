/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option table: one row for each option. options.c parses with it and takes its error
 * messages from it; options_help.c prints the help text from it, and src/manual writes
 * the man page and the completions of shells from it.
 */
#ifndef OPTIONS_OPTION_TABLE_H
#define OPTIONS_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "compile/source_mode.h"
#include "options/option_choices.h"
#include "options/options.h"
#include "util/strbuf.h"

/* The rows of the table, in the order of the help text; the options of a group are
 * adjacent. */
#define OPTION(id, ...) OPTION_##id,
enum option_id {
#include "options/option_rows.h"
	OPTION_ID_COUNT,
};
#undef OPTION

/* How the value is parsed. The row has the limits (`min`, `max`) and the field. */
enum option_kind {
	KIND_FLAG,     /* bool: true if given */
	KIND_MODE,     /* no field: selects a trace mode */
	KIND_REPEATED, /* unsigned: how many times it was given */
	KIND_ACTION,   /* enum option_action: `min` is the action; ends parsing */
	KIND_HELP, /* enum help_topic: the index in `choices` of the value, which may be
		      left out; ends parsing */
	KIND_INTEGER,  /* whole number */
	KIND_QUANTITY, /* whole number with an optional K, M or G */
	KIND_SIZE,     /* bytes with an optional K, M or G */
	KIND_DURATION, /* ns; a plain number is in units of `unit_ns` */
	KIND_CHOICE,   /* enum: the index of the value in `choices` */
	KIND_NAME,     /* const char *: a pointer to the matching entry of `choices` */
	KIND_PATH,     /* const char *: any text but "" */
	KIND_PATTERN,  /* const char *: a name that file_name_is_valid() accepts */
	KIND_PIDS,     /* int[]: numbers separated by commas; added to earlier ones */
	KIND_LIST,     /* struct option_list: any text but ""; the option can be
			  repeated */
	KIND_PAIR,     /* const char *[2]: any text but "", in two arguments */
	KIND_HEADERS,  /* --kernel-headers: `choices`, or else a path */
};

/* Which runs without tracing accept the option. Most options make no sense there. */
enum option_offline {
	OFFLINE_REPLAY = 1, /* accepted with --replay */
	OFFLINE_DIFF = 2,   /* accepted with --diff */
	OFFLINE_SAVED = OFFLINE_REPLAY | OFFLINE_DIFF,
	OFFLINE_PRIME = 4, /* accepted with --prime-cache */
};

/* Abilities of a run that do not depend on its mode alone. What an option needs is a set
 * of these and of enum mode_ability, which has the lower bits. */
enum run_ability {
	/* A run has these unless an option denies them. */
	RUN_ENDS = 1 << 16,       /* ends by itself */
	RUN_ALL = 1 << 17,        /* may trace every process */
	RUN_PRINTS = 1 << 18,     /* prints on the terminal */
	RUN_SINGLES = 1 << 19,    /* keeps single blocks */
	RUN_AGES = 1 << 20,       /* measures the ages of blocks */
	RUN_POINTERS = 1 << 21,   /* a block that no pointer leads to is lost */
	RUN_ALL_BLOCKS = 1 << 22, /* traces all blocks of the process */
	RUN_GROWS = 1 << 23,      /* its tables grow */
	/* A run has these only if an option gives them. */
	RUN_SEARCH = 1 << 24, /* searches for unreachable blocks */
	RUN_FILES = 1 << 25,  /* writes files beside the reports */
	RUN_STACKS = 1 << 26, /* writes a file of stacks and their weights */
	RUN_GRAPH = 1 << 27,  /* draws a flame graph */
	RUN_TREE = 1 << 28,   /* merges stacks to a tree */
	RUN_LISTEN = 1 << 29, /* answers requests */
};

/* The set of all of them. */
#define RUN_ABILITIES (~0u << 16)

/* Abilities that a run does not have because of an option. Each option that needs one is
 * refused: "--A does not work with --B, which DOES". */
struct option_denial {
	unsigned abilities; /* of enum mode_ability and enum run_ability */
	const char *does;
	bool (*applies)(const struct options *options); /* NULL: always */
};

#define OPTION_DENIALS_MAX 2

/* What a shell completes the value to, besides `choices`. Values of KIND_PIDS and
 * KIND_PATTERN are always completed to processes and files. */
enum option_offer {
	OFFER_NOTHING,
	OFFER_PROCESSES,
	OFFER_FILES,
	OFFER_DIRECTORIES,
	OFFER_SNAPSHOTS, /* files that --save wrote, named .mts */
};

struct option_row {
	const char *name; /* without "--" */
	char letter;      /* 0: none */
	const char *alias;
	char alias_letter;
	const char *argument; /* name of the value in the help text; NULL: takes no
				 value */
	enum option_group group;
	enum option_kind kind;
	unsigned offline; /* enum option_offline */
	unsigned needs;   /* of the run: enum mode_ability, enum run_ability */
	unsigned gives;   /* enum run_ability; KIND_PATTERN: also RUN_FILES */
	struct option_denial denies[OPTION_DENIALS_MAX]; /* `abilities` 0: no denial */
	enum trace_mode_id selects;                      /* TRACE_MODE_HEAP: no mode */
	bool reshapes;              /* asks for what a brief report does not show */
	bool is_of_reports;         /* says what printed reports show, or when */
	size_t offset, size;        /* the field in struct options, bytes */
	uint64_t min, max;          /* limits of numbers, both inclusive */
	uint64_t unit_ns;           /* of durations: the unit of a plain number, ns */
	const char *const *choices; /* ended by NULL */
	enum option_offer offer;
	/* After "expected " in an error; NULL: one of the choices. Use
	 * option_append_expected(). */
	const char *expected;
	const char *instead; /* "use --OTHER" where the option does not work, or NULL */
	const char *help;    /* one sentence; wrapped when printed */
};

extern const struct option_row option_rows[OPTION_ID_COUNT];

/* Append what the value may be, such as "'auto', 'full' or 'short'". */
void option_append_expected(const struct option_row *row, struct strbuf *text);

/* The heading of a group. Static string. */
const char *option_group_name(enum option_group group);

/* The row with this long name or alias (`len` bytes), or with this letter. NULL: no such
 * option. */
const struct option_row *option_find(const char *name, size_t len);
const struct option_row *option_find_letter(char letter);

/* The long name or alias that the user probably meant by `name` (`len` bytes): one that
 * begins with `name`, or the nearest by edit distance. NULL if none is near. Static
 * string. */
const char *option_nearest(const char *name, size_t len);

#endif
