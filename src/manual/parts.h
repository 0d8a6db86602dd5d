/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that each template takes from the option table (see template.h). */
#ifndef MANUAL_PARTS_H
#define MANUAL_PARTS_H

#include "manual/template.h"

extern const struct template_part page_parts[]; /* memtrace.8.in */
extern const struct template_part bash_parts[]; /* memtrace.bash.in */
extern const struct template_part zsh_parts[];  /* memtrace.zsh.in */
extern const struct template_part fish_parts[]; /* memtrace.fish.in */

#endif
