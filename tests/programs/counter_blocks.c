// SPDX-License-Identifier: Apache-2.0
#include "counter_blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS (1U << 17) /* in each shard */

struct slot {
	uintptr_t address; /* 0: empty */
	uint64_t size;
};

struct table {
	atomic_flag lock;
	uint64_t used;
	struct slot slots[SLOTS];
};

struct counter_file *counts;
static struct table *tables; /* COUNTER_SHARDS of them */

/* --- blocks by address ------------------------------------------------------------ */

static uint64_t hash(uintptr_t address)
{
	uint64_t h = (uint64_t)(address >> 4) * UINT64_C(0x9e3779b97f4a7c15);

	return h ^ h >> 32;
}

static unsigned shard_of(uintptr_t address)
{
	return (unsigned)(hash(address) >> 48) % COUNTER_SHARDS;
}

static unsigned home_of(uintptr_t address)
{
	return (unsigned)hash(address) % SLOTS;
}

static void lock(struct table *table)
{
	while (atomic_flag_test_and_set_explicit(&table->lock, memory_order_acquire))
		sched_yield();
}

static void unlock(struct table *table)
{
	atomic_flag_clear_explicit(&table->lock, memory_order_release);
}

/* The block's slot, or the empty slot where it would be. */
static struct slot *find(struct table *table, uintptr_t address)
{
	unsigned at = home_of(address);

	while (table->slots[at].address && table->slots[at].address != address)
		at = (at + 1) % SLOTS;
	return &table->slots[at];
}

/* Empties the slot, and moves later slots so that find() still finds them. */
static void empty(struct table *table, struct slot *slot)
{
	unsigned hole = (unsigned)(slot - table->slots), at = hole;

	for (;;) {
		at = (at + 1) % SLOTS;
		if (!table->slots[at].address)
			break;
		unsigned home = home_of(table->slots[at].address);
		/* Is the hole between its home and its place? */
		if ((at - home) % SLOTS >= (at - hole) % SLOTS) {
			table->slots[hole] = table->slots[at];
			hole = at;
		}
	}
	table->slots[hole].address = 0;
	table->used--;
}

void note_allocation(const void *block, uint64_t size, bool may_be_counted)
{
	uintptr_t address = (uintptr_t)block;
	struct table *table = &tables[shard_of(address)];
	struct counter_shard *shard = &counts->shards[shard_of(address)];

	lock(table);
	struct slot *slot = find(table, address);
	if (slot->address && may_be_counted) {
		unlock(table);
		return;
	}
	shard->allocations++;
	shard->allocated_bytes += size;
	if (slot->address) {
		shard->replaced++;
		shard->replaced_bytes += slot->size;
	} else if (table->used == SLOTS - 1) {
		shard->overflow++;
		unlock(table);
		return;
	} else {
		table->used++;
	}
	*slot = (struct slot){address, size};
	unlock(table);
}

bool launder(const void *block, uint64_t *ret)
{
	uintptr_t address = (uintptr_t)block;
	struct table *table = &tables[shard_of(address)];
	struct counter_shard *shard = &counts->shards[shard_of(address)];

	lock(table);
	struct slot *slot = find(table, address);
	bool known = slot->address;
	if (known) {
		shard->frees++;
		shard->freed_bytes += slot->size;
		*ret = slot->size;
		empty(table, slot);
	}
	unlock(table);
	return known;
}

void undo_remove(const void *block, uint64_t size)
{
	struct counter_shard *shard = &counts->shards[shard_of((uintptr_t)block)];
	struct table *table = &tables[shard_of((uintptr_t)block)];

	lock(table);
	*find(table, (uintptr_t)block) = (struct slot){(uintptr_t)block, size};
	table->used++;
	shard->frees--;
	shard->freed_bytes -= size;

	unlock(table);
}
/* --- the process ------------------------------------------------------------------ */

/* Appends text and numbers without printf, which may allocate. */
static char *append(char *to, const char *text)
{
	size_t length = strlen(text);

	memcpy(to, text, length + 1);
	return to + length;
}

static char *append_number(char *to, uint64_t number)
{
	char digits[24];
	size_t n = sizeof(digits);

	digits[--n] = '\0';
	do {
		digits[--n] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	return append(to, digits + n);
}

/* Creates a new file, which no earlier program with this pid has used. */
static int create_file(const char *directory)
{
	char path[PATH_MAX];

	if (strlen(directory) > sizeof(path) - 64)
		return -1;
	for (unsigned n = 0; n < 10000; n++) {
		char *end = append(append(path, directory), "/");
		end = append(append_number(end, (uint64_t)getpid()), ".");
		append_number(end, n);
		int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static struct counter_file *map_file(const char *directory)
{
	int fd = create_file(directory);
	void *file = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, sizeof(struct counter_file)))
		file = mmap(NULL, sizeof(struct counter_file), PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return file == MAP_FAILED ? NULL : file;
}

void begin(void)
{
	const char *directory = getenv(COUNTER_DIRECTORY),
		   *name = program_invocation_short_name;
	struct counter_file *file;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	counts = NULL;
	/* If memtrace starts the program, it has the preload, too. */
	if (!directory || (name && !strcmp(name, "memtrace")))
		return;
	if (tables) /* the parent's, after a fork */
		munmap(tables, COUNTER_SHARDS * sizeof(*tables));
	tables = mmap(NULL, COUNTER_SHARDS * sizeof(*tables), PROT_READ | PROT_WRITE,
		      flags, -1, 0);
	file = tables == MAP_FAILED ? NULL : map_file(directory);
	if (!file)
		return;
	file->magic = COUNTER_MAGIC;
	file->pid = (uint64_t)getpid();
	if (name)
		memcpy(file->command, name, strnlen(name, sizeof(file->command) - 1));
	counts = file;
}
