/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for what the kernel gives BPF programs: helpers, maps and ring buffers. The
 * probes are compiled for the host against it (probes.h, join.c), so that tests need no
 * privileges and can run under sanitizers.
 */
#ifndef HOST_BPF_HOST_BPF_H
#define HOST_BPF_HOST_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the running task --------------------------------------------------------------- */

/* The parts of the kernel's structures that the probes read, by the offsets of
 * variants.c. */
struct host_xol {
	uint64_t reserved, vaddr; /* address of the trampoline of return probes */
};

struct host_mm {
	uint64_t reserved;
	struct host_xol *xol_area;
};

struct host_signal {
	uint64_t reserved;
	uint32_t live; /* threads that have not ended */
};

struct host_task {
	uint64_t reserved;
	struct host_mm *mm;
	uint32_t pid, tgid;
	struct host_task *real_parent;
	struct host_signal *signal;
	void *pt_regs; /* struct pt_regs at the top of its kernel stack */
};

/* What helpers return to the program that runs. */
struct host_context {
	struct host_task *task;
	char name[16];
	uint32_t cpu;
	uint64_t cookie;
	uint64_t function; /* address of the probe; bpf_get_func_ip() */
	uint32_t random;   /* what bpf_get_prandom_u32() returns */
	/* User memory that can be read: [start, end) */
	uintptr_t memory_start, memory_end;
	/* Called before each access of a map and each atomic operation, where another
	 * processor may do something; NULL: nothing happens there. `what` is the name of
	 * the map, or "atomic". */
	void (*point)(void *arg, const char *what);
	void *arg;
};

/* The context of this thread's program. */
extern _Thread_local struct host_context *host_now;

/* The clocks. */
extern uint64_t host_ns, host_jiffies;

/* What memtrace would patch into the programs (enum abi_run_value). */
extern uint64_t host_run_values[];

void host_point(const char *what);

uint32_t bpf_get_smp_processor_id(void);
uint64_t bpf_get_current_pid_tgid(void);
uint64_t bpf_get_current_task(void);
void *host_current_task(void); /* bpf_get_current_task_btf() */
void *host_task_pt_regs(void *task);
uint64_t host_attach_cookie(void *ctx);
uint64_t host_func_ip(void *ctx);
int bpf_get_current_comm(void *ret, size_t size);
uint64_t bpf_ktime_get_ns(void);
uint64_t bpf_jiffies64(void);
uint32_t bpf_get_prandom_u32(void);
/* Both return 0, or -EFAULT without a change of `ret`. */
int bpf_probe_read_user(void *ret, size_t size, const void *from);
int bpf_probe_read_kernel(void *ret, size_t size, const void *from);

/* --- maps --------------------------------------------------------------------------- */

enum host_map_kind {
	HOST_ARRAY,
	HOST_ARRAY_OF_MAPS, /* its first element is the map of its kind_name, after `$` */
	HOST_HASH, /* an LRU hash drops elements when it is full, a hash refuses new ones
		    */
	HOST_LRU_HASH,
	HOST_RING,
};

struct host_map {
	const char *name, *kind_name;
	uint32_t key_bytes, value_bytes, count; /* of a ring: `count` is in pages */
	enum host_map_kind kind;
	int fd; /* of the memory of an array, to be mapped; an identity otherwise */
	struct host_storage *storage;
	bool is_created; /* by host_map_create() */
	struct host_map *next;
};

#define HOST_MAP(map, kind, key, value, entries)                                         \
	{                                                                                \
		.name = #map, .kind_name = (kind), .key_bytes = (key),                   \
		.value_bytes = (value), .count = (uint32_t)(entries)                     \
	}

/* Add to the list of maps. Called before main(). */
void host_map_register(struct host_map *map);

/* Make all maps empty, and free what was deleted. No program may run. */
void host_maps_reset(void);

/* Free what was deleted from hashes. No program may run that has looked it up. */
void host_maps_settle(void);

/* A new array, which host_maps_reset() removes. The caller closes the descriptor. */
int host_map_create(const char *name, uint32_t value_bytes, uint32_t count);

/* Let an element of an array of maps be the map `fd`. */
void host_map_put(struct host_map *map, uint32_t at, int fd);

/* By name or descriptor; NULL: not found. */
struct host_map *host_map_find(const char *name);
struct host_map *host_map_of(int fd);

/* As the helpers. Updates return 0 or -errno; `exists` is BPF_ANY or BPF_NOEXIST. */
void *host_map_lookup(struct host_map *map, const void *key);
int host_map_update(struct host_map *map, const void *key, const void *value,
		    uint64_t exists);
int host_map_delete(struct host_map *map, const void *key);

/* The memory of an array: map->count values of host_map_stride() bytes. */
void *host_map_array(const struct host_map *map);
size_t host_map_stride(const struct host_map *map);

/* The number of elements of a hash. */
uint32_t host_map_used(struct host_map *map);

/* Does a hash have the key? Without a call of host_context.point. */
bool host_map_has(struct host_map *map, const void *key);

/* Zeroed memory at an address that is the same in each run: the addresses of kernel
 * stacks identify threads. `bytes`: a multiple of 4096; 0: free all of it. */
void *host_fixed_memory(size_t bytes);

/* The next element of a hash in some order. Begin with NULL. Returns its value, and
 * *key. */
void *host_map_next(struct host_map *map, void *after, const void **key);

/* --- ring buffers ------------------------------------------------------------------- */

int host_ring_output(struct host_map *ring, const void *data, uint64_t size);
/* NULL: the ring is full. */
void *host_ring_reserve(struct host_map *ring, uint64_t size);
void host_ring_submit(void *data);

/* Take the oldest record. Returns false if the ring is empty or the record not submitted.
 */
bool host_ring_take(struct host_map *ring, void *ret, size_t size);

#endif
