// SPDX-License-Identifier: Apache-2.0
// Inlined functions that GCC gives no linkage name. Each of them calls get() with its own
// number.
#include <cstdlib>

__attribute__((noipa)) static void *get(long number)
{
	return malloc(static_cast<size_t>(number));
}

void *volatile sink;

namespace shop {
namespace {
struct Cart {
	struct Line {
		void add();
	};
	void fill()
	{
		sink = get(1);
	}
};

void Cart::Line::add()
{
	sink = get(2);
}
} // namespace

static inline void sell()
{
	auto pay = [](int n) {
		auto print = [] { sink = get(3); };
		sink = get(n);
		print();
	};
	pay(4);
}

struct Server {
	void serve();
};

void Server::serve()
{
	struct Reply {
		void operator()()
		{
			sink = get(5);
		}
	};
	Cart cart;

	cart.fill();
	Cart::Line().add();
	sell();
	Reply()();
}
} // namespace shop

int main()
{
	auto first = [](auto n) { sink = get(n); };
	auto second = [] { sink = get(6); };
	shop::Server server;

	first(7);
	second();
	server.serve();
	return 0;
}
