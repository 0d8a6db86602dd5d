/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A confined child (confined/confined.h) that is started again when it has ended over a
 * request, a few times, unless the run ends (confined_options.gives_up). What it knew is
 * lost then: each child has a number, by which whoever has told it something knows
 * whether it was this one.
 */
#ifndef CONFINED_KEEPER_H
#define CONFINED_KEEPER_H

#include "confined/confined.h"

struct keeper;

struct keeper_options {
	struct confined_options child; /* what it points to must outlive the keeper */
	const char *work;              /* "symbols are read", in the lines for the user */
	/* A line for the user, without newline, or NULL. */
	void (*warn)(void *arg, const char *text);
	void *warn_arg;
};

/* Start the first child; where it cannot be confined it runs with all privileges, and a
 * line says so. */
struct error *keeper_create(const struct keeper_options *options, struct keeper **ret)
	__attribute__((warn_unused_result));
/* End the child. NULL is fine. */
void keeper_destroy(struct keeper *keeper);

/* The number of the child that answers the next request, at least 1; one that has ended
 * is followed by another here. 0: there will be none any more. */
unsigned keeper_child(struct keeper *keeper);

/* For the tests: its pid, or 0. */
int keeper_pid(const struct keeper *keeper);

/* confined_call(). After ERROR_GONE there is another child, or none. */
struct error *keeper_call(struct keeper *keeper, uint32_t number, const struct strbuf *in,
			  int fd, struct strbuf *out) __attribute__((warn_unused_result));

/* A line for the user. */
void keeper_warn(const struct keeper *keeper, const char *text);

#endif
