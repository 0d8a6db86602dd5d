// SPDX-License-Identifier: Apache-2.0
/* Calls of the allocator's functions. */
#include <string.h>

#include "check.h"
#include "probes/stress/machine.h"

#define PROGRAM   UINT64_C(0x400000)
#define ALLOCATOR UINT64_C(0x7fff00000000) /* its code, from here on */
#define RESTORER  (PROGRAM + 0x7777)       /* where a signal handler returns to */

/* Where a function begins, and where its result is settled. */
static uint64_t entry_of(enum host_function fn)
{
	return ALLOCATOR + (uint64_t)fn * 0x120;
}

static uint64_t result_of(enum host_function fn)
{
	return entry_of(fn) + 0x40;
}

/* --- the stack ---------------------------------------------------------------------- */

static uint64_t *word_at(uint64_t address)
{
	return (uint64_t *)(uintptr_t)address;
}

static void push(struct sim_thread *t, uint64_t word)
{
	t->sp -= 8;
	SIM_REQUIRE(t->sp > (uintptr_t)t->stack);
	*word_at(t->sp) = word;
}

/* A function is called, and makes a frame. */
static void enter_frame(struct sim_thread *t, uint64_t return_address)
{
	push(t, return_address);
	push(t, t->bp);
	t->bp = t->sp;
}

/* The deepest stack of the variants. */
#define DEPTH_MAX 16

uint64_t sim_hash(uint64_t hash, uint64_t pc)
{
	hash = (hash ^ pc) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* The stack of a call from `pc`, by the frame pointers. */
static uint64_t stack_hash(const struct sim_thread *t, uint64_t pc)
{
	uint64_t hash = sim_hash(0, pc), bp = t->bp;

	for (int depth = 1; depth < DEPTH_MAX; depth++) {
		uint64_t return_address = *word_at(bp + 8);

		if (!return_address)
			break;
		hash = sim_hash(hash, return_address);
		bp = *word_at(bp);
	}
	return hash;
}

/* --- the pool ----------------------------------------------------------------------- */

/* Find an entry in this state for a call, and set its state to `now`. Returns its index;
 * POOL_BLOCKS: not found. */
static unsigned hold_as(struct sim_thread *t, enum pool_state state, enum pool_state now)
{
	struct sim_memory *memory = t->process->memory;
	unsigned first = sim_random(t, POOL_BLOCKS), found = POOL_BLOCKS;

	machine_lock(t->machine);
	for (unsigned i = 0; i < POOL_BLOCKS && found == POOL_BLOCKS; i++) {
		unsigned at = (first + i) % POOL_BLOCKS;

		if (memory->pool[at] == state)
			found = at;
	}
	if (found < POOL_BLOCKS) {
		SIM_REQUIRE(t->held_count < HELD_MAX);
		memory->pool[found] = (uint8_t)now;
		memory->shares[found]++;
		t->held[t->held_count++] = found;
	}
	machine_unlock(t->machine);
	return found;
}

static unsigned hold(struct sim_thread *t, enum pool_state state)
{
	return hold_as(t, state, POOL_BUSY);
}

/* The entry has this state when no other call has it. */
static void let_go(struct sim_thread *t, unsigned entry, enum pool_state state)
{
	struct sim_memory *memory = t->process->memory;

	machine_lock(t->machine);
	for (unsigned i = 0; i < t->held_count; i++) {
		if (t->held[i] == entry) {
			t->held[i] = t->held[--t->held_count];
			if (!--memory->shares[entry])
				memory->pool[entry] = (uint8_t)state;
			break;
		}
	}
	machine_unlock(t->machine);
}

/* longjmp() or the end of the thread has left all calls. */
void sim_let_go_all(struct sim_thread *t)
{
	uint64_t old = t->model.call.is_open ? t->model.call.old.key : 0;

	while (t->held_count) {
		unsigned entry = t->held[0];
		bool is_limbo =
			old == ABI_KEY(t->process->memory->slot, model_address(entry));

		if (is_limbo)
			t->limbo = entry;
		let_go(t, entry, is_limbo ? POOL_BUSY : POOL_USED);
	}
}

/* The probes have put the old block back. */
static void leave_limbo(struct sim_thread *t)
{
	if (t->limbo == POOL_BLOCKS || (t->model.call.is_open && t->model.call.old.key))
		return;
	t->process->memory->pool[t->limbo] = POOL_USED;
	t->limbo = POOL_BLOCKS;
}

/* --- a call ------------------------------------------------------------------------- */

static bool is_whole(enum host_function fn)
{
	return fn == FN_MALLOC_WHOLE;
}

static bool is_free(enum host_function fn)
{
	return fn == FN_FREE || fn == FN_DELETE;
}

static void set_registers(struct sim_thread *t, uint64_t pc, const struct sim_call *c)
{
	struct pt_regs *regs = t->regs;

	regs->ip = pc;
	regs->sp = t->sp;
	regs->bp = t->bp;
	regs->di = c->argument[0];
	regs->si = c->argument[1];
	regs->dx = c->argument[2];
	regs->cx = c->argument[3];
}

/* Is the call not recorded? As documented for --min-size, --max-size and --sample. */
static bool skips(const struct sim_thread *t, uint64_t size)
{
	uint64_t threshold = host_run_values[ABI_RUN_SAMPLE_THRESHOLD];

	if (host_programs.is_sampled_by_bytes)
		threshold = sim_threshold(size);
	return size < host_run_values[ABI_RUN_MIN_SIZE] ||
	       size > host_run_values[ABI_RUN_MAX_SIZE] ||
	       (threshold && t->context.random >= threshold);
}

static void run_entry(struct sim_thread *t, struct sim_call *c, enum host_function fn)
{
	int ret;

	t->context.cookie = host_entry_site(fn);
	t->context.function = entry_of(fn);
	set_registers(t, entry_of(fn), c);
	host_now = &t->context;
	sim_program_begins(t, c->model.old_key, 0);
	ret = host_programs.entry[fn](t->regs);
	sim_program_ends(t);
	c->has_return_probe = !host_result_site(fn) &&
			      (!is_free(fn) || host_programs.frees_return) &&
			      (!host_programs.is_session || ret == 0);
	if (c->has_return_probe)
		*word_at(t->sp) = t->process->memory->xol.vaddr;
}

void sim_begin(struct sim_thread *t, struct sim_call *c, enum host_function fn,
	       uint64_t size, uint64_t old)
{
	struct machine *m = t->machine;

	c->is_from_allocator = t->in_allocator;
	c->return_address = t->in_allocator
				    ? ALLOCATOR + 0x8000 + (uint64_t)fn * 16
				    : PROGRAM + 0x10000 + sim_random(t, 4) * 0x400u +
					      (uint64_t)fn * 16;
	c->stack = stack_hash(t, c->return_address);
	c->random = t->context.random = sim_random(t, UINT32_MAX);
	push(t, c->return_address);
	c->model = (struct model_call){
		.fn = fn,
		.sp = t->sp,
		.slot = t->process->memory->slot,
		.tid = t->task.pid,
		.size_bytes = size,
		.old_key = old ? ABI_KEY(t->process->memory->slot, old) : 0,
		.skips = skips(t, size)};
	if (!is_whole(fn))
		run_entry(t, c, fn);
	machine_lock(m);
	c->model.id = ++m->model.next_id;
	if (is_free(fn) && !host_programs.frees_return)
		model_free(&m->model, &t->model, &c->model, c->is_from_allocator);
	else if (!is_whole(fn))
		c->is_tracked = model_begin(&m->model, &t->model, &c->model,
					    c->is_from_allocator);
	leave_limbo(t);
	machine_unlock(m);
}

void sim_end(struct sim_thread *t, struct sim_call *c, uint64_t ax, uint64_t result)
{
	struct machine *m = t->machine;
	enum host_function fn = c->model.fn;

	SIM_REQUIRE(t->sp == c->model.sp);
	sim_program_begins(t, c->model.old_key,
			   result ? ABI_KEY(c->model.slot, result) : 0);
	host_now = &t->context;
	t->context.random = c->random; /* a call within this one had another */
	t->context.cookie =
		host_result_site(fn) ? host_result_site(fn) : host_entry_site(fn);
	if (host_result_site(fn)) {
		set_registers(t, result_of(fn), c);
		t->regs->ax = ax;
		host_programs.result(t->regs);
	}
	t->sp += 8;
	if (c->has_return_probe) {
		set_registers(t, c->return_address, c);
		t->regs->ax = ax;
		t->context.function = entry_of(fn);
		host_programs.returned(t->regs);
	}
	sim_program_ends(t);
	machine_lock(m);
	if (is_whole(fn))
		model_whole(&m->model, &t->model, &c->model, c->is_from_allocator, result,
			    c->stack);
	else if (c->is_tracked)
		model_end(&m->model, &t->model, c->model.id, result, c->stack);
	leave_limbo(t);
	machine_unlock(m);
}

/* --- within a call ------------------------------------------------------------------ */

/* Any call, from within another one. */
static void call_something(struct sim_thread *t)
{
	static void (*const calls[])(struct sim_thread * thread) = {sim_malloc, sim_free,
								    sim_realloc};

	calls[sim_random(t, 3)](t);
}

static void handle_signal(struct sim_thread *t)
{
	bool in_allocator = t->in_allocator;
	uint64_t sp = t->sp, bp = t->bp;

	t->in_allocator = false;
	t->sp = (t->sp - 640) & ~(uint64_t)15;
	enter_frame(t, RESTORER);
	call_something(t);
	t->sp = sp;
	t->bp = bp;
	t->in_allocator = in_allocator;
}

/* What happens in the middle of an allocator's function. */
static void be_inside(struct sim_thread *t, enum host_function fn)
{
	bool in_allocator = t->in_allocator;

	sim_user_point(t);
	if (t->depth >= 3)
		return;
	push(t, t->bp);
	t->bp = t->sp;
	t->in_allocator = true;
	t->depth++;
	/* The paths that one site sees call nothing. */
	if (!is_whole(fn) && sim_chance(t, 12))
		call_something(t);
	if (sim_chance(t, 25))
		handle_signal(t);
	if (sim_chance(t, 30))
		longjmp(t->home, 1);
	t->depth--;
	t->in_allocator = in_allocator;
	t->sp = t->bp + 8;
	t->bp = *word_at(t->bp);
	sim_user_point(t);
}

static uint64_t some_size(struct sim_thread *t)
{
	static const uint64_t odd[] = {0, 1, UINT64_C(5) << 32, 4096};

	if (sim_chance(t, 16))
		return odd[sim_random(t, 4)];
	return 1 + sim_random(t, 1u << sim_random(t, 13));
}

static bool has_function(enum host_function fn)
{
	return host_programs.entry[fn] || (is_whole(fn) && host_programs.result);
}

static enum host_function some_function(struct sim_thread *t)
{
	static const enum host_function all[] = {FN_MALLOC, FN_CALLOC, FN_MEMALIGN,
						 FN_MALLOC_INSIDE, FN_MALLOC_WHOLE};
	enum host_function fn;

	do
		fn = all[sim_random(t, 5)];
	while (!has_function(fn));
	return fn;
}

void sim_enter_path(struct sim_thread *t)
{
	for (int i = 0; i < 2; i++)
		if (sim_chance(t, 2))
			enter_frame(t, PROGRAM + (uint64_t)i * 0x1000 +
					       sim_random(t, 3) * 16u);
}

/* Calloc multiplies two arguments; with an overflow it must fail. */
static void set_size(struct sim_thread *t, struct sim_call *c, enum host_function fn,
		     uint64_t *size)
{
	uint64_t out = (uintptr_t)t->stack + SIM_STACK_BYTES - 64;

	c->argument[0] = *size;
	if (fn == FN_CALLOC && *size % 3 == 0) {
		c->argument[0] = 3;
		c->argument[1] = *size / 3;
	} else if (fn == FN_CALLOC && sim_chance(t, 50)) {
		c->argument[0] = c->argument[1] = UINT64_C(1) << 33;
		*size = UINT64_MAX;
	} else if (fn == FN_CALLOC) {
		c->argument[1] = 1;
	} else if (fn == FN_MEMALIGN) {
		c->argument[0] = out - 8 * t->depth;
		c->argument[2] = *size;
	}
}

void sim_malloc(struct sim_thread *t)
{
	enum host_function fn = some_function(t);
	uint64_t size = some_size(t), address = 0, sp = t->sp, bp = t->bp;
	struct sim_call c = {.is_tracked = false};
	unsigned entry = POOL_BLOCKS;

	if (!t->in_allocator)
		sim_enter_path(t);
	set_size(t, &c, fn, &size);
	sim_begin(t, &c, fn, size, 0);
	be_inside(t, fn);
	if (size != UINT64_MAX && !sim_chance(t, 20))
		entry = hold(t, POOL_FREE);
	if (entry < POOL_BLOCKS)
		address = model_address(entry);
	if (fn == FN_MEMALIGN && address)
		*word_at(c.argument[0]) = address;
	sim_end(t, &c, fn == FN_MEMALIGN ? (address ? 0 : 12) : address, address);
	let_go(t, entry, POOL_USED);
	t->sp = sp;
	t->bp = bp;
}

void sim_free(struct sim_thread *t)
{
	bool is_double = sim_chance(t, 20);
	unsigned entry = hold_as(t, is_double ? POOL_FREEING : POOL_USED, POOL_FREEING);
	uint64_t old = entry < POOL_BLOCKS ? model_address(entry) : 0, sp = t->sp,
		 bp = t->bp;
	struct sim_call c = {.argument = {old}}, inner = c;
	bool is_delete = sim_chance(t, 4), in_allocator = t->in_allocator;

	if (!in_allocator)
		sim_enter_path(t);
	sim_begin(t, &c, is_delete ? FN_DELETE : FN_FREE, 0, old);
	if (is_delete) {
		sim_user_point(t);
		t->in_allocator = true;
		sim_begin(t, &inner, FN_FREE, 0, old);
		sim_end(t, &inner, 0, 0);
		t->in_allocator = in_allocator;
	}
	sim_user_point(t);
	let_go(t, entry, POOL_FREE);
	sim_end(t, &c, 0, 0);
	t->sp = sp;
	t->bp = bp;
}

void sim_realloc(struct sim_thread *t)
{
	bool is_inside = host_programs.entry[FN_REALLOC_INSIDE] && sim_chance(t, 2);
	unsigned entry = sim_chance(t, 10) ? POOL_BLOCKS : hold(t, POOL_USED),
		 now = entry;
	uint64_t old = entry < POOL_BLOCKS ? model_address(entry) : 0,
		 size = some_size(t);
	uint64_t sp = t->sp, bp = t->bp;
	struct sim_call c = {.argument = {old, size}};

	if (!t->in_allocator)
		sim_enter_path(t);
	sim_begin(t, &c, is_inside ? FN_REALLOC_INSIDE : FN_REALLOC, size, old);
	be_inside(t, c.model.fn);
	if (!size && old) {
		now = POOL_BLOCKS;
		let_go(t, entry, POOL_FREE);
	} else if (sim_chance(t, 5)) {
		now = POOL_BLOCKS; /* fails: the old block stays */
	} else if (!old || sim_chance(t, 2)) {
		now = hold(t, POOL_FREE);
		if (now < POOL_BLOCKS)
			let_go(t, entry, POOL_FREE);
	}
	sim_user_point(t);
	sim_end(t, &c, now < POOL_BLOCKS ? model_address(now) : 0,
		now < POOL_BLOCKS ? model_address(now) : 0);
	let_go(t, entry, POOL_USED);
	let_go(t, now, POOL_USED);
	t->sp = sp;
	t->bp = bp;
}

void sim_resize(struct sim_thread *t)
{
	unsigned entry = hold(t, POOL_USED);
	uint64_t old = entry < POOL_BLOCKS ? model_address(entry) : 0,
		 size = some_size(t);
	uint64_t sp = t->sp, bp = t->bp, result = sim_chance(t, 4) ? 0 : size;
	struct sim_call c = {.argument = {old, size}};

	if (!t->in_allocator)
		sim_enter_path(t);
	sim_begin(t, &c, FN_RESIZE, size, old);
	sim_user_point(t);
	sim_end(t, &c, result, result);
	let_go(t, entry, POOL_USED);
	t->sp = sp;
	t->bp = bp;
}
