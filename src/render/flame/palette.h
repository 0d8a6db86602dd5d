/* SPDX-License-Identifier: Apache-2.0 */
/* The colours of a flame graph. Private to render/. */
#ifndef RENDER_FLAME_PALETTE_H
#define RENDER_FLAME_PALETTE_H

#include "render/names.h"

/* "#rrggbb". */
struct flame_colour {
	char s[8];
};

struct flame_module {
	const char *name; /* escaped; borrowed */
	unsigned hue;     /* in degrees */
};

/* The modules of the visible frames, sorted by name, each once. */
struct flame_palette {
	VEC(struct flame_module) list;
};

/*
 * Choose the colours of the modules of the names that `visible` marks, by id. A module
 * has the same colour in every graph, by its name, unless another module of this graph
 * has it: up to 12 modules have different colours. The caller calls
 * flame_palette_deinit(), also after false. False: memory is out.
 */
bool flame_palette_init(struct flame_palette *ret, const struct names *names,
			const bool *visible) __attribute__((warn_unused_result));
void flame_palette_deinit(struct flame_palette *palette);

/* The colour of frames in a module of the palette ("": none). */
struct flame_colour flame_colour(const struct flame_palette *palette, const char *module);

/* White: unchanged. Towards red: the larger part is new. Towards blue: the larger part is
 * gone. */
struct flame_colour flame_difference_colour(uint64_t old_bytes, uint64_t new_bytes);

#endif
