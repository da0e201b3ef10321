// Two records called node in namespaces of their own, one called so in none, and a template.
struct node { long a; } plain;
namespace app {
struct node { long a[4]; } far;
template <class T> struct queue { T head, tail; };
queue<node> all;
}
namespace net {
struct node { long a[4]; char b; } near;
struct peer { long a; } own;
}
namespace ip {
struct peer { char a[8]; } other;
}
