/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For unit.plan.returns_run: single-steps a call, and checks what each site says of its
 * result.
 */
#ifndef TESTS_UNIT_PLAN_RUN_CHECKS_H
#define TESTS_UNIT_PLAN_RUN_CHECKS_H

#include "check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "allocator/allocator.h"
#include "code/callees.h"
#include "code/cfg.h"
#include "plan/returns.h"
#include "unit/code/tracee.h"
#include "unit/plan/run_library.h"
#include "unit/plan/run_process.h"

#define STEPS_MAX 5000 /* instructions of a call */

/* Is the condition of a jump true? SDM volume 1, appendix B. */
static inline bool holds(uint8_t condition, uint64_t flags)
{
	bool cf = flags & 1, pf = flags >> 2 & 1, zf = flags >> 6 & 1,
	     sf = flags >> 7 & 1, of = flags >> 11 & 1;
	const bool all[] = {of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of};

	REQUIRE(condition < 16);
	return all[condition >> 1] != (condition & 1);
}

/* The result that the site reads. RETURN_BLOCK: the block. */
static inline uint64_t evaluate(const struct tracee *t, const struct return_value *value,
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
static inline void see_site(struct tracee *t, struct call *c, unsigned variant,
			    const struct return_site *site,
			    const struct user_regs_struct *r)
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

static inline uint64_t size_of(const struct call *c)
{
	const struct alloc_function *kind = c->function->kind;
	uint64_t size = c->arguments[kind->size_arg];

	return kind->count_arg == ARG_NONE ? size : size * c->arguments[kind->count_arg];
}

/* The same for the sites of function->whole. */
static inline void see_wholes(const struct tracee *t, struct call *c,
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

static inline void see_sites(struct tracee *t, struct call *c,
			     const struct user_regs_struct *r)
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
static inline const struct cfg_insn *insn_at(const struct cfg *cfg, uint64_t address)
{
	size_t low, real = cfg->insns.len;

	/* Pseudo instructions come last. */
	while (real && cfg->insns.data[real - 1].is_pseudo)
		real--;
	low = bisect(real, i, cfg->insns.data[i].address < address);
	return low < cfg->insns.len && !cfg->insns.data[low].is_pseudo &&
			       cfg->insns.data[low].address == address
		       ? &cfg->insns.data[low]
		       : NULL;
}

static inline bool leads_to(const struct cfg *cfg, const struct cfg_insn *from,
			    uint64_t address)
{
	for (uint8_t n = 0; n < from->next_count; n++)
		if (cfg->insns.data[from->next[n]].address == address)
			return true;
	return false;
}

/* Checks that the processor goes where the graph says, and the stack pointer, too. */
static inline void check_graph(const struct tracee *t, struct call *c,
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

static inline void note_call(struct call *c)
{
	for (unsigned v = 0; v < VARIANTS; v++)
		for (size_t i = 0; i < c->count[v]; i++)
			c->claims[v][i].was_last = false;
}

/* Executes one instruction. Calls and repeated string instructions are executed as a
 * whole. */
static inline struct user_regs_struct step(struct tracee *t, struct call *c,
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

static inline void check_claim(struct tracee *t, const struct call *c,
			       const struct claim *claim,
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

static inline void print_call(const struct tracee *t, const struct call *c,
			      unsigned variant, const struct user_regs_struct *after)
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

static inline void check_call(struct tracee *t, const struct call *c,
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
static inline uint64_t judge_call(struct tracee *t, struct function *f,
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

#endif
