// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "render/class_words.h"
#include "render/text/groups.h"
#include "render/text/rows.h"
#include "render/text_words.h"
#include "render/text/wrap.h"
#include "render/texts.h"
#include "render/views/all.h"
#include "report/tree.h"
#include "util/vec.h"

/* Branches with a smaller share of the live bytes are left out. */
#define SHARE_DIVISOR 100
#define SHARE_TEXT    "1 %"

/* Deeper lines are not indented further; their depth is written instead. */
#define INDENT_MAX 40

/* A chain of functions goes on on a further line after so many columns. */
#define CHAIN_COLUMNS 100
/* On a terminal it goes on where the terminal ends, if that leaves so many columns. */
#define CHAIN_COLUMNS_MIN 20

/* The column of the outermost function. */
#define NAME_COLUMN 42

struct tree_text {
	struct text_page *page;
	const struct report_section *section;
	const struct tree *tree;
	struct texts names;  /* of the groups, in their order */
	VEC(size_t) widths;  /* columns of the names */
	VEC(uint32_t) chain; /* the nodes of a line, from its first on */
	size_t indent;       /* columns of the line's functions */
	size_t used;         /* columns of the current line of the chain */
};

static const struct group *group_of(const struct tree_text *t, uint32_t node)
{
	return &t->tree->groups.list.data[t->tree->nodes.data[node].group];
}

/* A name may be long and in many lines: escape it once. */
static bool make_names(struct tree_text *t)
{
	const struct groups *groups = &t->tree->groups;

	vec_foreach (group, &groups->list) {
		size_t width =
			text_append_group(&t->names.all, t->page->report, groups, group);

		texts_end(&t->names);
		if (!vec_push(&t->widths, width))
			return false;
	}
	return !t->names.all.failed;
}

static bool collect_chain(struct tree_text *t, const struct tree_line *line)
{
	t->chain.len = 0;
	for (uint32_t at = line->last;; at = t->tree->nodes.data[at].parent) {
		if (!vec_push(&t->chain, at))
			return false;
		if (at == line->first)
			break;
	}
	for (size_t i = 0, k = t->chain.len; i + 1 < k; i++) {
		uint32_t outer = t->chain.data[--k];

		t->chain.data[k] = t->chain.data[i];
		t->chain.data[i] = outer;
	}
	return true;
}

/* How often the function calls itself in the chain from `at` on. */
static size_t count_recursion(const struct tree_text *t, size_t at)
{
	const struct tree_node *nodes = t->tree->nodes.data;
	uint32_t group = nodes[t->chain.data[at]].group;
	size_t end = at + 1;

	while (end < t->chain.len && nodes[t->chain.data[end]].group == group)
		end++;
	return end - at;
}

/* Does the node above have the same module? Then it is not written again. */
static bool has_module_of_parent(const struct tree_text *t, uint32_t node)
{
	uint32_t parent = t->tree->nodes.data[node].parent;

	return parent && group_of(t, parent)->kind == GROUP_CODE &&
	       group_of(t, parent)->module == group_of(t, node)->module;
}

static void append_function(struct tree_text *t, uint32_t node, size_t times)
{
	struct text_page *page = t->page;
	const struct groups *groups = &t->tree->groups;
	uint32_t group = t->tree->nodes.data[node].group;
	size_t before;

	text_set_style(page, TEXT_FUNCTION);
	strbuf_append(&page->text, texts_get(&t->names, group));
	t->used += t->widths.data[group];
	text_set_style(page, TEXT_PLAIN);
	before = page->text.len;
	if (times > 1)
		strbuf_appendf(&page->text, " (%zu times)", times);
	if (!has_module_of_parent(t, node))
		text_append_group_place(&page->text, page->report, groups,
					group_of(t, node));
	t->used += page->text.len - before;
}

/* Does the next function have to go to a new line? */
static bool is_full(const struct tree_text *t, size_t next)
{
	size_t columns = text_columns(&t->page->report->options);
	size_t start = NAME_COLUMN + t->indent;
	size_t width = t->widths.data[t->tree->nodes.data[t->chain.data[next]].group];

	/* A terminal that is very narrow breaks lines itself. */
	if (!columns || columns < start + CHAIN_COLUMNS_MIN)
		return t->used > CHAIN_COLUMNS;
	return t->used && start + t->used + strlen(" > ") + width > columns;
}

/* The column where a further line begins with the function `next` and the mark before it:
 * below the first function, or where the function fits a terminal. */
static size_t line_start(const struct tree_text *t, size_t next)
{
	size_t columns = text_columns(&t->page->report->options);
	size_t start = NAME_COLUMN + t->indent;
	size_t width = strlen("> ") +
		       t->widths.data[t->tree->nodes.data[t->chain.data[next]].group];

	if (!columns || start + width <= columns)
		return start;
	return width < columns ? columns - width : 0;
}

static void append_chain(struct tree_text *t)
{
	struct strbuf *text = &t->page->text;
	const char *mark = t->page->report->options.callees_first ? "< " : "> ";

	t->used = 0;
	for (size_t i = 0, times; i < t->chain.len; i += times) {
		times = count_recursion(t, i);
		if (i && is_full(t, i)) {
			strbuf_appendf(text, "\n%*s", (int)line_start(t, i), "");
			t->used = 0;
		}
		if (i) {
			strbuf_appendf(text, t->used ? " %s" : "%s", mark);
			t->used += t->used ? 3 : 2;
		}
		append_function(t, t->chain.data[i], times);
	}
	strbuf_append_char(text, '\n');
}

static void append_line(struct tree_text *t, const struct tree_line *line)
{
	struct text_page *page = t->page;
	uint64_t live = t->section->live.estimated_bytes;

	if (!collect_chain(t, line)) {
		page->text.failed = true;
		return;
	}
	strbuf_appendf(&page->text, "  %10s %7s %10s %8" PRIu64 "  ",
		       units_format_bytes(line->bytes).s,
		       text_format_share(line->bytes, live).s,
		       units_format_bytes(line->flat_bytes).s, line->count);
	t->indent = 2 * (size_t)(line->depth < INDENT_MAX ? line->depth : INDENT_MAX);
	strbuf_appendf(&page->text, "%*s", (int)t->indent, "");
	if (line->depth > INDENT_MAX)
		strbuf_appendf(&page->text, "(depth %" PRIu32 ") ", line->depth);
	append_chain(t);
	text_flush_some(page);
}

static void append_left_out(struct tree_text *t, const struct tree_left_out *left_out,
			    const char *why)
{
	if (!left_out->branches)
		return;
	strbuf_appendf(&t->page->text,
		       "  ... %" PRIu64 " more %s with %s in %" PRIu64
		       " %s, %s (--top 0 lists all)\n",
		       left_out->branches,
		       text_plural(left_out->branches, "branch", "branches"),
		       units_format_bytes(left_out->bytes).s, left_out->count,
		       class_blocks(t->section->class, left_out->count), why);
}

static void append_tree(struct tree_text *t)
{
	struct text_page *page = t->page;
	const struct report_options *options = &page->report->options;
	char why[64];

	text_append_heading(page, "Call tree%s, %s first",
			    class_words(t->section->class)->among,
			    options->callees_first ? "callees" : "callers");
	if (!t->tree->lines.len) {
		strbuf_append(&page->text, "  none\n");
		return;
	}
	strbuf_appendf(&page->text, "  %10s   share %10s   blocks  function\n",
		       "cumulative", "flat");
	vec_foreach (line, &t->tree->order)
		append_line(t, &t->tree->lines.data[*line]);
	append_left_out(t, &t->tree->small, "each below " SHARE_TEXT);
	snprintf(why, sizeof(why), "beyond the %" PRIu64 " largest", options->entries);
	append_left_out(t, &t->tree->beyond, why);
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	const struct report_options *options = &page->report->options;
	const struct tree_options wanted = {
		.callees_first = options->callees_first,
		.min_bytes = options->entries
				     ? section->live.estimated_bytes / SHARE_DIVISOR
				     : 0,
		.branches = options->entries,
	};
	struct tree tree;
	struct tree_text t = {.page = page, .section = section, .tree = &tree};
	struct error *err = tree_make(page->report, section, &wanted, &tree);

	if (err || !make_names(&t))
		page->text.failed = true;
	else
		append_tree(&t);
	error_destroy(err);
	vec_deinit(&t.chain);
	vec_deinit(&t.widths);
	texts_deinit(&t.names);
	tree_deinit(&tree);
}

const struct view_ops view_tree = {
	.name = "tree",
	.sort = REPORT_SORT_CUMULATIVE,
	.sorts = 1u << REPORT_SORT_CUMULATIVE,
	.sorts_words = "one order, by cumulative size",
	.all_rows = true,
	.is_tree = true,
	.append_text = append_text,
};
