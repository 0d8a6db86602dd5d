/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a unit of systemd. systemd runs each service in a control group that
 * has the name of its unit (systemd.slice(5), systemd.service(5)), and /proc/PID/cgroup
 * has a line for each hierarchy: NUMBER:CONTROLLERS:PATH (cgroups(7)).
 */
#ifndef PROCESS_UNIT_H
#define PROCESS_UNIT_H

#include <stdbool.h>
#include <stddef.h>

/* Is it the name of a unit that has processes: "redis-server.service", "x.scope"? */
bool unit_is_name(const char *name);

/*
 * Is a process with this /proc/PID/cgroup in the unit? Not if the unit is inside of
 * another service or scope: users can have their own service managers, with services of
 * any name, and containers, too.
 */
bool unit_has(const char *unit, const char *cgroups);

/* Fill `ret` with the ids of the unit's processes whose parent is not in it, lowest
 * first. This process is left out. Without helpers of the service manager, which end
 * soon, the first one is the main process. Returns how many there are, at most `max`; 0
 * also if /proc cannot be listed. */
size_t unit_find(const char *unit, int ret[], size_t max);

#endif
