// Methods of several classes have one name; an instance of a template has its arguments in its name.
#include <atomic>

namespace shop {

struct Till {
	long price, sold;
	std::atomic<long> open;
	char receipts[200];

	long quote(int number);
	void sell();
	void add(long amount);
	void add(int amount);
};

struct Stock {
	char name[48];
	long pieces, sold;

	void sell();
	void count(Till *till);
};

template <class Value> struct Mean {
	long from;
	Value sum;
	long number;

	Value mean() const;
};

long Till::quote(int number) { return price * number; }
void Till::sell() { sold++; open.fetch_add(1); }
void Till::add(long amount) { price += amount; }
void Till::add(int amount) { price -= amount; }
void Stock::sell() { pieces--; sold++; }
void Stock::count(Till *till)
{
	auto of = [](Till *one) __attribute__((noinline)) { one->price = one->sold; };
	pieces -= sold;
	of(till);
}
template <class Value> Value Mean<Value>::mean() const { return sum / number; }
template struct Mean<double>;

} // namespace shop

shop::Till till;
shop::Stock stock;
shop::Mean<double> mean;

int main() { return 0; }
