// SPDX-License-Identifier: Apache-2.0
/*
 * generate-manual KIND TEMPLATE OUTPUT: write the man page or the completion of a shell.
 * Runs when memtrace is built, and is not installed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "manual/parts.h"
#include "util/cleanup.h"

static const struct {
	const char *name;
	const struct template_part *parts;
} kinds[] = {
	{"page", page_parts},
	{"bash", bash_parts},
	{"zsh", zsh_parts},
	{"fish", fish_parts},
};

static const struct template_part *find_parts(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!strcmp(kinds[i].name, name))
			return kinds[i].parts;
	}
	return NULL;
}

static struct error *read_file(const char *path, struct strbuf *ret)
{
	_cleanup_(fclosep) FILE *in = fopen(path, "re");
	char bytes[4096];
	size_t len;

	if (!in)
		return error_errno(ERROR_IO, errno, "cannot open %s", path);
	while ((len = fread(bytes, 1, sizeof(bytes), in)))
		strbuf_append_bytes(ret, bytes, len);
	return ferror(in) ? error_errno(ERROR_IO, errno, "cannot read %s", path) : NULL;
}

static struct error *write_file(const char *path, const struct strbuf *text)
{
	FILE *out = fopen(path, "we");

	if (!out)
		return error_errno(ERROR_IO, errno, "cannot create %s", path);
	fwrite(text->data, 1, text->len, out);
	if (ferror(out) | fclose(out))
		return error_errno(ERROR_IO, errno, "cannot write %s", path);
	return NULL;
}

static struct error *generate(const struct template_part *parts, const char *template,
			      const char *output)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0}, made = {0};
	struct error *err = read_file(template, &text);

	if (!err)
		err = error_prefix(template_expand(strbuf_text(&text), parts, &made),
				   "%s", template);
	return err ? err : write_file(output, &made);
}

int main(int argc, char *argv[])
{
	const struct template_part *parts = argc == 4 ? find_parts(argv[1]) : NULL;
	_cleanup_(error_destroyp) struct error *err = NULL;

	if (!parts) {
		fputs("usage: generate-manual page|bash|zsh|fish TEMPLATE OUTPUT\n",
		      stderr);
		return 2;
	}
	err = generate(parts, argv[2], argv[3]);
	if (err)
		fprintf(stderr, "generate-manual: %s\n", err->message);
	return err ? 1 : 0;
}
