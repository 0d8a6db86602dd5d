// SPDX-License-Identifier: Apache-2.0
/* The colours of modules in a flame graph. */
#include "fixture.h"

#include "render/flame/palette.h"

#define MODULES 30

static void name_of(size_t i, char ret[16])
{
	snprintf(ret, 16, "lib%02zu.so", i);
}

/* A palette of modules `from` to `end`, exclusive, whose names are in any order. */
static void make(struct flame_palette *ret, size_t from, size_t end)
{
	static char texts[MODULES][16];
	static char symbol[] = "f", none[] = "";
	struct names names = {.frame_count = 0};
	bool visible[2 * MODULES + 1];

	for (size_t i = 0; i <= 2 * MODULES; i++) {
		size_t module = i * 7 % MODULES;

		name_of(module, texts[module]);
		visible[i] = module >= from && module < end;
		REQUIRE(vec_push(
			&names.list,
			(struct name){.text = symbol,
				      .module = i < 2 * MODULES ? texts[module] : none}));
	}
	visible[2 * MODULES] = true;
	REQUIRE(flame_palette_init(ret, &names, visible));
	vec_deinit(&names.list);
}

static void up_to_twelve_differ(void)
{
	for (size_t from = 0; from + 12 <= MODULES; from++) {
		struct flame_palette palette;

		make(&palette, from, from + 12);
		CHECK_INT(palette.list.len, 12);
		for (size_t i = 0; i < 12; i++) {
			for (size_t k = 0; k < i; k++)
				CHECK(strcmp(
					flame_colour(&palette, palette.list.data[i].name)
						.s,
					flame_colour(&palette, palette.list.data[k].name)
						.s));
		}
		flame_palette_deinit(&palette);
	}
}

/* More modules share colours; each still has one, and no module has the colour of none.
 */
static void many_modules_share_colours(void)
{
	struct flame_palette palette, one;

	make(&palette, 0, MODULES);
	CHECK_INT(palette.list.len, MODULES);
	for (size_t i = 0; i < MODULES; i++) {
		char name[16];

		name_of(i, name);
		CHECK_STR(palette.list.data[i].name, name);
		CHECK(strcmp(flame_colour(&palette, name).s, "#d4d4d4"));
		/* Alone in another graph the first one has the same colour. */
		make(&one, i, i + 1);
		CHECK(i || !strcmp(flame_colour(&palette, name).s,
				   flame_colour(&one, name).s));
		flame_palette_deinit(&one);
	}
	CHECK_STR(flame_colour(&palette, "").s, "#d4d4d4");
	CHECK_STR(flame_colour(&palette, "other").s, "#d4d4d4");
	flame_palette_deinit(&palette);
}

int main(void)
{
	RUN(up_to_twelve_differ);
	RUN(many_modules_share_colours);
	return check_done();
}
