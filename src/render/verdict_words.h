/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a verdict's sentence, without the names of functions. Private to render/.
 */
#ifndef RENDER_VERDICT_WORDS_H
#define RENDER_VERDICT_WORDS_H

#include "causes/verdict.h"
#include "util/strbuf.h"

/* "leaking 9.7 MiB/min", ", 95 % from ", "; +1 GiB in 1.8 h". */
struct verdict_words {
	struct strbuf what;
	struct strbuf share; /* the name of the verdict's cause follows; empty: no name
				follows */
	struct strbuf more;
};

/* Behind the sentence of a report with losses. */
#define VERDICT_LOSSY "; not all was recorded"

/* The caller calls verdict_words_deinit(). */
void verdict_words_init(struct verdict_words *ret, const struct verdict *verdict);
void verdict_words_deinit(struct verdict_words *words);

/* Is memory out, so that a part is incomplete? */
bool verdict_words_failed(const struct verdict_words *words);

#endif
