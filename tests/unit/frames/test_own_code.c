// SPDX-License-Identifier: Apache-2.0
/* Whether a frame is the program's own code, a library's or a runtime's. */
#include "check.h"

#include "frames/own_code.h"
#include "util/cleanup.h"

#define EXE "/usr/bin/shop"

static void check_frame(struct report_frame frame, enum code_kind kind,
			const char *library)
{
	_cleanup_(strbuf_deinit) struct strbuf scratch = {0};
	struct code_origin got = code_origin_of(&frame, EXE, &scratch);
	char text[64] = "";

	if (got.library)
		snprintf(text, sizeof(text), "%.*s", (int)got.library_len, got.library);
	if (got.kind != kind || strcmp(text, library) != 0)
		CHECK_FAIL("%s in %s: kind %d of \"%s\", expected %d of \"%s\"",
			   frame.symbol ? frame.symbol : "(no name)",
			   frame.module ? frame.module : "(no module)", got.kind, text,
			   kind, library);
	check_state.checks++;
}

static void check(const char *symbol, const char *module, enum code_kind kind,
		  const char *library)
{
	check_frame((struct report_frame){.symbol = symbol, .module = module}, kind,
		    library);
}

static void check_source(const char *file, enum code_kind kind, const char *library)
{
	check_frame((struct report_frame){.symbol = "work", .module = EXE, .file = file},
		    kind, library);
}

static void own(void)
{
	check("handle(Order const&)", EXE, CODE_OWN, "");
	check("main", EXE, CODE_OWN, "");
	/* A stripped program. */
	check(NULL, EXE, CODE_OWN, "");
	check("handle", "/opt/shop/lib/libstore.so", CODE_OWN, "");
	check("handle", "[jit]", CODE_OWN, "");
	check("handle", NULL, CODE_OWN, "");
	/* C++ namespaces may have such names. */
	check("core::Engine::run(int)", EXE, CODE_OWN, "");
	check("alloc::Pool::grow() const", EXE, CODE_OWN, "");
	check("reallocate_table", EXE, CODE_OWN, "");
	check("stdlib_init", EXE, CODE_OWN, "");
	check("void run<std::vector<int> >(int)", EXE, CODE_OWN, "");
	check("<shop::Store as core::clone::Clone>::clone", EXE, CODE_OWN, "");
	check("main.(*Server).serve", EXE, CODE_OWN, "");
}

static void libraries(void)
{
	check("xmlNewNode", "/usr/lib/x86_64-linux-gnu/libxml2.so.2", CODE_LIBRARY,
	      "libxml2");
	check(NULL, "/lib/libcurl.so.4", CODE_LIBRARY, "libcurl");
	check(NULL, "/usr/lib/python3/dist-packages/_x.cpython-311.so", CODE_LIBRARY,
	      "_x.cpython-311");
	check("do_mmap", "[kernel]", CODE_LIBRARY, "the kernel");
	check_source("/usr/include/boost/any.hpp", CODE_LIBRARY, "headers");
	check_source("/root/.cargo/registry/src/index-1/serde-1.0/src/de.rs",
		     CODE_LIBRARY, "crates");
	check_source("/root/go/pkg/mod/acme/x.go", CODE_LIBRARY, "Go modules");
}

static void runtimes(void)
{
	check("getline", "/lib/x86_64-linux-gnu/libc.so.6", CODE_RUNTIME, "libc");
	check("getline", "/usr/lib/libc-2.31.so", CODE_RUNTIME, "libc");
	check("_dl_open", "/lib64/ld-linux-x86-64.so.2", CODE_RUNTIME, "libc");
	check("std::string::reserve()", "/usr/lib/libstdc++.so.6.0.30", CODE_RUNTIME,
	      "libstdc++");
	check(NULL, "/usr/lib/libc++abi.so.1", CODE_RUNTIME, "libc++");
	check("PyList_New", "/usr/lib/libpython3.11.so.1.0", CODE_RUNTIME, "Python");
	/* Templates are compiled into the executable. */
	check("void std::vector<int>::push_back(int)", EXE, CODE_RUNTIME, "libstdc++");
	check("std::__1::vector<int>::push_back(int)", EXE, CODE_RUNTIME, "libc++");
	check("alloc::vec::Vec<T>::push", EXE, CODE_RUNTIME, "Rust's std");
	check("std::rt::lang_start", EXE, CODE_RUNTIME, "Rust's std");
	check("<alloc::vec::Vec<T> as core::clone::Clone>::clone", EXE, CODE_RUNTIME,
	      "Rust's std");
	check("runtime.main", EXE, CODE_RUNTIME, "Go's runtime");
	check("__libc_start_call_main", EXE, CODE_RUNTIME, "libc");
	check("clone3", EXE, CODE_RUNTIME, "libc");
	check("_start_c", EXE, CODE_RUNTIME, "libc");
	check("libc_start_main_stage2", EXE, CODE_RUNTIME, "libc");
	check(NULL, "[vdso]", CODE_RUNTIME, "the kernel");
	check_source("/usr/include/c++/12/bits/stl_vector.h", CODE_RUNTIME, "libstdc++");
	check_source("/usr/lib/llvm/include/c++/v1/vector", CODE_RUNTIME, "libc++");
	check_source("/rustc/0123/library/alloc/src/vec/mod.rs", CODE_RUNTIME,
		     "Rust's std");
	check_source("/usr/local/go/src/net/http/server.go", CODE_RUNTIME,
		     "Go's library");
	check_source("/srv/shop/src/store.c", CODE_OWN, "");
}

static void interpreters(void)
{
	_cleanup_(strbuf_deinit) struct strbuf scratch = {0};
	const struct report_frame frame = {.symbol = "PyList_New",
					   .module = "/usr/bin/python3.11"};

	CHECK_INT(code_origin_of(&frame, "/usr/bin/python3.11", &scratch).kind,
		  CODE_RUNTIME);
	/* This is not the traced program. */
	CHECK_INT(code_origin_of(&frame, EXE, &scratch).kind, CODE_OWN);
}

static void allocators(void)
{
	check("malloc", "/lib/libc.so.6", CODE_ALLOCATOR, "the allocator");
	check("operator new(unsigned long)", "/usr/lib/libstdc++.so.6", CODE_ALLOCATOR,
	      "libstdc++");
	check("operator new[](unsigned long)", EXE, CODE_ALLOCATOR, "libstdc++");
	check("arena_bin", "/usr/lib/libjemalloc.so.2", CODE_ALLOCATOR, "jemalloc");
	check("do_it", "/usr/lib/libtcmalloc_minimal.so.4", CODE_ALLOCATOR, "tcmalloc");
	check("xmalloc", EXE, CODE_ALLOCATOR, "the allocator");
	check("g_strdup", "/usr/lib/libglib-2.0.so.0", CODE_ALLOCATOR, "the allocator");
	check("git_alloc_strndup", EXE, CODE_ALLOCATOR, "the allocator");
	check("xmemdup", EXE, CODE_ALLOCATOR, "the allocator");
	check("Posix_MemAlign", EXE, CODE_ALLOCATOR, "the allocator");
	check("dev_alloc_percpu", EXE, CODE_ALLOCATOR, "the allocator");
	check("alloc_duplicate", EXE, CODE_OWN, "");
	check("PyMem_Malloc", EXE, CODE_ALLOCATOR, "the allocator");
	check("__rust_alloc", EXE, CODE_ALLOCATOR, "Rust's std");
}

static void unknown(void)
{
	check(NULL, NULL, CODE_UNKNOWN, "");
	check_frame((struct report_frame){.symbol = REPORT_GAP_NAME, .is_gap = true},
		    CODE_UNKNOWN, "");
	check("", "", CODE_OWN, "");
}

int main(void)
{
	RUN(own);
	RUN(libraries);
	RUN(runtimes);
	RUN(interpreters);
	RUN(allocators);
	RUN(unknown);
	return check_done();
}
