/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A confined child (confined/confined.h) that is restarted, a few times, if it dies
 * during a request, unless the run is late (CONFINED_LATE_NS). A new child
 * has lost the old one's state. Each child has a number, so callers can tell whether
 * the present child is the one that they sent data to.
 */
#ifndef CONFINED_KEEPER_H
#define CONFINED_KEEPER_H

#include "confined/confined.h"

struct keeper;

struct keeper_options {
	struct confined_options child; /* pointed-to data must outlive the keeper */
	const char *work; /* such as "symbols are read", for messages to the user */
	/* Receives a line for the user, without newline. May be NULL. */
	void (*warn)(void *arg, const char *text);
	void *warn_arg;
};

/* Start the first child. If it can have no filter, it and later children run without one,
 * and a warning says so. Otherwise no child ever runs without one, whatever fails because
 * of a target. */
struct error *keeper_create(const struct keeper_options *options, struct keeper **ret)
	__attribute__((warn_unused_result));
/* Kill the child. NULL is fine. */
void keeper_destroy(struct keeper *keeper);

/* The number of the child that will answer the next request, at least 1. Restarts a
 * child that has died. 0: no child will be started any more. */
unsigned keeper_child(struct keeper *keeper);

/* For tests: the child's pid, or 0. */
int keeper_pid(const struct keeper *keeper);

/* Like confined_call(). After ERROR_GONE the child has changed, or no child is left. */
struct error *keeper_call(struct keeper *keeper, uint32_t number, const struct strbuf *in,
			  int fd, struct strbuf *out) __attribute__((warn_unused_result));

/* In a forked child: the confined process belongs to the parent, which may be in the
 * middle of a call. Leave it alone. If `anew`, start another one. */
void keeper_cut_off(struct keeper *keeper, bool anew);

/* Pass a line for the user to keeper_options.warn. */
void keeper_warn(const struct keeper *keeper, const char *text);

#endif
