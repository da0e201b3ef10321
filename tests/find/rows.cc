// A function whose own code works on records of one number; of the numbers in a row no record is known.
struct Worker {
	unsigned long id;
};

__attribute__((noinline)) long count_up(Worker *first, Worker *behind, const unsigned *data, long number)
{
	long started = 0;
	for (Worker *one = first; one != behind; one++) {
		if (one->id == 0)
			one->id = data[started % number];
		started += one->id != 0;
	}
	return started;
}

int main()
{
	static Worker workers[8];
	static unsigned data[8];
	return count_up(workers, workers + 8, data, 8) == 0;
}
