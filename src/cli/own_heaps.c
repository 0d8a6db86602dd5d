// SPDX-License-Identifier: Apache-2.0
#include "cli/own_heaps.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/escape.h"
#include "util/path.h"

#define JAVA "Java objects lie in the virtual machine's own heap"
#define V8   "JavaScript objects lie in V8's own heap"
#define GO   "Go objects lie in the Go runtime's own heap"
#define PYTHON                                                                           \
	"Python objects of up to 512 bytes lie in arenas of its own, unless it "         \
	"runs with PYTHONMALLOC=malloc"
#define PHP "PHP values lie in a heap of its own, unless it runs with USE_ZEND_ALLOC=0"

/* By the last part of the path, or its beginning where a version may follow. */
static const struct own_heap {
	const char *name;
	bool has_version;
	const char *what;
} heaps[] = {
	{"libjvm.so", false, JAVA},
	{"node", false, V8},
	{"nodejs", false, V8},
	{"libnode.so", true, V8},
	{"libv8.so", true, V8},
	{"python", true, PYTHON},
	{"libpython", true, PYTHON},
	{"php", true, PHP},
	{"php-fpm", true, PHP},
	{"php-cgi", true, PHP},
	{"libphp", true, PHP},
	{"libgo.so", true, GO},
	{"memcheck-amd64-linux", false,
	 "the program's blocks are valgrind's, which memtrace does not follow"},
};

/* Digits and dots, and what a build may append: "3.11", ".so.1", "3.13t". */
static bool is_version(const char *text)
{
	return !*text || isdigit((unsigned char)*text) || *text == '.';
}

static const char *of_file(const char *path)
{
	const char *name = path_base_name(path);

	for (size_t i = 0; i < sizeof(heaps) / sizeof(*heaps); i++) {
		const struct own_heap *heap = &heaps[i];
		size_t len = strlen(heap->name);

		if (!strncmp(name, heap->name, len) &&
		    (heap->has_version ? is_version(name + len) : !name[len]))
			return heap->what;
	}
	return NULL;
}

const char *own_heap_of(const struct proc_maps *maps)
{
	static const char go[] = "[anon: Go: ";
	const char *what = NULL;

	for (size_t i = 0; !what && i < maps->mappings.len; i++) {
		const struct proc_mapping *m = &maps->mappings.data[i];

		if (!strncmp(m->path, go, sizeof(go) - 1))
			what = GO;
		else if (m->executable && *m->path == '/')
			what = of_file(m->path);
	}
	return what;
}

void own_heap_say(const struct tracee *tracee, FILE *out)
{
	const char *what = own_heap_of(&tracee->planned);
	_cleanup_(freep) char *command = what ? escape_dup(tracee->command) : NULL;

	if (what)
		fprintf(out,
			"memtrace: pid %d (%s): %s: not counted here; --growth shows all "
			"memory that grows\n",
			tracee->pid, command ? command : "?", what);
}
