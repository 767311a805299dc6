/* SPDX-License-Identifier: Apache-2.0 */
/* on_kernel: calls that reach deep into the kernel, or that only the machine's administrator has. The dangerous ones have arguments
 * that the kernel refuses after it has looked whether the caller may: outside, as root, that other error says that the permission
 * was there, and nothing is rebooted, loaded or switched on. The table in test_escape.py says which error that is. */
#include "escape/hostile.h"

#include <asm/ldt.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/quota.h>
#include <sys/sysinfo.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define PROBE(name)                                                                                                    \
	static long name(int argc, char **argv)                                                                            \
	{                                                                                                                  \
		(void)argc, (void)argv;
#define END }

PROBE(bpf_)
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };

	return hostile_got(SYS(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr));
END

PROBE(perf)
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_DUMMY };

	attr.exclude_kernel = 1;
	return hostile_got(SYS(SYS_perf_event_open, &attr, 0, -1, -1, 0));
END

PROBE(io_uring)
	struct io_uring_params params = { 0 };

	return hostile_got(SYS(SYS_io_uring_setup, 1, &params));
END

PROBE(userfault)
	return hostile_got(SYS(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */));
END

/* Flags that there are none of. */
PROBE(kexec)
	return SYS(SYS_kexec_load, 0, 0, NULL, 0x8000ul);
END

/* An image of no bytes. */
PROBE(init_module_)
	return SYS(SYS_init_module, "", 0ul, "");
END

PROBE(finit_module_)
	return SYS(SYS_finit_module, -1, "", 0);
END

PROBE(delete_module_)
	return SYS(SYS_delete_module, "plimsoll_canary_that_is_no_module", O_NONBLOCK);
END

/* A folder is no swap space. */
PROBE(swapon_)
	return SYS(SYS_swapon, "/", 0);
END

PROBE(swapoff_)
	return SYS(SYS_swapoff, "/plimsoll-canary-that-is-not-there");
END

/* Numbers that are not the magic ones. */
PROBE(reboot_)
	return SYS(SYS_reboot, 0, 0, 0, NULL);
END

/* A time that is none: more than a second's worth of nanoseconds; the permission is looked at last for this one, so the call below
 * sets a clock to what it shows. */
PROBE(settimeofday_)
	return SYS(SYS_settimeofday, NULL, NULL);
END

PROBE(clock_set)
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return SYS(SYS_clock_settime, CLOCK_REALTIME, &now);
END

/* Sets the tick's length to what it is. */
PROBE(adjtimex_)
	struct timex t = { 0 };
	long r = SYS(SYS_adjtimex, &t);

	if (r < 0)
		return r;
	t.modes = ADJ_TICK;
	return SYS(SYS_adjtimex, &t);
END

PROBE(iopl_)
	return SYS(SYS_iopl, 3);
END

PROBE(ioperm_)
	return SYS(SYS_ioperm, 0x80, 1, 1);
END

PROBE(modify_ldt_)
	struct user_desc entry = { .entry_number = 0, .base_addr = 0, .limit = 1, .seg_32bit = 1 };

	return SYS(SYS_modify_ldt, 1, &entry, sizeof entry);
END

/* Accounting off, which it is, unless somebody has made it so. A file that is none. */
PROBE(acct_)
	return SYS(SYS_acct, "/plimsoll-canary-that-is-not-there");
END

PROBE(quotactl_)
	return SYS(SYS_quotactl, QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL);
END

/* The size of the kernel's log. */
PROBE(syslog_)
	return SYS(SYS_syslog, 10, NULL, 0);
END

/* The name that it has. */
PROBE(sethostname_)
	struct utsname names;
	long r = SYS(SYS_uname, &names);

	return r < 0 ? r : SYS(SYS_sethostname, names.nodename, strlen(names.nodename));
END

PROBE(uname_)
	struct utsname names;

	return SYS(SYS_uname, &names);
END

PROBE(sysinfo_)
	struct sysinfo info;

	return SYS(SYS_sysinfo, &info);
END

static long ipc_remove(long id, long control)
{
	if (id >= 0)
		(void)SYS(control, id, IPC_RMID, NULL);
	return id;
}

PROBE(shmget_)
	return ipc_remove(SYS(SYS_shmget, IPC_PRIVATE, 4096, 0600), SYS_shmctl);
END

PROBE(msgget_)
	return ipc_remove(SYS(SYS_msgget, IPC_PRIVATE, 0600), SYS_msgctl);
END

PROBE(semget_)
	long id = SYS(SYS_semget, IPC_PRIVATE, 1, 0600);

	if (id >= 0)
		(void)SYS(SYS_semctl, id, 0, IPC_RMID, 0);
	return id;
END

PROBE(mq_open_)
	long fd = SYS(SYS_mq_open, "plimsoll-canary", O_RDWR | O_CREAT, 0600, NULL);

	if (fd >= 0)
		(void)SYS(SYS_mq_unlink, "plimsoll-canary");
	return hostile_got(fd);
END

PROBE(timer)
	timer_t id;
	struct sigevent event = { .sigev_notify = SIGEV_NONE };

	return SYS(SYS_timer_create, CLOCK_MONOTONIC, &event, &id);
END

PROBE(timerfd)
	return hostile_got(SYS(SYS_timerfd_create, CLOCK_MONOTONIC, 0));
END

PROBE(eventfd_)
	return hostile_got(SYS(SYS_eventfd2, 0, 0));
END

PROBE(epoll)
	return hostile_got(SYS(SYS_epoll_create1, 0));
END

PROBE(signal_handler)
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = { SIG_IGN, 0, NULL, 0 };

	return SYS(SYS_rt_sigaction, SIGUSR1, &action, NULL, 8);
END

PROBE(io_setup_)
	unsigned long context = 0;

	return SYS(SYS_io_setup, 1, &context);
END

PROBE(splice_)
	return SYS(SYS_tee, 0, 0, 0, 0);
END

PROBE(membarrier_)
	return SYS(SYS_membarrier, 0, 0, 0);
END

PROBE(pkey)
	long key = SYS(SYS_pkey_alloc, 0, 0);

	if (key >= 0)
		(void)SYS(SYS_pkey_free, key);
	return key;
END

PROBE(mempolicy)
	return SYS(SYS_set_mempolicy, 0, NULL, 0);
END

PROBE(mlock_)
	static char page[4096];

	return SYS(SYS_mlock, page, sizeof page);
END

PROBE(random_bytes)
	char bytes[16];

	return SYS(SYS_getrandom, bytes, sizeof bytes, 0);
END

PROBE(clock_raw)
	struct timespec t;

	return SYS(SYS_clock_getres, CLOCK_MONOTONIC, &t);
END

/* getpid by the numbers of another architecture, for which a filter that looks at numbers only would be blind. */
PROBE(int80)
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20l) : "memory", "r8", "r9", "r10", "r11");
	return r;
END

PROBE(x32)
	return SYS(0x40000000 | SYS_getpid);
END

/* A number that no kernel has. */
PROBE(no_such_call)
	return SYS(4000);
END

const struct probe kernel_probes[] = {
	{ "bpf", bpf_ },		{ "perf_event_open", perf },	 { "io_uring_setup", io_uring },
	{ "userfaultfd", userfault },	{ "kexec_load", kexec },	 { "init_module", init_module_ },
	{ "finit_module", finit_module_ }, { "delete_module", delete_module_ }, { "swapon", swapon_ },
	{ "swapoff", swapoff_ },	{ "reboot", reboot_ },		 { "settimeofday", settimeofday_ },
	{ "clock_settime", clock_set }, { "adjtimex", adjtimex_ },	 { "iopl", iopl_ },
	{ "ioperm", ioperm_ },		{ "modify_ldt", modify_ldt_ },	 { "acct", acct_ },
	{ "quotactl", quotactl_ },	{ "syslog", syslog_ },		 { "sethostname", sethostname_ },
	{ "uname", uname_ },		{ "sysinfo", sysinfo_ },	 { "shmget", shmget_ },
	{ "msgget", msgget_ },		{ "semget", semget_ },		 { "mq_open", mq_open_ },
	{ "timer_create", timer },	{ "timerfd_create", timerfd },	 { "eventfd", eventfd_ },
	{ "epoll_create", epoll },	{ "rt_sigaction", signal_handler }, { "io_setup", io_setup_ },
	{ "tee", splice_ },		{ "membarrier", membarrier_ },	 { "pkey_alloc", pkey },
	{ "set_mempolicy", mempolicy }, { "mlock", mlock_ },		 { "getrandom", random_bytes },
	{ "clock_getres", clock_raw },	{ "int80", int80 },		 { "x32", x32 },
	{ "no-such-call", no_such_call }, { NULL, NULL },
};
