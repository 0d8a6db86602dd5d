/* SPDX-License-Identifier: Apache-2.0 */
/* Checks sites inside functions: executes random paths through the function in terms of
 * its instructions. */
#ifndef UNIT_PLAN_BODY_WALK_H
#define UNIT_PLAN_BODY_WALK_H

#include "code/decode.h"
#include "unit/code/body_made.h"
#include "unit/random.h"

#define STEPS_MAX 3000

struct walk {
	uint32_t offset;
	int64_t sp_delta;
	uint16_t size_in;
	unsigned entries, results;
	bool is_failing, result_moved;
	bool stops; /* the next instruction is a call that does not return */
};

static inline const struct body_site *site_at(const struct body *body, uint32_t offset)
{
	for (size_t i = 0; i < body->count; i++)
		if (body->sites[i].delta == offset)
			return &body->sites[i];
	return NULL;
}

static inline void walk_site(struct walk *w, const struct body_site *site)
{
	bool has_size =
		site->size_reg < INSN_REGISTERS && w->size_in & 1u << site->size_reg;

	CHECK_INT(site->sp_delta, w->sp_delta);
	if (site->part == BODY_STOP) {
		w->stops = true;
		return;
	}
	CHECK_INT(w->results, 0);
	switch (site->part) {
	case BODY_ENTRY:
		CHECK(has_size);
		CHECK_INT(w->entries++, 0);
		return;
	case BODY_WHOLE:
		CHECK(has_size);
		CHECK_INT(w->entries, 0);
		break;
	case BODY_RETURN:
		CHECK_INT(w->entries, 1);
		break;
	case BODY_FAILURE:
		w->is_failing = true;
		break;
	case BODY_STOP:
		break;
	}
	w->results++;
}

/* The effect of an instruction on the size and the result. */
static inline void walk_values(struct walk *w, const struct insn *insn)
{
	static const uint8_t kept[] = {INSN_RBX, INSN_RSP, INSN_RBP, 12, 13, 14, 15};
	bool calls = insn->kind == INSN_CALL || insn->kind == INSN_CALL_INDIRECT;
	bool copies = insn->kind == INSN_COPY && w->size_in & 1u << insn->from;
	uint16_t after_call = 0;

	for (size_t i = 0; i < COUNT(kept); i++)
		after_call |= (uint16_t)(1u << kept[i]);
	/* The instruction at BODY_FAILURE is the last one that writes the result. */
	if (w->results && !w->is_failing && (calls || insn->writes & 1u << INSN_RAX))
		w->result_moved = true;
	w->is_failing = false;
	w->size_in &= (uint16_t)~insn->writes;
	if (calls)
		w->size_in &= after_call;
	if (copies)
		w->size_in |= (uint16_t)(1u << insn->to);
	w->sp_delta -= insn->sp_change;
}

/* Follows one random path through the function. False if it did not end in STEPS_MAX
 * steps. */
static inline bool walk_once(const struct function *f, const struct body *body)
{
	struct walk w = {.size_in = 1u << INSN_RDI};

	for (unsigned i = 0; i < STEPS_MAX; i++) {
		const struct body_site *site = site_at(body, w.offset);
		struct insn insn;
		uint32_t next;

		REQUIRE(w.offset < f->size);
		insn_decode(f->code + w.offset, f->size - w.offset, &insn);
		CHECK(insn.kind != INSN_UNKNOWN && insn.kind != INSN_OPAQUE);
		next = w.offset + insn.length;
		if (w.stops) {
			CHECK(insn.kind == INSN_CALL);
			return true;
		}
		if (site)
			walk_site(&w, site);
		if (insn.kind == INSN_RET) {
			CHECK_INT(w.results, 1);
			CHECK_INT(w.sp_delta, 0);
			CHECK(!w.result_moved);
			return true;
		}
		walk_values(&w, &insn);
		if (insn.kind == INSN_JMP ||
		    ((insn.kind == INSN_JCC || insn.kind == INSN_LOOP) &&
		     random_below(2)))
			next = (uint32_t)(w.offset + insn.target);
		w.offset = next;
	}
	return false;
}

/* Checks what must be true for all found sites. True if there are sites. */
static inline bool judge(const struct function *f)
{
	unsigned before = check_state.failures, wholes = 0;
	struct body body;
	struct flow flow;
	const char *why = find(f, &body);

	if (why) {
		CHECK_INT(body.count, 0);
		return false;
	}
	REQUIRE(body.count > 0 && body.count <= BODY_SITES_MAX);
	REQUIRE(!flow_read(&(struct flow_text){.code = f->code, .size = f->size}, &flow));
	for (size_t i = 0; i < body.count; i++) {
		const struct body_site *site = &body.sites[i];
		bool is_boundary = false, has_size = site->size_reg < INSN_REGISTERS;
		struct insn insn;

		vec_foreach (at, &flow.insns)
			is_boundary |= at->offset == site->delta;
		CHECK(is_boundary && site->delta < f->size);
		insn_decode(f->code + site->delta, f->size - site->delta, &insn);
		CHECK(!insn.no_probe);
		CHECK_INT(has_size, site->part == BODY_WHOLE || site->part == BODY_ENTRY);
		if (site->part != BODY_STOP && site->part != BODY_FAILURE)
			CHECK(emulated_reason(f->code, site->delta, &insn, f->emulated));
		CHECK(site->reason);
		wholes += site->part == BODY_WHOLE;
		for (size_t k = 0; k < i; k++)
			CHECK(body.sites[k].delta != site->delta);
	}
	CHECK(wholes > 0);
	flow_deinit(&flow);
	for (unsigned i = 0; i < 64; i++)
		walk_once(f, &body);
	if (check_state.failures != before) {
		fprintf(stderr, "... of:");
		for (size_t i = 0; i < f->size; i++)
			fprintf(stderr, " %02x", f->code[i]);
		fprintf(stderr, "\n");
	}
	return true;
}

#endif
