/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a canvas of the state of the screen. */
#ifndef SCREEN_COMPOSE_H
#define SCREEN_COMPOSE_H

#include "screen/canvas.h"
#include "screen/ui.h"

/* The whole screen, of ui->columns x ui->lines. canvas->texts.failed: memory is out. */
void compose(struct ui *ui, struct canvas *canvas);

/* Parts of it. Private to compose*.c. */
void compose_head(const struct ui *ui, struct canvas *canvas);
void compose_table(const struct ui *ui, struct canvas *canvas);
void compose_stack(struct ui *ui, struct canvas *canvas);

#endif
