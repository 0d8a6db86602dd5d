// SPDX-License-Identifier: Apache-2.0
/* A server in C++20 with templates, lambdas and coroutines, for golden screens
 * (README.md). Orders are kept for ever, and so is the state of one coroutine in ten. */
#include <chrono>
#include <coroutine>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace shop
{
struct item {
	std::string name;
	std::vector<int> prices;
};

template <typename Key, typename Value> class store
{
      public:
	template <typename Request>
	__attribute__((noinline)) Value &make_order(const Request &request)
	{
		auto &list = orders[request.customer];

		list.emplace_back(request.name, request.quantity);
		return list.back();
	}

      private:
	std::map<Key, std::vector<Value>> orders;
};

struct order {
	order(const std::string &name, int quantity)
	    : what{"an order of " + name + ", which is a rather long text", {}}
	{
		what.prices.resize(static_cast<size_t>(quantity));
	}
	item what;
};

struct request {
	int customer;
	std::string name;
	int quantity;
};

struct task {
	struct promise_type {
		task get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
		}
	};
	std::coroutine_handle<promise_type> handle;
};

__attribute__((noinline)) task handle_request(store<int, order> &orders, request wanted)
{
	order &made = orders.make_order(wanted);

	co_await std::suspend_always{};
	made.what.prices.clear();
}

class server
{
      public:
	void run()
	{
		std::function<void(const request &)> serve = [this](const request &r) {
			task made = handle_request(orders, r);

			cache["customer " + std::to_string(r.customer % 20)] = {r.name,
										{1}};
			if (r.customer % 10)
				made.handle.destroy();
		};

		for (int i = 0;; i++) {
			std::this_thread::sleep_for(std::chrono::milliseconds(10));
			serve({i % 50, "a box of " + std::to_string(i) + " shining nails",
			       100 + i % 7});
		}
	}

      private:
	store<int, order> orders;
	std::map<std::string, item> cache;
};
} // namespace shop

int main()
{
	auto made = std::make_unique<shop::server>();

	made->run();
}
