// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>

#include "report/arena.h"

/* Pieces of all sizes are aligned, zeroed and do not overlap. */
static void gives_out_pieces(void)
{
	struct report_arena *arena = report_arena_create();
	unsigned char *pieces[400];
	bool right = true;

	REQUIRE(arena);
	for (size_t i = 0; i < 400; i++) {
		unsigned char *piece = report_arena_alloc(arena, i * i, 1);

		REQUIRE(piece);
		CHECK_INT((uintptr_t)piece % alignof(max_align_t), 0);
		for (size_t j = 0; j < i * i; j++)
			right = right && !piece[j];
		memset(piece, (int)(i % 255 + 1), i * i);
		pieces[i] = piece;
	}
	for (size_t i = 0; i < 400; i++)
		for (size_t j = 0; j < i * i; j++)
			right = right && pieces[i][j] == i % 255 + 1;
	CHECK(right);
	report_arena_destroy(arena);
	report_arena_destroy(NULL);
}

static void refuses_the_impossible(void)
{
	struct report_arena *arena = report_arena_create();

	REQUIRE(arena);
	CHECK(!report_arena_alloc(arena, SIZE_MAX / 2, 3));
	CHECK(!report_arena_alloc(arena, SIZE_MAX, 1));
	CHECK(report_arena_alloc(arena, 3, 8));
	report_arena_destroy(arena);
}

int main(void)
{
	RUN(gives_out_pieces);
	RUN(refuses_the_impossible);
	return check_done();
}
