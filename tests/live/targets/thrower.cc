// SPDX-License-Identifier: Apache-2.0
/*
 * Calls of operator new that end with an exception, with pthread_exit() or with a switch
 * to another stack. The new handler can do each of these.
 */
#include <cstdint>
#include <cstring>
#include <new>
#include <pthread.h>
#include <ucontext.h>

#include "answer.h"

namespace
{

constexpr int caught_wanted = 1000, forms = 4, threads = 50, rounds = 50;
constexpr std::align_val_t alignment{4096};

/* More bytes than the machine has. volatile: the compiler must not know the values. */
const volatile size_t sizes[forms] = {SIZE_MAX / 2, SIZE_MAX / 2 - 100, SIZE_MAX / 4,
				      SIZE_MAX / 2 - 8192};

NOINLINE void *ask(int form)
{
	void *block;

	switch (form) {
	case 0:
		block = ::operator new(sizes[0]);
		break;
	case 1:
		block = ::operator new[](sizes[1]);
		break;
	case 2:
		block = ::operator new(sizes[2], alignment);
		break;
	default:
		block = new char[sizes[3]];
	}
	/* Keep the compiler from dropping the call. */
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

NOINLINE char *keep()
{
	char *block = new char[COUNTED_SIZE + 4000];

	count_allocation(COUNTED_SIZE + 4000);
	memset(block, 1, 100);
	return block;
}

NOINLINE void give_back(char *block)
{
	COUNT(frees);
	delete[] block;
}

struct Unwound {
	unsigned &count;
	~Unwound()
	{
		__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
	}
};

/* Calls through a frame that has a destructor to run. */
NOINLINE void *ask_guarded(int form, unsigned &unwound)
{
	Unwound guard{unwound};
	void *block = ask(form);

	return block;
}

void catch_all(char *line, size_t size)
{
	unsigned caught = 0, unwound = 0;
	char *kept = nullptr;

	for (int i = 0; i < caught_wanted; i++) {
		try {
			ask_guarded(i % forms, unwound);
		} catch (const std::bad_alloc &) {
			caught++;
			COUNT(failures);
		}
		if (i % 10)
			continue;
		if (kept)
			give_back(kept);
		kept = keep();
	}
	give_back(kept);
	snprintf(line, size, "caught %u, unwound %u", caught, unwound);
}

/* The program's own operator, which calls C functions that fail. */
NOINLINE void *own_new(int form)
{
	void *block;

	switch (form) {
	case 0:
		block = malloc(sizes[0]);
		break;
	case 1:
		block = calloc(sizes[1] / 8, 16);
		break;
	case 2:
		block = realloc(nullptr, sizes[2]);
		break;
	default:
		if (posix_memalign(&block, 64, sizes[3]))
			block = nullptr;
	}
	if (!counted(block, sizes[form]))
		throw std::bad_alloc();
	return block;
}

void own_operator_throws(char *line, size_t size)
{
	unsigned caught = 0;

	for (int i = 0; i < caught_wanted; i++) {
		try {
			give_back(static_cast<char *>(own_new(i % forms)));
		} catch (const std::bad_alloc &) {
			caught++;
		}
		give_back(keep());
	}
	snprintf(line, size, "caught %u", caught);
}

/* Not std::bad_alloc: jemalloc and tcmalloc replace that by one of their own. */
struct Refusal {
	int number;
	explicit Refusal(int n) : number(n)
	{
	}
};

int refusals;

void refuse()
{
	throw Refusal(++refusals);
}

/* The new handler throws its own exception. */
void handler_throws(char *line, size_t size)
{
	unsigned caught = 0, unwound = 0;
	uint64_t sum = 0;

	std::set_new_handler(refuse);
	for (int i = 0; i < caught_wanted; i++) {
		try {
			ask_guarded(i % forms, unwound);
		} catch (const Refusal &refusal) {
			caught++;
			sum = sum * 31 + (unsigned)refusal.number;
			COUNT(failures);
		}
		give_back(keep());
	}
	std::set_new_handler(nullptr);
	snprintf(line, size, "caught %u, unwound %u, sum %llu", caught, unwound,
		 (unsigned long long)sum);
}

unsigned exit_unwound;

void exit_thread()
{
	COUNT(failures);
	pthread_exit(nullptr);
}

void *exiting(void *form)
{
	char *volatile block = keep();

	give_back(block);
	ask_guarded((int)(intptr_t)form, exit_unwound);
	return form;
}

/* The new handler ends the thread: its frames are unwound by force. */
void handler_exits(char *line, size_t size)
{
	unsigned joined = 0, returned = 0;

	std::set_new_handler(exit_thread);
	for (intptr_t i = 0; i < threads; i++) {
		pthread_t thread;
		void *result = nullptr;

		if (pthread_create(&thread, nullptr, exiting,
				   reinterpret_cast<void *>(i % forms)))
			_exit(2);
		joined += !pthread_join(thread, &result);
		returned += result != nullptr;
	}
	std::set_new_handler(nullptr);
	snprintf(line, size, "joined %u, unwound %u, returned %u", joined, exit_unwound,
		 returned);
}

/* Two coroutines, each in a call of operator new. The call that began first ends
 * first. */
ucontext_t contexts[3]; /* contexts of main and of the coroutines */
unsigned running, switches, coroutine_caught[3];
alignas(16) char stacks[3][256 << 10];

void switch_over()
{
	unsigned from = running;

	running = 3 - from;
	switches++;
	swapcontext(&contexts[from], &contexts[running]);
}

void handler_switches()
{
	switch_over();
	throw std::bad_alloc();
}

void coroutine(int self)
{
	for (int i = 0; i < rounds; i++) {
		char *block = keep();

		try {
			ask((i + self) % forms);
		} catch (const std::bad_alloc &) {
			coroutine_caught[self]++;
			COUNT(failures);
		}
		give_back(block);
	}
	/* Let the other coroutine end, too. */
	if (self == 1)
		switch_over();
}

void handler_is_a_coroutine(char *line, size_t size)
{
	std::set_new_handler(handler_switches);
	for (unsigned i = 1; i <= 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		contexts[i].uc_link = &contexts[0];
		makecontext(&contexts[i], reinterpret_cast<void (*)()>(coroutine), 1, i);
	}
	running = 1;
	swapcontext(&contexts[0], &contexts[1]);
	std::set_new_handler(nullptr);
	snprintf(line, size, "caught %u and %u, switched %u", coroutine_caught[1],
		 coroutine_caught[2], switches);
}

} // namespace

int main(int argc, char *argv[])
{
	static const struct work works[] = {{"catch", catch_all},
					    {"own", own_operator_throws},
					    {"handler", handler_throws},
					    {"exit", handler_exits},
					    {"coroutines", handler_is_a_coroutine},
					    {nullptr, nullptr}};

	return answer(works, argc, argv);
}
