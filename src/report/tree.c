// SPDX-License-Identifier: Apache-2.0
#include "report/tree.h"

#include "util/saturate.h"

struct maker {
	struct tree *tree;
	const struct tree_options *options;
	bool by_process;
	struct hashmap children; /* parent and group -> node */
	group_path path;
};

/* --- nodes -------------------------------------------------------------------------- */

static bool find_child(struct maker *m, uint32_t parent, uint32_t group, uint32_t *ret)
{
	const struct tree_node node = {.group = group, .parent = parent};
	uint64_t key = (uint64_t)parent << 32 | group, known = m->tree->nodes.len;

	*ret = 0;
	if (!hashmap_get(&m->children, key, &known) &&
	    (known >= TREE_NO_LINE || !vec_push(&m->tree->nodes, node) ||
	     !hashmap_put(&m->children, key, known)))
		return false;
	*ret = (uint32_t)known;
	return true;
}

static void add_to(struct maker *m, uint32_t node, const struct report_row *row)
{
	struct tree_node *to = &m->tree->nodes.data[node];

	to->bytes = saturate_add(to->bytes, row->sum.estimated_bytes);
	to->count = saturate_add(to->count, row->sum.estimated_count);
}

static bool go_down(struct maker *m, const struct report_row *row, uint32_t group,
		    uint32_t *node)
{
	if (!find_child(m, *node, group, node))
		return false;
	add_to(m, *node, row);
	return true;
}

static bool add_row(struct maker *m, const struct report_row *row)
{
	uint32_t node = 0, process;
	struct tree_node *end;

	if (!groups_path(&m->tree->groups, row, true, &m->path))
		return false;
	add_to(m, node, row);
	if (m->by_process && (!groups_process(&m->tree->groups, row, &process) ||
			      !go_down(m, row, process, &node)))
		return false;
	for (size_t i = 0, len = m->path.len; i < len; i++) {
		size_t at = m->options->callees_first ? i : len - 1 - i;

		if (!go_down(m, row, m->path.data[at], &node))
			return false;
	}
	end = &m->tree->nodes.data[node];
	end->flat_bytes = saturate_add(end->flat_bytes, row->sum.estimated_bytes);
	end->flat_count = saturate_add(end->flat_count, row->sum.estimated_count);
	return true;
}

static bool make_nodes(struct maker *m, const struct report_section *section)
{
	if (!vec_push(&m->tree->nodes, (struct tree_node){0}))
		return false;
	for (size_t i = 0; i < section->row_count; i++) {
		if (section->rows[i].sum.count && !add_row(m, &section->rows[i]))
			return false;
	}
	return true;
}

/* --- lines -------------------------------------------------------------------------- */

static bool is_large(const struct maker *m, const struct tree_node *node)
{
	return node->bytes >= m->options->min_bytes;
}

static bool is_mostly(uint64_t part, uint64_t whole)
{
	return (double)part * 100 > (double)whole * TREE_FOLD_PERCENT;
}

static void leave_out(struct tree_left_out *to, uint64_t bytes, uint64_t count)
{
	to->branches++;
	to->bytes = saturate_add(to->bytes, bytes);
	to->count = saturate_add(to->count, count);
}

/* `line_of` and `large_children` are by node. A parent comes before its children. */
static bool make_lines(struct maker *m, uint32_t *line_of, uint32_t *large_children)
{
	struct tree *tree = m->tree;
	struct tree_node *nodes = tree->nodes.data;

	for (uint32_t i = 1; i < tree->nodes.len; i++)
		large_children[nodes[i].parent] += is_large(m, &nodes[i]);
	line_of[0] = TREE_NO_LINE;
	for (uint32_t i = 1; i < tree->nodes.len; i++) {
		uint32_t parent = nodes[i].parent, above = line_of[parent];
		const struct tree_node *p = &nodes[parent];
		struct tree_line line = {.first = i,
					 .last = i,
					 .parent = above,
					 .flat_bytes = nodes[i].flat_bytes,
					 .bytes = nodes[i].bytes,
					 .count = nodes[i].count};

		line_of[i] = TREE_NO_LINE;
		if (!is_large(m, &nodes[i]))
			continue;
		if (parent && large_children[parent] == 1 &&
		    is_mostly(nodes[i].bytes, p->bytes) &&
		    (!p->flat_bytes || p->flat_bytes < m->options->min_bytes)) {
			struct tree_line *folded = &tree->lines.data[above];

			folded->last = i;
			folded->flat_bytes =
				saturate_add(folded->flat_bytes, nodes[i].flat_bytes);
			line_of[i] = above;
			continue;
		}
		line.depth = parent ? tree->lines.data[above].depth + 1 : 0;
		line_of[i] = (uint32_t)tree->lines.len;
		if (!vec_push(&tree->lines, line))
			return false;
	}
	return true;
}

/* --- choice and order of lines ------------------------------------------------------ */

/* `arg` is tree.lines.data. A line comes before those below it. */
static int compare_lines(const void *pa, const void *pb, void *arg)
{
	uint32_t x = *(const uint32_t *)pa, y = *(const uint32_t *)pb;
	const struct tree_line *lines = arg, *a = &lines[x], *b = &lines[y];

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* By line; TREE_NO_LINE: none. */
struct links {
	uint32_t first_child, next;
};

/* Show the largest lines until there are enough branches. `sorted`: by size. */
static void choose(struct maker *m, const uint32_t *sorted, struct links *links)
{
	struct tree *tree = m->tree;
	uint64_t limit = m->options->branches, ends = 0;

	for (size_t i = 0; i < tree->lines.len; i++) {
		struct tree_line *line = &tree->lines.data[sorted[i]];
		bool is_root = line->parent == TREE_NO_LINE;
		/* The first line below another one lengthens its branch. */
		bool is_new = is_root || links[line->parent].first_child != TREE_NO_LINE;

		if (limit && ends + is_new > limit)
			break;
		ends += is_new;
		line->is_shown = true;
		if (!is_root)
			links[line->parent].first_child = sorted[i];
	}
	vec_foreach (line, &tree->lines) {
		if (!line->is_shown && (line->parent == TREE_NO_LINE ||
					tree->lines.data[line->parent].is_shown))
			leave_out(&tree->beyond, line->bytes, line->count);
	}
}

/* Link the shown lines to their parents, largest first. Returns the first root. */
static uint32_t link_lines(struct tree *tree, const uint32_t *sorted, struct links *links)
{
	uint32_t root = TREE_NO_LINE;

	for (size_t i = 0; i < tree->lines.len; i++)
		links[i].first_child = TREE_NO_LINE;
	for (size_t i = tree->lines.len; i > 0; i--) {
		uint32_t at = sorted[i - 1];
		const struct tree_line *line = &tree->lines.data[at];
		uint32_t *first = line->parent == TREE_NO_LINE
					  ? &root
					  : &links[line->parent].first_child;

		if (!line->is_shown)
			continue;
		links[at].next = *first;
		*first = at;
	}
	return root;
}

static bool put_in_order(struct tree *tree, uint32_t root, const struct links *links)
{
	for (uint32_t at = root; at != TREE_NO_LINE;) {
		if (!vec_push(&tree->order, at))
			return false;
		if (links[at].first_child != TREE_NO_LINE) {
			at = links[at].first_child;
			continue;
		}
		while (at != TREE_NO_LINE && links[at].next == TREE_NO_LINE)
			at = tree->lines.data[at].parent;
		at = at == TREE_NO_LINE ? at : links[at].next;
	}
	return true;
}

/* Small branches below a line that is shown. */
static void count_small(struct maker *m, const uint32_t *line_of)
{
	struct tree *tree = m->tree;

	for (uint32_t i = 1; i < tree->nodes.len; i++) {
		const struct tree_node *node = &tree->nodes.data[i];
		uint32_t above = line_of[node->parent];

		if (line_of[i] == TREE_NO_LINE &&
		    (!node->parent ||
		     (above != TREE_NO_LINE && tree->lines.data[above].is_shown)))
			leave_out(&tree->small, node->bytes, node->count);
	}
}

static bool arrange(struct maker *m)
{
	struct tree *tree = m->tree;
	size_t count = tree->lines.len;
	/* One more, because calloc(0) may return NULL. */
	uint32_t *sorted = calloc(count + 1, sizeof(*sorted));
	struct links *links = calloc(count + 1, sizeof(*links));
	bool ok = sorted && links;

	for (uint32_t i = 0; ok && i < count; i++) {
		sorted[i] = i;
		links[i].first_child = TREE_NO_LINE;
	}
	if (ok) {
		qsort_r(sorted, count, sizeof(*sorted), compare_lines, tree->lines.data);
		choose(m, sorted, links);
		ok = put_in_order(tree, link_lines(tree, sorted, links), links);
	}
	free(sorted);
	free(links);
	return ok;
}

/* --- all of it ---------------------------------------------------------------------- */

static bool make(struct maker *m, const struct report_section *section)
{
	uint32_t *line_of, *large_children;
	bool ok;

	if (!make_nodes(m, section))
		return false;
	line_of = calloc(m->tree->nodes.len, sizeof(*line_of));
	large_children = calloc(m->tree->nodes.len, sizeof(*large_children));
	ok = line_of && large_children && make_lines(m, line_of, large_children) &&
	     arrange(m);
	if (ok)
		count_small(m, line_of);
	free(line_of);
	free(large_children);
	return ok;
}

struct error *tree_make(const struct report *report, const struct report_section *section,
			const struct tree_options *options, struct tree *ret)
{
	struct maker m = {
		.tree = ret,
		.options = options,
		.by_process =
			report->options.group_by_process && !report_is_of_one(report),
	};
	bool ok;

	*ret = (struct tree){.small = {0}};
	hashmap_init(&m.children, hashmap_seed());
	ok = groups_init(&ret->groups, report, REPORT_GROUP_FUNCTION) &&
	     make(&m, section);
	hashmap_deinit(&m.children);
	vec_deinit(&m.path);
	return ok ? NULL : error_no_memory();
}

void tree_deinit(struct tree *tree)
{
	groups_deinit(&tree->groups);
	vec_deinit(&tree->nodes);
	vec_deinit(&tree->lines);
	vec_deinit(&tree->order);
}
