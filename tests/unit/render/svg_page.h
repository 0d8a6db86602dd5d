/* SPDX-License-Identifier: Apache-2.0 */
/* For unit.render.flame: draws a flame graph, parses it as XML and finds its frames. */
#ifndef TESTS_UNIT_RENDER_SVG_PAGE_H
#define TESTS_UNIT_RENDER_SVG_PAGE_H

#include <expat.h>

#include "fixture.h"
#include "render/flame/flame.h"
#include "util/strbuf.h"

/* A frame of the graph. */
struct svg_frame {
	size_t level;
	uint64_t offset, bytes, blocks;
	/* Hundredths of a pixel. */
	long x, width, y;
	char *title;
};

struct page {
	VEC(struct svg_frame) frames;
	VEC(char *) elements; /* names of all elements, in order */
	struct strbuf title;
	bool in_frame, in_title;
};

static inline const char *attribute(const XML_Char **attributes, const char *name)
{
	for (; *attributes; attributes += 2) {
		if (!strcmp(attributes[0], name))
			return attributes[1];
	}
	REQUIRE(!"the attribute is there");
	return "";
}

static inline long hundredths(const char *text)
{
	char *end;
	long whole = strtol(text, &end, 10);

	if (!*end)
		return whole * 100;
	/* Always two decimals. */
	REQUIRE(*end == '.' && strlen(end) == 3);
	return whole * 100 + strtol(end + 1, NULL, 10);
}

static inline void XMLCALL start_element(void *arg, const XML_Char *name,
					 const XML_Char **attributes)
{
	struct page *page = arg;

	REQUIRE(vec_push(&page->elements, strdup(name)));
	for (const XML_Char **at = attributes; *at; at += 2) {
		/* Only the script's event handlers, and no external content. */
		CHECK(strncmp(at[0], "on", 2) && !strstr(at[0], "href") &&
		      strcmp(at[0], "src") && !strstr(at[1], "url("));
	}
	if (!strcmp(name, "g") && !strcmp(attribute(attributes, "class"), "f")) {
		struct svg_frame frame = {
			.level = strtoul(attribute(attributes, "data-l"), NULL, 10),
			.offset = strtoull(attribute(attributes, "data-o"), NULL, 10),
			.bytes = strtoull(attribute(attributes, "data-b"), NULL, 10),
			.blocks = strtoull(attribute(attributes, "data-n"), NULL, 10),
		};

		REQUIRE(vec_push(&page->frames, frame));
		page->in_frame = true;
	} else if (!strcmp(name, "rect") && page->in_frame) {
		struct svg_frame *frame = &page->frames.data[page->frames.len - 1];

		frame->x = hundredths(attribute(attributes, "x"));
		frame->y = hundredths(attribute(attributes, "y"));
		frame->width = hundredths(attribute(attributes, "width"));
	}
	page->in_title = !strcmp(name, "title") && page->in_frame;
}

static inline void XMLCALL end_element(void *arg, const XML_Char *name)
{
	struct page *page = arg;

	if (page->in_title) {
		page->frames.data[page->frames.len - 1].title =
			strbuf_steal(&page->title);
		page->in_title = false;
	}
	if (!strcmp(name, "g"))
		page->in_frame = false;
}

static inline void XMLCALL text(void *arg, const XML_Char *data, int len)
{
	struct page *page = arg;

	if (page->in_title)
		strbuf_append_bytes(&page->title, data, (size_t)len);
}

static inline void page_deinit(struct page *page)
{
	vec_foreach (frame, &page->frames)
		free(frame->title);
	vec_foreach (name, &page->elements)
		free(*name);
	vec_deinit(&page->frames);
	vec_deinit(&page->elements);
	strbuf_deinit(&page->title);
}

static enum report_form name_form = REPORT_FORM_FULL;

static inline char *render(struct fixture *f, const struct flame_options *options)
{
	char *svg = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&svg, &len);

	if (!f->report)
		fixture_report(f);
	/* The names of collapsed stacks. */
	f->report->options.names = name_form;
	REQUIRE(out);
	REQUIRE(!flame_render(f->report, options, out));
	REQUIRE(!fclose(out));
	CHECK_INT(strlen(svg), len);
	return svg;
}

static inline struct page parse(const char *svg)
{
	struct page page = {0};
	XML_Parser parser = XML_ParserCreate(NULL);

	REQUIRE(parser);
	XML_SetUserData(parser, &page);
	XML_SetElementHandler(parser, start_element, end_element);
	XML_SetCharacterDataHandler(parser, text);
	if (XML_Parse(parser, svg, (int)strlen(svg), 1) != XML_STATUS_OK)
		CHECK_FAIL("line %lu: %s", XML_GetCurrentLineNumber(parser),
			   XML_ErrorString(XML_GetErrorCode(parser)));
	XML_ParserFree(parser);
	return page;
}

static inline struct page draw(struct fixture *f, bool inverted, bool reverse)
{
	struct flame_options options = {.inverted = inverted, .reverse = reverse};
	_cleanup_(freep) char *svg = render(f, &options);

	return parse(svg);
}

static inline bool has_name(const struct svg_frame *frame, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(frame->title, name, len) && frame->title[len] == '\n';
}

static inline const struct svg_frame *find(const struct page *page, size_t level,
					   const char *name)
{
	vec_foreach (frame, &page->frames) {
		if (frame->level == level && has_name(frame, name))
			return frame;
	}
	CHECK_FAIL("no frame %s at level %zu", name, level);
	exit(1);
}

/* The frame that contains `frame`, or NULL for the frame of all memory. */
static inline const struct svg_frame *parent(const struct page *page,
					     const struct svg_frame *frame)
{
	const struct svg_frame *found = NULL;

	vec_foreach (other, &page->frames) {
		if (other->level + 1 == frame->level && other->offset <= frame->offset &&
		    frame->offset + frame->bytes <= other->offset + other->bytes) {
			CHECK(!found);
			found = other;
		}
	}
	CHECK(found || !frame->level);
	return found;
}

/* The path of a frame, "root;...;name", as in collapsed stacks. */
static inline void path_of(const struct page *page, const struct svg_frame *frame,
			   struct strbuf *ret)
{
	if (frame->level > 1) {
		path_of(page, parent(page, frame), ret);
		strbuf_append_char(ret, ';');
	}
	strbuf_append_bytes(ret, frame->title, strcspn(frame->title, "\n"));
}

/* The bytes of the lines whose stack begins with `path`; `self`: whose stack is
 * `path`. */
static inline uint64_t collapsed_bytes(const char *collapsed, const char *path, bool self)
{
	size_t len = strlen(path);
	uint64_t sum = 0;

	while (*collapsed) {
		const char *end = strchr(collapsed, '\n');
		const char *space = memrchr(collapsed, ' ', (size_t)(end - collapsed));
		bool same = !strncmp(collapsed, path, len);

		if (same &&
		    (collapsed + len == space || (!self && collapsed[len] == ';')))
			sum += strtoull(space + 1, NULL, 10);
		collapsed = end + 1;
	}
	return sum;
}

static inline void check_frame(const struct page *page, const struct svg_frame *frame,
			       const char *collapsed)
{
	_cleanup_(strbuf_deinit) struct strbuf path = {0};
	uint64_t bytes = 0, blocks = 0;
	long width = 0;

	path_of(page, frame, &path);
	CHECK_INT(frame->bytes, collapsed_bytes(collapsed, strbuf_text(&path), false));
	vec_foreach (child, &page->frames) {
		if (child->level != frame->level + 1 || parent(page, child) != frame)
			continue;
		bytes += child->bytes;
		blocks += child->blocks;
		width += child->width;
		CHECK(child->x >= frame->x);
		CHECK(child->x + child->width <= frame->x + frame->width);
	}

	uint64_t self = collapsed_bytes(collapsed, strbuf_text(&path), true);

	CHECK_INT(bytes + self, frame->bytes);
	CHECK(blocks <= frame->blocks);
	/* Exact to the hundredth, so that no gaps appear. */
	if (!self && bytes)
		CHECK_INT(width, frame->width);
	else
		CHECK(width <= frame->width);
}

#endif
