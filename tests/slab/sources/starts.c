
struct dentry { long all[24]; };
struct vm_area_struct { long all[19]; };
struct address_space { long all[4]; };
struct inode { long before[10]; struct address_space i_data; long behind[8]; };
struct task_struct { char all[8000]; };
struct odd { char all[65]; } odd;
struct { struct dentry a; struct vm_area_struct b; struct inode c; struct task_struct d; } all;
