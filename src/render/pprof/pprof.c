// SPDX-License-Identifier: Apache-2.0
#include "render/formats.h"

#include <inttypes.h>

#include "render/class_words.h"
#include "render/pprof/parts.h"

static void write_profile(struct pprof_builder *b, const struct report *whole)
{
	const struct report *report = b->report;

	pprof_write_head(b);
	pprof_write_code(b);
	for (size_t s = 0; s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t r = 0; r < section->row_count && !b->failed; r++)
			pprof_write_row(b, section, &section->rows[r]);
	}
	if (b->folded && !b->failed)
		pprof_write_other(b, whole);
}

/* For each process: the first process with the same name. */
static uint32_t *find_firsts(const struct names *names)
{
	size_t count = names->snapshot->processes.len;
	uint32_t *firsts = calloc(count + 1, sizeof(*firsts));
	uint32_t *by_name = malloc((names->list.len + 1) * sizeof(*by_name));

	for (size_t i = 0; by_name && i < names->list.len; i++)
		by_name[i] = UINT32_MAX;
	for (uint32_t i = 0; by_name && firsts && i < count; i++) {
		uint32_t name = names_process(names, &names->snapshot->processes.data[i]);

		if (by_name[name] == UINT32_MAX)
			by_name[name] = i;
		firsts[i] = by_name[name];
	}
	if (!by_name) {
		free(firsts);
		firsts = NULL;
	}
	free(by_name);
	return firsts;
}

static void builder_deinit(struct pprof_builder *b)
{
	hashmap_deinit(&b->threads);
	names_deinit(&b->names);
	vec_deinit(&b->packed);
	vec_deinit(&b->stack);
	vec_deinit(&b->sample);
	vec_deinit(&b->units);
	vec_deinit(&b->parts);
	free(b->firsts);
	free(b->functions);
	free(b->mappings);
	free(b->locations);
}

/* Write the profile of b->report, a part of `whole`. With b->keeps_packed it stays in
 * b->packed. */
static struct error *build(struct pprof_builder *b, const struct report *whole, FILE *out)
{
	struct error *err = names_init(&b->names, b->report);

	/* Seed 0 is enough: the kernel chooses the tids, so nothing can force
	 * collisions. */
	hashmap_init(&b->threads, 0);
	if (!err && !(b->firsts = find_firsts(&b->names)))
		err = error_no_memory();
	if (!err && !b->keeps_packed)
		err = gzip_init(&b->gzip, out);
	if (err)
		return err;
	write_profile(b, whole);
	if (!b->keeps_packed) {
		pprof_flush(b);
		gzip_finish(&b->gzip);
		gzip_deinit(&b->gzip);
	}
	return b->failed ? error_no_memory() : NULL;
}

/* --- limits ------------------------------------------------------------------------- */

/* Leave out the rows of sections whose type the profile does not have. */
static void drop_sections(struct report *part, const struct pprof_options *options)
{
	const struct pprof_builder b = {.report = part, .options = options};

	for (size_t s = 0; s < part->section_count; s++)
		if (!pprof_has_value(&b, pprof_objects(part->sections[s].class)))
			part->sections[s].row_count = 0;
}

/* How many samples a row can have at most, if its blocks are not known. */
static size_t sample_count(const struct report_row *row)
{
	return row->process_count > 1 ? 1 + row->process_count : 1;
}

/* Keep the first rows of each section, until there are `most` samples. Returns the
 * number of other rows. */
static size_t keep_rows(struct report *part, size_t most)
{
	size_t samples = 0, folded = 0;

	for (size_t s = 0; s < part->section_count; s++) {
		struct report_section *section = &part->sections[s];
		size_t kept = 0;

		while (kept < section->row_count &&
		       samples + sample_count(&section->rows[kept]) <= most)
			samples += sample_count(&section->rows[kept++]);
		folded += section->row_count - kept;
		section->row_count = kept;
	}
	return folded;
}

static struct error *write_packed(struct pprof_builder *b, FILE *out)
{
	struct error *err = gzip_init(&b->gzip, out);

	if (err)
		return err;
	pprof_flush(b);
	gzip_finish(&b->gzip);
	gzip_deinit(&b->gzip);
	return NULL;
}

/* Write at most `samples` samples, if they fit into the limit of bytes. Otherwise nothing
 * is written, and *samples is a number that is likely to fit. */
static struct error *try_samples(const struct report *report,
				 const struct pprof_options *options, size_t *samples,
				 FILE *out)
{
	struct report part = *report;
	struct pprof_builder b = {
		.report = &part, .options = options, .keeps_packed = true};
	struct error *err;

	b.folded = keep_rows(&part, *samples);
	/* "[other]" is one, too. */
	if (b.folded && *samples > 1) {
		part = *report;
		b.folded = keep_rows(&part, *samples - 1);
	}
	err = build(&b, report, out);
	if (!err && options->max_bytes && b.packed.len > options->max_bytes &&
	    *samples > 1) {
		double share = (double)options->max_bytes / (double)b.packed.len;

		*samples = (size_t)((double)(*samples - 1) * share * 0.95) + 1;
	} else {
		*samples = 0;
		if (!err)
			err = write_packed(&b, out);
	}
	builder_deinit(&b);
	return err;
}

struct error *pprof_render(const struct report *report,
			   const struct pprof_options *options, FILE *out)
{
	struct report whole = *report;
	size_t samples = 0;
	struct error *err = NULL;

	drop_sections(&whole, options);
	if (!options->max_samples) {
		struct pprof_builder b = {.report = &whole, .options = options};

		err = build(&b, &whole, out);
		builder_deinit(&b);
		return err;
	}
	for (size_t s = 0; s < whole.section_count; s++)
		for (size_t r = 0; r < whole.sections[s].row_count; r++)
			samples += sample_count(&whole.sections[s].rows[r]);
	if (samples > options->max_samples)
		samples = options->max_samples;
	for (samples += !samples; samples && !err;)
		err = try_samples(&whole, options, &samples, out);
	return err;
}

static struct error *render_pprof(const struct report *report, FILE *out)
{
	return pprof_render(report, &(const struct pprof_options){0}, out);
}

const struct renderer pprof_renderer = {.name = "pprof", .render = render_pprof};
