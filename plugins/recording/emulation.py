# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets lines apart that are hot only because the machine is emulated: the tick and the run queues.

Emulated CPUs execute far fewer instructions between two ticks than real ones do, so that the code that keeps time and
the code that spreads work make up far more of a recording than of a real machine's misses. Such lines stay in the
profile; they are marked, so that nobody takes them for findings.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import replace

from linesmith.analyzer.model import CacheLine, ObjectKind, Profile

# Names are beginnings of functions, and variables. Source: kernel/time, kernel/sched and kernel/rcu of Linux 5.10 to
# 6.12, and what their interrupts call.
# In kernel/time, what the tick calls, and RCU's grace periods, which the tick drives.
TIMEKEEPING_FUNCTIONS = (
    "__clockevents_", "__do_sys_clock_gettime", "__get_next_timer_interrupt", "__hrtimer_", "__note_gp_changes",
    "__run_timers", "__sysvec_apic_timer", "__tick_", "__timekeeping_", "__tmigr_", "account_process_tick",
    "accumulate_nsecs", "arch_timer_", "calc_global_load", "check_cpu_stall", "clockevents_", "clocksource_",
    "ct_idle_", "ct_irq_", "ct_kernel_", "do_timer", "dyntick_save", "force_qs_rnp", "get_jiffies",
    "get_next_timer_interrupt", "get_nohz_timer_target", "getrawmonotonic", "hpet_", "hrtimer_", "invoke_rcu_core",
    "irqtime_account_", "jiffies_", "ktime_get", "ktime_mono", "ktime_read", "kvm_clock", "lapic_next_",
    "local_apic_timer", "local_clock", "note_gp_changes", "ntp_", "perf_event_task_tick", "profile_tick", "pvclock_",
    "rcu_accelerate_cbs", "rcu_advance_cbs", "rcu_check_gp", "rcu_cleanup_after", "rcu_core", "rcu_eqs_",
    "rcu_future_gp", "rcu_gp_", "rcu_implicit_dynticks", "rcu_momentary", "rcu_needs_cpu", "rcu_nocb_",
    "rcu_note_context_switch", "rcu_pending", "rcu_poll_gp", "rcu_qs", "rcu_report_", "rcu_sched_clock_irq",
    "rcu_softirq_qs", "rcu_stall", "rcu_start_this_gp", "rcu_watching_snap", "read_hpet", "read_tsc",
    "run_local_timers", "run_posix_cpu_timers", "run_timer_base", "run_timer_softirq", "sched_clock", "second_overflow",
    "sysvec_apic_timer", "tick_", "timekeeping_", "timer_base_try_to_set_idle", "timer_clear_idle", "timer_interrupt",
    "timerqueue_", "tmigr_", "update_process_times", "update_vsyscall", "update_wall_time",
)  # fmt: skip

# Run queues, load balancing, waking up, and what an idle CPU does.
SCHEDULER_FUNCTIONS = (
    "__dequeue_", "__enqueue_", "__flush_smp_call", "__pick_next", "__schedule", "__set_nr", "__task_rq_lock",
    "__update_blocked", "__update_load", "_nohz_idle_balance", "activate_task", "active_load_balance", "asym_cpu",
    "attach_entity", "attach_task", "available_idle_cpu", "call_function_single_prep", "can_migrate_task", "check_cfs_",
    "check_preempt_", "context_switch", "cpu_load", "cpu_startup_entry", "cpu_util", "cpuacct_", "cpudl_", "cpuidle_",
    "cpupri_", "deactivate_task", "default_idle", "dequeue_", "detach_entity", "detach_task", "do_idle", "double_rq_",
    "enqueue_", "entity_tick", "find_busiest", "find_idlest", "finish_task_switch", "flush_smp_call",
    "generic_smp_call_function", "haltpoll_", "idle_cpu", "irq_work_", "kick_ilb", "llist_add_batch", "llist_reverse",
    "load_balance", "menu_", "migrate_task_rq", "migration_", "mwait_idle", "native_smp_send_reschedule",
    "newidle_balance", "nohz_", "nr_iowait", "pick_next_", "pick_task_", "place_entity", "poll_idle",
    "propagate_entity", "pull_rt_", "push_rt_", "put_prev_", "raw_spin_rq_", "rebalance_domains", "remove_entity_load",
    "resched_", "reweight_", "run_rebalance", "sched_balance_", "sched_idle_set", "sched_tick", "sched_ttwu",
    "schedule_idle", "scheduler_tick", "select_idle", "select_rq", "select_task_rq", "send_call_function", "set_next_",
    "set_nr_and_not_polling", "set_nr_if_polling", "set_task_cpu", "smp_call_function_single_async", "stop_one_cpu",
    "sync_entity", "sysvec_reschedule", "task_rq_lock", "task_tick_", "trigger_load_balance", "try_to_wake_up", "ttwu_",
    "update_blocked", "update_cfs_", "update_curr", "update_group_capacity", "update_load_avg", "update_rq_",
    "update_sd_", "update_sg_", "wake_affine", "wake_up_new_task", "wakeup_preempt",
)  # fmt: skip

# Variables, and per-CPU variables.
TIMEKEEPING_VARIABLES = frozenset((
    "calc_load_tasks", "calc_load_update", "clocksource_hpet", "context_tracking", "fast_tk_core", "global_clock_event",
    "hpet", "hpet_spinlock", "hrtimer_bases", "jiffies", "jiffies_64", "jiffies_lock", "jiffies_seq",
    "last_jiffies_update", "rcu_data", "rcu_sched_clock", "rcu_state", "shadow_timekeeper", "tick_broadcast_mask",
    "tick_cpu_device", "tick_cpu_sched", "tick_do_timer_cpu", "tick_next_period", "timekeeper_lock", "timer_bases",
    "tk_core", "tk_fast_mono", "tk_fast_raw", "tmigr_cpu", "vdso_data", "vdso_data_store",
))  # fmt: skip

SCHEDULER_VARIABLES = frozenset((
    "__cpu_active_mask", "call_single_queue", "cfd_data", "cpu_idle_force_poll", "csd_data", "def_root_domain", "nohz",
    "runqueues", "sched_domains_mutex", "sd_llc_shared",
))  # fmt: skip

# What any code calls: it says nothing about whose line it is.
ANYBODYS_FUNCTIONS = (
    "__list_", "__memcpy", "__memset", "__preempt_", "__pv_queued_spin_", "__raw_callee_save_", "__raw_spin_",
    "_raw_read_", "_raw_spin_", "_raw_write_", "asm_", "entry_", "kernel_init_idle", "memcpy", "memset",
    "native_queued_spin_", "preempt_", "queued_spin_", "ret_from_",
)  # fmt: skip


TIMEKEEPING = "timekeeping"
SCHEDULER = "scheduler"
# A line is apart when this share of the contended accesses that say anything comes from such functions.
_MOSTLY = 0.75
# The functions that keep a group's load average also keep the run queues; only the object tells them apart.
_REAL = "task_group"


def set_apart(line: CacheLine, variable: str | None) -> CacheLine:
    """The line, marked when it is the tick's or the scheduler's; ``variable`` is what lies on it, if it is known."""
    if kind := _kind_of_variable(variable):
        return replace(line, apart=kind)
    weights: defaultdict[str, int] = defaultdict(int)
    for access in line.accesses:
        if access.function and not access.function.startswith(ANYBODYS_FUNCTIONS):
            scheduler = SCHEDULER if access.function.startswith(SCHEDULER_FUNCTIONS) else ""
            weights[TIMEKEEPING if access.function.startswith(TIMEKEEPING_FUNCTIONS) else scheduler] += access.contended
    total = sum(weights.values())
    apart = weights[TIMEKEEPING] + weights[SCHEDULER]
    if not total or apart < _MOSTLY * total:
        return line
    return replace(line, apart=max((TIMEKEEPING, SCHEDULER), key=lambda kind: weights[kind]))


def apart_by_objects(profile: Profile) -> Profile:
    """The profile with those lines marked too whose every known object is a variable of the tick or the scheduler.

    Lines of a group of tasks lose their mark: CPUs meet on its load average on real machines as well.
    """
    areas = sorted(profile.areas, key=lambda area: area.address)
    starts = [area.address for area in areas]

    def marked(line: CacheLine) -> CacheLine:
        if line.address is None:
            return line
        first = max(bisect_right(starts, line.address) - 1, 0)
        met = areas[first : bisect_left(starts, line.address + line.bytes)]
        met = [area for area in met if area.end > line.address]
        if any(_REAL in area.types for area in met):
            return replace(line, apart="")
        # A part of a variable is named after it, with its member.
        variables = (ObjectKind.GLOBAL, ObjectKind.PER_CPU)
        kinds = {_kind_of_variable(area.name.partition(".")[0] if area.kind in variables else None) for area in met}
        return replace(line, apart=kinds.pop()) if len(kinds) == 1 and not line.apart else line

    return replace(profile, lines=tuple(map(marked, profile.lines)))


def _kind_of_variable(variable: str | None) -> str:
    if variable in TIMEKEEPING_VARIABLES:
        return TIMEKEEPING
    return SCHEDULER if variable in SCHEDULER_VARIABLES else ""
