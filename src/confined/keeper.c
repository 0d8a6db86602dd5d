// SPDX-License-Identifier: Apache-2.0
#include "confined/keeper.h"

#include <stdlib.h>

#include "util/cleanup.h"

/* Bound on the number of children started. */
#define STARTS_MAX 4

struct keeper {
	struct keeper_options options;
	struct confined *child; /* NULL: no child will be started any more */
	unsigned starts;
};

void keeper_warn(const struct keeper *keeper, const char *text)
{
	if (keeper->options.warn)
		keeper->options.warn(keeper->options.warn_arg, text);
}

static struct error *start(struct keeper *keeper)
{
	_cleanup_(error_destroyp) struct error *why = NULL;
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	struct error *err = confined_start(&keeper->options.child, &keeper->child, &why);

	if (!keeper->starts++)
		keeper->options.child.needs_filter = !why;
	if (why) {
		strbuf_appendf(&text, "warning: %s in a process without a filter: %s",
			       keeper->options.work, why->message);
		keeper_warn(keeper, strbuf_text(&text));
	}
	return err;
}

struct error *keeper_create(const struct keeper_options *options, struct keeper **ret)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));
	struct error *err;

	if (!keeper)
		return error_no_memory();
	keeper->options = *options;
	err = start(keeper);
	if (err) {
		keeper_destroy(keeper);
		return err;
	}
	*ret = keeper;
	return NULL;
}

void keeper_destroy(struct keeper *keeper)
{
	if (!keeper)
		return;
	confined_destroy(keeper->child);
	free(keeper);
}

/* Is the run ending? Then do not start a child that may hang like the last one. */
static bool is_late(const struct keeper *keeper)
{
	const struct confined_options *o = &keeper->options.child;

	return o->stopping_ns && o->stopping_ns(o->stopping_arg) >= CONFINED_LATE_NS;
}

unsigned keeper_child(struct keeper *keeper)
{
	const char *why = "too many attempts have failed";
	_cleanup_(error_destroyp) struct error *err = NULL;
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	if (!keeper->child)
		return 0;
	if (confined_pid(keeper->child))
		return keeper->starts;
	confined_destroy(keeper->child);
	keeper->child = NULL;
	if (is_late(keeper))
		why = "the run ends";
	else if (keeper->starts < STARTS_MAX)
		err = start(keeper);
	if (keeper->child)
		return keeper->starts;
	strbuf_appendf(&text, "%s no more: %s", keeper->options.work,
		       err ? err->message : why);
	keeper_warn(keeper, strbuf_text(&text));
	return 0;
}

int keeper_pid(const struct keeper *keeper)
{
	return keeper->child ? confined_pid(keeper->child) : 0;
}

struct error *keeper_call(struct keeper *keeper, uint32_t number, const struct strbuf *in,
			  int fd, struct strbuf *out)
{
	if (!keeper_child(keeper))
		return error_create(ERROR_GONE, "%s no more", keeper->options.work);
	return confined_call(keeper->child, number, in, fd, out, NULL);
}

void keeper_cut_off(struct keeper *keeper, bool anew)
{
	_cleanup_(error_destroyp) struct error *err = NULL;

	keeper->child = NULL;
	/* Without it symbols have no names. */
	if (anew)
		err = start(keeper);
}
