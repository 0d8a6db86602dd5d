// SPDX-License-Identifier: Apache-2.0
#include "output/stripped_note.h"

#include "output/debug_packages.h"
#include "report/stripped.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/path.h"
#include "util/say_note.h"
#include "util/strbuf.h"

/* Files that a line names. */
#define NAMED_MAX 3u

/* Bound on the beginning of a line, with the names of files. */
#define FILES_MAX 70

struct candidate {
	const struct stripped_file *file;
	char *package; /* owned; NULL: unknown */
	bool is_packaged;
};

/* The files that the lines may name, those with most frames first. */
struct candidates {
	const struct stripped_note *note;
	struct candidate list[2 * NAMED_MAX];
	size_t count;
	size_t of[2]; /* in the list: other files, and files of packages by their path */
	size_t more[2]; /* not in the list */
	enum package_system system;
};

/* Are files there installed by packages? (Filesystem Hierarchy Standard 3.0, section 4:
 * /usr/local is for what the administrator installs.) */
static bool is_of_system(const char *path)
{
	static const char *const dirs[] = {"/usr/", "/lib/", "/lib64/", "/bin/",
					   "/sbin/"};

	if (!strncmp(path, "/usr/local/", strlen("/usr/local/")))
		return false;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (!strncmp(path, dirs[i], strlen(dirs[i])))
			return true;
	return false;
}

static void choose(struct candidates *from, const stripped_files *files)
{
	vec_foreach (file, files) {
		bool is_packaged = is_of_system(file->path);

		if (from->of[is_packaged] == NAMED_MAX) {
			from->more[is_packaged]++;
			continue;
		}
		from->of[is_packaged]++;
		from->list[from->count++] =
			(struct candidate){.file = file, .is_packaged = is_packaged};
	}
}

static bool is_of_here(const struct stripped_note *note, const struct stripped_file *file)
{
	return note->is_of_here && file->process &&
	       note->is_of_here(note->arg, file->process->pid);
}

static void find_packages(struct candidates *from)
{
	const char *root = from->note->root ? from->note->root : "";
	const char *paths[2 * NAMED_MAX];
	char *found[2 * NAMED_MAX] = {NULL};
	size_t places[2 * NAMED_MAX], count = 0;

	for (size_t i = 0; i < from->count; i++) {
		if (!is_of_here(from->note, from->list[i].file))
			continue;
		paths[count] = from->list[i].file->path;
		places[count++] = i;
	}
	if (!count)
		return;
	from->system = packages_system(root);
	if (from->system == PACKAGES_DPKG)
		packages_find(root, paths, count, found);
	for (size_t i = 0; i < count; i++) {
		struct candidate *candidate = &from->list[places[i]];

		candidate->package = found[i];
		candidate->is_packaged |= found[i] != NULL;
	}
}

/* The candidates that are in packages, or those that are not. Returns how many. */
static size_t choose_kind(const struct candidates *from, bool is_packaged,
			  const struct candidate *ret[2 * NAMED_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < from->count; i++)
		if (from->list[i].is_packaged == is_packaged)
			ret[count++] = &from->list[i];
	return count;
}

/* The first file, and others as long as the line stays short. */
static void append_files(struct strbuf *text, const struct candidate *const list[],
			 size_t count, size_t more)
{
	size_t i = 0;

	strbuf_append(text, "no function names in ");
	do {
		strbuf_append(text, i ? ", " : "");
		escape_text(text, path_base_name(list[i]->file->path));
	} while (++i < count && i < NAMED_MAX &&
		 text->len + strlen(path_base_name(list[i]->file->path)) < FILES_MAX);
	if (count - i + more)
		strbuf_appendf(text, " and %zu more", count - i + more);
}

static bool is_named_before(const struct candidate *const list[], size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (list[i]->package && !strcmp(list[i]->package, list[at]->package))
			return true;
	return false;
}

/* Append " of python3.11-minimal, libxml2 (NAME-dbgsym, or NAME-dbg)". */
static void append_packages(struct strbuf *text, const struct candidate *const list[],
			    size_t count, enum package_system system)
{
	const char *separator = " of ";

	for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
		if (!list[i]->package || is_named_before(list, i))
			continue;
		strbuf_append(text, separator);
		escape_text(text, list[i]->package);
		separator = ", ";
	}
	if (!strcmp(separator, ", "))
		strbuf_append(text, " (NAME-dbgsym, or -dbg)");
	else if (system == PACKAGES_RPM)
		strbuf_append(text, " (-debuginfo)");
	else
		strbuf_append(text, " (-dbgsym, -debuginfo)");
}

static void say_packaged(const struct candidates *from)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	const struct candidate *list[2 * NAMED_MAX];
	size_t count = choose_kind(from, true, list);

	if (!count)
		return;
	append_files(&text, list, count, from->more[true]);
	strbuf_append(&text, ": debug packages");
	append_packages(&text, list, count, from->system);
	say_note("%s have them%s", strbuf_text(&text),
		 from->note->is_stored ? "; unpack them to DIR and add --debug-dir DIR"
				       : "; --debuginfod fetches them");
}

/* Programs that no package has installed: their unstripped build has the names. It is
 * found by build-id. */
static void say_others(const struct candidates *from)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	const struct candidate *list[2 * NAMED_MAX];
	size_t count = choose_kind(from, false, list);

	if (!count)
		return;
	append_files(&text, list, count, from->more[false]);
	say_note(
		"%s: the file before it was stripped has them; %s", strbuf_text(&text),
		!list[0]->file->build_id
			? "trace that one, or link with -Wl,--build-id, so that memtrace "
			  "recognizes it"
		: from->note->is_stored
			? "put it below DIR and add --debug-dir DIR"
			: "use --save FILE, then --replay FILE --debug-dir DIR with that "
			  "file below DIR");
}

bool stripped_note_say(const struct stripped_note *note, const struct report *report)
{
	struct candidates from = {.note = note};
	stripped_files files = {0};
	struct error *err = report_find_stripped(report, &files);
	bool has_any = !err && files.len;

	if (has_any) {
		choose(&from, &files);
		find_packages(&from);
		say_others(&from);
		say_packaged(&from);
	}
	for (size_t i = 0; i < from.count; i++)
		free(from.list[i].package);
	error_destroy(err);
	vec_deinit(&files);
	return has_any;
}
