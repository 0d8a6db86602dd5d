// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROCESSES 64

struct tree {
	pid_t pid[MAX_PROCESSES];
	size_t count;
};

/* Adds a number of a file in /proc: the one that stands behind `name` in a line. */
static void add_number(const char *path, const char *name, double *sum)
{
	char line[256];
	double value;
	FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, strlen(name)) &&
		    sscanf(line + strlen(name), "%lf", &value) == 1) {
			*sum += value;
			break;
		}
	}
	if (file)
		fclose(file);
}

/* Call `visit` with the folder of each thread of a process. */
static void for_each_thread(pid_t pid, void (*visit)(const char *path, void *context),
			    void *context)
{
	char path[64], thread[128];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(thread, sizeof(thread), "%s/%.20s", path, entry->d_name);
		visit(thread, context);
	}
	if (dir)
		closedir(dir);
}

static void add_children(const char *thread, void *context)
{
	struct tree *tree = context;
	char path[160];
	int pid;

	snprintf(path, sizeof(path), "%s/children", thread);
	FILE *file = fopen(path, "re");
	while (file && tree->count < MAX_PROCESSES && fscanf(file, "%d", &pid) == 1)
		tree->pid[tree->count++] = pid;
	if (file)
		fclose(file);
}

static struct tree list(pid_t root)
{
	struct tree tree = {.pid = {root}, .count = 1};

	for (size_t i = 0; i < tree.count; i++)
		for_each_thread(tree.pid[i], add_children, &tree);
	return tree;
}

static void add_work(const char *thread, void *context)
{
	struct tree_work *work = context;
	char path[160];

	snprintf(path, sizeof(path), "%s/status", thread);
	add_number(path, "voluntary_ctxt_switches:", &work->wakeups);
	snprintf(path, sizeof(path), "%s/schedstat", thread);
	add_number(path, "", &work->cpu_ns);
}

struct tree_work tree_work(pid_t root)
{
	struct tree tree = list(root);
	struct tree_work work = {0};

	for (size_t i = 0; i < tree.count; i++)
		for_each_thread(tree.pid[i], add_work, &work);
	return work;
}

double tree_kib(pid_t root)
{
	struct tree tree = list(root);
	char path[64];
	double kib = 0;

	for (size_t i = 0; i < tree.count; i++) {
		snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)tree.pid[i]);
		add_number(path, "Pss:", &kib);
	}
	return kib;
}
