/* SPDX-License-Identifier: Apache-2.0 */
/* kvm: what the supervisor itself looks at of the kernel's virtual machines: the device, its flavour, and a vCPU's statistics. It
 * makes no machine; the monitor does (src/vmm). */
#ifndef PL_LINUX_KVM_H
#define PL_LINUX_KVM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How KVM runs a machine: Intel's and AMD's hardware help, or none of either (pvm: the host's page tables and a switch in
 * software, where the host is a virtual machine itself). */
#define PL_KVM_FLAVOUR_LIST(X)                                                                                         \
	X(VMX, 1, "vmx", "kvm_intel")                                                                                      \
	X(SVM, 2, "svm", "kvm_amd")                                                                                        \
	X(PVM, 4, "pvm", "kvm_pvm")

enum pl_kvm_flavour {
#define X(name, bit, text, module) PL_KVM_##name = (bit),
	PL_KVM_FLAVOUR_LIST(X)
#undef X
};

/* A comma-separated list as bits; -EINVAL: an unknown name, or none. */
int pl_kvm_flavours_parse(const char *list, unsigned *ret);
/* The bits as a list, in the order above. */
void pl_kvm_flavours_print(unsigned flavours, char *ret, size_t size);

/* The flavour that is loaded here: one of the above, or 0 when there is none or it cannot be told. sysfs: an open folder /sys/module;
 * cpu_flags: the processor's flags as /proc/cpuinfo has them, blanks around each: a module that is built in shows on machines of
 * the other make too. */
enum pl_kvm_flavour pl_kvm_flavour_choose(int sysfs_fd, const char *cpu_flags);
enum pl_kvm_flavour pl_kvm_flavour_look(void);

/* Opens /dev/kvm: the descriptor; -ENOENT, -EACCES; -ENODEV: what is there is not the kernel's device; -EPROTO: its interface is
 * not version 12; -EOPNOTSUPP: it lacks what a machine needs, named in *ret_lacks. */
int pl_kvm_open(const char **ret_lacks);

/* Reads the counter "exits" of a vCPU's statistics descriptor (KVM_GET_STATS_FD), and the id that the kernel gave it,
 * "kvm-PID/vcpu-N". 0 or -errno. */
#define PL_KVM_ID_SIZE 64u
int pl_kvm_stats_exits(int fd, char ret_id[PL_KVM_ID_SIZE], uint64_t *ret);

#endif
