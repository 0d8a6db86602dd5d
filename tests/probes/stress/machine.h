/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated machine: processes with an allocator each, and threads that call it. A call
 * hits the probes' programs with registers, a stack and return probes as on x86-64. The
 * model (model.h) says what the probes' tables should contain.
 */
#ifndef STRESS_MACHINE_H
#define STRESS_MACHINE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "host_bpf/host_bpf.h"
#include "kernel/include/uapi/linux/ptrace.h"
#include "probes/stress/model.h"
#include "probes/stress/programs.h"

#define POOL_BLOCKS     192 /* addresses of an allocator */
#define SIM_STACK_BYTES 16384
#define HELD_MAX        16
#define THREADS_MAX     8 /* a processor has ABI_SCRATCH_WAYS rooms for walks */

enum pool_state {
	POOL_FREE,
	POOL_BUSY,    /* a call has it */
	POOL_FREEING, /* calls of free have it: several, if the program frees it twice */
	POOL_USED,
};

/* An address space. */
struct sim_memory {
	uint8_t pool[POOL_BLOCKS];   /* enum pool_state */
	uint8_t shares[POOL_BLOCKS]; /* calls that have it */
	uint64_t maps;               /* next address that mmap() gives */
	struct host_mm mm;
	struct host_xol xol;
	uint32_t slot; /* in the probes' table of processes */
};

struct sim_process {
	uint32_t tgid; /* 0: unused */
	unsigned threads;
	struct sim_memory *memory;
	struct sim_thread *survivor; /* of an exec; the other threads end. NULL: none */
};

struct sim_thread {
	struct machine *machine;
	unsigned index;
	bool is_running;   /* a process has it */
	bool is_held_back; /* it has not begun yet */
	bool is_idle;      /* it is between two acts */
	struct sim_process *process;
	struct host_context context;
	struct host_task task;
	/* Between vfork() and the end of the child, `task` is the child's; else NULL. */
	struct sim_process *vforked;
	struct host_task parent_task;
	uint8_t *stack;       /* user stack, STACK_BYTES */
	struct pt_regs *regs; /* on the kernel stack */
	uint64_t sp, bp;
	bool in_allocator; /* the code that runs is the allocator's */
	unsigned depth;    /* of calls and handlers within one another */
	uint64_t random;
	jmp_buf home;  /* where longjmp() leads: between two calls */
	jmp_buf death; /* where the end of the thread leads */
	/* Entries of the pool that its calls have. */
	unsigned held[HELD_MAX], held_count;
	/* The old block of a realloc that longjmp() left: no other call gets it before
	 * the probes notice. POOL_BLOCKS: none. */
	unsigned limbo;
	/* It runs a program of the probes; 0: it does not. The programs are numbered. The
	 * program may change what is known of these blocks. */
	uint64_t program, programs;
	uint64_t touched[3];
	struct model_thread model; /* of its kernel stack: stays after the thread's end */
};

/* An event of a mapping (probes/mappings.c). */
struct sim_event {
	uint32_t kind, tid; /* kind 0: compared */
	uint64_t address, size_bytes, extra, stack;
};

struct machine {
	struct sim_thread threads[THREADS_MAX];
	struct sim_process processes[THREADS_MAX];
	struct model model;
	uint32_t next_pid;
	pthread_mutex_t lock; /* guards pools and the model */
	/* Where another thread may run; NULL: go on. */
	void (*switch_away)(struct sim_thread *thread);
	bool keeps_threads;       /* no process or thread begins or ends */
	struct sim_event *events; /* expected and not yet compared; event_count of them */
	unsigned event_count, event_room;
	bool gone[MODEL_SLOTS]; /* slots of processes that have ended */
};

/* As REQUIRE() of check.h, but without a count, which threads would share. */
#define SIM_REQUIRE(cond)                                                                \
	do {                                                                             \
		if (!(cond)) {                                                           \
			fprintf(stderr, "required: %s\n", #cond);                        \
			abort();                                                         \
		}                                                                        \
	} while (0)

/* Random numbers of a thread, from the seed. */
uint32_t sim_random(struct sim_thread *thread, uint32_t limit);
bool sim_chance(struct sim_thread *thread, uint32_t one_in);

/* All tables become empty. `seed` determines what threads do. */
void machine_init(struct machine *machine, uint64_t seed);
void machine_deinit(struct machine *machine);

/* A process that memtrace selects, with one thread. */
struct sim_thread *machine_start(struct machine *machine);
/* A thread that runs nothing yet, or NULL. It belongs to `process`. */
struct sim_thread *machine_add_thread(struct machine *machine,
				      struct sim_process *process);

/* Where the scheduler may run another thread, or let this one end with its process. */
void sim_user_point(struct sim_thread *thread);

/* Any call, at random. */
void sim_act(struct sim_thread *thread);

/* --- calls (calls.c) ---------------------------------------------------------------- */

void sim_malloc(struct sim_thread *thread);
void sim_free(struct sim_thread *thread);
void sim_realloc(struct sim_thread *thread);
void sim_resize(struct sim_thread *thread);
void sim_map(struct sim_thread *thread);

struct sim_call {
	struct model_call model;
	bool is_tracked, has_return_probe, is_from_allocator;
	uint64_t return_address, stack;
	uint64_t argument[4];
	uint32_t random; /* what the probes get as a random number */
};

/* Around a program. It may change what is known of the blocks `one`, `other` (0: none)
 * and the old block of the open call. */
void sim_program_begins(struct sim_thread *thread, uint64_t one, uint64_t other);
void sim_program_ends(struct sim_thread *thread);

/* Some functions call one another. */
void sim_enter_path(struct sim_thread *thread);
/* Call a function. `call` has its arguments. */
void sim_begin(struct sim_thread *thread, struct sim_call *call, enum host_function fn,
	       uint64_t size, uint64_t old);
/* Return from the call. `ax` is the register of the result, `result` the block. */
void sim_end(struct sim_thread *thread, struct sim_call *call, uint64_t ax,
	     uint64_t result);

/* longjmp() or the end of the thread has left all calls. */
void sim_let_go_all(struct sim_thread *thread);
uint64_t sim_hash(uint64_t hash, uint64_t pc);
/* The threshold for a block of this size, with sampling by bytes. */
uint64_t sim_threshold(uint64_t size_bytes);

/* --- processes (processes.c) -------------------------------------------------------- */

void sim_fork(struct sim_thread *thread);
void sim_vfork(struct sim_thread *thread);
void sim_vfork_ends(struct sim_thread *thread); /* if it has begun */
void sim_exec(struct sim_thread *thread);
void sim_clone(struct sim_thread *thread);
/* Does not return. */
void sim_exit(struct sim_thread *thread);
/* The rest of a thread's end. */
void sim_thread_ended(struct sim_thread *thread);

/* For processes.c. `ret` is the number of the slot. */
struct sim_process *machine_add_process(struct machine *machine,
					struct sim_memory *memory);
struct sim_memory *sim_memory_new(void);
void sim_process_known(struct abi_process *slot);
struct abi_process *sim_process_slot(uint32_t tgid, uint32_t *ret);

/* What memtrace does for processes that have ended: remove their blocks, free their
 * slots. No program may run. */
void machine_collect(struct machine *machine);

/* --- comparison (compare.c) --------------------------------------------------------- */

/* Compare all tables with the model. No program may run. Counts failures of checks. */
void machine_compare(struct machine *machine);
/* The same for the events of mappings. */
void machine_compare_events(struct machine *machine);
/* The hash of a stack's return addresses; 0: it has no record. */
uint64_t machine_stack(uint32_t number, uint64_t *family);
/* Is this block in the tables? */
bool machine_has_block(uint64_t key);

/* Guards the model and the pools. */
void machine_lock(struct machine *machine);
void machine_unlock(struct machine *machine);

#endif
