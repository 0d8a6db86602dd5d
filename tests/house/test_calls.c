// SPDX-License-Identifier: Apache-2.0
/*
 * No files of a folder of src/ use each other's functions and variables in a circle, and
 * no folders do. Read from the symbols of the compiled files: each library is a folder.
 */
#include "check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/vec.h"

#define FILES_MAX   128
#define SYMBOLS_MAX 8192

struct file {
	char name[64];
	/* For each file: a symbol of it that this file uses, or NULL. */
	const char *uses[FILES_MAX];
	bool is_visited;
};

/* A global symbol that a file defines, or uses. */
struct symbol {
	const char *name;
	size_t file;
	bool is_defined;
};

static struct library {
	Elf *archive, *members[FILES_MAX];
	struct file files[FILES_MAX];
	size_t file_count;
	struct symbol symbols[SYMBOLS_MAX];
	size_t symbol_count;
} library;

static size_t edges;

static void add_symbols(struct library *l, Elf *elf, Elf_Scn *scn, const GElf_Shdr *table)
{
	Elf_Data *data = elf_getdata(scn, NULL);

	REQUIRE(data);
	for (size_t i = 0; i < table->sh_size / table->sh_entsize; i++) {
		GElf_Sym symbol;

		REQUIRE(gelf_getsym(data, (int)i, &symbol));
		if (GELF_ST_BIND(symbol.st_info) == STB_LOCAL)
			continue;
		REQUIRE(l->symbol_count < SYMBOLS_MAX);
		l->symbols[l->symbol_count++] = (struct symbol){
			.name = elf_strptr(elf, table->sh_link, symbol.st_name),
			.file = l->file_count - 1,
			.is_defined = symbol.st_shndx != SHN_UNDEF,
		};
	}
}

static void add_member(struct library *l, Elf *elf)
{
	const Elf_Arhdr *head = elf_getarhdr(elf);
	struct file *file = &l->files[l->file_count];
	Elf_Scn *scn = NULL;
	GElf_Shdr table;

	REQUIRE(l->file_count < FILES_MAX && head);
	/* "file.c.o" */
	snprintf(file->name, sizeof(file->name), "%.*s", (int)strlen(head->ar_name) - 2,
		 head->ar_name);
	l->members[l->file_count++] = elf;
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &table) && table.sh_type == SHT_SYMTAB)
			add_symbols(l, elf, scn, &table);
}

static void open_library(struct library *l, int fd)
{
	Elf_Cmd command = ELF_C_READ;
	Elf *elf;

	memset(l, 0, sizeof(*l));
	l->archive = elf_begin(fd, command, NULL);
	REQUIRE(l->archive && elf_kind(l->archive) == ELF_K_AR);
	while ((elf = elf_begin(fd, command, l->archive))) {
		bool is_file = elf_kind(elf) == ELF_K_ELF;

		if (is_file)
			add_member(l, elf);
		command = elf_next(elf);
		/* The archive's own lists. */
		if (!is_file)
			elf_end(elf);
	}
}

static void close_library(struct library *l)
{
	for (size_t i = 0; i < l->file_count; i++)
		elf_end(l->members[i]);
	elf_end(l->archive);
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	/* The definition comes first. */
	return order ? order : (int)y->is_defined - (int)x->is_defined;
}

static void find_uses(struct library *l)
{
	const struct symbol *definition = NULL;

	qsort(l->symbols, l->symbol_count, sizeof(*l->symbols), compare);
	for (size_t i = 0; i < l->symbol_count; i++) {
		const struct symbol *s = &l->symbols[i];

		if (s->is_defined)
			definition = s;
		else if (definition && !strcmp(definition->name, s->name)) {
			edges += !l->files[s->file].uses[definition->file];
			l->files[s->file].uses[definition->file] = s->name;
		}
	}
}

/* Is there a way from the file to `to`? Prints it. */
static bool leads_to(struct library *l, size_t from, size_t to)
{
	struct file *file = &l->files[from];

	if (file->is_visited)
		return false;
	file->is_visited = true;
	for (size_t i = 0; i < l->file_count; i++) {
		if (!file->uses[i] || i == from || (i != to && !leads_to(l, i, to)))
			continue;
		fprintf(stderr, "  %s uses %s of %s\n", file->name, file->uses[i],
			l->files[i].name);
		return true;
	}
	return false;
}

static void check_library(const char *path)
{
	struct library *l = &library;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	open_library(l, fd);
	find_uses(l);
	for (size_t i = 0; i < l->file_count; i++) {
		for (size_t j = 0; j < l->file_count; j++)
			l->files[j].is_visited = false;
		check_state.checks++;
		if (leads_to(l, i, i))
			CHECK_FAIL("%s: a circle from %s", strrchr(path, '/') + 1,
				   l->files[i].name);
	}
	close_library(l);
	close(fd);
}

static void no_circle_of_calls(void)
{
	char libraries[] = LIBRARIES;
	char *rest = libraries, *path;

	REQUIRE(elf_version(EV_CURRENT) != EV_NONE);
	while ((path = strsep(&rest, ":")))
		check_library(path);
	/* Otherwise nothing was read. */
	CHECK(edges > 500);
}

/* --- folders ------------------------------------------------------------------------ */

#define FOLDERS_MAX 64

/* A global symbol of a folder. */
struct folder_symbol {
	char name[128];
	size_t folder;
	bool is_defined;
};

static struct folders {
	const char *paths[FOLDERS_MAX];
	/* For each folder: a symbol of it that this folder uses, or an empty name. */
	struct {
		char name[128];
	} uses[FOLDERS_MAX][FOLDERS_MAX];
	bool is_visited[FOLDERS_MAX];
	size_t count;
	VEC(struct folder_symbol) symbols;
} folders;

static void add_folder(const char *path)
{
	struct library *l = &library;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0 && folders.count < FOLDERS_MAX);
	open_library(l, fd);
	for (size_t i = 0; i < l->symbol_count; i++) {
		struct folder_symbol s = {.folder = folders.count,
					  .is_defined = l->symbols[i].is_defined};

		/* `symbol` defines fopen() and others anew, for libbcc. */
		if (dlsym(RTLD_DEFAULT, l->symbols[i].name))
			continue;
		snprintf(s.name, sizeof(s.name), "%s", l->symbols[i].name);
		REQUIRE(vec_push(&folders.symbols, s));
	}
	folders.paths[folders.count++] = strrchr(path, '/') + 1;
	close_library(l);
	close(fd);
}

static int compare_in_folders(const void *a, const void *b)
{
	const struct folder_symbol *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (int)y->is_defined - (int)x->is_defined;
}

static void find_uses_of_folders(void)
{
	const struct folder_symbol *definition = NULL;

	qsort(folders.symbols.data, folders.symbols.len, sizeof(*folders.symbols.data),
	      compare_in_folders);
	vec_foreach (s, &folders.symbols) {
		if (s->is_defined)
			definition = s;
		else if (definition && !strcmp(definition->name, s->name) &&
			 definition->folder != s->folder)
			snprintf(folders.uses[s->folder][definition->folder].name,
				 sizeof(s->name), "%s", s->name);
	}
}

/* Is there a way from the folder to `to`? Prints it. */
static bool folder_leads_to(size_t from, size_t to)
{
	if (folders.is_visited[from])
		return false;
	folders.is_visited[from] = true;
	for (size_t i = 0; i < folders.count; i++) {
		const char *name = folders.uses[from][i].name;

		if (!*name || (i != to && !folder_leads_to(i, to)))
			continue;
		fprintf(stderr, "  %s uses %s of %s\n", folders.paths[from], name,
			folders.paths[i]);
		return true;
	}
	return false;
}

static void no_circle_of_folders(void)
{
	char libraries[] = LIBRARIES;
	char *rest = libraries, *path;

	REQUIRE(elf_version(EV_CURRENT) != EV_NONE);
	while ((path = strsep(&rest, ":")))
		add_folder(path);
	find_uses_of_folders();
	for (size_t i = 0; i < folders.count; i++) {
		memset(folders.is_visited, 0, sizeof(folders.is_visited));
		check_state.checks++;
		if (folder_leads_to(i, i))
			CHECK_FAIL("a circle from %s", folders.paths[i]);
	}
	/* Otherwise nothing was read. */
	CHECK(folders.count > 30 && folders.symbols.len > 2000);
	vec_deinit(&folders.symbols);
}

int main(void)
{
	RUN(no_circle_of_calls);
	RUN(no_circle_of_folders);
	return check_done();
}
