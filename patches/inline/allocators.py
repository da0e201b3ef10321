# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that allocate and free single objects, in the kernel and in the C library.

Sources: include/linux/slab.h, include/linux/device.h, include/linux/vmalloc.h of Linux 6.1 to 6.12; C11 7.22.3; the
manual of GLib 2.74.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Allocator:
    """``size`` is the argument with the bytes, ``count`` the one that they are multiplied by; they count from 0.

    ``cache`` is the argument with the slab cache, ``source`` the one with the object that is copied. ``object`` is
    the argument that is an object of the type. ``clears`` tells that the bytes are zero; ``flags`` is the argument that
    may ask for that.
    """

    size: int | None = None
    count: int | None = None
    cache: int | None = None
    source: int | None = None
    object: int | None = None
    clears: bool = False
    flags: int | None = None


ALLOCATORS: dict[str, Allocator] = {
    **{name: Allocator(size=0, flags=1) for name in ("kmalloc", "kmalloc_node", "kvmalloc", "kvmalloc_node")},
    **{name: Allocator(size=0) for name in ("malloc", "vmalloc", "xmalloc", "g_malloc")},
    **{name: Allocator(size=0, clears=True) for name in ("kzalloc", "kzalloc_node", "kvzalloc", "kvzalloc_node")},
    **{name: Allocator(size=0, clears=True) for name in ("vzalloc", "g_malloc0", "xzalloc")},
    **{name: Allocator(object=0, flags=1) for name in ("kmalloc_obj", "kvmalloc_obj")},
    **{name: Allocator(object=0, clears=True) for name in ("kzalloc_obj", "kvzalloc_obj")},
    **{name: Allocator(cache=0, flags=1) for name in ("kmem_cache_alloc", "kmem_cache_alloc_node")},
    "g_new": Allocator(object=0, count=1),
    "g_new0": Allocator(object=0, count=1, clears=True),
    "g_slice_new": Allocator(object=0),
    "g_slice_new0": Allocator(object=0, clears=True),
    "kmem_cache_zalloc": Allocator(cache=0, clears=True),
    **{name: Allocator(size=1, count=0, clears=True) for name in ("calloc", "kcalloc", "kvcalloc", "xcalloc")},
    "aligned_alloc": Allocator(size=1),
    "devm_kmalloc": Allocator(size=1, flags=2),
    "devm_kzalloc": Allocator(size=1, clears=True),
    "kmemdup": Allocator(size=1, source=0),
    "devm_kmemdup": Allocator(size=2, source=1),
}

# Which argument is the object that is freed.
RELEASES: dict[str, int] = {
    **dict.fromkeys(("kfree", "kvfree", "vfree", "kfree_sensitive", "kzfree", "free", "g_free", "xfree"), 0),
    "kmem_cache_free": 1,
    "devm_kfree": 1,
    "g_slice_free": 1,
}

# Free the object when readers that may still look at it are done.
DEFERRED_RELEASES = frozenset(("kfree_rcu", "kvfree_rcu", "kfree_rcu_mightsleep", "call_rcu"))

# Read or write a pointer that others change at the same time.
PUBLISHERS = frozenset(
    (
        "READ_ONCE", "WRITE_ONCE", "ACCESS_ONCE", "smp_load_acquire", "smp_store_release", "xchg", "cmpxchg",
        "try_cmpxchg", "rcu_dereference", "rcu_dereference_raw", "rcu_dereference_protected", "rcu_dereference_check",
        "rcu_dereference_bh", "rcu_dereference_sched", "rcu_access_pointer", "rcu_assign_pointer",
        "rcu_pointer_handoff", "rcu_replace_pointer", "RCU_INIT_POINTER", "unrcu_pointer",
        "rtnl_dereference", "srcu_dereference", "swap",
        "__atomic_load_n", "__atomic_store_n", "__atomic_exchange_n", "atomic_load", "atomic_store", "atomic_exchange",
    )
)  # fmt: skip

CACHE_CREATORS = ("KMEM_CACHE", "KMEM_CACHE_USERCOPY", "kmem_cache_create", "kmem_cache_create_usercopy")
