// SPDX-License-Identifier: Apache-2.0
/* Events whose function is only in a debug file that the target has written. */
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/plan.h"
#include "unit/process/child.h"

int probed(int n);

__attribute__((noinline)) int probed(int n)
{
	return n * 3;
}

#define LINK ".gnu_debuglink"

/* The content of the section LINK: the name of the debug file and its checksum. With a
 * build-id, the checksum does not count. */
static const char link_data[] = "named\0\0\0\0\0\0";

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && !close(fd));
}

/* Turn the symbol table into a section that names a debug file. `bytes` has room for
 * `more` bytes at the end. Returns the new size. */
static size_t strip(char *bytes, size_t size, size_t more)
{
	const Elf64_Ehdr *header = (const void *)bytes;
	Elf64_Shdr *sections = (void *)(bytes + header->e_shoff);
	Elf64_Shdr *names = &sections[header->e_shstrndx], *symbols = NULL;

	for (size_t i = 0; i < header->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB)
			symbols = &sections[i];
	REQUIRE(symbols && names->sh_size + sizeof(LINK) + sizeof(link_data) <= more);
	*symbols = (Elf64_Shdr){.sh_name = (Elf64_Word)names->sh_size,
				.sh_type = SHT_PROGBITS,
				.sh_offset = size,
				.sh_size = sizeof(link_data),
				.sh_addralign = 4};
	memcpy(bytes + size, link_data, sizeof(link_data));
	size += sizeof(link_data);
	memcpy(bytes + size, bytes + names->sh_offset, names->sh_size);
	memcpy(bytes + size + names->sh_size, LINK, sizeof(LINK));
	names->sh_offset = size;
	names->sh_size += sizeof(LINK);
	return size + names->sh_size;
}

/* Write this program without its symbols, and with them as its debug file. */
static void write_stripped(const char *path, const char *debug_path)
{
	const size_t more = 65536;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t size;
	char *bytes;

	REQUIRE(fd >= 0 && !fstat(fd, &st));
	size = (size_t)st.st_size;
	bytes = malloc(size + more);
	REQUIRE(bytes && pread(fd, bytes, size, 0) == st.st_size);
	close(fd);
	write_file(debug_path, bytes, size);
	write_file(path, bytes, strip(bytes, size, more));
	free(bytes);
}

static struct error *find(const char *text, const struct proc *proc,
			  const struct proc_maps *maps, bool is_shared,
			  struct event_sites *ret)
{
	const struct event_options how = {.is_shared = is_shared};
	struct event_spec spec;
	struct error *err;

	*ret = (struct event_sites){0};
	REQUIRE(!event_spec_parse(text, &spec));
	err = event_sites_find(&spec, proc, maps, &how, ret);
	event_spec_deinit(&spec);
	return err;
}

/* The target chooses what its own debug files say. So they serve only for probes in the
 * target alone. For probes in other processes, memtrace uses the machine's debug files.
 */
static void symbols_by_the_target(void)
{
	const char *dir = child_tmpdir();
	char path[96], debug_dir[96], debug_path[112], text[128];
	struct child child = child_fork(NULL, NULL);
	struct event_sites sites;
	struct proc *proc;
	struct proc_maps maps;
	struct error *err;

	snprintf(path, sizeof(path), "%s/program", dir);
	snprintf(debug_dir, sizeof(debug_dir), "%s/.debug", dir);
	snprintf(debug_path, sizeof(debug_path), "%s/named", debug_dir);
	snprintf(text, sizeof(text), "uprobe:%s:probed", path);
	REQUIRE(!mkdir(debug_dir, 0755));
	write_stripped(path, debug_path);
	REQUIRE(!proc_open(child.pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));

	err = find(text, proc, &maps, false, &sites);
	if (err)
		CHECK_FAIL("%s", err->message);
	CHECK(sites.list.len == 1 && sites.list.data[0].is_private);
	error_destroy(err);
	event_sites_deinit(&sites);
	err = find(text, proc, &maps, true, &sites);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_NOT_FOUND);
	CHECK_CONTAINS(err->message, "has no function probed");
	error_destroy(err);

	proc_maps_deinit(&maps);
	proc_close(proc);
	child_end(&child);
	unlink(path);
	unlink(debug_path);
	rmdir(debug_dir);
	rmdir(dir);
}

int main(void)
{
	CHECK_INT(probed(2), 6);
	RUN(symbols_by_the_target);
	return check_done();
}
