/* SPDX-License-Identifier: Apache-2.0 */
/* Flavours of KVM: how a list is read, and which one is told from what is loaded. */
#include "unit/unit.h"

#include "linux/kvm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void lists(void **state)
{
	static const struct {
		const char *list;
		unsigned bits;
	} good[] = {
		{ "vmx", PL_KVM_VMX },           { "vmx,svm", PL_KVM_VMX | PL_KVM_SVM }, { " pvm ", PL_KVM_PVM },
		{ "svm, pvm", PL_KVM_SVM | PL_KVM_PVM }, { "vmx,vmx,", PL_KVM_VMX },
	};
	static const char *const bad[] = { "", ",", "vmx,,svm", "VMX", "kvm", "vmx svm", "vmxx", "none", " " };
	char text[32];
	unsigned bits;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(pl_kvm_flavours_parse(good[i].list, &bits), 0);
		assert_int_equal(bits, good[i].bits);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(pl_kvm_flavours_parse(bad[i], &bits), -EINVAL);
	pl_kvm_flavours_print(PL_KVM_PVM | PL_KVM_VMX, text, sizeof text);
	assert_string_equal(text, "vmx,pvm");
	pl_kvm_flavours_print(0, text, sizeof text);
	assert_string_equal(text, "");
	pl_kvm_flavours_print(7, text, 6);
	assert_string_equal(text, "vmx,s");
}

static int folder;

static void loaded(const char *module)
{
	assert_int_equal(mkdirat(folder, module, 0700), 0);
}

static void unloaded(const char *module)
{
	assert_int_equal(unlinkat(folder, module, AT_REMOVEDIR), 0);
}

static void which_one(void **state)
{
	char path[] = "/tmp/test_kvm.XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(path));
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder >= 0);
	assert_int_equal(pl_kvm_flavour_choose(folder, " vmx "), 0);
	loaded("kvm_intel");
	assert_int_equal(pl_kvm_flavour_choose(folder, " fpu vmx sse "), PL_KVM_VMX);
	assert_int_equal(pl_kvm_flavour_choose(folder, " fpu vmxon sse "), 0);
	loaded("kvm_amd"); /* both built in: the processor says which */
	assert_int_equal(pl_kvm_flavour_choose(folder, " fpu svm sse "), PL_KVM_SVM);
	assert_int_equal(pl_kvm_flavour_choose(folder, ""), 0);
	loaded("kvm_pvm");
	assert_int_equal(pl_kvm_flavour_choose(folder, " fpu "), PL_KVM_PVM);
	assert_int_equal(pl_kvm_flavour_choose(folder, " svm "), 0); /* either: not guessed */
	unloaded("kvm_intel");
	unloaded("kvm_amd");
	unloaded("kvm_pvm");
	close(folder);
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lists), cmocka_unit_test(which_one) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
