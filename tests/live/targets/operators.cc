// SPDX-License-Identifier: Apache-2.0
/*
 * All ways to create and destroy objects in C++, each with its own call path and size,
 * and counted. Takes the commands of targets/allocators.c; "fail N" makes allocations
 * that fail and constructors that throw, "throw N" makes allocations that operator new
 * ends by throwing.
 */
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <unistd.h>

#define SITE extern "C" __attribute__((noinline))

namespace
{

constexpr std::align_val_t alignment{64};

/* Each expression uses another size, which identifies it. libstdc++ rounds aligned sizes
 * up to the alignment, so these are multiples of it. */
template <size_t n> struct plain {
	char bytes[n];
};
template <size_t n> struct alignas(64) aligned {
	char bytes[n];
};

volatile unsigned destroyed;

/* Arrays of this type begin with their length, in 8 bytes (Itanium C++ ABI, 2.7). */
template <size_t n> struct finished {
	char bytes[n];
	~finished()
	{
		destroyed = destroyed + 1;
	}
};

/* A class with its own operators, which call malloc. */
struct own_operators {
	char bytes[1016];
	static void *operator new(size_t n)
	{
		return malloc(n);
	}
	static void operator delete(void *p)
	{
		free(p);
	}
	static void *operator new[](size_t n)
	{
		return calloc(n, 1);
	}
	static void operator delete[](void *p)
	{
		free(p);
	}
};

/* A class with its own operators, which return an array: nothing is allocated. */
struct from_pool {
	char bytes[1032];
	static char pool[1032];
	static void *operator new(size_t)
	{
		return pool;
	}
	static void operator delete(void *)
	{
	}
};
char from_pool::pool[1032];

struct thrower {
	char bytes[1048];
	thrower()
	{
		throw 1;
	}
};

struct base {
	char bytes[24];
	virtual ~base()
	{
	}
};
struct derived : base {
	char more[1032];
};

} // namespace

/* --- call paths: site_X allocates, end_X ends -------------------------------------- */

#define EXPRESSION(name, type, make, end)                                                \
	SITE void *site_##name()                                                         \
	{                                                                                \
		void *p = make;                                                          \
		return p;                                                                \
	}                                                                                \
	SITE void end_##name(void *q)                                                    \
	{                                                                                \
		type *p = static_cast<type *>(q);                                        \
		end;                                                                     \
	}
#define OPERATOR(name, make, end) EXPRESSION(name, void, make, end)

/* Expressions: the compiler chooses the operators. */
EXPRESSION(expression, plain<104>, new plain<104>, delete p)
EXPRESSION(array, plain<8>, new plain<8>[ 14 ], delete[] p)
EXPRESSION(array_counted, finished<8>, new finished<8>[ 14 ], delete[] p)
EXPRESSION(nothrow, plain<128>, new (std::nothrow) plain<128>, delete p)
EXPRESSION(array_nothrow, plain<8>, new (std::nothrow) plain<8>[ 17 ], delete[] p)
EXPRESSION(over_aligned, aligned<192>, new aligned<192>, delete p)
EXPRESSION(array_over_aligned, aligned<64>, new aligned<64>[ 4 ], delete[] p)
EXPRESSION(nothrow_over_aligned, aligned<320>, new (std::nothrow) aligned<320>, delete p)
EXPRESSION(own_operators, own_operators, new own_operators, delete p)
EXPRESSION(own_array, own_operators, new own_operators[2], delete[] p)
EXPRESSION(own_overruled, own_operators, ::new own_operators[3], ::delete[] p)
EXPRESSION(virtual_base, base, static_cast<base *>(new derived), delete p)

/* The operators themselves: each new and each delete. */
OPERATOR(new, ::operator new(400), ::operator delete(p))
OPERATOR(new_sized, ::operator new(408), ::operator delete(p, 408))
OPERATOR(new_array, ::operator new[](416), ::operator delete[](p))
OPERATOR(new_array_sized, ::operator new[](424), ::operator delete[](p, 424))
OPERATOR(new_nothrow, ::operator new(432, std::nothrow),
	 ::operator delete(p, std::nothrow))
OPERATOR(new_array_nothrow, ::operator new[](440, std::nothrow),
	 ::operator delete[](p, std::nothrow))
OPERATOR(new_aligned, ::operator new(512, alignment), ::operator delete(p, alignment))
OPERATOR(new_aligned_sized, ::operator new(576, alignment),
	 ::operator delete(p, 576, alignment))
OPERATOR(new_array_aligned, ::operator new[](640, alignment),
	 ::operator delete[](p, alignment))
OPERATOR(new_array_aligned_sized, ::operator new[](704, alignment),
	 ::operator delete[](p, 704, alignment))
OPERATOR(new_aligned_nothrow, ::operator new(768, alignment, std::nothrow),
	 ::operator delete(p, alignment, std::nothrow))
OPERATOR(new_array_aligned_nothrow, ::operator new[](832, alignment, std::nothrow),
	 ::operator delete[](p, alignment, std::nothrow))

/* The functions that the library uses to allocate for its containers. */
EXPRESSION(vector, char, std::allocator<char>().allocate(904),
	   std::allocator<char>().deallocate(p, 904))
EXPRESSION(allocator_aligned, aligned<64>, std::allocator<aligned<64>>().allocate(15),
	   std::allocator<aligned<64>>().deallocate(p, 15))

SITE void *site_unique()
{
	return std::make_unique<plain<920>>().release();
}

SITE void end_unique(void *p)
{
	std::unique_ptr<plain<920>>(static_cast<plain<920> *>(p)).reset();
}

/* No allocation: placement new, and a class with its own memory. */
SITE unsigned none_placed()
{
	alignas(64) static char place[sizeof(aligned<192>)];
	auto *p = new (place) finished<104>;

	p->~finished();
	new (place) plain<8>[ 3 ];
	new (place) aligned<192>;
	return destroyed;
}

SITE unsigned none_from_pool()
{
	auto *p = new from_pool;
	char byte = p->bytes[0] = 1;

	delete p;
	return static_cast<unsigned>(byte);
}

static const struct op {
	const char *site;
	size_t size; /* the requested size */
	void *(*make)();
	void (*end)(void *p);
} ops[] = {
#define OP(name, size)                                                                   \
	{                                                                                \
		"site_" #name, size, site_##name, end_##name                             \
	}
	OP(expression, 104),
	OP(array, 112),
	OP(array_counted, 120),
	OP(nothrow, 128),
	OP(array_nothrow, 136),
	OP(over_aligned, 192),
	OP(array_over_aligned, 256),
	OP(nothrow_over_aligned, 320),
	OP(own_operators, 1016),
	OP(own_array, 2032),
	OP(own_overruled, 3048),
	OP(virtual_base, sizeof(derived)),
	OP(new, 400),
	OP(new_sized, 408),
	OP(new_array, 416),
	OP(new_array_sized, 424),
	OP(new_nothrow, 432),
	OP(new_array_nothrow, 440),
	OP(new_aligned, 512),
	OP(new_aligned_sized, 576),
	OP(new_array_aligned, 640),
	OP(new_array_aligned_sized, 704),
	OP(new_aligned_nothrow, 768),
	OP(new_array_aligned_nothrow, 832),
	OP(vector, 904),
	OP(allocator_aligned, 960),
	OP(unique, 920),
};
static const size_t op_count = sizeof(ops) / sizeof(ops[0]);

/* --- failures ---------------------------------------------------------------------- */

/* More than any address space, but less than operator new refuses by itself. */
static const size_t too_much = static_cast<size_t>(1) << 60;

SITE bool fails_nothrow()
{
	return !::operator new(too_much, std::nothrow);
}

SITE bool fails_aligned_nothrow()
{
	return !::operator new(too_much, alignment, std::nothrow);
}

SITE bool fails_with_exception()
{
	try {
		::operator delete(::operator new(too_much));
		return false;
	} catch (const std::bad_alloc &) {
		return true;
	}
}

SITE bool constructor_throws()
{
	try {
		delete new thrower;
		return false;
	} catch (int) {
		return true;
	}
}

/* --- the truth --------------------------------------------------------------------- */

static const size_t kept_max = 200000;
static struct {
	void *p;
	size_t op;
} kept[kept_max];
static size_t kept_count;
static uint64_t live[op_count];
static uint64_t allocations, allocated_bytes, frees, freed_bytes;

static void end_block(void *p, size_t op)
{
	ops[op].end(p);
	frees++;
	freed_bytes += ops[op].size;
}

static void run(size_t count)
{
	for (size_t op = 0; op < op_count; op++) {
		for (size_t i = 0; i < 2 * count; i++) {
			void *p = ops[op].make();

			if (!p || kept_count == kept_max)
				_exit(97);
			allocations++;
			allocated_bytes += ops[op].size;
			if (i & 1) {
				end_block(p, op);
				continue;
			}
			live[op]++;
			kept[kept_count].p = p;
			kept[kept_count++].op = op;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (!none_placed() || !none_from_pool())
			_exit(96);
}

static void release()
{
	while (kept_count) {
		kept_count--;
		end_block(kept[kept_count].p, kept[kept_count].op);
		live[kept[kept_count].op]--;
	}
}

static void fail(size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!fails_nothrow() || !fails_aligned_nothrow() || !constructor_throws())
			_exit(95);
}

static void fail_with_exception(size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!fails_with_exception())
			_exit(94);
}

static char line[16384];
static size_t length;

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(line + length, sizeof(line) - length, format, args);
	va_end(args);
	if (n < 0 || static_cast<size_t>(n) >= sizeof(line) - length)
		_exit(98);
	length += static_cast<size_t>(n);
}

static void flush()
{
	put("\n");
	if (write(STDOUT_FILENO, line, length) != static_cast<ssize_t>(length))
		_exit(99);
	length = 0;
}

static void say_truth()
{
	using ull = unsigned long long;

	put("{\"sites\":[");
	for (size_t op = 0; op < op_count; op++)
		put("%s{\"site\":\"%s\",\"size\":%zu,\"bytes\":%llu,\"blocks\":%llu}",
		    op ? "," : "", ops[op].site, ops[op].size,
		    static_cast<ull>(live[op] * ops[op].size),
		    static_cast<ull>(live[op]));
	put("],\"allocations\":%llu,\"allocated_bytes\":%llu,\"frees\":%llu,"
	    "\"freed_bytes\":%llu,\"failures\":0}",
	    static_cast<ull>(allocations), static_cast<ull>(allocated_bytes),
	    static_cast<ull>(frees), static_cast<ull>(freed_bytes));
	flush();
}

int main()
{
	char command[64];
	size_t n = 0;

	put("{\"ready\":\"operators\"}");
	flush();
	while (read(STDIN_FILENO, command + n, 1) == 1) {
		if (command[n] != '\n' && n + 1 < sizeof(command)) {
			n++;
			continue;
		}
		command[n] = '\0';
		n = 0;
		if (!strcmp(command, "truth")) {
			say_truth();
			continue;
		}
		if (!strncmp(command, "run ", 4))
			run(strtoul(command + 4, nullptr, 10));
		else if (!strncmp(command, "fail ", 5))
			fail(strtoul(command + 5, nullptr, 10));
		else if (!strncmp(command, "throw ", 6))
			fail_with_exception(strtoul(command + 6, nullptr, 10));
		else if (!strcmp(command, "release"))
			release();
		put("{\"done\":true}");
		flush();
	}
	return 0;
}
