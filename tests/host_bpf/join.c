// SPDX-License-Identifier: Apache-2.0
/*
 * Writes the probes of a variant as C for the host: the text that compile/source.c builds
 * for libbcc, with the same definitions and with instructions.h in place of
 * probes/instructions.c.
 *
 *    join_probes VARIANT FILE
 */
#include <stdio.h>
#include <string.h>

#include "host_bpf/variants.h"

#define MARK     "#line 1 \"probes/"
#define REPLACED MARK "instructions.c\""

static void write_flags(FILE *to, const struct source *source)
{
	for (size_t i = 0; i < source->flags.count; i++) {
		const char *flag = source->flags.list[i];
		const char *equals = strchr(flag, '=');

		if (strncmp(flag, "-D", 2) != 0)
			continue;
		if (equals)
			fprintf(to, "#define %.*s %s\n", (int)(equals - flag - 2),
				flag + 2, equals + 1);
		else
			fprintf(to, "#define %s 1\n", flag + 2);
	}
}

/* The programs that the text has, for the tests. */
static void write_programs(FILE *to, const struct source_run *run)
{
	static const char *const names[SOURCE_PROGRAM_COUNT] = {
		[SOURCE_ON_SESSION] = "SESSION", [SOURCE_ON_RETURN] = "RETURN",
		[SOURCE_ON_CALL] = "CALL",       [SOURCE_ON_FREE] = "FREE",
		[SOURCE_ON_RESULT] = "RESULT",
	};

	for (int i = 0; i < SOURCE_PROGRAM_COUNT; i++)
		if (run->programs & 1u << i && (i != SOURCE_ON_CALL || run->cookies))
			fprintf(to, "#define WITH_ON_%s 1\n", names[i]);
	if (run->scope == SCOPE_FORKS)
		fprintf(to, "#define WITH_ON_FORK 1\n");
}

/* Returns false if the text has not the expected form. */
static bool write_text(FILE *to, const char *text)
{
	const char *first = strstr(text, MARK), *replaced = strstr(text, REPLACED);
	const char *rest = replaced ? strstr(replaced + 1, MARK) : NULL;

	if (!first || !rest)
		return false;
	fwrite(first, 1, (size_t)(replaced - first), to);
	fprintf(to, "#include \"host_bpf/instructions.h\"\n%s", rest);
	return true;
}

static int join(const char *variant, const char *path)
{
	struct variant v;
	struct meanings meanings = {0};
	struct source *source = NULL;
	FILE *to;
	bool ok;

	if (!variant_init(variant, &v) || !variant_meanings(&v.run, &meanings) ||
	    source_build(&v.run, &meanings, &source))
		return 1;
	to = fopen(path, "w");
	if (!to)
		return 1;
	fprintf(to, "#include \"host_bpf/probes.h\"\n");
	write_flags(to, source);
	write_programs(to, &v.run);
	ok = write_text(to, source->text);
	ok &= fclose(to) == 0;
	source_destroy(source);
	vec_deinit(&meanings.list);
	return !ok;
}

int main(int argc, char **argv)
{
	if (argc != 3 || join(argv[1], argv[2])) {
		fprintf(stderr, "join_probes: cannot join the probes\n");
		return 1;
	}
	return 0;
}
