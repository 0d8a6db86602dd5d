// SPDX-License-Identifier: Apache-2.0
#include "frames/own_code.h"

#include <stdbool.h>
#include <string.h>

#include "frames/short_name.h"
#include "util/path.h"

#define LIBC   "libc"
#define STDCXX "libstdc++"
#define LIBCXX "libc++"
#define RUST   "Rust's std"
#define GO     "Go's library"

/* Text that a name or path begins with or contains, and what follows from it. */
struct rule {
	const char *text;
	enum code_kind kind;
	const char *library;
};

/* Base names of modules up to the version: "libc" is "libc.so.6", not "libcurl.so.4". */
static const struct rule modules[] = {
	{"libc", CODE_RUNTIME, LIBC},
	{"ld", CODE_RUNTIME, LIBC},
	{"libm", CODE_RUNTIME, LIBC},
	{"libpthread", CODE_RUNTIME, LIBC},
	{"libdl", CODE_RUNTIME, LIBC},
	{"librt", CODE_RUNTIME, LIBC},
	{"libresolv", CODE_RUNTIME, LIBC},
	{"libnss", CODE_RUNTIME, LIBC},
	{"libstdc++", CODE_RUNTIME, STDCXX},
	{"libc++", CODE_RUNTIME, LIBCXX},
	{"libc++abi", CODE_RUNTIME, LIBCXX},
	{"libgcc_s", CODE_RUNTIME, "libgcc"},
	{"libgomp", CODE_RUNTIME, "libgomp"},
	{"libgfortran", CODE_RUNTIME, "libgfortran"},
	{"libstd", CODE_RUNTIME, RUST},
	{"libgo", CODE_RUNTIME, GO},
	{"libpython2", CODE_RUNTIME, "Python"},
	{"libpython3", CODE_RUNTIME, "Python"},
	{"libruby", CODE_RUNTIME, "Ruby"},
	{"libperl", CODE_RUNTIME, "Perl"},
	{"libphp", CODE_RUNTIME, "PHP"},
	{"libnode", CODE_RUNTIME, "Node.js"},
	{"libjvm", CODE_RUNTIME, "the JVM"},
	{"libcoreclr", CODE_RUNTIME, ".NET"},
	{"libjemalloc", CODE_ALLOCATOR, "jemalloc"},
	{"libtcmalloc", CODE_ALLOCATOR, "tcmalloc"},
	{"libmimalloc", CODE_ALLOCATOR, "mimalloc"},
	{"[vdso]", CODE_RUNTIME, "the kernel"},
	{"[vsyscall]", CODE_RUNTIME, "the kernel"},
	{"[kernel]", CODE_LIBRARY, "the kernel"},
};

/* Executables that only run programs in their language. */
static const struct rule interpreters[] = {
	{"python", CODE_RUNTIME, "Python"},  {"python2", CODE_RUNTIME, "Python"},
	{"python3", CODE_RUNTIME, "Python"}, {"perl", CODE_RUNTIME, "Perl"},
	{"ruby", CODE_RUNTIME, "Ruby"},      {"php", CODE_RUNTIME, "PHP"},
	{"node", CODE_RUNTIME, "Node.js"},   {"java", CODE_RUNTIME, "the JVM"},
};

/* Parts of the paths of source files. */
static const struct rule sources[] = {
	{"/include/c++/v1/", CODE_RUNTIME, LIBCXX},
	{"/include/c++/", CODE_RUNTIME, STDCXX},
	{"/libstdc++-v3/", CODE_RUNTIME, STDCXX},
	{"/rustc/", CODE_RUNTIME, RUST},
	{"/rust/library/", CODE_RUNTIME, RUST},
	{"/rustlib/src/", CODE_RUNTIME, RUST},
	{"/usr/local/go/src/", CODE_RUNTIME, GO},
	{"/usr/lib/go", CODE_RUNTIME, GO},
	{"/usr/share/go", CODE_RUNTIME, GO},
	{"/go/pkg/mod/", CODE_LIBRARY, "Go modules"},
	{"/cargo/registry/", CODE_LIBRARY, "crates"},
	{"/.cargo/registry/", CODE_LIBRARY, "crates"},
	{"/usr/include/", CODE_LIBRARY, "headers"},
};

/* What short names begin with. */
static const struct rule names[] = {
	{"operator new", CODE_ALLOCATOR, STDCXX},
	{"operator delete", CODE_ALLOCATOR, STDCXX},
	{"__rust_alloc", CODE_ALLOCATOR, RUST},
	{"__rust_realloc", CODE_ALLOCATOR, RUST},
	{"__rdl_", CODE_ALLOCATOR, RUST},
	{"__rg_", CODE_ALLOCATOR, RUST},
	{"__gnu_cxx::", CODE_RUNTIME, STDCXX},
	{"__cxxabiv1::", CODE_RUNTIME, STDCXX},
	{"runtime.", CODE_RUNTIME, "Go's runtime"},
	{"__libc_start_", CODE_RUNTIME, LIBC},
};

/* Whole names of functions that start programs and threads. */
static const char *const starts[] = {"_start",       "_start_c", "libc_start_main_stage2",
				     "start_thread", "clone",    "__clone",
				     "clone3",       "__clone3"};

/* Parts of the names of allocation functions, in lower case, by a part that they have in
 * common: few names have that, and the others need no more comparisons. */
static const struct {
	const char *common;
	const char *parts[9];
} allocates[] = {
	{"alloc",
	 {"malloc", "calloc", "realloc", "zalloc", "palloc", "aligned_alloc",
	  "kmem_cache_alloc", "alloc_pages", "alloc_percpu"}},
	{"dup", {"strdup", "strndup", "memdup"}},
	{"memalign", {"memalign"}},
};

static const char *const folders[] = {"/lib/",         "/lib32/",         "/lib64/",
				      "/usr/lib/",     "/usr/lib32/",     "/usr/lib64/",
				      "/usr/libexec/", "/usr/local/lib/", "/nix/store/"};

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static struct code_origin origin(enum code_kind kind, const char *library)
{
	return (struct code_origin){kind, library, strlen(library)};
}

/* Does a base name consist of `name` and a version or suffix? */
static bool is_named(const char *base, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(base, name, len) && strchr(".-_0123456789", base[len]);
}

static const struct rule *find_named(const struct rule *rules, size_t count,
				     const char *base)
{
	for (size_t i = 0; i < count; i++) {
		if (is_named(base, rules[i].text))
			return &rules[i];
	}
	return NULL;
}

static const struct rule *find_source(const char *file)
{
	for (size_t i = 0; file && i < sizeof(sources) / sizeof(*sources); i++) {
		if (strstr(file, sources[i].text))
			return &sources[i];
	}
	return NULL;
}

static bool has_part(const char *name, const char *const parts[], size_t count)
{
	for (size_t i = 0; i < count && parts[i]; i++) {
		const char *found = strcasestr(name, parts[i]);

		if (found && strncasecmp(found + strlen(parts[i]), "at", 2) != 0)
			return true;
	}
	return false;
}

/* Is it the name of a function that returns new memory, as "xmalloc" or "g_strdup"? But
 * "reallocate_table" is not. */
static bool is_allocation(const char *name)
{
	for (size_t i = 0; i < sizeof(allocates) / sizeof(*allocates); i++) {
		const char *const *parts = allocates[i].parts;

		if (strcasestr(name, allocates[i].common) &&
		    has_part(name, parts, sizeof(allocates[i].parts) / sizeof(*parts)))
			return true;
	}
	return false;
}

/* Names of C++ functions end with their parameters, names of Rust do not. */
static bool is_of_rust(const char *symbol)
{
	char last = *symbol ? symbol[strlen(symbol) - 1] : 0;

	return !strchr(")t&]", last) || !strchr(symbol, '(');
}

static bool judge_name(const struct report_frame *frame, const char *name,
		       struct code_origin *ret)
{
	const char *colons = strrchr(name, ':');

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (begins_with(name, names[i].text)) {
			*ret = origin(names[i].kind, names[i].library);
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		if (!strcmp(name, starts[i])) {
			*ret = origin(CODE_RUNTIME, LIBC);
			return true;
		}
	}
	if (begins_with(name, "std::"))
		*ret = origin(CODE_RUNTIME, is_of_rust(frame->symbol) ? RUST
					    : strstr(frame->symbol, "std::__1::")
						    ? LIBCXX
						    : STDCXX);
	else if (is_of_rust(frame->symbol) &&
		 (begins_with(name, "core::") || begins_with(name, "alloc::") ||
		  begins_with(name, "hashbrown::")))
		*ret = origin(CODE_RUNTIME, RUST);
	else if (is_allocation(colons ? colons + 1 : name))
		*ret = origin(CODE_ALLOCATOR, "the allocator");
	else
		return false;
	return true;
}

/* "libxml2" of "/usr/lib/libxml2.so.2". */
static struct code_origin library_of(const char *base)
{
	const char *end = strstr(base, ".so");

	return (struct code_origin){CODE_LIBRARY, base,
				    end && end > base ? (size_t)(end - base)
						      : strlen(base)};
}

static bool judge_module(const char *module, bool is_executable, struct code_origin *ret)
{
	const char *base = path_base_name(module);
	const struct rule *rule =
		is_executable
			? find_named(interpreters,
				     sizeof(interpreters) / sizeof(*interpreters), base)
			: find_named(modules, sizeof(modules) / sizeof(*modules), base);

	if (!rule)
		return false;
	*ret = origin(rule->kind, rule->library);
	return true;
}

static bool is_in_system_folder(const char *module)
{
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		if (begins_with(module, folders[i]))
			return true;
	}
	return false;
}

struct code_origin code_origin_of(const struct report_frame *frame,
				  const char *executable, struct strbuf *scratch)
{
	const char *module = frame->module;
	bool is_executable = module && executable && !strcmp(module, executable);
	const struct rule *source = find_source(frame->file);
	struct code_origin ret = {.kind = CODE_OWN};
	struct code_origin by_name;
	bool has_verdict = false;

	if (frame->is_gap || (!frame->symbol && !module))
		return (struct code_origin){.kind = CODE_UNKNOWN};
	strbuf_clear(scratch);
	if (frame->symbol && !scratch->failed) {
		short_name_append(scratch, frame->symbol);
		has_verdict = judge_name(frame, strbuf_text(scratch), &by_name);
	}
	if (has_verdict && by_name.kind == CODE_ALLOCATOR)
		return by_name;
	if (module && judge_module(module, is_executable, &ret))
		return ret;
	if (source)
		return origin(source->kind, source->library);
	if (has_verdict)
		return by_name;
	if (module && !is_executable && is_in_system_folder(module))
		return library_of(path_base_name(module));
	return ret;
}
