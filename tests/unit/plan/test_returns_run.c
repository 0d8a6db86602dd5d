// SPDX-License-Identifier: Apache-2.0
/*
 * The sites where results are settled (plan/returns.h) in real allocators, checked by
 * execution: functions are called in a process that has loaded the library, and ptrace(2)
 * single-steps each instruction.
 */
#include "check.h"

#if !defined(__x86_64__)

int main(void)
{
	check_leave_out("the libraries of this machine are not x86-64");
}

#else

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code/callees.h"
#include "code/cfg.h"
#include "code/place.h"
#include "code/reach.h"
#include "plan/returns.h"
#include "plan/site.h"
#include "allocator/allocator.h"
#include "elf/elf.h"
#include "process/proc.h"
#include "unit/code/tracee.h"
#include "unwind/cfi.h"
#include "util/cleanup.h"

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define ALL           (EMULATED_BRANCH | EMULATED_PUSH | EMULATED_NOPS)
#define CLAIMS_MAX    64
#define STEPS_MAX     5000 /* instructions of a call */
#define BLOCKS        24
#define FUNCTIONS_MAX 256

DEFINE_CLEANUP(struct proc *, proc_close);

/* Sets of instructions that kernels of different ages emulate. Last: none. */
static const unsigned variants[] = {ALL, ALL | EMULATED_CALL, EMULATED_BRANCH, 0};

#define VARIANTS      COUNT(variants)

/* --- the library -------------------------------------------------------------------- */

struct function {
	const struct alloc_function *kind;
	struct elf_symbol symbol;
	enum result_width width;
	struct return_sites sites[VARIANTS];
	const char *why[VARIANTS]; /* why no sites were found, or NULL */
	struct return_sites whole; /* sites that see whole calls, if is_fused */
	struct cfg cfg;            /* empty if the code is not understood */
	unsigned calls, failed;
};

struct library {
	const char *label;
	char *path;         /* without symbolic links */
	const char *folder; /* folder of the other libraries; NULL: this machine's */
	const char *linker; /* dynamic linker that loads it */
	char *build_id;
	struct elf_file *elf;
	struct cfi *cfi;
	struct allocators allocators;
	struct callees callees;
	struct cfg_source source;
	struct function functions[FUNCTIONS_MAX];
	size_t count, whole_count;
};

static size_t read_code(void *arg, uint64_t address, uint8_t *ret, size_t size)
{
	const struct library *library = arg;

	return callees_read(&library->callees, address, ret, size);
}

static bool find_extent(void *arg, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct library *library = arg;
	struct cfi_fde fde;

	if (!library->cfi || !cfi_find_fde(library->cfi, address, &fde))
		return false;
	*start = fde.start;
	*end = fde.end;
	return true;
}

static void check_sites(const struct function *f, unsigned variant)
{
	const struct return_sites *sites = &f->sites[variant];

	CHECK(sites->list.len > 0 && sites->list.len <= RETURN_SITES_MAX);
	for (size_t i = 0; i < sites->list.len; i++) {
		const struct return_site *s = &sites->list.data[i];

		CHECK(i == 0 || sites->list.data[i - 1].address < s->address);
		CHECK(s->value[0].kind || (s->has_condition && s->value[1].kind));
		CHECK(s->is_emulated || !s->has_condition);
		CHECK(s->reason);
	}
}

static void add_function(struct library *library, const struct allocator_function *found,
			 struct returns all[VARIANTS])
{
	struct function *f = &library->functions[library->count];

	for (size_t i = 0; i < library->count; i++)
		if (library->functions[i].symbol.address == found->symbol.address)
			return;
	REQUIRE(library->count < FUNCTIONS_MAX);
	library->count++;
	*f = (struct function){.kind = found->function,
			       .symbol = found->symbol,
			       .width = site_result_width(found->function->effect)};
	if (cfg_read(&library->source, f->symbol.address, f->symbol.size_bytes, &f->cfg))
		cfg_deinit(&f->cfg);
	for (unsigned v = 0; v < VARIANTS; v++) {
		f->why[v] = returns_find(
			&all[v],
			&(struct returns_request){.address = f->symbol.address,
						  .size = f->symbol.size_bytes,
						  .width = f->width,
						  .asked = RETURN_NO_SIZE},
			&f->sites[v]);
		if (f->why[v])
			return_sites_deinit(&f->sites[v]);
		else
			check_sites(f, v);
	}
}

static bool is_probed(void *arg, uint64_t address)
{
	const struct library *library = arg;

	for (size_t i = 0; i < library->count; i++)
		if (library->functions[i].symbol.address == address &&
		    !library->functions[i].kind->mapping)
			return true;
	return false;
}

/* Finds whole calls in one library. */
struct finding {
	struct library *library;
	struct reach reach;
};

static bool may_call(void *arg, uint64_t address)
{
	return reach_any(&((struct finding *)arg)->reach, address);
}

/* Is there a traced function at this address? Then calls that continue there are seen
 * there. */
static bool is_seen(const struct library *library, uint64_t address)
{
	for (size_t i = 0; i < library->count; i++) {
		const struct function *f = &library->functions[i];

		if (f->symbol.address == address &&
		    (f->whole.is_fused || !strcmp(f->kind->name, "malloc")))
			return true;
	}
	return false;
}

static bool is_covered(void *arg, uint64_t address)
{
	return is_seen(((const struct finding *)arg)->library, address);
}

/* The sites of memtrace on a kernel that emulates all of these instructions. */
static void find_wholes(struct library *library)
{
	struct finding finding = {.library = library,
				  .reach = {.source = &library->source,
					    .is_probed = is_probed,
					    .arg = library}};
	struct returns all = {.source = &library->source,
			      .emulated = variants[0],
			      .is_covered = is_covered,
			      .calls = may_call,
			      .arg = &finding};

	for (size_t i = 0; i < library->count; i++) {
		struct function *f = &library->functions[i];
		const struct returns_request request = {.address = f->symbol.address,
							.size = f->symbol.size_bytes,
							.width = f->width,
							.asked = site_asked(f->kind)};

		if (request.asked != RETURN_NO_SIZE)
			returns_find(&all, &request, &f->whole);
		library->whole_count += f->whole.is_fused;
	}
	returns_deinit(&all);
	reach_deinit(&finding.reach);
}

static void find_sites(struct library *library)
{
	vec_foreach (allocator, &library->allocators.list) {
		struct returns all[VARIANTS] = {0};

		for (unsigned v = 0; v < VARIANTS; v++)
			all[v] = (struct returns){
				.source = &library->source,
				.emulated = variants[v],
				.has_hooks = !strcmp(allocator->label, LABEL_GLIBC)};
		vec_foreach (found, &allocator->functions)
			add_function(library, found, all);
		for (unsigned v = 0; v < VARIANTS; v++)
			returns_deinit(&all[v]);
	}
	find_wholes(library);
}

static void library_deinit(struct library *library)
{
	for (size_t i = 0; i < library->count; i++) {
		cfg_deinit(&library->functions[i].cfg);
		for (unsigned v = 0; v < VARIANTS; v++)
			return_sites_deinit(&library->functions[i].sites[v]);
		return_sites_deinit(&library->functions[i].whole);
	}
	if (library->source.read)
		callees_deinit(&library->callees);
	for (size_t i = 0; i < library->allocators.list.len; i++)
		allocator_deinit(&library->allocators.list.data[i]);
	vec_deinit(&library->allocators.list);
	cfi_close(library->cfi);
	elf_file_close(library->elf);
	free(library->path);
	free(library->build_id);
}

/* False if the file does not exist or has no allocator. */
static bool library_open(struct library *library)
{
	struct allocator_file file = {
		.module_path = library->path, .text_end = UINT64_MAX, .is_named = true};
	const struct allocator_options options = {.mappings = true};
	_cleanup_(freep) char *why = NULL;
	const struct elf_symbol *first;
	int fd;

	_cleanup_(error_destroyp) struct error *error =
		elf_file_open(library->path, &library->elf);
	if (error)
		return false;
	if (elf_file_build_id(library->elf))
		library->build_id = strdup(elf_file_build_id(library->elf));
	REQUIRE(!target_file_named(NULL, library->path, &file.file));
	REQUIRE(!allocators_scan(&file, &options, &library->allocators, &why));
	target_file_release(file.file);
	if (!library->allocators.list.len ||
	    !library->allocators.list.data[0].functions.len)
		return false;
	fd = open(library->path, O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0 && !cfi_open_file(fd, &library->cfi));
	first = &library->allocators.list.data[0].functions.data[0].symbol;
	REQUIRE(!callees_init(&library->callees, library->elf,
			      first->address - first->file_offset));
	library->source = (struct cfg_source){.read = read_code,
					      .extent = find_extent,
					      .arg = library,
					      .callees = &library->callees};
	find_sites(library);
	return true;
}

/* --- the process -------------------------------------------------------------------- */

struct tracee {
	struct library *library;
	pid_t pid;
	bool has_stop_at;              /* result of has_stop_at() */
	struct user_regs_struct start; /* registers when it stopped */
	uint64_t trap;                 /* address of a trap, to which calls return */
	uint64_t bias;                 /* to be added to the file's addresses */
	uint64_t out;                  /* memory for results */
	/* Argument of mimalloc's functions that take a heap. */
	uint64_t heap;
	const char *name; /* the function that was called last */
	unsigned seed;
	struct {
		uint64_t address;
		size_t size;
	} blocks[BLOCKS];
	const struct function *plain_alloc, *plain_free;
	unsigned calls, caught, left, again[VARIANTS], steps, by_whole;
};

/* The result that a site reads. */
struct claim {
	const struct return_site *site;
	struct return_value value;
	uint64_t result; /* value of the register, word or constant */
	uint64_t stored; /* the word to which the first argument points */
	bool was_last;   /* no function was called since */
};

/* A call that is checked. */
struct call {
	struct function *function;
	uint64_t arguments[6];
	struct user_regs_struct before;
	struct claim claims[VARIANTS][CLAIMS_MAX];
	size_t count[VARIANTS];
	unsigned entries, wholes, results; /* hits of sites of function->whole */
	bool has_caught;                   /* an exception was caught, or may have been */
	bool has_left;                     /* the function has jumped to another one */
	bool is_seen_elsewhere; /* is_seen() of the function to which it jumped */
};

/* Resumes until the next SIGTRAP. */
static struct user_regs_struct resume(struct tracee *t, int request)
{
	int status;
	struct user_regs_struct r;

	REQUIRE(!ptrace(request, t->pid, NULL, NULL));
	REQUIRE(waitpid(t->pid, &status, __WALL) == t->pid);
	REQUIRE(WIFSTOPPED(status));
	r = registers_of(t->pid);
	if (WSTOPSIG(status) != SIGTRAP) {
		fprintf(stderr, "%s: %s: signal %d at %#llx of the file\n",
			t->library->label, t->name, WSTOPSIG(status), r.rip - t->bias);
		REQUIRE(WSTOPSIG(status) == SIGTRAP);
	}
	return r;
}

/* Has the call returned and executed the trap? */
static bool is_back(const struct tracee *t, const struct user_regs_struct *r)
{
	return r->rip == t->trap + 1;
}

/* run_to() by a trap in the code. */
static struct user_regs_struct run_to_trap(struct tracee *t, uint64_t address,
					   uint64_t sp)
{
	uint64_t word = address ? set_trap(t->pid, address) : 0;
	struct user_regs_struct r = resume(t, PTRACE_CONT);

	while (!is_back(t, &r)) {
		REQUIRE(is_trapped(t->pid, address));
		r.rip = address;
		if (r.rsp == sp)
			break;
		poke(t->pid, address, word);
		r = resume(t, PTRACE_SINGLESTEP);
		if (is_back(t, &r))
			break;
		set_trap(t->pid, address);
		r = resume(t, PTRACE_CONT);
	}
	if (address)
		poke(t->pid, address, word);
	return r;
}

/* Runs up to `address` with this stack pointer, or to the end of the call. */
static struct user_regs_struct run_to(struct tracee *t, uint64_t address, uint64_t sp)
{
	struct user_regs_struct r;

	if (!t->has_stop_at)
		return run_to_trap(t, address, sp);
	stop_at(t->pid, address);
	do
		r = resume(t, PTRACE_CONT);
	while (!is_back(t, &r) && (r.rip != address || r.rsp != sp));
	stop_at(t->pid, 0);
	return r;
}

/* Sets the registers for a call of the function. Registers that a call must preserve get
 * values that occur nowhere else. */
static struct user_regs_struct enter(struct tracee *t, uint64_t address,
				     const uint64_t arguments[6])
{
	struct user_regs_struct r = t->start;

	r.rsp = ((t->start.rsp - 8192) & ~(uint64_t)15) - 8;
	poke(t->pid, r.rsp, t->trap);
	r.rip = t->bias + address;
	r.rdi = arguments[0];
	r.rsi = arguments[1];
	r.rdx = arguments[2];
	r.rcx = arguments[3];
	r.r8 = arguments[4];
	r.r9 = arguments[5];
	r.rax = 0x0a0a0a0a0a0a0a0a;
	r.rbx = 0x0b0b0b0b0b0b0b0b;
	r.rbp = 0x7e7e7e7e7e7e0001 + (uint64_t)t->calls;
	r.r10 = 0x1010101010101010;
	r.r11 = 0x1111111111111111;
	r.r12 = 0x1212121212121212;
	r.r13 = 0x1313131313131313;
	r.r14 = 0x1414141414141414;
	r.r15 = 0x1515151515151515;
	/* Do not restart a system call. */
	r.orig_rax = (unsigned long long)-1;
	REQUIRE(!ptrace(PTRACE_SETREGS, t->pid, NULL, &r));
	return r;
}

/* Calls a function without single-stepping. */
static uint64_t call(struct tracee *t, uint64_t address, uint64_t a, uint64_t b,
		     uint64_t c, uint64_t d)
{
	const uint64_t arguments[6] = {a, b, c, d, UINT64_MAX, 0};
	struct user_regs_struct r;

	enter(t, address, arguments);
	r = resume(t, PTRACE_CONT);
	REQUIRE(is_back(t, &r));
	return r.rax;
}

/* --- checks of each site ---------------------------------------------------------- */

/* Is the condition of a jump true? SDM volume 1, appendix B. */
static bool holds(uint8_t condition, uint64_t flags)
{
	bool cf = flags & 1, pf = flags >> 2 & 1, zf = flags >> 6 & 1,
	     sf = flags >> 7 & 1, of = flags >> 11 & 1;
	const bool all[] = {of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of};

	REQUIRE(condition < 16);
	return all[condition >> 1] != (condition & 1);
}

/* The result that the site reads. RETURN_BLOCK: the block. */
static uint64_t evaluate(const struct tracee *t, const struct return_value *value,
			 const struct user_regs_struct *r)
{
	switch (value->kind) {
	case RETURN_REGISTER:
	case RETURN_BLOCK:
		return register_of(r, value->reg);
	case RETURN_FRAME:
		CHECK(value->offset % 8 == 0);
		return peek(t->pid, r->rsp + (uint64_t)(int64_t)value->offset);
	default:
		return (uint64_t)(int64_t)value->offset;
	}
}

/* Called before the instruction at a site is executed. */
static void see_site(struct tracee *t, struct call *c, unsigned variant,
		     const struct return_site *site, const struct user_regs_struct *r)
{
	const struct return_value *value =
		&site->value[site->has_condition && holds(site->condition, r->eflags)];
	uint64_t slot = r->rsp + (uint64_t)(int64_t)site->sp_delta, bp = r->rbp;
	struct claim *claim = &c->claims[variant][c->count[variant]];

	/* Calls are stepped over, so this is the frame of this call. Another tracer's
	 * return probe may have changed the return address. */
	CHECK(slot == c->before.rsp);
	if (site->bp_words)
		bp = peek(t->pid, slot - 8 * (uint64_t)site->bp_words);
	CHECK(bp == c->before.rbp);
	if (value->kind == RETURN_OPEN)
		return;
	REQUIRE(c->count[variant] < CLAIMS_MAX);
	c->count[variant]++;
	*claim = (struct claim){.site = site,
				.value = *value,
				.result = evaluate(t, value, r),
				.was_last = true};
	if (c->function->width == RESULT_OUT)
		claim->stored = peek(t->pid, t->out);
}

static uint64_t size_of(const struct call *c)
{
	const struct alloc_function *kind = c->function->kind;
	uint64_t size = c->arguments[kind->size_arg];

	return kind->count_arg == ARG_NONE ? size : size * c->arguments[kind->count_arg];
}

/* The same for the sites of function->whole. */
static void see_wholes(const struct tracee *t, struct call *c,
		       const struct user_regs_struct *r)
{
	uint64_t address = r->rip - t->bias;

	vec_foreach (entry, &c->function->whole.entries) {
		if (entry->address != address)
			continue;
		CHECK(register_of(r, entry->size_reg) == size_of(c));
		CHECK(r->rsp + (uint64_t)(int64_t)entry->sp_delta == c->before.rsp);
		CHECK_INT(c->wholes + c->results, 0);
		c->entries++;
	}
	vec_foreach (site, &c->function->whole.list) {
		if (site->address != address)
			continue;
		if (!site->value[site->has_condition && holds(site->condition, r->eflags)]
			     .kind)
			continue;
		if (site->is_whole)
			CHECK(register_of(r, site->size_reg) == size_of(c));
		else
			CHECK_INT(c->entries, 1);
		c->wholes += site->is_whole;
		c->results += !site->is_whole;
	}
	if (address != c->function->symbol.address && r->rsp == c->before.rsp)
		c->is_seen_elsewhere |= is_seen(t->library, address);
}

static void see_sites(struct tracee *t, struct call *c, const struct user_regs_struct *r)
{
	uint64_t address = r->rip - t->bias;

	if (c->function->whole.is_fused)
		see_wholes(t, c, r);

	for (unsigned v = 0; v < VARIANTS; v++) {
		const struct return_sites *sites = &c->function->sites[v];
		size_t n = vec_count_up_to(&sites->list, address, address);

		for (; n && sites->list.data[n - 1].address == address; n--)
			see_site(t, c, v, &sites->list.data[n - 1], r);
	}
}

/* The instruction at an address, or NULL if it is not in the graph. */
static const struct cfg_insn *insn_at(const struct cfg *cfg, uint64_t address)
{
	size_t low = 0, high = cfg->insns.len;

	/* Pseudo instructions come last. */
	while (high && cfg->insns.data[high - 1].is_pseudo)
		high--;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cfg->insns.data[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < cfg->insns.len && !cfg->insns.data[low].is_pseudo &&
			       cfg->insns.data[low].address == address
		       ? &cfg->insns.data[low]
		       : NULL;
}

static bool leads_to(const struct cfg *cfg, const struct cfg_insn *from, uint64_t address)
{
	for (uint8_t n = 0; n < from->next_count; n++)
		if (cfg->insns.data[from->next[n]].address == address)
			return true;
	return false;
}

/* Checks that the processor goes where the graph says, and the stack pointer, too. */
static void check_graph(const struct tracee *t, struct call *c,
			const struct user_regs_struct *r,
			const struct user_regs_struct *after)
{
	const struct cfg *cfg = &c->function->cfg;
	const struct cfg_insn *at = insn_at(cfg, r->rip - t->bias);

	if (!cfg->insns.len || c->has_left || c->has_caught)
		return;
	CHECK(at);
	if (!at)
		return;
	CHECK(r->rsp + (uint64_t)at->sp_delta == c->before.rsp);
	if (at->bp_delta != CFG_NO_BP)
		CHECK(r->rbp + (uint64_t)at->bp_delta == c->before.rsp);
	if (at->exit == CFG_RETURNS)
		CHECK(after->rip == t->trap);
	c->has_left = at->exit == CFG_LEAVES || at->exit == CFG_RETURNS;
	if (c->has_left || after->rip == r->rip)
		return;
	CHECK(at->exit == CFG_GOES_ON && leads_to(cfg, at, after->rip - t->bias));
	c->has_left = !insn_at(cfg, after->rip - t->bias);
}

static void note_call(struct call *c)
{
	for (unsigned v = 0; v < VARIANTS; v++)
		for (size_t i = 0; i < c->count[v]; i++)
			c->claims[v][i].was_last = false;
}

/* Executes one instruction. Calls and repeated string instructions are executed as a
 * whole. */
static struct user_regs_struct step(struct tracee *t, struct call *c,
				    const struct user_regs_struct *r)
{
	uint8_t code[INSN_LENGTH_MAX];
	size_t size =
		callees_read(&t->library->callees, r->rip - t->bias, code, sizeof(code));
	struct user_regs_struct after;
	struct insn insn;

	insn_decode(code, size, &insn);
	if (insn.kind == INSN_OPAQUE && (code[0] == 0xf3 || code[0] == 0xf2))
		return run_to(t, r->rip + insn.length, r->rsp);
	after = resume(t, PTRACE_SINGLESTEP);
	t->steps++;
	if (insn.kind != INSN_CALL && insn.kind != INSN_CALL_INDIRECT)
		return after;
	note_call(c);
	after = run_to(t, r->rip + insn.length, r->rsp);
	c->has_caught |= is_back(t, &after);
	return after;
}

static void check_claim(struct tracee *t, const struct call *c, const struct claim *claim,
			const struct user_regs_struct *after)
{
	switch (c->function->width) {
	case RESULT_WORD:
	case RESULT_MOVED:
		CHECK(claim->value.kind != RETURN_BLOCK);
		CHECK(claim->result == after->rax);
		return;
	case RESULT_INT:
		CHECK(claim->value.kind != RETURN_BLOCK);
		CHECK((uint32_t)claim->result == (uint32_t)after->rax);
		return;
	case RESULT_OUT:
		if (claim->value.kind == RETURN_BLOCK) {
			CHECK((uint32_t)after->rax == 0);
			CHECK(claim->result == peek(t->pid, t->out));
			return;
		}
		CHECK((uint32_t)claim->result == (uint32_t)after->rax);
		/* The block is already stored. */
		if (!(uint32_t)after->rax)
			CHECK(claim->stored == peek(t->pid, t->out));
		return;
	case RESULT_VOID:
		CHECK(claim->was_last);
		return;
	}
}

static void print_call(const struct tracee *t, const struct call *c, unsigned variant,
		       const struct user_regs_struct *after)
{
	const struct function *f = c->function;

	fprintf(stderr,
		"... %s: %s(%#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 ", %#" PRIx64
		") is %#llx; variant %u:",
		t->library->label, f->kind->name, c->arguments[0], c->arguments[1],
		c->arguments[2], c->arguments[3], after->rax, variant);
	for (size_t i = 0; i < c->count[variant]; i++)
		fprintf(stderr, " %#" PRIx64 ":%d=%#" PRIx64,
			c->claims[variant][i].site->address,
			c->claims[variant][i].value.kind, c->claims[variant][i].result);
	fprintf(stderr, "\n");
}

static void check_call(struct tracee *t, const struct call *c,
		       const struct user_regs_struct *after)
{
	CHECK(after->rsp == c->before.rsp + sizeof(uint64_t));
	CHECK(after->rbp == c->before.rbp);
	for (unsigned v = 0; v < VARIANTS; v++) {
		unsigned before = check_state.failures;

		if (c->function->why[v])
			continue;
		/* The graph does not contain the code that catches exceptions. Such a
		 * call has failed. */
		CHECK(c->count[v] > 0 || (c->has_caught && !after->rax));
		t->caught += !c->count[v];
		t->again[v] += c->count[v] > 1;
		for (size_t i = 0; i < c->count[v]; i++)
			check_claim(t, c, &c->claims[v][i], after);
		if (check_state.failures != before)
			print_call(t, c, v, after);
	}
	if (c->function->whole.is_fused && !c->is_seen_elsewhere) {
		CHECK(c->entries <= 1);
		CHECK(c->wholes + c->results == 1 || (c->has_caught && !after->rax));
		t->by_whole += c->wholes > 0;
	}
	/* Hundreds of calls would fail in the same way. */
	REQUIRE(check_state.failures < 100);
}

/* Calls the function and checks the call. */
static uint64_t judge_call(struct tracee *t, struct function *f,
			   const uint64_t arguments[6])
{
	struct call c = {.function = f};
	struct user_regs_struct r, after;
	uint64_t last = 0;
	unsigned before = check_state.failures, steps = 0;

	memcpy(c.arguments, arguments, sizeof(c.arguments));
	t->name = f->kind->name;
	t->calls++;
	f->calls++;
	r = c.before = enter(t, f->symbol.address, arguments);
	while (!is_back(t, &r)) {
		/* The function clears a large block byte by byte. */
		if (steps++ == STEPS_MAX) {
			t->left++;
			return run_to(t, 0, 0).rax;
		}
		/* Only once if a breakpoint stops before the step. */
		if (r.rip != last)
			see_sites(t, &c, &r);
		last = r.rip;
		after = step(t, &c, &r);
		check_graph(t, &c, &r, &after);
		r = after;
	}
	check_call(t, &c, &r);
	if (check_state.failures != before)
		print_call(t, &c, 0, &r);
	return r.rax;
}

/* --- how functions are called ----------------------------------------------------- */

static unsigned below(struct tracee *t, unsigned limit)
{
	return (unsigned)rand_r(&t->seed) % limit;
}

static bool has(const struct function *f, const char *part)
{
	return strstr(f->kind->name, part);
}

/* May the function throw or end the program when out of memory? musl 1.2.2 then reads the
 * header of the block that it did not get. */
static bool may_throw(const struct tracee *t, const struct function *f)
{
	if ((has(f, "align") || has(f, "valloc")) &&
	    !strcmp(t->library->label, "debian-11 musl"))
		return true;
	return (has(f, "_Zn") || has(f, "new")) && !has(f, "nothrow");
}

static size_t some_size(struct tracee *t, const struct function *f)
{
	static const size_t limits[] = {24,     128,     0x408,    0x408,
					0x2000, 0x10000, 0x200000, 0x1000000};
	/* Sizes that always fail. */
	static const size_t too_large[] = {(size_t)1 << 62, (size_t)1 << 47, SIZE_MAX,
					   (size_t)1 << 63, SIZE_MAX - 4096};
	unsigned n = below(t, 20);

	if (has(f, "small"))
		return below(t, 1000);
	if (n == 0 && !may_throw(t, f))
		return too_large[below(t, COUNT(too_large))];
	/* jemalloc(3): undefined for these functions. */
	if (n == 1 && !has(f, "llocx"))
		return 0;
	return 1 + below(t, (unsigned)limits[below(t, n == 2 ? 8 : 6)]);
}

/* The index of the alignment argument, or -1. */
static int alignment_argument(const struct function *f)
{
	int size = f->kind->size_arg;

	if (f->kind->effect == EFFECT_FREE)
		return -1;
	if (has(f, "memalign") || has(f, "aligned_alloc"))
		return size - 1;
	return has(f, "aligned") || has(f, "align_val") ? size + 1 : -1;
}

static uint64_t some_alignment(struct tracee *t, const struct function *f)
{
	if (has(f, "posix_memalign") && !below(t, 6))
		return below(t, 40); /* mostly no flags */
	return (uint64_t)8 << below(t, below(t, 4) ? 5 : 14);
}

/* Allocates a block into one of the entries. Returns its index. */
static size_t some_block(struct tracee *t, size_t size)
{
	size_t i = below(t, BLOCKS);

	if (t->blocks[i].address)
		call(t, t->plain_free->symbol.address, t->blocks[i].address, 0, 0, 0);
	t->blocks[i].size = size;
	t->blocks[i].address = call(t, t->plain_alloc->symbol.address, size, 0, 0, 0);
	REQUIRE(t->blocks[i].address);
	return i;
}

static void keep_block(struct tracee *t, uint64_t address, size_t size)
{
	size_t i = below(t, BLOCKS);

	if (!address)
		return;
	if (t->blocks[i].address)
		call(t, t->plain_free->symbol.address, t->blocks[i].address, 0, 0, 0);
	t->blocks[i].address = address;
	t->blocks[i].size = size;
}

static void judge_free(struct tracee *t, struct function *f)
{
	size_t size = 16 + 16 * (size_t)below(t, below(t, 10) ? 60 : 20000);
	bool is_aligned = has(f, "align"), is_null = !below(t, 8) && !has(f, "dallocx");
	bool is_sized = has(f, "size") || has(f, "Pvm") || has(f, "sdallocx");
	size_t i = some_block(t, size);
	uint64_t arguments[6] = {is_null ? 0 : t->blocks[i].address};

	if (is_aligned && is_sized) {
		arguments[1] = has(f, "aligned_sized") ? 16 : size;
		arguments[2] = has(f, "aligned_sized") ? size : 16;
	} else if (is_aligned) {
		arguments[1] = 16;
	} else if (is_sized) {
		arguments[1] = size;
	} else if (has(f, "nothrow")) {
		arguments[1] = t->out;
	}
	judge_call(t, f, arguments);
	if (!is_null)
		t->blocks[i].address = 0;
}

static void judge_mapping(struct tracee *t, struct function *f)
{
	size_t size = 4096 * (size_t)(1 + below(t, 60));
	bool fails = !below(t, 5);
	uint64_t arguments[6] = {
		0,          size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		UINT64_MAX, 0};
	uint64_t result;

	if (f->kind->effect == EFFECT_MAP) {
		if (fails)
			arguments[1] = below(t, 2) ? 0 : SIZE_MAX;
		if (!below(t, 8))
			arguments[5] = 1; /* not a multiple of a page */
		result = judge_call(t, f, arguments);
		f->failed += result == UINT64_MAX;
		return;
	}
	/* The tracee certainly has this memory: two pages of its stack. */
	arguments[0] = fails ? 1 : ((t->start.rsp - 65536) & ~(uint64_t)4095);
	arguments[1] = 4096;
	if (f->kind->effect == EFFECT_REMAP) {
		arguments[2] = fails ? 0 : 4096;
		arguments[3] = fails ? 0x1000 : 0;
	}
	result = judge_call(t, f, arguments);
	f->failed += result == UINT64_MAX || (uint32_t)result == UINT32_MAX;
}

static void judge_alloc(struct tracee *t, struct function *f)
{
	const struct alloc_function *kind = f->kind;
	size_t size = some_size(t, f), block = BLOCKS;
	int alignment = alignment_argument(f);
	uint64_t arguments[6] = {0}, result;

	if (has(f, "heap_"))
		arguments[0] = t->heap;
	if (kind->count_arg != ARG_NONE && size < (size_t)1 << 32) {
		bool overflows = !below(t, 12) && !may_throw(t, f);
		uint64_t count = overflows ? (uint64_t)1 << 60 : 1 + below(t, 8);

		arguments[kind->count_arg] = count;
		size = overflows ? 4096 : size / count;
	} else if (kind->count_arg != ARG_NONE) {
		arguments[kind->count_arg] = 1;
	}
	if (kind->old_arg != ARG_NONE &&
	    (below(t, 6) || has(f, "llocx") || has(f, "expand"))) {
		block = some_block(t, 1 + below(t, below(t, 4) ? 500 : 100000));
		arguments[kind->old_arg] = t->blocks[block].address;
		if (below(t, 2) && size < 1u << 20)
			size = t->blocks[block].size + (has(f, "llocx") ? 1 : 0);
	}
	if (alignment >= 0)
		arguments[alignment] = some_alignment(t, f);
	else if (has(f, "llocx"))
		arguments[kind->size_arg + 1 + has(f, "xallocx")] =
			below(t, 3)   ? 0
			: below(t, 2) ? 0x40
				      : below(t, 12);
	if (has(f, "nothrow"))
		arguments[alignment >= 0 ? 2 : 1] = t->out;
	arguments[kind->size_arg] = size;
	if (kind->out_arg != ARG_NONE) {
		arguments[kind->out_arg] = t->out;
		poke(t->pid, t->out, 0x5e5e5e5e5e5e5e5e);
	}
	result = judge_call(t, f, arguments);
	if (kind->effect == EFFECT_RESIZE)
		return;
	if (kind->effect == EFFECT_ALLOC_OUT)
		result = (uint32_t)result ? 0 : peek(t->pid, t->out);
	f->failed += !result;
	if (block < BLOCKS && (result || !arguments[kind->size_arg] ||
			       (kind->count_arg != ARG_NONE && !size)))
		t->blocks[block].address = 0;
	keep_block(t, result, size);
}

static void judge_function(struct tracee *t, struct function *f)
{
	switch (f->kind->effect) {
	case EFFECT_FREE:
		judge_free(t, f);
		break;
	case EFFECT_MAP:
	case EFFECT_UNMAP:
	case EFFECT_REMAP:
		judge_mapping(t, f);
		break;
	default:
		judge_alloc(t, f);
	}
}

/* --- a run -------------------------------------------------------------------------- */

/* Finds what to add to the file's addresses. False: the library is not mapped. */
static bool find_bias(struct tracee *t)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	const struct elf_symbol *symbol = &t->library->functions[0].symbol;
	struct proc_maps maps = {0};
	bool found = false;

	REQUIRE(!proc_open(t->pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	vec_foreach (m, &maps.mappings)
		if (m->executable && !strcmp(m->path, t->library->path) &&
		    symbol->file_offset >= m->file_offset &&
		    symbol->file_offset - m->file_offset < m->end - m->start) {
			t->bias = m->start + (symbol->file_offset - m->file_offset) -
				  symbol->address;
			found = true;
		}
	proc_maps_deinit(&maps);
	return found;
}

static void become_tracee(const struct library *library)
{
	int nowhere = open("/dev/null", O_WRONLY);

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(2);
	/* musl is its own dynamic linker. */
	if (strcmp(library->linker, library->path) != 0)
		setenv("LD_PRELOAD", library->path, 1);
	setenv("TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD", "0", 1);
	dup2(nowhere, 2);
	if (library->folder)
		execl(library->linker, library->linker, "--library-path", library->folder,
		      TEST_STOPPED, (char *)NULL);
	else
		execl(library->linker, library->linker, TEST_STOPPED, (char *)NULL);
	_exit(3);
}

/* NULL, or why it did not start. */
static const char *start(struct tracee *t)
{
	int status;

	fflush(stdout);
	t->has_stop_at = has_stop_at();
	t->pid = fork();
	REQUIRE(t->pid >= 0);
	if (!t->pid)
		become_tracee(t->library);
	REQUIRE(waitpid(t->pid, &status, 0) == t->pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		check_skip("ptrace(2) is not allowed here");
	if (WIFEXITED(status))
		return "its linker does not run";
	REQUIRE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	REQUIRE(!ptrace(PTRACE_SETOPTIONS, t->pid, NULL,
			(void *)(long)PTRACE_O_EXITKILL));
	REQUIRE(!ptrace(PTRACE_CONT, t->pid, NULL, NULL));
	REQUIRE(waitpid(t->pid, &status, 0) == t->pid);
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		return "it cannot be loaded";
	t->start = registers_of(t->pid);
	t->trap = t->start.rip - 1;
	t->out = (t->start.rsp - 4096) & ~(uint64_t)15;
	return find_bias(t) ? NULL : "it is not loaded";
}

static void stop(struct tracee *t)
{
	int status;

	kill(t->pid, SIGKILL);
	waitpid(t->pid, &status, __WALL);
}

static uint64_t find_symbol(const struct library *library, const char *name)
{
	struct elf_symbol symbol;

	REQUIRE(!elf_file_find_functions(library->elf, &name, 1, &symbol));
	return symbol.name ? symbol.address : 0;
}

static void choose_plain(struct tracee *t)
{
	for (size_t i = 0; i < t->library->count; i++) {
		const struct function *f = &t->library->functions[i];

		if (!t->plain_alloc && f->kind->effect == EFFECT_ALLOC &&
		    !f->kind->size_arg && f->kind->count_arg == ARG_NONE &&
		    alignment_argument(f) < 0)
			t->plain_alloc = f;
		if (!t->plain_free && f->kind->effect == EFFECT_FREE)
			t->plain_free = f;
	}
	REQUIRE(t->plain_alloc && t->plain_free);
}

/* Functions whose result is not checked, and functions that need something that is
 * missing. */
static bool is_left_out(const struct tracee *t, const struct function *f)
{
	return has(f, "mi_heap") && !t->heap;
}

static void print_none(const struct library *library)
{
	for (size_t i = 0; i < library->count; i++)
		if (library->functions[i].why[0])
			printf("     %s: no sites in %s: %s\n", library->label,
			       library->functions[i].kind->name,
			       library->functions[i].why[0]);
}

/* Calls of each function, and of functions that programs rarely call: as many of the
 * libraries of this machine, fewer of other releases' without "scripts/test --long". */
#define ROUNDS        120
#define ROUNDS_RARE   30
#define ROUNDS_OTHER  40

/* Is it a function of the C library or a C++ operator? */
static bool is_common(const struct function *f)
{
	return strncmp(f->kind->name, "mi_", 3) != 0 &&
	       strncmp(f->kind->name, "tc_", 3) != 0;
}

static void judge_library(struct library *library)
{
	struct tracee t = {.library = library, .seed = 1};
	unsigned found = 0, failed = 0;
	const char *why = start(&t);
	double cpu_s = check_cpu_s();
	uint64_t heap;
	unsigned rounds =
		library->folder && !getenv("MEMTRACE_TEST_LONG") ? ROUNDS_OTHER : ROUNDS;

	if (why) {
		/* The library may need libraries of another release. */
		CHECK_LEAVE_OUT_PART("no call of %s: %s", library->label, why);
		stop(&t);
		return;
	}
	choose_plain(&t);
	heap = find_symbol(library, "mi_heap_get_default");
	t.heap = heap ? call(&t, heap, 0, 0, 0, 0) : 0;
	for (unsigned round = 0; round < rounds; round++)
		for (size_t i = 0; i < library->count; i++)
			if (!is_left_out(&t, &library->functions[i]) &&
			    (round < ROUNDS_RARE || is_common(&library->functions[i])))
				judge_function(&t, &library->functions[i]);
	stop(&t);
	for (size_t i = 0; i < library->count; i++) {
		found += !library->functions[i].why[0];
		failed += library->functions[i].failed;
	}
	print_none(library);
	printf("     %s: %u of %zu functions have sites; %u calls, %u failed, %u "
	       "threw, %u were too long, %u steps, %.1f s; %u seen whole, of %zu "
	       "functions; more than one site came in",
	       library->label, found, library->count, t.calls, failed,
	       t.caught / (unsigned)VARIANTS, t.left, t.steps, check_cpu_s() - cpu_s,
	       t.by_whole, library->whole_count);
	for (unsigned v = 0; v < VARIANTS; v++)
		printf(" %u", t.again[v]);
	printf("\n");
	/* With thunks functions return by a jump to a thunk, which code/cfg.c refuses. */
	if (strstr(library->label, "thunk"))
		CHECK_INT(found, 0);
	else
		CHECK(found > 0);
	CHECK(t.by_whole || !library->whole_count);
}

/* --- the libraries ------------------------------------------------------------------ */

/* Builds that were already checked. */
static VEC(char *) judged;

static bool is_new(const char *build_id)
{
	char *copy;

	if (!build_id)
		return true;
	vec_foreach (other, &judged)
		if (!strcmp(*other, build_id))
			return false;
	copy = strdup(build_id);
	REQUIRE(copy && vec_push(&judged, copy));
	return true;
}

/* False if the file does not exist. */
static bool judge_file(const char *label, const char *path, const char *folder,
		       const char *linker)
{
	char *real = realpath(path, NULL);
	/* musl's dynamic linker is the library. */
	struct library library = {.label = label,
				  .path = real,
				  .folder = folder,
				  .linker = linker ? linker : real};
	bool found = library.path && library_open(&library);

	if (found && is_new(library.build_id))
		judge_library(&library);
	library_deinit(&library);
	return found;
}

static const char *const names[] = {
	"libc.so.6",        "libjemalloc.so.2",   "libtcmalloc_minimal.so.4",
	"libtcmalloc.so.4", "libmimalloc.so.2",   "libmimalloc.so.3",
	"libmimalloc.so.1", "libmimalloc.so.2.0", "libstdc++.so.6",
	"libc++abi.so.1",
};

#define LINKER        "/lib64/ld-linux-x86-64.so.2"
#define MUSL          "ld-musl-x86_64.so.1"

static unsigned judge_folder(const char *label, const char *folder, const char *linker,
			     bool is_release)
{
	unsigned there = 0;

	for (size_t i = 0; i < COUNT(names); i++) {
		_cleanup_(freep) char *path = NULL, *full = NULL;

		REQUIRE(asprintf(&path, "%s/%s", folder, names[i]) > 0);
		REQUIRE(asprintf(&full, "%s%s%s", label, *label ? " " : "", names[i]) >
			0);
		there += judge_file(full, path, is_release ? folder : NULL, linker);
	}
	return there;
}

static void this_machine(void)
{
	static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64"};
	unsigned there = 0;

	for (size_t i = 0; i < COUNT(folders); i++)
		there += judge_folder("", folders[i], LINKER, false);
	judge_file("musl", "/lib/" MUSL, NULL, NULL);
	CHECK(there > 0);
}

/* Releases as for unit.code.place_releases. */
static void other_releases(void)
{
	static const char *const releases[] = {"debian-11", "debian-12", "debian-13",
					       "ubuntu-22.04", "ubuntu-24.04"};
	const char *dir = getenv("MEMTRACE_TEST_LIBRARIES");
	unsigned there = 0;

	for (size_t i = 0; dir && i < COUNT(releases); i++) {
		_cleanup_(freep) char *folder = NULL, *linker = NULL, *musl = NULL,
				      *label = NULL;

		REQUIRE(asprintf(&folder, "%s/%s", dir, releases[i]) > 0);
		REQUIRE(asprintf(&linker, "%s/ld-linux-x86-64.so.2", folder) > 0);
		REQUIRE(asprintf(&musl, "%s/%s", folder, MUSL) > 0);
		REQUIRE(asprintf(&label, "%s musl", releases[i]) > 0);
		there += judge_folder(releases[i], folder, linker, true);
		there += judge_file(label, musl, folder, NULL);
	}
	printf("     %u libraries of other releases\n", there);
	if (!there)
		check_leave_out(
			"MEMTRACE_TEST_LIBRARIES names no other release's libraries: "
			"scripts/test fetches them where there is a network");
}

/* Builds of scripts/builds, with other compilers and options. */
static void other_builds(void)
{
	const char *dir = getenv("MEMTRACE_TEST_LIBRARIES");
	_cleanup_(freep) char *pattern = NULL;
	unsigned there = 0;
	glob_t found;

	REQUIRE(asprintf(&pattern, "%s/builds/*-*", dir ? dir : "") > 0);
	if (!dir || glob(pattern, 0, NULL, &found))
		check_leave_out(
			"MEMTRACE_TEST_LIBRARIES names no other builds: scripts/test "
			"makes them where it can have their sources");
	for (size_t i = 0; i < found.gl_pathc; i++) {
		_cleanup_(freep) char *musl = NULL;
		const char *label = strrchr(found.gl_pathv[i], '/') + 1;

		REQUIRE(asprintf(&musl, "%s/%s", found.gl_pathv[i], MUSL) > 0);
		there += judge_folder(label, found.gl_pathv[i], LINKER, false);
		there += judge_file(label, musl, NULL, NULL);
	}
	globfree(&found);
	printf("     %u other builds\n", there);
	CHECK(there > 0);
}

int main(int argc, char *argv[])
{
	cpu_set_t one;

	/* Tracer and tracee take turns: on one processor that is twice as fast. */
	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (argc > 1 && !strcmp(argv[1], "releases"))
		RUN(other_releases);
	else if (argc > 1)
		RUN(other_builds);
	else
		RUN(this_machine);
	vec_foreach (build_id, &judged)
		free(*build_id);
	vec_deinit(&judged);
	return check_done();
}

#endif
