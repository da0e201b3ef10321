@r@
struct wheel *W;
position p;
@@
W->turns@p

@@
struct wheel *W;
@@
- W->turns
+ wheel_turns(W)
