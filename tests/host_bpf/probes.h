/* SPDX-License-Identifier: Apache-2.0 */
/* Included before the probes' text when it is compiled for the host: what libbcc
 * declares, and its macros for maps. */
#ifndef HOST_BPF_PROBES_H
#define HOST_BPF_PROBES_H

#include "host_bpf/host_bpf.h"
#include "host_bpf/tracepoint.h"
#include "kernel/include/uapi/linux/ptrace.h"

/* Each program uses a part of the fragments, and some warnings are of another
 * compiler. */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpointer-arith"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wparentheses"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef u64 short_key; /* probes/instructions.c */
typedef int32_t s32;
typedef int64_t s64;

/* include/uapi/linux/bpf.h */
#define BPF_F_NO_PREALLOC 1
#define BPF_F_MMAPABLE    (1u << 10)
#define BPF_RB_NO_WAKEUP  1
#define HOST_BPF_ANY      0
#define HOST_BPF_NOEXIST  1

#define HOST_REGISTER(map)                                                               \
	__attribute__((constructor)) static void host_register_##map(void)               \
	{                                                                                \
		host_map_register(&host_map_##map);                                      \
	}

#define BPF_F_TABLE(kind, key_type, value_type, map, entries, flags)                     \
	static struct host_map host_map_##map =                                          \
		HOST_MAP(map, kind, sizeof(key_type), sizeof(value_type), (entries));    \
	HOST_REGISTER(map)                                                               \
	static value_type *host_lookup_##map(const void *key)                            \
	{                                                                                \
		return host_map_lookup(&host_map_##map, key);                            \
	}                                                                                \
	static int host_update_##map(const key_type *key, const value_type *value)       \
	{                                                                                \
		return host_map_update(&host_map_##map, key, value, HOST_BPF_ANY);       \
	}                                                                                \
	static int host_insert_##map(const key_type *key, const value_type *value)       \
	{                                                                                \
		return host_map_update(&host_map_##map, key, value, HOST_BPF_NOEXIST);   \
	}                                                                                \
	static int host_delete_##map(const key_type *key)                                \
	{                                                                                \
		return host_map_delete(&host_map_##map, key);                            \
	}                                                                                \
	static const struct {                                                            \
		value_type *(*lookup)(const void *key);                                  \
		int (*update)(const key_type *key, const value_type *value);             \
		int (*insert)(const key_type *key, const value_type *value);             \
		int (*delete)(const key_type *key);                                      \
	} map __attribute__((unused)) = {host_lookup_##map, host_update_##map,           \
					 host_insert_##map, host_delete_##map}

#define BPF_TABLE(kind, key_type, value_type, map, entries)                              \
	static struct host_map host_map_##map =                                          \
		HOST_MAP(map, kind, sizeof(key_type), sizeof(value_type), (entries));    \
	HOST_REGISTER(map)                                                               \
	static void *host_lookup_##map(const void *key)                                  \
	{                                                                                \
		return host_map_lookup(&host_map_##map, key);                            \
	}                                                                                \
	static const struct {                                                            \
		void *(*lookup)(const void *key);                                        \
	} map = {host_lookup_##map}

#define bpf_map_lookup_elem(map, key) host_map_lookup((map), (key))

#define BPF_RINGBUF_OUTPUT(map, pages)                                                   \
	static struct host_map host_map_##map = HOST_MAP(map, "ring", 0, 0, (pages));    \
	HOST_REGISTER(map)                                                               \
	static int host_output_##map(const void *data, u64 size, u64 flags)              \
	{                                                                                \
		return host_ring_output(&host_map_##map, data, size);                    \
	}                                                                                \
	static void *host_reserve_##map(u64 size)                                        \
	{                                                                                \
		return host_ring_reserve(&host_map_##map, size);                         \
	}                                                                                \
	static void host_submit_##map(void *data, u64 flags)                             \
	{                                                                                \
		host_ring_submit(data);                                                  \
	}                                                                                \
	static const struct {                                                            \
		int (*ringbuf_output)(const void *data, u64 size, u64 flags);            \
		void *(*ringbuf_reserve)(u64 size);                                      \
		void (*ringbuf_submit)(void *data, u64 flags);                           \
		void (*ringbuf_discard)(void *data, u64 flags);                          \
	} map = {host_output_##map, host_reserve_##map, host_submit_##map,               \
		 host_submit_##map}

#endif
