// SPDX-License-Identifier: Apache-2.0
#include "output/stripped_note.h"

#include "output/debug_packages.h"
#include "report/stripped.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/path.h"
#include "util/strbuf.h"

#define NAMED_MAX 3

/* Bound on the beginning of the line, with the names of files. */
#define FILES_MAX 80

/* The files that the line names. */
struct named {
	const struct stripped_note *note;
	const struct stripped_file *files[NAMED_MAX];
	char *packages[NAMED_MAX]; /* owned; NULL: unknown */
	size_t count, more;
	enum package_system system;
};

static bool is_of_here(const struct stripped_note *note, const struct stripped_file *file)
{
	return note->is_of_here && file->process &&
	       note->is_of_here(note->arg, file->process->pid);
}

static void find_packages(struct named *named)
{
	const char *root = named->note->root ? named->note->root : "";
	const char *paths[NAMED_MAX];
	char *found[NAMED_MAX] = {NULL};
	size_t places[NAMED_MAX], count = 0;

	for (size_t i = 0; i < named->count; i++) {
		if (!is_of_here(named->note, named->files[i]))
			continue;
		paths[count] = named->files[i]->path;
		places[count++] = i;
	}
	if (!count)
		return;
	named->system = packages_system(root);
	if (named->system == PACKAGES_DPKG)
		packages_find(root, paths, count, found);
	for (size_t i = 0; i < count; i++)
		named->packages[places[i]] = found[i];
}

/* The first file, and others as long as the line stays short. */
static void append_files(struct strbuf *text, const struct named *named)
{
	size_t i = 0;

	do {
		strbuf_append(text, i ? ", " : "");
		escape_text(text, path_base_name(named->files[i]->path));
	} while (++i < named->count &&
		 text->len + strlen(path_base_name(named->files[i]->path)) < FILES_MAX);
	if (named->count - i + named->more)
		strbuf_appendf(text, " and %zu more", named->count - i + named->more);
}

static bool is_named_before(const struct named *named, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (named->packages[i] &&
		    !strcmp(named->packages[i], named->packages[at]))
			return true;
	return false;
}

/* Append " of python3.11-minimal, libxml2 (NAME-dbgsym, or NAME-dbg)". */
static void append_packages(struct strbuf *text, const struct named *named)
{
	const char *separator = " of ";

	for (size_t i = 0; i < named->count; i++) {
		if (!named->packages[i] || is_named_before(named, i))
			continue;
		strbuf_append(text, separator);
		escape_text(text, named->packages[i]);
		separator = ", ";
	}
	if (!strcmp(separator, ", "))
		strbuf_append(text, " (NAME-dbgsym, or -dbg)");
	else if (named->system == PACKAGES_RPM)
		strbuf_append(text, " (-debuginfo)");
	else
		strbuf_append(text, " (-dbgsym, -debuginfo)");
}

bool stripped_note_say(const struct stripped_note *note, const struct report *report,
		       FILE *out)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	struct named named = {.note = note};
	stripped_files files = {0};
	struct error *err = report_find_stripped(report, &files);
	bool has_any = !err && files.len;

	if (has_any) {
		for (; named.count < files.len && named.count < NAMED_MAX; named.count++)
			named.files[named.count] = &files.data[named.count];
		named.more = files.len - named.count;
		find_packages(&named);
		strbuf_append(&text, "memtrace: no function names in ");
		append_files(&text, &named);
		strbuf_append(&text, ": debug packages");
		append_packages(&text, &named);
		fprintf(out, "%s have them%s\n", strbuf_text(&text),
			note->is_stored ? "; unpack them to DIR and add --debug-dir DIR"
					: "; --debuginfod fetches them");
	}
	for (size_t i = 0; i < named.count; i++)
		free(named.packages[i]);
	error_destroy(err);
	vec_deinit(&files);
	return has_any;
}
