/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of a report: one line of text. */
#ifndef CAUSES_VERDICT_H
#define CAUSES_VERDICT_H

#include "causes/causes.h"

enum verdict_kind {
	VERDICT_LEAKING,  /* there are leak suspects */
	VERDICT_EXITED,   /* the target exited: `live` was not freed */
	VERDICT_EARLY,    /* too few reports to find suspects; more will come */
	VERDICT_SHORT,    /* the run ended with too few reports to find suspects */
	VERDICT_UNSTEADY, /* memory grows, but no call path is a suspect */
	VERDICT_QUIET,    /* nothing grows */
	VERDICT_HELD,     /* growth was not measured */
	VERDICT_EMPTY,    /* nothing is live */
	VERDICT_FILTERED, /* the filters leave out all call paths that hold anything */
};

struct verdict {
	enum verdict_kind kind;
	enum block_class class;    /* of the section */
	struct report_sum live;    /* all live blocks of the section */
	const struct cause *cause; /* steepest suspect; without suspects the cause that
				      holds most; NULL: none */
	/* The own function that called the naming function of `cause`, if another cause
	 * has the same name; else NULL. */
	const struct report_frame *caller;
	double slope_bytes_per_s;  /* VERDICT_LEAKING: of all suspects */
	unsigned share_percent;    /* VERDICT_LEAKING: share of the cause in the slope;
				      else its share in `live` */
	uint64_t more_bytes;       /* VERDICT_LEAKING: with this slope so much more... */
	double more_s;             /* ...is live in this time, in seconds */
	uint64_t reports, wait_ns; /* VERDICT_EARLY: reports until there can be
					  suspects, and the time for that; 0: unknown */
	int64_t growth_bytes;      /* VERDICT_UNSTEADY: growth... */
	uint64_t growth_ns;        /* ...during this time */
	bool is_filtered; /* the filters leave out call paths, which may be suspects */
};

/* Judge a section of `report`. `causes` are the causes of that section. */
struct verdict verdict_of(const struct report *report,
			  const struct report_section *section,
			  const struct causes *causes);

/* The causes of every section, and the verdict on the whole report. */
struct judgement {
	struct causes causes[BLOCK_CLASS_COUNT]; /* of the section with that index */
	size_t section_count;
	/* On the first section, or on the first one with leak suspects. */
	struct verdict verdict;
};

/* Judge all sections. `ret` refers to the report, and its verdict to its causes. `known`
 * is the judgement of an earlier report, for causes_find(), or NULL. The caller
 * calls judgement_deinit() on it, also after an error. Fails only if memory is out. */
struct error *judgement_init(struct judgement *ret, const struct report *report,
			     const struct judgement *known)
	__attribute__((warn_unused_result));
void judgement_deinit(struct judgement *judgement);

#endif
