// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "screen/keys.h"

static void each_key_does_one_thing(void)
{
	CHECK(key_row_count > 0);
	for (size_t i = 0; i < key_row_count; i++) {
		CHECK(key_rows[i].keys[0] != 0);
		CHECK(*key_rows[i].names && *key_rows[i].help);
		for (size_t k = 0; k < KEYS_EACH; k++) {
			int key = key_rows[i].keys[k];

			if (key)
				CHECK_INT(keys_action(key), key_rows[i].action);
		}
		for (size_t k = 0; k < i; k++)
			CHECK(key_rows[i].action != key_rows[k].action);
	}
}

/* The letters in the help are keys of that row. */
static void help_names_the_keys(void)
{
	for (size_t i = 0; i < key_row_count; i++) {
		const char *name = key_rows[i].names;

		while (*name) {
			size_t len = strcspn(name, " ");

			if (len == 1)
				CHECK_INT(keys_action(*name), key_rows[i].action);
			if (len == 2 && *name == '^')
				CHECK_INT(keys_action(SCREEN_CONTROL(name[1])),
					  key_rows[i].action);
			name += len + (name[len] == ' ');
		}
	}
	CHECK_INT(keys_action(0), DO_NONE);
	CHECK_INT(keys_action('Z'), DO_NONE);
}

int main(void)
{
	RUN(each_key_does_one_thing);
	RUN(help_names_the_keys);
	return check_done();
}
