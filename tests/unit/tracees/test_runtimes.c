// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracees/runtimes.h"
#include "tracees/return_probes.h"

static const char *risk_of(char *path)
{
	struct proc_mapping mapping = {.path = path, .executable = true};
	struct proc_maps maps = {0};

	maps.mappings.data = &mapping;
	maps.mappings.len = 1;
	return return_probes_risk(&maps, NULL);
}

/* Programs that a return probe may break. */
static void risks(void)
{
	CHECK_CONTAINS(risk_of("[anon: Go: heap]"), "Go");
	CHECK_CONTAINS(risk_of("/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"), "C++");
	CHECK_CONTAINS(risk_of("/usr/lib/libc++.so.1"), "C++");
	CHECK(!risk_of("/usr/bin/env"));
}

static const char *of(char *path, bool executable)
{
	struct proc_mapping mappings[] = {
		{.path = "/usr/bin/env", .executable = true},
		{.path = path, .executable = executable},
		{.path = "[stack]"},
	};
	struct proc_maps maps = {0};

	maps.mappings.data = mappings;
	maps.mappings.len = 3;
	const struct runtime *runtime = runtime_of(&maps, NULL);

	return runtime ? runtime->heap : NULL;
}

static void known(void)
{
	CHECK_CONTAINS(of("/usr/lib/jvm/java-17/lib/server/libjvm.so", true), "Java");
	CHECK_CONTAINS(of("/usr/bin/node", true), "V8");
	CHECK_CONTAINS(of("/usr/lib/libnode.so.108", true), "V8");
	CHECK_CONTAINS(of("/usr/bin/python3.11", true), "PYTHONMALLOC");
	CHECK_CONTAINS(of("/usr/lib/libpython3.13t.so.1.0", true), "PYTHONMALLOC");
	CHECK_CONTAINS(of("/usr/sbin/php-fpm8.2", true), "USE_ZEND_ALLOC");
	CHECK_CONTAINS(of("[anon: Go: heap]", false), "Go");
	CHECK_CONTAINS(of("/usr/lib/chromium/chromium", true), "V8");
	CHECK_CONTAINS(of("/usr/lib/erlang/erts-13.1/bin/beam.smp", true), "BEAM");
	CHECK_CONTAINS(of("/usr/share/dotnet/shared/libcoreclr.so", true), ".NET");
	CHECK_CONTAINS(of("/usr/lib/libluajit-5.1.so.2", true), "LuaJIT");
	CHECK_CONTAINS(of("/usr/lib/libruby-3.1.so.3.1", true), "Ruby");
	CHECK_CONTAINS(of("/usr/bin/ruby3.1", true), "Ruby");
	CHECK_CONTAINS(of("/usr/lib/libgc.so.1", true), "Boehm");
	CHECK_CONTAINS(of("/usr/bin/sbcl", true), "SBCL");
	CHECK_CONTAINS(of("/usr/lib/ghc/libHSrts-ghc9.0.2.so", true), "GHC");
}

static void unknown(void)
{
	CHECK(!of("/usr/bin/nodeadline", true));
	CHECK(!of("/usr/bin/python-config-tool", true));
	CHECK(!of("/usr/bin/phpize", true));
	CHECK(!of("/usr/lib/libjvm.so", false));
	CHECK(!of("[anon: mine]", false));
	CHECK(!of("/usr/bin/perl", true));
}

/* --- recognised by sections and symbols ------------------------------------------- */

#define SECTIONS 4

/* An ELF file with a section of this name and this string table of symbols. */
static int elf_file(const char *section, const char *strings, size_t strings_size)
{
	char names[128] = "";
	size_t strtab_at = 1 + strlen(section) + 1;
	size_t shstrtab_at = strtab_at + sizeof(".strtab");
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = 4096,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = 3,
	};
	const Elf64_Shdr sections[SECTIONS] = {
		{0},
		{.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = 512, .sh_size = 16},
		{.sh_name = (uint32_t)strtab_at,
		 .sh_type = SHT_STRTAB,
		 .sh_offset = 1024,
		 .sh_size = strings_size},
		{.sh_name = (uint32_t)shstrtab_at,
		 .sh_type = SHT_STRTAB,
		 .sh_offset = 2048,
		 .sh_size = sizeof(names)},
	};
	int fd = memfd_create("runtime", MFD_CLOEXEC);

	memcpy(names + 1, section, strlen(section));
	memcpy(names + strtab_at, ".strtab", sizeof(".strtab"));
	memcpy(names + shstrtab_at, ".shstrtab", sizeof(".shstrtab"));
	REQUIRE(fd >= 0);
	REQUIRE(pwrite(fd, &header, sizeof(header), 0) == sizeof(header));
	REQUIRE(pwrite(fd, strings, strings_size, 1024) == (ssize_t)strings_size);
	REQUIRE(pwrite(fd, names, sizeof(names), 2048) == sizeof(names));
	REQUIRE(pwrite(fd, sections, sizeof(sections), 4096) == sizeof(sections));
	return fd;
}

static const char *heap_of_elf(const char *section, const char *strings, size_t size)
{
	const struct runtime *runtime = runtime_of_elf(elf_file(section, strings, size));

	return runtime ? runtime->heap : "none";
}

#define HEAP_OF_ELF(section, strings) heap_of_elf(section, strings, sizeof(strings))

static void executables(void)
{
	CHECK_CONTAINS(HEAP_OF_ELF(".go.buildinfo", "\0main"), "Go");
	CHECK_CONTAINS(HEAP_OF_ELF(".note.go.buildid", "\0main"), "Go");
	CHECK_CONTAINS(HEAP_OF_ELF(".debug-ghc-link-info", "\0main"), "GHC");
	CHECK_CONTAINS(HEAP_OF_ELF(".text", "\0main\0caml_start_program\0x"), "OCaml");
	CHECK_CONTAINS(HEAP_OF_ELF(".text", "\0hs_main"), "GHC");
	CHECK_STR(HEAP_OF_ELF(".text", "\0main"), "none");
	/* Similar names do not match. */
	CHECK_STR(HEAP_OF_ELF(".go.buildinfo2", "\0my_hs_main\0hs_mainly"), "none");
}

static void no_elf_files(void)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && write(fd, "#!/bin/sh\n", 10) == 10);
	CHECK(!runtime_of_elf(fd));
	CHECK(!runtime_of_elf(memfd_create("empty", MFD_CLOEXEC)));
}

int main(void)
{
	RUN(known);
	RUN(unknown);
	RUN(risks);
	RUN(executables);
	RUN(no_elf_files);
	return check_done();
}
