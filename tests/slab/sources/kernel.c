
struct vma_lock { char lock[40]; } __attribute__((aligned(8)));
struct vm_area_struct { char all[160]; } __attribute__((aligned(8)));
struct address_space { long pages[4]; };
struct inode { char mode[40]; struct address_space i_data; };
struct ext4_inode_info { char first[100]; struct inode vfs_inode; };
struct mm_struct { char all[100]; };
struct private { char all[100]; };
struct huge { char all[20000]; };
struct { struct vma_lock a; struct vm_area_struct b; struct ext4_inode_info c; struct private d; struct huge e;
         struct mm_struct f; } all;
