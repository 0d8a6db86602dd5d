// SPDX-License-Identifier: Apache-2.0
/* Short forms of function names, as demangled by libiberty or written by compilers. */
#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "frames/short_name.h"
#include "symbol/demangle.h"
#include "util/cleanup.h"

static void check(const char *name, const char *want)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	/* The short name is appended to the text. */
	strbuf_append(&text, "at ");
	short_name_append(&text, name);
	REQUIRE(!text.failed && !strncmp(strbuf_text(&text), "at ", 3));
	CHECK_STR(strbuf_text(&text) + 3, want);
	CHECK(strlen(want) <= strlen(name));
}

static void check_mangled(const char *mangled, const char *want)
{
	_cleanup_(freep) char *name = demangle(mangled);

	REQUIRE(name);
	check(name, want);
}

static void c(void)
{
	check("process_command", "process_command");
	check("main", "main");
	check("", "");
	check("parse.isra.0", "parse");
	check("parse.constprop.0.isra.1", "parse");
	check("parse.cold", "parse");
	check(".cold", ".cold");
	check("operators", "operators");
	check("my_operator", "my_operator");
}

static void templates(void)
{
	check("Cache::insert(std::string const&)", "Cache::insert");
	check("void Shop::add<int, std::vector<int> >(int) const", "Shop::add");
	check("std::vector<int, std::allocator<int> >::push_back(int const&)",
	      "std::vector::push_back");
	check("std::map<int, a<(b)1> >::~map()", "std::map::~map");
	check("Grid<(1>2), 3>::at(int) const &", "Grid::at");
	check("decltype ((x).y) call<f>(int)", "call");
	check("non-virtual thunk to Shop::add(int)", "Shop::add");
	check("(anonymous namespace)::grow(int)", "grow");
	check("a::(anonymous namespace)::grow(int)", "a::grow");
	check("f(int)::inner::g(char) const", "f::inner::g");
	check("name[abi:cxx11](int)", "name");
	check("f(int) [clone .cold]", "f");
	check("run(void (*)(int), std::function<void (int)>)", "run");
	check_mangled("_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJRKiEEEvN9__gnu_cxx17__"
		      "normal_iteratorIPiS1_EEDpOT_",
		      "std::vector::_M_realloc_insert");
}

static void strings(void)
{
	check("std::__cxx11::basic_string<char, std::char_traits<char>, "
	      "std::allocator<char> >::_M_create(unsigned long&, unsigned long)",
	      "std::string::_M_create");
	check("std::basic_string<wchar_t, std::char_traits<wchar_t> >::reserve()",
	      "std::wstring::reserve");
	check("std::basic_string<char16_t>::reserve()", "std::basic_string::reserve");
	check("std::__1::basic_ostream<char, int>::flush()", "std::ostream::flush");
	check("std::__1::vector<int>::reserve(unsigned long)", "std::vector::reserve");
}

static void operators(void)
{
	check("operator new(unsigned long)", "operator new");
	check("operator new[](unsigned long, std::nothrow_t const&)", "operator new[]");
	check("operator delete(void*)", "operator delete");
	check("Key::operator<(Key const&) const", "Key::operator<");
	check("bool operator< <int>(A<int> const&, A<int> const&)", "operator<");
	check("std::ostream& operator<< <char>(std::ostream&, char)", "operator<<");
	check("Key::operator<=>(Key const&) const", "Key::operator<=>");
	check("Pointer<int>::operator->() const", "Pointer::operator->");
	check("Pointer<int>::operator->*(int) const", "Pointer::operator->*");
	check("Call<int (char)>::operator()(char) const", "Call::operator()");
	check("Grid<3>::operator[](int)", "Grid::operator[]");
	check("Key::operator bool() const", "Key::operator bool");
	check("Key::operator std::vector<int>() const", "Key::operator std::vector");
	check("Apply<&Key::operator<, &Key::operator->>::run()", "Apply::run");
	check("Key::operator,(int)", "Key::operator,");
	check("operator\"\"_kb(unsigned long long)", "operator\"\"_kb");
}

static void lambdas(void)
{
	check("make(int)::{lambda(int, char)#2}::operator()(int, char) const",
	      "make::{lambda#2}");
	check("make(int)::{lambda()#1}::operator()() const::{lambda(a<b>)#3}",
	      "make::{lambda#1}::{lambda#3}");
	check("make(int)::$_0::operator()(int) const", "make::{lambda}");
	check("make::{lambda:15}::operator()", "make::{lambda:15}");
	check("make::{lambda:15}::operator()<int>::{lambda:16}::operator()",
	      "make::{lambda:15}::{lambda:16}");
	check("make(int)::<lambda(int)>::operator()(int) const", "make::{lambda}");
	check("std::_Function_handler<void (), f()::{lambda()#1}>::_M_invoke(int)",
	      "std::_Function_handler::_M_invoke");
}

static void rust(void)
{
	check("shop::store::put::h0123456789abcdef", "shop::store::put");
	check("shop::store::put::h0123456789abcdeg",
	      "shop::store::put::h0123456789abcdeg");
	check("shop::store::put::{{closure}}", "shop::store::put::{{closure}}");
	check("<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
	      "alloc::vec::Vec::drop");
	check("<shop::Store>::put", "shop::Store::put");
	check("<<a::B as c::D>::E as f::G>::h", "a::B::E::h");
	check("core::iter::collect::<alloc::vec::Vec<i32>>", "core::iter::collect");
	check("<fn(A) -> B as core::ops::FnOnce<()>>::call_once", "fn -> B::call_once");
	check_mangled("_ZN4shop5store3put17h0123456789abcdefE", "shop::store::put");
	check_mangled("_RNvMs_Cs4fqI2P2rA04_4shopNtB4_5Store3put", "shop::Store::put");
}

static void go(void)
{
	check("main.(*Server).serve", "main.(*Server).serve");
	check("github.com/acme/shop/store.(*DB).Put", "store.(*DB).Put");
	check("github.com/acme/shop/store.Open.func1", "store.Open.func1");
	check("encoding/json.Marshal", "json.Marshal");
	check("main.Map[go.shape.int,go.shape.string]", "main.Map");
	check("runtime.mallocgc", "runtime.mallocgc");
}

/* Names of other languages, and truncated names. */
static void names_of_other_languages(void)
{
	check("py::process:/srv/app/main.py", "py::process:/srv/app/main.py");
	check("LazyCompile:~handle /srv/app.js:10:3",
	      "LazyCompile:~handle /srv/app.js:10:3");
	check("[unknown]", "[unknown]");
	check("(deleted)", "(deleted)");
	check("std::vector<int, std::allo", "std::vector");
	check("f(int, ", "f");
	check("<", "<");
	check("<>", "<>");
	check("(", "(");
	check(">", ">");
	check("a>b", "a>b");
	check("operator", "operator");
	check("operator ", "operator");
	check("{", "{");
	check("::", "::");
	check(" ", " ");
}

/* Each name is 100,000 characters long: it must take linear time. */
static void hostile(void)
{
	static const char *const pieces[] = {
		"<",         "(",      "[",     "{",  "operator<", "<a",
		"(<)",       " as ",   "std::", "a ", "::",        "::<",
		"operator ", ".cold ", "<<",    "$_", "->",        "basic_string",
		"\x80",      "::$_0"};
	enum {
		LENGTH = 100000
	};

	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		_cleanup_(strbuf_deinit) struct strbuf name = {0}, text = {0};
		clock_t begun = clock();

		while (name.len < LENGTH)
			strbuf_append(&name, pieces[i]);
		short_name_append(&text, strbuf_text(&name));
		CHECK(text.len > 0 && text.len <= 2 * name.len);
		CHECK_INT(strlen(strbuf_text(&text)), text.len);
		/* Quadratic time would take many seconds. */
		CHECK(clock() - begun < 2 * CLOCKS_PER_SEC);
	}
}

/* Is a '<' in the short name only where it is part of an operator's symbol? */
static bool has_arguments(const char *text)
{
	for (const char *at = strchr(text, '<'); at; at = strchr(at + 1, '<')) {
		const char *before = at;

		while (before > text && strchr("<=>-", before[-1]))
			before--;
		if (before - text < 8 || strncmp(before - 8, "operator", 8) != 0)
			return true;
	}
	return false;
}

/* All functions of libraries as they are packaged: no short name has template arguments,
 * ABI tags or inline namespaces, and none is empty. */
static void packaged(const char *path, size_t least)
{
	char command[512], line[1 << 14];
	size_t count = 0;
	FILE *symbols;

	snprintf(command, sizeof(command), "nm -D --defined-only %s", path);
	symbols = popen(command, "r");
	REQUIRE(symbols);
	while (fgets(line, sizeof(line), symbols)) {
		char mangled[1 << 13], type;
		_cleanup_(strbuf_deinit) struct strbuf text = {0};
		_cleanup_(freep) char *name = NULL;

		if (sscanf(line, "%*x %c %8191[^@\n]", &type, mangled) != 2 ||
		    !strchr("TWi", type) || strncmp(mangled, "_Z", 2) != 0)
			continue;
		name = demangle(mangled);
		if (!name)
			continue;
		count++;
		short_name_append(&text, name);
		REQUIRE(!text.failed);
		if (!text.len || has_arguments(strbuf_text(&text)) ||
		    strstr(strbuf_text(&text), "[abi:") ||
		    strstr(strbuf_text(&text), "__cxx11") ||
		    strstr(strbuf_text(&text), "anonymous namespace"))
			CHECK_FAIL("%s gives %s", name, strbuf_text(&text));
	}
	CHECK_INT(pclose(symbols), 0);
	CHECK(count >= least);
}

static void libraries(void)
{
	packaged("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 2000);
	packaged("/usr/lib/x86_64-linux-gnu/libbcc.so.0", 100);
}

int main(void)
{
	RUN(libraries);
	RUN(c);
	RUN(templates);
	RUN(strings);
	RUN(operators);
	RUN(lambdas);
	RUN(rust);
	RUN(go);
	RUN(names_of_other_languages);
	RUN(hostile);
	return check_done();
}
