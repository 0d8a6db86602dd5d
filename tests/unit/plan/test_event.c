// SPDX-License-Identifier: Apache-2.0
/* Probes of events, in this program itself. */
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sdt.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/plan.h"
#include "plan/usdt_site.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

/* push %rbp; mov %rsp,%rbp; an instruction that the decoder does not know; ret. */
void probed(void);
#if defined(__x86_64__)
__asm__(".text\n.globl probed\n.type probed, @function\n"
	"probed:\n\tpush %rbp\n\tmov %rsp, %rbp\n\t.byte 0x0f, 0x0b\n\tpop %rbp\n\tret\n"
	"\tlock incl (%rsp)\n"
	".size probed, . - probed\n");
#endif

#define PROBED "uprobe:/proc/self/exe:probed"

static const struct event_options options = {.is_shared = false},
				  shared_options = {.is_shared = true},
				  several_options = {.has_others = true};

static struct error *find_in(const char *text, const struct proc *proc,
			     const struct proc_maps *maps,
			     const struct event_options *how, struct event_sites *ret)
{
	struct event_spec spec;
	struct error *err;

	*ret = (struct event_sites){0};
	REQUIRE(!event_spec_parse(text, &spec));
	err = event_sites_find(&spec, proc, maps, how, ret);
	event_spec_deinit(&spec);
	return err;
}

static struct error *find(const char *text, struct event_sites *ret)
{
	return find_in(text, NULL, NULL, &options, ret);
}

static void check_offset(const char *function, const char *text, uint64_t beyond)
{
	struct event_sites base, sites;
	_cleanup_(error_destroyp) struct error *err = find(text, &sites);

	REQUIRE(!find(function, &base));
	if (err)
		CHECK_FAIL("%s: %s", text, err->message);
	else if (sites.list.len == 1)
		CHECK_INT(sites.list.data[0].offset - base.list.data[0].offset, beyond);
	else
		CHECK_INT(sites.list.len, 1);
	event_sites_deinit(&sites);
	event_sites_deinit(&base);
}

static void check_refused_in(const char *text, const struct proc *proc,
			     const struct proc_maps *maps,
			     const struct event_options *how, enum error_code code,
			     const char *why)
{
	struct event_sites sites;
	_cleanup_(error_destroyp) struct error *err =
		find_in(text, proc, maps, how, &sites);

	if (!err) {
		CHECK_FAIL("%s was taken", text);
	} else {
		CHECK_INT(err->code, code);
		CHECK_CONTAINS(err->message, why);
	}
	event_sites_deinit(&sites);
}

static void check_refused(const char *text, enum error_code code, const char *why)
{
	check_refused_in(text, NULL, NULL, &options, code, why);
}

static void functions(void)
{
	check_offset(PROBED, "uprobe:/proc/self/exe:probed", 0);
	check_offset(PROBED, "uprobe:/proc/self/exe:probed+1", 1);
	check_offset(PROBED, "uprobe:/proc/self/exe:probed+0x4", 4);
	check_offset(PROBED, "uretprobe:/proc/self/exe:probed", 0);
	check_refused("uprobe:/proc/self/exe:probedd", ERROR_NOT_FOUND,
		      "has no function probedd: the nearest is probed");
	check_refused("uprobe:/no/such:f", ERROR_NOT_FOUND, "cannot open /no/such");
	check_refused("uprobe:libc.so.6:malloc", ERROR_USAGE, "has to be a path");
	check_refused("uprobe:/etc/passwd:f", ERROR_MALFORMED, "/etc/passwd");
	/* Files of the kernel are not opened. */
	check_refused("uprobe:/proc/self/status:f", ERROR_PERMISSION,
		      "/proc/self/status");
}

/* A probe in the middle of an instruction would destroy the instruction. */
static void insides(void)
{
	check_refused("uprobe:/proc/self/exe:probed+2", ERROR_UNSUPPORTED,
		      "not known to be the beginning of an instruction");
	check_refused("uprobe:/proc/self/exe:probed+3", ERROR_UNSUPPORTED,
		      "not known to be the beginning of an instruction");
	check_refused("uprobe:/proc/self/exe:probed+5", ERROR_UNSUPPORTED,
		      "not known to be the beginning of an instruction");
	check_refused("uprobe:/proc/self/exe:probed+1000", ERROR_NOT_FOUND,
		      "is behind its end");
}

static void static_probes(void)
{
	struct event_sites sites;

	STAP_PROBE(unit, twice);
	STAP_PROBE(unit, twice);
	STAP_PROBE1(unit, once, 1);
	REQUIRE(!find("usdt:/proc/self/exe:unit:twice", &sites));
	CHECK_INT(sites.list.len, 2);
	CHECK(sites.list.data[0].offset != sites.list.data[1].offset);
	CHECK_INT(sites.list.data[0].ref_ctr, 0);
	event_sites_deinit(&sites);
	check_refused("usdt:/proc/self/exe:unit:one", ERROR_NOT_FOUND,
		      "has no USDT probe unit:one: the nearest is unit:once");
	check_refused("usdt:/proc/self/exe:none:xyz", ERROR_NOT_FOUND,
		      "has no USDT probe none:xyz");
}

#if defined(__x86_64__)
/* --- forged notes ------------------------------------------------------------------- */

/* A note as <sys/sdt.h> writes it. */
#define NOTE(at, semaphore, name)                                                        \
	".pushsection .note.stapsdt,\"\",\"note\"\n"                                     \
	".balign 4\n"                                                                    \
	".4byte 992f-991f, 994f-993f, 3\n"                                               \
	"991: .asciz \"stapsdt\"\n"                                                      \
	"992: .balign 4\n"                                                               \
	"993: .8byte " at "\n"                                                           \
	".8byte _.stapsdt.base\n"                                                        \
	".8byte " semaphore "\n"                                                         \
	".asciz \"forged\", \"" name "\", \"\"\n"                                        \
	"994: .balign 4\n"                                                               \
	".popsection\n"

extern uint16_t forged_semaphore, forged_victim;
uint16_t forged_semaphore __attribute__((section(".probes")));
uint16_t forged_victim = 1;
static uint8_t nop_in_data = 0x90;

__asm__(".pushsection .text\n"
	".type forged, @function\n"
	"forged:\n"
	"	.cfi_startproc\n"
	"	mov $0x90909090, %eax\n"
	"2:	nop\n"
	"3:	.byte 0x66, 0x90\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size forged, . - forged\n"
	".type misled, @function\n"
	".set misled, forged + 5\n"
	".size misled, 1\n"
	/* Without unwind information. */
	"4:	nop\n"
	"	ret\n"
	".popsection\n" /* clang-format off */
	NOTE("forged + 1", "0", "inside")
	NOTE("forged", "0", "other")
	NOTE("2b", "0", "right")
	NOTE("2b", "0", "folded")
	NOTE("2b", "forged_semaphore", "folded")
	NOTE("2b", "0", "folded")
	NOTE("3b", "0", "longer")
	NOTE("4b", "0", "bare")
	NOTE("2b", "forged_semaphore", "counted")
	NOTE("2b", "forged_semaphore + 1", "odd")
	NOTE("2b", "forged_victim", "variable")
	NOTE("2b", "forged", "code")); /* clang-format on */

#define REACHING "uprobe:/proc/self/exe:reaching"
#define FORGED   "usdt:/proc/self/exe:forged:"

static void check_forged(const char *name, const char *why)
{
	_cleanup_(freep) char *text = NULL;

	REQUIRE(asprintf(&text, FORGED "%s", name) > 0);
	check_refused(text, ERROR_UNSUPPORTED, why);
	check_refused_in(text, NULL, NULL, &shared_options, ERROR_UNSUPPORTED, why);
}

/* The one place that there is. */
static struct event_site find_one(const char *text, const struct event_options *how)
{
	struct event_site site = {0};
	struct event_sites sites;
	_cleanup_(error_destroyp) struct error *err =
		find_in(text, NULL, NULL, how, &sites);

	if (err)
		CHECK_FAIL("%s: %s", text, err->message);
	CHECK_INT(sites.list.len, 1);
	if (sites.list.len)
		site = sites.list.data[0];
	event_sites_deinit(&sites);
	return site;
}

static void nops_inside_instructions(void)
{
	check_forged("inside", "not known to be the beginning of an instruction");
	check_forged("other", "no one-byte nop at its place");
	check_forged("longer", "no one-byte nop at its place");
	check_refused("uprobe:/proc/self/exe:misled", ERROR_UNSUPPORTED,
		      "its symbol points into another function");
	CHECK(find_one(FORGED "right", &options).offset);
	CHECK(!find_one(FORGED "right", &shared_options).is_private);
}

/* As a linker leaves them that folds functions with the same code. */
static void a_place_counts_once(void)
{
	CHECK(find_one(FORGED "folded", &options).ref_ctr);
}

static void semaphores(void)
{
	uint16_t was = 0;
	struct event_site site = find_one(FORGED "counted", &shared_options);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(site.ref_ctr);
	REQUIRE(fd >= 0 && pread(fd, &was, sizeof(was), (off_t)site.ref_ctr) == 2);
	CHECK_INT(was, forged_semaphore);
	close(fd);
	check_forged("odd", "its semaphore is not in a writable section .probes");
	check_forged("variable", "its semaphore is not in a writable section .probes");
	check_forged("code", "its semaphore is not in a writable section .probes");
}

/* Write a file with these bytes, and look for its probe with a semaphore. */
static struct error *find_counted(const void *bytes, size_t size)
{
	char path[] = "/tmp/memtrace-event-XXXXXX", text[64];
	struct event_sites sites;
	int fd = mkstemp(path);
	struct error *err;

	REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && !close(fd));
	snprintf(text, sizeof(text), "usdt:%s:forged:counted", path);
	err = find_in(text, NULL, NULL, &options, &sites);
	CHECK_INT(sites.list.len, !err);
	event_sites_deinit(&sites);
	unlink(path);
	return err;
}

static void check_no_semaphore(const void *bytes, size_t size)
{
	struct error *err = find_counted(bytes, size);

	REQUIRE(err);
	CHECK_CONTAINS(err->message,
		       "its semaphore is not in a writable section .probes");
	error_destroy(err);
}

/* The section and the segment must be writable, each by its own header. */
static void semaphores_that_cannot_be_written(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Elf64_Shdr *section = NULL;
	struct stat st;
	char *bytes;

	REQUIRE(fd >= 0 && !fstat(fd, &st));
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
		     0);
	REQUIRE(bytes != MAP_FAILED);
	close(fd);
	REQUIRE(!find_counted(bytes, (size_t)st.st_size));

	const Elf64_Ehdr *header = (const void *)bytes;
	Elf64_Shdr *sections = (void *)(bytes + header->e_shoff);
	Elf64_Phdr *segments = (void *)(bytes + header->e_phoff);
	const char *names = bytes + sections[header->e_shstrndx].sh_offset;

	for (size_t i = 0; i < header->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, ".probes"))
			section = &sections[i];
	REQUIRE(section);
	section->sh_flags ^= SHF_WRITE;
	check_no_semaphore(bytes, (size_t)st.st_size);
	section->sh_flags ^= SHF_WRITE;
	for (size_t i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			segments[i].p_flags &= ~(Elf64_Word)PF_W;
	check_no_semaphore(bytes, (size_t)st.st_size);
	munmap(bytes, (size_t)st.st_size);
}

/* Why this address of the program is no place for a probe, by its own headers. The notes
 * are read by a parser that may have been taken over. */
static const char *check_place(const void *at, struct text_budget *budget)
{
	extern const char __executable_start[];
	struct usdt_place place = {
		.address = (uint64_t)((const char *)at - __executable_start)};
	struct usdt_code code;
	struct usdt_file usdt;
	struct target_file *file;
	const Elf64_Phdr *segment;
	const char *why;

	REQUIRE(!target_file_named(NULL, "/proc/self/exe", &file));
	REQUIRE(!usdt_file_open(file, &usdt));
	segment = elf_image_segment(&usdt.image, place.address);
	REQUIRE(segment);
	place.file_offset = place.address - segment->p_vaddr + segment->p_offset;
	usdt.budget = budget;
	why = usdt_file_check(&usdt, &place, true, &code);
	usdt_code_deinit(&code);
	usdt_file_close(&usdt);
	target_file_release(file);
	return why;
}

static void places_by_the_headers(void)
{
	extern unsigned char forged[];
	struct text_budget spent = {0};

	CHECK(!check_place(forged + 5, NULL));
	CHECK_STR(check_place(&nop_in_data, NULL), "it is outside of the file's code");
	CHECK(!text_budget_spend(&spent, UINT64_MAX));
	CHECK_CONTAINS(check_place(forged + 5, &spent), "would take too long");
}

/* Only the note says that an instruction begins there. */
static void no_unwind_information(void)
{
	CHECK(find_one(FORGED "bare", &options).is_private);
	check_refused_in(FORGED "bare", NULL, NULL, &shared_options, ERROR_UNSUPPORTED,
			 "more than one process is probed");
	check_refused_in(FORGED "bare", NULL, NULL, &several_options, ERROR_UNSUPPORTED,
			 "more than one process is probed");
}

/* --- code in memory ----------------------------------------------------------------- */

/* By the symbol it has more code than by the unwind information. */
void reaching(void);
__asm__(".pushsection .text\n"
	".globl reaching\n"
	".type reaching, @function\n"
	"reaching:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	mov $0x90909090, %eax\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	nop\n"
	"	ret\n"
	".size reaching, . - reaching\n"
	".popsection\n");

struct change {
	const char *event;
	unsigned char *at; /* in memory */
	unsigned char byte;
	bool is_refused;
};

static void check_changed(const struct child *child, const struct proc *proc,
			  const struct proc_maps *maps, const struct change *c)
{
	off_t at = (off_t)(uintptr_t)c->at;
	_cleanup_(freep) char *path = NULL;
	struct event_sites sites;
	struct error *err;
	int fd;

	REQUIRE(asprintf(&path, "/proc/%d/mem", child->pid) > 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	REQUIRE(fd >= 0 && pwrite(fd, &c->byte, 1, at) == 1);
	if (c->is_refused) {
		check_refused_in(c->event, proc, maps, &options, ERROR_UNSAFE,
				 "its code in memory differs from the file");
	} else {
		err = find_in(c->event, proc, maps, &options, &sites);
		if (err)
			CHECK_FAIL("%s: %s", c->event, err->message);
		error_destroy(err);
		event_sites_deinit(&sites);
	}
	REQUIRE(pwrite(fd, c->at, 1, at) == 1);
	close(fd);
}

/* As the child has mapped this program. */
#define MAPPED      "uprobe:test_unit_plan_event:reaching"
#define MAPPED_USDT "usdt:test_unit_plan_event:forged:"

static void changed_code(void)
{
	unsigned char *code = (unsigned char *)(uintptr_t)reaching;
	extern unsigned char forged[];
	const struct change changes[] = {
		{MAPPED, code, 0x53, true},
		{"uretprobe:test_unit_plan_event:reaching", code, 0x53, true},
		/* What is behind the instruction does not matter. */
		{MAPPED, code + 1, 0xb9, false},
		{MAPPED "+1", code, 0x53, true},
		{MAPPED "+1", code + 5, 0x91, true},
		{MAPPED "+1", code + 6, 0x5b, false},
		/* A breakpoint, and what cannot be one. */
		{MAPPED, code, 0xcc, false},
		{MAPPED "+1", code + 1, 0xcc, false},
		{MAPPED "+1", code + 2, 0xcc, true},
		{MAPPED_USDT "right", forged + 1, 0x91, true},
		{MAPPED_USDT "right", forged + 5, 0xc3, true},
		{MAPPED_USDT "right", forged + 5, 0xcc, false},
		{MAPPED_USDT "right", forged + 6, 0xf3, false},
		{MAPPED_USDT "bare", forged + 9, 0xc3, true},
	};
	struct child child = child_fork(NULL, NULL);
	struct proc *proc;
	struct proc_maps maps;

	REQUIRE(!proc_open(child.pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	CHECK_INT(forged[5], 0x90);
	CHECK_INT(forged[9], 0x90);
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
		check_changed(&child, proc, &maps, &changes[i]);
	proc_maps_deinit(&maps);
	proc_close(proc);
	child_end(&child);
}

/* --- trouble ------------------------------------------------------------------------ */

/* With so few descriptors that some of the files cannot be opened, an event is refused
 * for this reason: the file is not taken to lack what could not be read. */
static void check_few_descriptors(const char *text)
{
	const struct event_site all = find_one(text, &shared_options);
	struct rlimit was, few;
	struct event_sites sites;
	struct error *err;
	int used = dup(0);

	REQUIRE(used >= 0 && !close(used));
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &was));
	few = was;
	for (few.rlim_cur = (rlim_t)used;; few.rlim_cur++) {
		REQUIRE(few.rlim_cur < (rlim_t)used + 32);
		REQUIRE(!setrlimit(RLIMIT_NOFILE, &few));
		err = find_in(text, NULL, NULL, &shared_options, &sites);
		REQUIRE(!setrlimit(RLIMIT_NOFILE, &was));
		if (!err)
			break;
		CHECK_INT(err->code, ERROR_IO);
		CHECK_CONTAINS(err->message, "Too many open files");
		error_destroy(err);
	}
	CHECK(few.rlim_cur > (rlim_t)used);
	REQUIRE(sites.list.len == 1);
	CHECK_INT(sites.list.data[0].offset, all.offset);
	CHECK_INT(sites.list.data[0].ref_ctr, all.ref_ctr);
	CHECK_INT(sites.list.data[0].is_private, all.is_private);
	event_sites_deinit(&sites);
}

static void few_descriptors(void)
{
	check_few_descriptors(FORGED "right");
	check_few_descriptors(FORGED "counted");
	check_few_descriptors(REACHING);
	check_few_descriptors(REACHING "+7");
}

static void ends(void)
{
	check_offset(REACHING, REACHING "+7", 7);
	check_refused(REACHING "+8", ERROR_UNSUPPORTED,
		      "not known to be the beginning of an instruction");
}
#endif

static void plans(void)
{
	struct event_spec spec;
	struct plan *plan;
	_cleanup_(freep) char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	REQUIRE(out && !event_spec_parse("usdt:/proc/self/exe:unit:twice", &spec));
	REQUIRE(!plan_build_event(&spec, NULL, NULL, &options, &plan));
	CHECK_INT(plan_site_count(plan), 2);
	plan_print(plan, false, out);
	REQUIRE(!fclose(out));
	CHECK_CONTAINS(text, "event      usdt:/proc/self/exe:unit:twice\n");
	CHECK_CONTAINS(text, "file       /proc/self/exe\nfile offset 0x");
	plan_destroy(plan);
	event_spec_deinit(&spec);

	/* A kernel event has no probe places. */
	REQUIRE(!event_spec_parse("profile:hz:99", &spec));
	REQUIRE(!plan_build_event(&spec, NULL, NULL, &options, &plan));
	CHECK_INT(plan_site_count(plan), 0);
	plan_destroy(plan);
	event_spec_deinit(&spec);
}

int main(void)
{
	RUN(functions);
	RUN(insides);
	RUN(static_probes);
#if defined(__x86_64__)
	RUN(nops_inside_instructions);
	RUN(a_place_counts_once);
	RUN(semaphores);
	RUN(semaphores_that_cannot_be_written);
	RUN(places_by_the_headers);
	RUN(no_unwind_information);
	RUN(changed_code);
	RUN(ends);
	RUN(few_descriptors);
#endif
	RUN(plans);
	return check_done();
}
