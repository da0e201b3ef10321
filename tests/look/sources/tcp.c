
struct tcp_sock { int sent; long queued; unsigned ready:1, error:3; } tcp_sock;
struct tcp_info { char state; } tcp_info;
union tcp_word { int flags; } tcp_word;
typedef struct { long counter; } tcp_count;
tcp_count count;
struct udp_sock { struct tcp_sock inner; tcp_count count; } udp_sock;
