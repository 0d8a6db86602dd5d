// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "manual/template.h"
#include "util/cleanup.h"

static void write_word(struct strbuf *to)
{
	strbuf_append(to, "word");
}

static void write_lines(struct strbuf *to)
{
	strbuf_append(to, "one\ntwo\n");
}

static const struct template_part parts[] = {
	{"A_WORD", write_word},
	{"LINES", write_lines},
	{NULL, NULL},
};

static void parts_are_filled_in(void)
{
	_cleanup_(strbuf_deinit) struct strbuf made = {0};
	_cleanup_(error_destroyp) struct error *err =
		template_expand("a @A_WORD@, @A_WORD@\n@LINES@\nend\n", parts, &made);

	CHECK(!err);
	CHECK_STR(strbuf_text(&made), "a word, word\none\ntwo\nend\n");
}

static void other_signs_are_copied(void)
{
	static const char text[] = "${(@)words} @ @@ @a@ @LINES @A_WORD@LINES@ x@";
	_cleanup_(strbuf_deinit) struct strbuf made = {0};
	_cleanup_(error_destroyp) struct error *err = template_expand(
		text, (struct template_part[]){parts[0], {NULL, NULL}}, &made);

	CHECK(!err);
	CHECK_STR(strbuf_text(&made), "${(@)words} @ @@ @a@ @LINES wordLINES@ x@");
}

static void mistakes_are_errors(void)
{
	_cleanup_(strbuf_deinit) struct strbuf made = {0};
	struct error *err = template_expand("@A_WORD@ @LINES@ @LINE@", parts, &made);

	REQUIRE(err);
	CHECK_STR(err->message, "@LINE@ is unknown");
	error_destroy(err);
	err = template_expand("@A_WORD@", parts, &made);
	REQUIRE(err);
	CHECK_STR(err->message, "@LINES@ is not in the template");
	error_destroy(err);
}

int main(void)
{
	RUN(parts_are_filled_in);
	RUN(other_signs_are_copied);
	RUN(mistakes_are_errors);
	return check_done();
}
