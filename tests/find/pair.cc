// A class whose name holds blanks.
template <class T> struct pair { T first, second; };
pair<long> both;
int main() { return both.second++; }
