// SPDX-License-Identifier: Apache-2.0
// C++: members, templates, lambdas and library code, inlined into each other.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shop
{
template <typename T> class shelf {
      public:
	explicit shelf(std::size_t size) : items(size) {}
	inline T &at(std::size_t i)
	{
		return items[check(i)];
	}
	void grow(const T &item)
	{
		items.push_back(item);
	}
	~shelf() {}

      private:
	__attribute__((always_inline)) std::size_t check(std::size_t i) const
	{
		return i < items.size() ? i : throw i;
	}
	std::vector<T> items;
};

struct item {
	std::string name;
	int price;
	bool operator<(const item &other) const
	{
		return price < other.price;
	}
};

namespace
{
int hidden(shelf<item> &s, int n)
{
	auto twice = [&s](int i) { return s.at(static_cast<std::size_t>(i)).price * 2; };
	return twice(n % 3);
}
} // namespace

__attribute__((noinline)) int sell(int n)
{
	shelf<item> s(3);
	std::map<std::string, std::unique_ptr<int>> stock;
	std::function<int(int)> f = [n](int i) { return i + n; };

	for (int i = 0; i < n; i++) {
		s.grow(item{std::to_string(i), i});
		stock[std::to_string(i)] = std::make_unique<int>(f(i));
	}
	return hidden(s, n) + static_cast<int>(stock.size());
}
} // namespace shop

int main()
{
	std::vector<shop::item> items;

	for (int i = 0; i < 20; i++)
		items.push_back({"name", 20 - i});
	std::sort(items.begin(), items.end());
	std::printf("%d %d\n", shop::sell(7), items[0].price);
	return 0;
}
