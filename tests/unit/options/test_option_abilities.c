// SPDX-License-Identifier: Apache-2.0
/* What the rows of the option table say of each other: an option is refused beside one
 * that denies what it needs, and without one that gives it. */
#include "unit/options/options_check.h"
#include "unit/options/option_value.h"

#include "options/option_table.h"

/* What is in force beside the two options: something of each kind that gives. */
static char *const giving[] = {"--unreachable", "--flame=a", "--listen=99"};

/* Runs that some options need, and that others refuse. */
static char *const targets[][2] = {{"--pid=1"}, {"--growth"}, {"--", "ls"}, {NULL}};

/* The message about the two options beside the target, or NULL. */
static struct error *parse_pair(const struct option_row *row,
				const struct option_row *other, char *const target[2],
				bool with_giving)
{
	char first[128], second[128];
	char *argv[ARGC_MAX] = {"memtrace"};
	struct options options;
	int argc = 1;

	option_spell(row, first);
	argv[argc++] = first;
	if (other) {
		option_spell(other, second);
		argv[argc++] = second;
	}
	for (size_t i = 0; with_giving && i < sizeof(giving) / sizeof(*giving); i++)
		argv[argc++] = giving[i];
	for (size_t i = 0; i < 2 && target[i]; i++)
		argv[argc++] = target[i];
	return options_parse(argc, argv, &options);
}

static void check_pair(const struct option_row *row, const struct option_row *other,
		       const char *does)
{
	char wanted[256];
	bool is_said = false;

	/* The mode may refuse the option for another reason. */
	snprintf(wanted, sizeof(wanted), "--%s does not work with --%s, which %s",
		 row->name, other->name, other->selects ? "" : does);
	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
		for (int with = 0; with < 2; with++) {
			_cleanup_(error_destroyp) struct error *err =
				parse_pair(row, other, targets[i], with);

			is_said |= err && strstr(err->message, wanted);
		}
	}
	if (!is_said)
		CHECK_FAIL("no command line says: %s", wanted);
}

static void options_are_refused_beside_what_denies_their_needs(void)
{
	unsigned tried = 0;

	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		for (size_t k = 0; k < OPTION_ID_COUNT; k++) {
			const struct option_denial *denials = option_rows[k].denies;

			for (size_t d = 0; d < OPTION_DENIALS_MAX; d++) {
				if (!(option_rows[i].needs & denials[d].abilities))
					continue;
				tried++;
				check_pair(&option_rows[i], &option_rows[k],
					   denials[d].does);
			}
		}
	}
	CHECK(tried > 20);
}

/* The message names each option that gives what the row needs. --unreachable stands for
 * --unreachable-every, too. */
static void check_names_givers(const struct option_row *row, const char *message)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s", option_rows[i].name);
		if (option_rows[i].gives & row->needs && i != OPTION_UNREACHABLE_EVERY)
			CHECK_CONTAINS(message, name);
	}
}

static void options_are_refused_without_what_gives_their_needs(void)
{
	unsigned gives = RUN_FILES, tried = 0;

	for (size_t i = 0; i < OPTION_ID_COUNT; i++)
		gives |= option_rows[i].gives;
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		const struct option_row *row = &option_rows[i];
		char wanted[64];

		if (!(row->needs & gives))
			continue;
		snprintf(wanted, sizeof(wanted), "--%s needs --", row->name);

		_cleanup_(error_destroyp) struct error *err =
			parse_pair(row, NULL, targets[0], false);

		REQUIRE(err);
		if (i == OPTION_OUTPUT_EVERY)
			CHECK_CONTAINS(err->message, "--output-every needs a file");
		else
			CHECK_CONTAINS(err->message, wanted);
		check_names_givers(row, err->message);
		tried++;
	}
	CHECK(tried > 8);
}

/* An ability that is given or denied in vain is a mistake in a row. */
static void each_ability_is_needed(void)
{
	unsigned needed = 0, offered = RUN_FILES;

	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		needed |= option_rows[i].needs & RUN_ABILITIES;
		offered |= option_rows[i].gives;
		for (size_t d = 0; d < OPTION_DENIALS_MAX; d++)
			offered |= option_rows[i].denies[d].abilities & RUN_ABILITIES;
	}
	CHECK_INT(needed, offered);
}

int main(void)
{
	RUN(options_are_refused_beside_what_denies_their_needs);
	RUN(options_are_refused_without_what_gives_their_needs);
	RUN(each_ability_is_needed);
	return check_done();
}
