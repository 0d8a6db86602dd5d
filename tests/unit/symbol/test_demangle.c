// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "symbol/demangle.h"
#include "util/cleanup.h"

/* Names with the output of llvm-cxxfilt 14, which shares no code with libiberty.
 * Exceptions: Rust's legacy scheme, which it does not know (from rustc's documentation),
 * and lambdas and clones, which it prints differently. */
static const struct pair {
	const char *mangled, *plain;
} pairs[] = {
	{"_Z1fv", "f()"},
	{"_Znwm", "operator new(unsigned long)"},
	{"_ZdlPvm", "operator delete(void*, unsigned long)"},
	{"_ZN4shop5shelfINS_4itemEE2atEm", "shop::shelf<shop::item>::at(unsigned long)"},
	{"_ZNSt6vectorIiSaIiEE9push_backERKi",
	 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
	{"_ZN3FooC1Ev", "Foo::Foo()"},
	{"_ZN3FooD0Ev", "Foo::~Foo()"},
	{"_ZTV3Foo", "vtable for Foo"},
	{"_ZThn8_N3Foo3barEv", "non-virtual thunk to Foo::bar()"},
	{"_ZN12_GLOBAL__N_16hiddenEi", "(anonymous namespace)::hidden(int)"},
	{"_Z3addIdET_S0_S0_", "double add<double>(double, double)"},
	{"_ZplRK1AS1_", "operator+(A const&, A const&)"},
	{"_ZN1AcviEv", "A::operator int()"},
	{"_Z1fIJidEEvDpT_", "void f<int, double>(int, double)"},
	{"_ZSt4sortIN9__gnu_cxx17__normal_iteratorIPiSt6vectorIiSaIiEEEEEvT_S7_",
	 "void std::sort<__gnu_cxx::__normal_iterator<int*, std::vector<int, "
	 "std::allocator<int> > > >(__gnu_cxx::__normal_iterator<int*, std::vector<int, "
	 "std::allocator<int> > >, __gnu_cxx::__normal_iterator<int*, std::vector<int, "
	 "std::allocator<int> > >)"},

	/* Lambdas and clones, as printed by binutils. */
	{"_ZZN4shop4sellEiENKUliE_clEi",
	 "shop::sell(int)::{lambda(int)#1}::operator()(int) const"},
	{"_Z4loopi.constprop.0", "loop(int) [clone .constprop.0]"},
	{"_Z4loopi.cold", "loop(int) [clone .cold]"},

	/* Rust, legacy scheme: the hash is not shown. */
	{"_ZN4core3fmt9Formatter9write_str17h1234567890abcdefE",
	 "core::fmt::Formatter::write_str"},
	{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	 "3bar17h930b740aa94f1d3aE",
	 "<Test + 'static as foo::Bar<Test>>::bar"},
	{"_ZN54_$LT$I$u20$as$u20$core..iter..traits..IntoIterator$GT$9into_iter"
	 "17h8581507801fb8615E",
	 "<I as core::iter::traits::IntoIterator>::into_iter"},
	{"_ZN4core3ptr51drop_in_place$LT$inlines..shop..Item$LT$u32$GT$$GT$"
	 "17h6aeceb9da105e2baE",
	 "core::ptr::drop_in_place<inlines::shop::Item<u32>>"},
	/* Not a hash: all digits are the same, or there are too few. Demangled as C++. */
	{"_ZN3foo17h0000000000000000E", "foo::h0000000000000000"},
	{"_ZN3foo5h1234E", "foo::h1234"},

	/* Rust, v0. */
	{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
	{"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
	{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
	{"_RNCNvC3foo3bar0B3_", "foo::bar::{closure#0}"},
	{"_RNvC6_123foo3bar", "123foo::bar"},
	{"_RNvYINtC3std6OptionlENtB3_5Clone5clone",
	 "<std::Option<i32> as std::Option::Clone>::clone"},
	{"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	 "utf8_idents::"
	 "\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1\x83"
	 "\x9a\xe1\x83\x90\xe1\x83\x93_"
	 "\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1"
	 "\x83\x98\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98_"
	 "\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93"
	 "\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98"},
};

static void known_names(void)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		_cleanup_(freep) char *plain = demangle(pairs[i].mangled);

		CHECK_STR(plain, pairs[i].plain);
	}
}

static void not_mangled(void)
{
	static const char *const names[] = {
		"",
		"_",
		"_Z",
		"_R",
		"main",
		"malloc",
		"__libc_start_main",
		"_init",
		"_IO_puts",
		"_Zzz",
		"_ZN",
		"_RNv",
		"R",
		"Z1fv",
		"1fv",
		"_\xff\xfe",
		"_ZN99999999999999999999999foo",
		"_RNvC999999999999999999999foo",
		"f()",
		"i",
		"_GLOBAL__",
		"\x1b[31m",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		_cleanup_(freep) char *plain = demangle(names[i]);

		if (plain)
			CHECK_FAIL("\"%s\" became \"%s\"", names[i], plain);
		CHECK(!plain);
	}
}

/* Tuples of two references to the tuple before: 2^25 types in 300 bytes. */
static void bomb_of_rust(void)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024], *plain;
	double start = check_cpu_s();
	size_t n = (size_t)snprintf(name, sizeof(name), "_RINvC1a1f");
	size_t tuple = n;

	n += (size_t)snprintf(name + n, sizeof(name) - n, "TllE");
	for (int i = 0; i < 25; i++) {
		/* A position after "_R", minus 1, in base 62. */
		size_t at = tuple - 2 - 1;
		char number[4] = {digits[at / 62], digits[at % 62], '\0'};
		const char *text = at < 62 ? number + 1 : number;

		tuple = n;
		n += (size_t)snprintf(name + n, sizeof(name) - n, "TB%s_B%s_E", text,
				      text);
	}
	snprintf(name + n, sizeof(name) - n, "E");
	plain = demangle(name);
	REQUIRE(plain);
	CHECK_INT(strlen(plain), 65536);
	CHECK(!strncmp(plain, "a::f::<(i32, i32), ((i32, i32), (i32, i32)), ", 45));
	free(plain);
	CHECK(check_cpu_s() - start < 5);
}

/* Types that contain the type before twice, thirty times: 2^30 names in 250 bytes. */
static void bomb_of_cplusplus(void)
{
	char name[16384];
	size_t n = (size_t)snprintf(name, sizeof(name), "_Z1fI");
	double start = check_cpu_s();
	char *plain;

	/* A<int, int>, then A<T, T> with a substitution for the type before, and so
	 * on. */
	n += (size_t)snprintf(name + n, sizeof(name) - n, "1AIiiE");
	for (int i = 0; i < 30; i++)
		n += (size_t)snprintf(name + n, sizeof(name) - n, "S0_IS%c_S%c_E",
				      "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
				      "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
	snprintf(name + n, sizeof(name) - n, "Evv");
	plain = demangle(name);
	REQUIRE(plain);
	CHECK_INT(strlen(plain), 65536);
	CHECK(!strncmp(plain, "void f<A<int, int>, A<A<int, int>, A<int, int> >, ", 50));
	free(plain);
	CHECK(check_cpu_s() - start < 5);
}

static void too_long_a_name(void)
{
	char name[20001], *plain;

	memset(name, 'a', sizeof(name));
	memset(name, 'a', sizeof(name));
	memcpy(name, "_Z8000", 6);
	memcpy(name + 6 + 8000, "v", 2);
	plain = demangle(name);
	CHECK(plain && !strcmp(plain + 8000, "()"));
	free(plain);

	memset(name, 'a', sizeof(name));
	memcpy(name, "_Z19000", 7);
	memcpy(name + 7 + 19000, "v", 2);
	plain = demangle(name);
	CHECK(!plain);
	free(plain);
}

/* Names nested as deeply as possible: pointers, qualifiers, arrays, templates. */
static void deep_names(void)
{
	static const char *const parts[] = {"P",   "K",   "A1_", "F",    "1AI",
					    "N1A", "DpT", "cv",  "RPKV", "I"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		char name[8192] = "_Z1f";
		size_t n = 4, length = strlen(parts[i]);

		while (n + length + 2 < sizeof(name)) {
			memcpy(name + n, parts[i], length);
			n += length;
		}
		memcpy(name + n, "i", 2);
		free(demangle(name));
		name[1] = 'R';
		free(demangle(name));
		check_state.checks++; /* no crash */
	}
}

/* Every prefix of every name, and every byte changed: no crash, no endless loop. */
static void damaged_names(void)
{
	unsigned seed = 1, demangled = 0;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		size_t length = strlen(pairs[i].mangled);

		for (size_t j = 0; j < 3 * length; j++) {
			_cleanup_(freep) char *copy = strdup(pairs[i].mangled);
			_cleanup_(freep) char *plain = NULL;

			REQUIRE(copy);
			seed = seed * 1103515245 + 12345;
			if (j < length)
				copy[j] = '\0';
			else
				copy[j % length] = (char)(seed >> 16 | 1);
			plain = demangle(copy);
			demangled += plain != NULL;
		}
	}
	CHECK(demangled > 100);
}

int main(void)
{
	RUN(known_names);
	RUN(not_mangled);
	RUN(bomb_of_cplusplus);
	RUN(bomb_of_rust);
	RUN(too_long_a_name);
	RUN(deep_names);
	RUN(damaged_names);
	return check_done();
}
