// SPDX-License-Identifier: Apache-2.0
/* Each class of blocks has a complete row of words, and a report has a section for each
 * class of its snapshot. */
#include "unit/render/fixture.h"

#include "render/class_words.h"

static void every_class_has_words(void)
{
	for (int i = 0; i < BLOCK_CLASS_COUNT; i++) {
		const struct class_words *w = class_words((enum block_class)i);

		CHECK(w->name && w->csv && w->measure && w->innermost);
		CHECK(w->of_sections && w->of_sections_many);
		if (!w->is_live)
			continue;
		CHECK(w->title && w->heading && w->block && w->blocks && w->of_sizes);
		CHECK(w->allocation && w->allocations && w->among && w->stacks);
		CHECK(w->origin && w->made && w->gone && w->free && w->frees);
	}
}

/* The classes in order, a letter for each section. */
static void check_sections(bool heap_untraced, bool has_event, bool has_mappings,
			   bool has_kernel, const char *want)
{
	static const char letters[BLOCK_CLASS_COUNT] = {'h', 'm', 'e', 'k'};
	char got[BLOCK_CLASS_COUNT + 1] = "";
	struct fixture f;
	const struct report *report;

	fixture_init(&f);
	f.snap->heap_untraced = heap_untraced;
	f.snap->event = has_event ? strdup("profile:hz:9") : NULL;
	f.snap->mappings_traced = has_mappings;
	f.snap->kernel_traced = has_kernel;
	report = fixture_report(&f);
	REQUIRE(report->section_count <= BLOCK_CLASS_COUNT);
	for (size_t i = 0; i < report->section_count; i++)
		got[i] = letters[report->sections[i].class];
	CHECK_STR(got, want);
	CHECK_INT(snapshot_main_class(f.snap), report->sections[0].class);
	fixture_deinit(&f);
}

static void every_class_has_a_section(void)
{
	check_sections(false, false, false, false, "h");
	check_sections(false, false, true, false, "hm");
	check_sections(false, false, true, true, "hmk");
	check_sections(false, true, false, false, "e");
	check_sections(false, true, true, false, "em");
	check_sections(true, false, false, true, "k");
	/* Only files that nobody wrote with --save have these. */
	check_sections(true, false, false, false, "k");
	check_sections(true, true, false, true, "k");
	check_sections(true, false, true, true, "mk");
}

static void the_kernel_is_a_subject(void)
{
	CHECK_STR(class_words(BLOCK_KERNEL)->subject, "kernel");
	CHECK(!class_words(BLOCK_HEAP)->subject && !class_words(BLOCK_EVENT)->subject);
	CHECK(!class_words(BLOCK_EVENT)->is_live);
}

int main(void)
{
	RUN(every_class_has_words);
	RUN(every_class_has_a_section);
	RUN(the_kernel_is_a_subject);
	return check_done();
}
