// SPDX-License-Identifier: GPL-2.0-or-later
// Globals and the functions that touch them, some by name, some through a pointer only.
struct account {
    long balance;
    long limit;
};

struct account accounts[8];
struct account central = {1, 2};
long visits;

__attribute__((noipa)) void pay(struct account *from, long amount) {
    from->balance -= amount;
}

__attribute__((noipa)) long bound(void) {
    return central.limit;
}

__attribute__((noipa)) void visit(void) {
    visits++;
}

int main(void) {
    pay(&accounts[1], 1);
    visit();
    return (int)bound();
}
