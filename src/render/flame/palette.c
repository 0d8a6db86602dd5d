// SPDX-License-Identifier: Apache-2.0
#include "render/flame/palette.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Light colours, so that black text on them is readable, also in print. */
#define LIGHT 245
#define DARK  150

/* Number of hues that a reader can distinguish. */
#define HUES        12
#define HUE_DEGREES (360 / HUES)

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct flame_module *)a)->name,
		      ((const struct flame_module *)b)->name);
}

static uint32_t hash_of(const char *text)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	/* The last bytes have affected only the low bits, so mix them (MurmurHash3's
	 * finalizer). */
	hash = (hash ^ hash >> 16) * 0x85ebca6bu;
	hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
	return hash ^ hash >> 16;
}

static void choose_hues(struct flame_palette *palette)
{
	bool taken[HUES] = {false};
	size_t free_hues = HUES;

	vec_foreach (module, &palette->list) {
		unsigned hue = hash_of(module->name) % HUES;

		while (free_hues && taken[hue])
			hue = (hue + 1) % HUES;
		free_hues -= free_hues > 0;
		taken[hue] = true;
		module->hue = hue * HUE_DEGREES;
	}
}

bool flame_palette_init(struct flame_palette *ret, const struct names *names,
			const bool *visible)
{
	size_t kept = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < names->list.len; i++) {
		const struct flame_module module = {.name = names->list.data[i].module};

		if (visible[i] && *module.name && !vec_push(&ret->list, module))
			return false;
	}
	if (ret->list.len)
		qsort(ret->list.data, ret->list.len, sizeof(*ret->list.data), compare);
	for (size_t i = 0; i < ret->list.len; i++) {
		if (!kept || compare(&ret->list.data[kept - 1], &ret->list.data[i]))
			ret->list.data[kept++] = ret->list.data[i];
	}
	ret->list.len = kept;
	choose_hues(ret);
	return true;
}

void flame_palette_deinit(struct flame_palette *palette)
{
	vec_deinit(&palette->list);
}

static struct flame_colour colour_of(unsigned hue)
{
	unsigned part = (LIGHT - DARK) * (hue % 60) / 60;
	unsigned up = DARK + part, down = LIGHT - part;
	const unsigned rgb[6][3] = {{LIGHT, up, DARK}, {down, LIGHT, DARK},
				    {DARK, LIGHT, up}, {DARK, down, LIGHT},
				    {up, DARK, LIGHT}, {LIGHT, DARK, down}};
	const unsigned *c = rgb[hue / 60 % 6];
	struct flame_colour colour;

	snprintf(colour.s, sizeof(colour.s), "#%02x%02x%02x", c[0] & 0xff, c[1] & 0xff,
		 c[2] & 0xff);
	return colour;
}

struct flame_colour flame_colour(const struct flame_palette *palette, const char *module)
{
	const struct flame_module key = {.name = module};
	const struct flame_module *found =
		palette->list.len ? bsearch(&key, palette->list.data, palette->list.len,
					    sizeof(key), compare)
				  : NULL;

	return found ? colour_of(found->hue) : (struct flame_colour){"#d4d4d4"};
}

struct flame_colour flame_difference_colour(uint64_t old_bytes, uint64_t new_bytes)
{
	bool grew = new_bytes > old_bytes;
	double more = (double)(grew ? new_bytes : old_bytes);
	double less = (double)(grew ? old_bytes : new_bytes);
	/* Any change must be visible. */
	double share = more > less ? 0.15 + 0.85 * (more - less) / more : 0;
	unsigned rest = LIGHT - (unsigned)((LIGHT - 80) * share);
	struct flame_colour colour;

	snprintf(colour.s, sizeof(colour.s), "#%02x%02x%02x",
		 (grew ? LIGHT : rest) & 0xff, rest & 0xff, (grew ? rest : LIGHT) & 0xff);
	return colour;
}
