/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the option table: how the probes are compiled and attached. See option_rows.h.
 */
/* clang-format off */
#define GROUP GROUP_ADVANCED

OPTION(DRY_RUN,
	"dry-run", .kind = KIND_FLAG, FIELD(dry_run),
	.needs = RUN_ENDS | RUN_PRINTS,
	.help = "print the allocator found and where probes would go, then stop")

OPTION(KERNEL_HEADERS,
	"kernel-headers", .argument = "WHERE",
	.kind = KIND_HEADERS, FIELD(trace.headers_mode), .choices = choice_headers, .offer = OFFER_DIRECTORIES,
	.expected = "'auto', 'embedded' or a directory",
	.help = "compile the probes against the embedded headers, those in a "
		"directory, or auto (the default): embedded where they agree "
		"with the running kernel, else installed ones")

OPTION(NO_CACHE,
	"no-cache", .kind = KIND_FLAG, FIELD(trace.no_cache),
	.help = "compile the probes anew, and keep nothing for later runs (default: "
		"keep it in " CACHE_PATH ", or in the directory that the "
		"environment variable " CACHE_ENV " names)")

OPTION(PRIME_CACHE,
	"prime-cache", .offline = OFFLINE_PRIME,
	.kind = KIND_ACTION, FIELD(action), .min = ACTION_PRIME_CACHE,
	.help = "compile the probes of the usual kinds of runs for later ones, and "
		"stop")

OPTION(ATTACH,
	"attach", .argument = "HOW",
	.kind = KIND_CHOICE, FIELD(trace.attach), .choices = choice_attaches,
	.help = "attach by one uprobe_multi link (Linux 6.6), by perf events, or "
		"auto (the default): the former where the kernel has it")

OPTION(TABLES,
	"tables", .argument = "KIND",
	.kind = KIND_CHOICE, FIELD(trace.tables), .choices = choice_tables,
	.denies = {{.abilities = RUN_GROWS, .does = "takes all memory of hashes at the start",
			.applies = takes_hashes}},
	.help = "keep blocks in arrays, which need compare-and-exchange in BPF "
		"(Linux 5.12), in hashes, which take longer, or auto (the "
		"default): the former where the kernel has it")

OPTION(UNWIND,
	"unwind", .argument = "HOW",
	.kind = KIND_CHOICE, FIELD(trace.unwind), .choices = choice_unwinds,
	.needs = MODE_PROCESSES,
	.help = "unwind stacks by rules, which are derived from unwind information "
		"(.eh_frame) when a call site is first met; by frame pointers (fp), "
		"which end in code that was built without them; or auto (the default): "
		"by rules, and by frame pointers in code without unwind information")

OPTION(NO_RETURN_PROBES,
	"no-return-probes", .kind = KIND_FLAG,
	FIELD(no_return_probes),
	.needs = MODE_FUNCTIONS,
	.help = "use no return probes, which change the target's stack, for the few "
		"functions that still have one (see --dry-run): their return "
		"instruction is probed instead, at ten times the cost; needs Linux "
		"6.10")

OPTION(VERSION,
	"version", 'V', .offline = OFFLINE_SAVED,
	.kind = KIND_ACTION, FIELD(action), .min = ACTION_VERSION,
	.help = "print the version and stop")

OPTION(HELP,
	"help", 'h', .argument = "[TOPIC]", .offline = OFFLINE_SAVED,
	.kind = KIND_HELP, FIELD(help_topic), .choices = choice_topics,
	.expected = "'all', 'examples', 'target', 'reports', 'unreachable', 'filter', "
		    "'limits', 'names', 'output' or 'advanced'",
	.help = "print the most used options and stop; --help all prints every "
		"option, --help TOPIC those about target, reports, unreachable, filter, "
		"limits, names, output or advanced, and --help examples command lines")

#undef GROUP
/* clang-format on */
