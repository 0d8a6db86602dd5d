// SPDX-License-Identifier: Apache-2.0
#include "output/stripped_note.h"

#include "report/stripped.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/path.h"
#include "util/strbuf.h"

#define NAMED_MAX 3

static void append_files(struct strbuf *text, const stripped_files *files)
{
	for (size_t i = 0; i < files->len && i < NAMED_MAX; i++) {
		const struct stripped_file *file = &files->data[i];

		strbuf_append(text, i ? ", " : "");
		escape_text(text, path_base_name(file->path));
		if (file->build_id) {
			strbuf_append(text, " (build-id ");
			escape_text(text, file->build_id);
			strbuf_append(text, ")");
		}
	}
	if (files->len > NAMED_MAX)
		strbuf_appendf(text, " and %zu more", files->len - NAMED_MAX);
}

bool stripped_note_say(const struct report *report, bool is_stored, FILE *out)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	stripped_files files = {0};
	struct error *err = report_find_stripped(report, &files);
	bool has_any = !err && files.len;

	if (has_any) {
		append_files(&text, &files);
		fprintf(out,
			"memtrace: no function names in %s: debug packages (-dbgsym, "
			"-debuginfo) with these build-ids have them%s\n",
			strbuf_text(&text),
			is_stored ? "; unpack them to DIR and add --debug-dir DIR"
				  : "; --debuginfod fetches them");
	}
	error_destroy(err);
	vec_deinit(&files);
	return has_any;
}
