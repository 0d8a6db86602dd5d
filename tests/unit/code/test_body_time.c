// SPDX-License-Identifier: Apache-2.0
/* How much time a hostile function can cost memtrace. */
#include "check.h"

#include "unit/code/body_walk.h"
#include "unit/random.h"

#define APPEND(function, bytes) append((function), (bytes), sizeof(bytes) - 1)

static void append(struct function *f, const char *bytes, size_t size)
{
	REQUIRE(size <= sizeof(f->code) - f->size);
	memcpy(f->code + f->size, bytes, size);
	f->size += size;
}

/* Makes the jump with the 32-bit distance at `at` go to `to`. */
static void aim(struct function *f, size_t at, size_t to)
{
	uint32_t distance = (uint32_t)(to - (at + 4));

	for (unsigned i = 0; i < 4; i++)
		f->code[at + i] = (uint8_t)(distance >> (8 * i));
}

static void measure(const char *what, const struct function *f, double *longest)
{
	struct body body;
	double start = check_cpu_s(), time;
	const char *why = find(f, &body);

	time = check_cpu_s() - start;
	printf("     %6.1f ms: %s, %zu bytes: %s\n", time * 1e3, what, f->size,
	       why ? why : "found");
	if (time > *longest)
		*longest = time;
	CHECK(f->size > FLOW_CODE_MAX - 16 && f->size <= FLOW_CODE_MAX);
	judge(f);
}

/* Each jump goes to the one before. `start` jumps to the last one; the first one jumps to
 * `end`. */
static struct function jumps_back(const char *start, size_t start_size, size_t jump,
				  const char *end, size_t end_size)
{
	struct function f = made(start, start_size);
	size_t before = start_size;

	append(&f, end, end_size);
	while (f.size + 2 <= FLOW_CODE_MAX) {
		size_t at = f.size;

		APPEND(&f, "\xeb\0");
		f.code[at + 1] = (uint8_t)(before - f.size);
		before = at;
	}
	aim(&f, jump, before);
	return f;
}

#define JUMPS_BACK(start, jump, end)                                                     \
	jumps_back((start), sizeof(start) - 1, (jump), (end), sizeof(end) - 1)

/* A repeated `item` whose last four bytes are a jump's distance. `where` 0: to the next
 * item, 1: to any later one, 2: to any. */
static struct function jumps(const char *start, size_t start_size, const char *item,
			     size_t size, unsigned where, const char *end,
			     size_t end_size)
{
	struct function f = made(start, start_size);
	uint32_t count = (uint32_t)((FLOW_CODE_MAX - start_size - end_size) / size);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t to = where == 0   ? i + 1
			      : where == 1 ? i + 1 + random_below(count - i)
					   : random_below(count + 1);

		append(&f, item, size);
		aim(&f, f.size - 4, start_size + to * size);
	}
	append(&f, end, end_size);
	return f;
}

#define JUMPS(start, item, where, end)                                                   \
	jumps((start), sizeof(start) - 1, (item), sizeof(item) - 1, (where), (end),      \
	      sizeof(end) - 1)

#define END  "\x31\xdb" CALL "\x85\xc0\x74\0\x5b\xc3" /* xor ebx, ebx; call; je; ... */
#define LATE "\x85\xc0\x5b\xc3"                       /* test; pop rbx; ret */
#define JE   "\x0f\x84\0\0\0\0"

static void time_of_jumps(double *longest)
{
	static const char *const where[] = {"next", "ahead", "anywhere"};
	struct function f;

	for (unsigned i = 0; i < COUNT(where); i++) {
		printf("     jumps go %s:\n", where[i]);
		f = JUMPS(START, JE, i, END);
		measure("jumps", &f, longest);
		f = JUMPS(START CALL, JE, i, LATE);
		measure("final jumps", &f, longest);
		f = JUMPS(START, "\x31\xc0" JE, i, LATE);
		measure("failures", &f, longest);
		f = JUMPS(START, "\x48\x8b\x06\x90" JE, i, END);
		measure("results, nops", &f, longest);
		f = JUMPS(START, CALL "\x90" JE, i, END);
		measure("calls, nops", &f, longest);
		f = JUMPS(START, "\x78\6" CALL "\x90" JE, i, END);
		measure("calls, nops that are jumped over", &f, longest);
	}
	f = JUMPS_BACK(START "\xe9\0\0\0\0", 5, END);
	measure("jumps to the one before", &f, longest);
	f = JUMPS_BACK(START CALL "\xe9\0\0\0\0", 10, LATE);
	measure("final jumps to the one before", &f, longest);
	/* mov rax, [rsi]; je end; ...: all jumps are put off */
	f = JUMPS_BACK(START "\x48\x8b\x06" JE CALL "\xe9\0\0\0\0", 19, LATE);
	aim(&f, 9, 23);
	measure("final jumps that meet another way", &f, longest);
}

static void time_of_nops(double *longest)
{
	static const char item[] = "\x78\6" CALL "\x90";
	struct function f = FUNCTION(START);

	while (f.size + sizeof(END) <= FLOW_CODE_MAX)
		APPEND(&f, "\x90");
	APPEND(&f, END);
	measure("places for the entry", &f, longest);

	/* The jumps are put off one by one, each from far away: cdq. */
	f = FUNCTION(START CALL "\x48\x8b\x06" JE "\x48\x8b\x06");
	for (unsigned i = 0; i < 70; i++)
		APPEND(&f, "\x90");
	while (f.size + sizeof(LATE) <= FLOW_CODE_MAX)
		APPEND(&f, "\x99");
	aim(&f, 14, f.size);
	APPEND(&f, LATE);
	measure("sites put off", &f, longest);

	f = FUNCTION(START);
	for (unsigned i = 0; i < 15; i++)
		APPEND(&f, CALL "\x90");
	for (unsigned i = 0; f.size + sizeof(item) + sizeof(END) <= FLOW_CODE_MAX; i++) {
		APPEND(&f, item);
		f.code[f.size - 4] = (uint8_t)i;
		f.code[f.size - 3] = (uint8_t)(1 + (i >> 8));
	}
	APPEND(&f, END);
	measure("calls that are understood one by one", &f, longest);
}

/* A build with sanitizers is several times slower. */
#define SECONDS_MAX 2

static void hostile_time(void)
{
	double longest = 0;

	time_of_jumps(&longest);
	time_of_nops(&longest);
	CHECK(longest > 0 && longest < SECONDS_MAX);
}

int main(void)
{
	RUN(hostile_time);
	return check_done();
}
