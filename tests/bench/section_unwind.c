// SPDX-License-Identifier: Apache-2.0
/* The cost of unwinding by rules in large programs. Compilers: how many unwind misses and
 * incomplete stacks there are. A large library: how soon the first stack is complete. */
#include "bench.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi.h"
#include "snapshot/file.h"
#include "tool.h"
#include "unwind/cfi.h"
#include "util/cleanup.h"

#define COMPILE_TIMEOUT_S 300
#define ROUNDS            5

#define LIBRARY           "/usr/lib/x86_64-linux-gnu/libLLVM-1[0-9].so.1"
#define LIBRARY_FUNCTION  "LLVMContextCreate" /* allocates */

DEFINE_CLEANUP(struct snapshot *, snapshot_destroy);

/* --- compilers -------------------------------------------------------------------- */

static const char program[] =
	"#include <iostream>\n#include <map>\n#include <regex>\n"
	"#include <string>\n#include <vector>\n"
	"int main(int argc, char **argv)\n{\n"
	"std::map<std::string, std::vector<std::string>> m;\n"
	"std::regex r(\"(a|b)*c\");\n"
	"for (int i = 0; i < argc; i++)\n"
	"if (std::regex_match(argv[i], r)) m[argv[i]].push_back(\"\");\n"
	"std::cout << m.size();\n}\n";

/* Read the child's stderr until it is closed. */
static char *read_errors(struct child *child)
{
	static char said[65536];
	size_t len = 0;
	ssize_t n;

	while ((n = read(child->err, said + len, sizeof(said) - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	return said;
}

static struct snapshot *load(const char *path)
{
	struct snapshot *snap = NULL;
	struct error *err = NULL;
	FILE *file = fopen(path, "re");
	struct stat st;

	if (!file || fstat(fileno(file), &st))
		die("there is no %s", path);
	err = snapshot_read(file, (uint64_t)st.st_size, &snap);
	if (err)
		die("%s: %s", path, err->message);
	fclose(file);
	return snap;
}

/* The number of allocations whose call path ended with `end`. */
static uint64_t count_ends(const struct snapshot *snap, enum stack_end end)
{
	uint64_t count = 0;

	for (size_t i = 0; i < snap->stacks.len; i++)
		if (snap->stacks.data[i].end == end)
			count += snap->traffic.data[i].allocations;
	return count;
}

/* Run a compiler on the program, with files in `directory`. cc1plus gets preprocessed
 * source, since it does not find all headers by itself. */
static void compile(const char *name, const char *compiler, const char *directory)
{
	bool is_gcc = strstr(compiler, "cc1plus");
	char save[256], report[256], source[256], object[256];
	const char *const argv[] = {MEMTRACE_BINARY,
				    "-v",
				    "--no-lines",
				    "--traffic",
				    "--max-stacks",
				    "1000000",
				    "--interval",
				    "1h",
				    "--top",
				    "1",
				    "--output",
				    report,
				    "--force",
				    "--save",
				    save,
				    "--",
				    compiler,
				    "-O2",
				    is_gcc ? "-quiet" : "-c",
				    is_gcc ? "-fpreprocessed" : "-D_GNU_SOURCE",
				    source,
				    "-o",
				    object,
				    NULL};
	uint64_t walks = 0, rules = 0;

	snprintf(save, sizeof(save), "%s/snapshot", directory);
	snprintf(report, sizeof(report), "%s/report", directory);
	snprintf(source, sizeof(source), "%s/program.%s", directory,
		 is_gcc ? "ii" : "cc");
	snprintf(object, sizeof(object), "%s/object", directory);

	struct child child = child_start(argv);
	const char *said = read_errors(&child),
		   *line = strstr(said, " stacks were unwound");

	child_wait(&child, COMPILE_TIMEOUT_S, NULL);
	while (line && line > said && line[-1] != ' ')
		line--;
	if (!line ||
	    sscanf(line, "%" SCNu64 " stacks were unwound from copies, and %" SCNu64,
		   &walks, &rules) != 2)
		die("%s: %s", name, said);

	_cleanup_(snapshot_destroyp) struct snapshot *snap = load(save);
	double all = (double)snap->totals[BLOCK_HEAP].allocations;
	uint64_t whole = count_ends(snap, STACK_END_COMPLETE);
	uint64_t deep = count_ends(snap, STACK_END_DEPTH);

	printf("%-10s %12.0f %12.3f %12.3f %12.3f %10" PRIu64 " %12.2f\n", name, all,
	       100 * (double)walks / all,
	       1e4 * (all - (double)whole - (double)deep) / all, 1e4 * (double)deep / all,
	       rules, (double)rules * 16 / 1e6);
	unlink(save);
	unlink(report);
	unlink(object);
}

static void compile_by_all(void)
{
	char directory[] = "/tmp/memtrace-bench-XXXXXX", source[64], command[160];
	char cc1plus[512] = "";
	FILE *file, *pipe = popen("g++ -print-prog-name=cc1plus", "re");

	if (!mkdtemp(directory))
		die("cannot make a directory");
	snprintf(source, sizeof(source), "%s/program.cc", directory);
	snprintf(command, sizeof(command), "g++ -E %s -o %.*sii", source,
		 (int)strlen(source) - 2, source);
	file = fopen(source, "we");
	if (!file || fputs(program, file) < 0 || fclose(file))
		die("cannot write %s", source);
	if (!pipe || !fgets(cc1plus, sizeof(cc1plus), pipe))
		cc1plus[0] = '\0';
	if (pipe)
		pclose(pipe);
	cc1plus[strcspn(cc1plus, "\n")] = '\0';
	printf("\nA compiler's whole run, on a program with <regex>\n%-10s %12s %12s "
	       "%12s "
	       "%12s %10s %12s\n",
	       "", "allocations", "% missed", "of 10,000", "of 10,000", "rules", "MB of");
	printf("%-10s %12s %12s %12s %12s %10s %12s\n", "", "", "", "incomplete",
	       "too deep", "", "them");
	if (access(cc1plus, X_OK) == 0 && system(command) == 0)
		compile("cc1plus", cc1plus, directory);
	else
		printf("cc1plus is not installed\n");
	if (access("/usr/bin/clang", X_OK) == 0)
		compile("clang", "/usr/bin/clang", directory);
	else
		printf("clang is not installed\n");
	unlink(source);
	strcpy(source + strlen(source) - 2, "ii");
	unlink(source);
	rmdir(directory);
}

/* --- a large library -------------------------------------------------------------- */

struct first {
	double probes_ms, stack_ms;
};

/* How long the start of memtrace takes, and then the time until it has reported the
 * complete stack of the first allocation, one in code of the library. `library` NULL: the
 * target's own code. */
static struct first first_stack(const char *library)
{
	static const char *const options[] = {"--format", "json", "--no-lines",
					      "--older",  "0",    NULL};
	struct target target = target_start();
	struct first first;
	struct text text;
	char line[64];

	if (library) {
		child_send(&target.child, "load %s", library);
		child_read_line(&target.child, 10, line, sizeof(line));
	}

	struct tracing tracing = tool_start(TOOL_MEMTRACE, &target, options);

	if (library) {
		child_send(&target.child, "call %s", LIBRARY_FUNCTION);
		child_read_line(&target.child, 10, line, sizeof(line));
		if (strcmp(line, "called") != 0)
			die("the target said \"%s\"", line);
	} else {
		target_fill(&target, 1, 1);
	}
	kill(tracing.child.pid, SIGUSR1);
	text = child_read_burst(&tracing.child, 10, 50);
	if (!strstr(text.data, "\"end\":\"complete\"") ||
	    (library && !strstr(text.data, "libLLVM")))
		die("the first stack is not whole: %s", text.data);
	first.probes_ms = tracing.all_probes_ms;
	first.stack_ms = (double)(text.last_ns - tracing.began_ns) / 1e6;
	text_deinit(&text);
	tool_stop(&tracing);
	target_stop(&target);
	return first;
}

/* Build all rows of a file's .eh_frame, as a tool would that converts the whole table
 * first. */
static double build_whole_table(const char *path, size_t *rows)
{
	double start_ns = (double)now_ns();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;
	Dwarf_CFI *cfi;
	Elf_Scn *section = NULL;
	size_t names;
	struct {
		uint64_t pc, rule;
	} *table = NULL;
	size_t room = 0;

	*rows = 0;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	if (!cfi || elf_getshdrstrndx(elf, &names))
		die("libdw cannot read %s", path);
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
			continue;
		for (Dwarf_Addr at = header.sh_addr, end = at + header.sh_size;
		     at < end;) {
			Dwarf_Frame *frame;
			Dwarf_Addr row_end = at + 1;

			/* Addresses between functions have no row. */
			if (!dwarf_cfi_addrframe(cfi, at, &frame)) {
				if (*rows == room) {
					room = room ? 2 * room : 1024;
					table = realloc(table, room * sizeof(*table));
				}
				table[*rows].pc = at;
				table[(*rows)++].rule = 0;
				dwarf_frame_info(frame, NULL, &row_end, NULL);
				free(frame);
			}
			at = row_end > at ? row_end : at + 1;
		}
	}
	free(table);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	return ((double)now_ns() - start_ns) / 1e6;
}

static double open_table(const char *path, double *megabytes)
{
	uint64_t start_ns = now_ns();
	struct cfi *cfi = NULL;
	struct error *err = cfi_open_file(open(path, O_RDONLY | O_CLOEXEC), &cfi);
	double ms = (double)(now_ns() - start_ns) / 1e6;

	if (err)
		die("%s: %s", path, err->message);
	*megabytes = (double)cfi_size_bytes(cfi) / 1e6;
	cfi_close(cfi);
	return ms;
}

static void large_library(void)
{
	double with[2][ROUNDS], without[2][ROUNDS], open_ms, open_mb, whole_ms;
	glob_t found;
	size_t rows;

	if (glob(LIBRARY, 0, NULL, &found) || !found.gl_pathc) {
		printf("\nthere is no %s\n", LIBRARY);
		return;
	}

	const char *library = found.gl_pathv[0];
	struct stat st;

	if (stat(library, &st))
		die("cannot stat %s", library);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct first a = first_stack(library), b = first_stack(NULL);

		with[0][i] = a.probes_ms;
		with[1][i] = a.stack_ms;
		without[0][i] = b.probes_ms;
		without[1][i] = b.stack_ms;
	}
	printf("\nA process that maps %s, %.0f MB\n%-52s %10s %10s\n", library,
	       (double)st.st_size / 1e6, "", "with it", "without");
	printf("%-52s %10.1f %10.1f\n", "start to probes, ms", median(with[0], ROUNDS),
	       median(without[0], ROUNDS));
	printf("%-52s %10.1f %10.1f\n", "probes to a report of the first stack, ms",
	       median(with[1], ROUNDS), median(without[1], ROUNDS));
	open_ms = open_table(library, &open_mb);
	printf("%-52s %10.1f %10.1f MB\n",
	       "of the start: finding its unwind information, ms", open_ms, open_mb);
	whole_ms = build_whole_table(library, &rows);
	printf("%-52s %10.1f %10.1f MB\n", "a table of all its rows, by libdw, ms",
	       whole_ms, (double)rows * 16 / 1e6);
	printf("(%zu rows)\n", rows);
	globfree(&found);
}

void section_unwind(void)
{
	compile_by_all();
	large_library();
}
