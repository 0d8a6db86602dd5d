// SPDX-License-Identifier: Apache-2.0
#include "frames/short_name.h"

#include <stdbool.h>

/* Rust nests "<<A as B>::C as D>::f". Deeper names are left out. */
#define NESTED_MAX 8

struct scan {
	const char *at, *end;
	struct strbuf *out;
	size_t start;     /* length of `out` when the scan began */
	size_t last_word; /* length of `out` behind the last space */
	bool has_parameters;
	unsigned depth; /* nested scans */
};

static void shorten(struct scan *scan);

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '$' || (c & 0x80);
}

static bool begins_with(const char *at, const char *end, const char *prefix)
{
	size_t len = strlen(prefix);

	return (size_t)(end - at) >= len && !memcmp(at, prefix, len);
}

static bool sees(const struct scan *scan, const char *prefix)
{
	return begins_with(scan->at, scan->end, prefix);
}

static bool has_written(const struct scan *scan, const char *suffix)
{
	size_t len = strlen(suffix), written = scan->out->len - scan->start;

	return written >= len &&
	       !memcmp(scan->out->data + scan->out->len - len, suffix, len);
}

static void copy(struct scan *scan, size_t len)
{
	strbuf_append_bytes(scan->out, scan->at, len);
	scan->at += len;
}

/* Length of the operator symbol at `at`, as in "operator<<"; 0: no operator symbol. */
static size_t symbol_len(const char *at, const char *end)
{
	/* Longer ones before their prefixes. */
	static const char *const symbols[] = {
		"<<=", ">>=", "<=>", "->*", "<<", ">>", "<=", ">=", "->", "==",
		"!=",  "&&",  "||",  "++",  "--", "+=", "-=", "*=", "/=", "%=",
		"^=",  "&=",  "|=",  "()",  "[]", "<",  ">",  "+",  "-",  "*",
		"/",   "%",   "^",   "&",   "|",  "~",  "!",  "=",  ",",
	};

	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		if (begins_with(at, end, symbols[i]))
			return strlen(symbols[i]);
	}
	return 0;
}

/* Is there the word "operator" at `at`? `begin` is where the text begins. */
static bool is_operator(const char *begin, const char *at, const char *end)
{
	static const char word[] = "operator";
	const size_t len = sizeof(word) - 1;

	return *at == 'o' && begins_with(at, end, word) &&
	       (at == begin || !is_word_char(at[-1])) && at + len < end &&
	       !is_word_char(at[len]);
}

/* The end of the group that begins at `at` with a bracket; `end` if it is not closed. In
 * parentheses '<' and '>' are comparisons. */
static const char *group_end(const char *at, const char *end)
{
	const char open = *at, *begin = at;
	const char close = open == '('   ? ')'
			   : open == '<' ? '>'
			   : open == '[' ? ']'
					 : '}';
	size_t depth = 0, parentheses = 0;

	for (; at < end; at++) {
		if (open == '<' && !parentheses && is_operator(begin, at, end)) {
			at += strlen("operator");
			at += symbol_len(at, end);
			at--;
			continue;
		}
		if (open == '<' && (*at == '(' || *at == ')')) {
			parentheses += *at == '(' ? 1 : parentheses ? -(size_t)1 : 0;
			continue;
		}
		if (parentheses || (*at == '>' && at > begin && at[-1] == '-'))
			continue;
		if (*at == open)
			depth++;
		else if (*at == close && --depth == 0)
			return at + 1;
	}
	return end;
}

static void skip_group(struct scan *scan)
{
	scan->at = group_end(scan->at, scan->end);
}

/* Skip what may follow the parameters of a member function. */
static void skip_qualifiers(struct scan *scan)
{
	static const char *const words[] = {" const", " volatile", " noexcept", " &&",
					    " &",     "&&",        "&"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (sees(scan, words[i])) {
			scan->at += strlen(words[i]);
			i = (size_t)-1;
		}
	}
}

static void copy_operator(struct scan *scan)
{
	size_t len;

	copy(scan, strlen("operator"));
	len = symbol_len(scan->at, scan->end);
	if (len) {
		copy(scan, len);
	} else {
		/* "operator new[]", "operator bool", "operator\"\"_s". */
		while (scan->at < scan->end && *scan->at != '(') {
			if (*scan->at == '<')
				skip_group(scan);
			else if (sees(scan, "[abi:"))
				skip_group(scan);
			else
				copy(scan, 1);
		}
	}
	if (sees(scan, " <"))
		scan->at++;
}

/* The lambda is the function: skip its "::operator()". */
static void skip_call_operator(struct scan *scan)
{
	if (sees(scan, "::operator()"))
		scan->at += strlen("::operator()");
}

/* "{lambda(int)#1}", "{{closure}}". */
static void copy_braces(struct scan *scan)
{
	const char *end = group_end(scan->at, scan->end);

	while (scan->at < end) {
		if (*scan->at == '(')
			scan->at = group_end(scan->at, end);
		else
			copy(scan, 1);
	}
	skip_call_operator(scan);
}

/* "<T as Trait>" or "<T>" at the begin of a name of Rust: the type stands for it. */
static void shorten_qualified(struct scan *scan)
{
	const char *end = group_end(scan->at, scan->end), *at = scan->at + 1;
	struct scan inner = {.at = at, .out = scan->out, .depth = scan->depth + 1};
	size_t depth = 0;

	inner.start = inner.last_word = scan->out->len;
	for (; at < end; at++) {
		if (*at == '<' || *at == '(')
			depth++;
		else if ((*at == '>' && at[-1] != '-') || *at == ')')
			depth -= depth > 0;
		if (at + 1 == end || (!depth && begins_with(at, end, " as ")))
			break;
	}
	inner.end = at;
	if (inner.depth <= NESTED_MAX && inner.at < inner.end)
		shorten(&inner);
	scan->at = end;
}

static void shorten_angle(struct scan *scan)
{
	if (sees(scan, "<lambda")) {
		/* As GCC has it in DWARF. */
		skip_group(scan);
		strbuf_append(scan->out, "{lambda}");
		skip_call_operator(scan);
	} else if (scan->out->len == scan->start) {
		shorten_qualified(scan);
	} else {
		/* Rust: "collect::<Vec<T>>". */
		if (has_written(scan, "::"))
			scan->out->len -= 2;
		skip_group(scan);
	}
}

static void shorten_parentheses(struct scan *scan)
{
	static const char anonymous[] = "(anonymous namespace)";

	if (sees(scan, anonymous)) {
		scan->at += strlen(anonymous);
		scan->at += sees(scan, "::") ? 2 : 0;
	} else if (scan->out->len == scan->start ||
		   (has_written(scan, ".") && sees(scan, "(*"))) {
		/* "(unknown)"; of Go "main.(*Server).serve". */
		copy(scan, (size_t)(group_end(scan->at, scan->end) - scan->at));
	} else {
		scan->has_parameters |= !has_written(scan, " ");
		skip_group(scan);
		skip_qualifiers(scan);
	}
}

static void shorten_bracket(struct scan *scan)
{
	if (scan->out->len == scan->start)
		copy(scan, (size_t)(group_end(scan->at, scan->end) - scan->at));
	else
		skip_group(scan);
}

/* Is the rest only suffixes of copies that the compiler made of a function? */
static bool is_at_copy_suffix(const struct scan *scan)
{
	static const char *const suffixes[] = {".isra.",     ".constprop.", ".part.",
					       ".lto_priv.", ".cold",       ".llvm."};

	if (*scan->at != '.')
		return false;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		if (sees(scan, suffixes[i]))
			return scan->out->len > scan->start;
	}
	return false;
}

/* "::h0123456789abcdef" at the end. */
static bool is_at_rust_hash(const struct scan *scan)
{
	const size_t len = strlen("::h") + 16;

	if ((size_t)(scan->end - scan->at) != len || !sees(scan, "::h"))
		return false;
	for (size_t i = 3; i < len; i++) {
		char c = scan->at[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return false;
	}
	return true;
}

/* Skip the inline namespaces of the C++ libraries, behind "::". */
static void skip_inline_namespace(struct scan *scan)
{
	static const char *const inner[] = {
		"__cxx11::", "__1::", "__ndk1::", "__debug::"};

	for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++)
		scan->at += sees(scan, inner[i]) ? strlen(inner[i]) : 0;
}

/* Skip what hides a well-known name of the C++ library, behind "std::". */
static void skip_library_detail(struct scan *scan)
{
	const char *word;

	if (!sees(scan, "basic_"))
		return;
	word = scan->at + strlen("basic_");
	for (const char *at = word; at < scan->end; at++) {
		if (is_word_char(*at))
			continue;
		if (begins_with(at, scan->end, "<wchar_t"))
			strbuf_append_char(scan->out, 'w');
		else if (!begins_with(at, scan->end, "<char,") &&
			 !begins_with(at, scan->end, "<char>"))
			return;
		scan->at = word;
		return;
	}
}

/* Copy a word, and what follows it up to the next character of interest. */
static void copy_word(struct scan *scan)
{
	const char *at = scan->at;

	if (sees(scan, "$_") && has_written(scan, "::")) {
		/* A lambda, as clang names it. */
		while (scan->at < scan->end && is_word_char(*scan->at))
			scan->at++;
		strbuf_append(scan->out, "{lambda}");
		skip_call_operator(scan);
		return;
	}
	while (at < scan->end && is_word_char(*at))
		at++;
	copy(scan, at == scan->at ? 1 : (size_t)(at - scan->at));
	if (has_written(scan, "::"))
		skip_inline_namespace(scan);
	if (has_written(scan, "std::"))
		skip_library_detail(scan);
}

static void shorten(struct scan *scan)
{
	const char *begin = scan->at;

	while (scan->at < scan->end && !is_at_copy_suffix(scan)) {
		if (is_at_rust_hash(scan) || sees(scan, " [clone "))
			break;
		if (is_operator(begin, scan->at, scan->end))
			copy_operator(scan);
		else if (*scan->at == '<')
			shorten_angle(scan);
		else if (*scan->at == '(')
			shorten_parentheses(scan);
		else if (*scan->at == '[')
			shorten_bracket(scan);
		else if (*scan->at == '{')
			copy_braces(scan);
		else
			copy_word(scan);
		if (has_written(scan, " ") && scan->at[-1] == ' ')
			scan->last_word = scan->out->len;
	}
}

/* Remove `len` bytes from `from` on. */
static void cut(struct strbuf *out, size_t from, size_t len)
{
	if (out->failed || !len)
		return;
	memmove(out->data + from, out->data + from + len, out->len - from - len + 1);
	out->len -= len;
}

/* "github.com/acme/shop/store.(*DB).Put": the last part of the path is the package. */
static void cut_go_path(struct scan *scan, const char *name)
{
	const char *text, *slash = NULL;

	if (scan->out->failed || strchr(name, ':') || strchr(name, ' ') ||
	    strstr(name, "operator"))
		return;
	text = scan->out->data + scan->start;
	for (const char *at = text; *at && *at != '('; at++) {
		if (*at == '/')
			slash = at;
	}
	if (slash && slash > text && strchr(slash, '.') && slash[1] != '.')
		cut(scan->out, scan->start, (size_t)(slash + 1 - text));
}

void short_name_append(struct strbuf *out, const char *name)
{
	struct scan scan = {
		.at = name,
		.end = name + strlen(name),
		.out = out,
		.start = out->len,
		.last_word = out->len,
	};

	if (!*name)
		return;
	shorten(&scan);
	if (out->failed)
		return;
	/* Only a function with parameters is shown with its return type. */
	if (scan.has_parameters && scan.last_word < out->len)
		cut(out, scan.start, scan.last_word - scan.start);
	while (out->len > scan.start && out->data[out->len - 1] == ' ')
		out->len--;
	if (out->len == scan.start)
		strbuf_append(out, name);
	else
		out->data[out->len] = '\0';
	cut_go_path(&scan, name);
}
