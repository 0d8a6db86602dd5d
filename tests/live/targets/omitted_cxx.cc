// SPDX-License-Identifier: Apache-2.0
// Built without frame pointers. For each line of input it allocates while exceptions are
// thrown and caught, and in inlined code, and answers with a line.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#define NOINLINE __attribute__((noinline))

static void *volatile last;
static volatile unsigned sink;

NOINLINE static void destructor_allocates()
{
	last = malloc(3001);
	sink = sink + 1;
}

struct Guard {
	NOINLINE ~Guard()
	{
		destructor_allocates();
		sink = sink + 1;
	}
};

NOINLINE static void thrower(unsigned depth)
{
	if (depth == 0)
		throw std::runtime_error("thrown");
	thrower(depth - 1);
	sink = sink + 1;
}

NOINLINE static void guarded()
{
	Guard guard;

	thrower(5);
	sink = sink + 1;
}

NOINLINE static void catch_allocates()
{
	last = malloc(3002);
	sink = sink + 1;
}

static inline __attribute__((always_inline)) void inlined_twice(size_t size)
{
	last = malloc(size);
	sink = sink + 1;
}

struct Shape {
	virtual ~Shape() = default;
	virtual void allocates() = 0;
};

struct Circle : Shape {
	NOINLINE void allocates() override
	{
		inlined_twice(3003);
		sink = sink + 1;
	}
};

NOINLINE static void scenario_exceptions(Shape *shape)
{
	for (int i = 0; i < 100; i++) {
		try {
			guarded();
		} catch (const std::exception &e) {
			catch_allocates();
			sink = sink + 1;
		}
		shape->allocates();
	}
	sink = sink + 1;
}

int main()
{
	static Circle circle;
	Shape *volatile shape = &circle;
	char line[64];

	setvbuf(stdout, nullptr, _IOLBF, 0);
	printf("{\"ready\":\"omitted_cxx\"}\n");
	while (fgets(line, sizeof(line), stdin)) {
		scenario_exceptions(shape);
		printf("{\"done\":true}\n");
	}
	return 0;
}
