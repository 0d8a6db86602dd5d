/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* In place of traffic.c, in a run that does not count it. */
ALWAYS_INLINE void traffic_process_ends(short_key slot)
{
}

#define traffic_remove_paths(scratch, value) ((void)0)
#define traffic_is_temporary(t, key, old)    0
#define traffic_other_event(t)               ((void)0)
#define traffic_allocated(t, key, block)     ((void)0)
#define traffic_freed(t, old, is_temporary)  ((void)0)
#define traffic_gone(key, block)             ((void)0)
#define traffic_resized(t, old, bytes)       ((void)0)
