# SPDX-License-Identifier: Apache-2.0
"""host.view: from where facts are read. Where not everything can be seen, nothing may be said; so the run is refused, and the
fact named, whatever the sandbox is like. Made with private namespaces of this test's own: the host's /proc stays as it is."""
import pytest

from conftest import IS_ROOT, PEOPLE

PRIVATE = ["unshare", "--mount", "--propagation", "private"] if IS_ROOT else ["unshare", "--user", "--map-root-user", "--mount"]


def in_masked_proc(options):
    return [*PRIVATE, "sh", "-c", f'mount -t proc -o {options} proc /proc && exec "$@"', "sh"]


def expect_no_view(bench, prefix):
    error = bench.expect_refused("host.view", reasons=("environment",), prefix=prefix)
    assert "choose wall" == error["step"]


@pytest.mark.parametrize("who", [who for who in PEOPLE if who == "user"])
@pytest.mark.parametrize("options", ["hidepid=1", "hidepid=2", "hidepid=invisible", "subset=pid"])
def test_masked_proc(bench, options):
    if not IS_ROOT:
        pytest.skip("root makes the masked /proc of this test")
    expect_no_view(bench, in_masked_proc(options))


@pytest.mark.parametrize("who", [who for who in PEOPLE if who == "root"])
def test_a_part_of_proc_is_not_enough_for_root(bench):
    expect_no_view(bench, in_masked_proc("subset=pid"))


@pytest.mark.parametrize("who", [who for who in PEOPLE if who == "root"])
def test_hidepid_hides_nothing_from_who_may_trace(bench):
    bench.expect_runs(prefix=in_masked_proc("hidepid=2"))


def test_unmasked_in_a_mount_namespace_of_its_own(bench):
    """So that it is the mask that refuses in the tests above, and not the namespace."""
    if not IS_ROOT:
        pytest.skip("root makes the mount namespace of this test")
    bench.expect_runs(prefix=in_masked_proc("hidepid=0"))


def test_nested_pid_namespace(bench):
    nested = ["unshare", "--pid", "--fork", "--mount-proc"]
    if not IS_ROOT:
        nested[1:1] = ["--user", "--map-root-user"]
    expect_no_view(bench, nested)


def test_the_process_wall_does_not_rest_on_it(bench):
    """It has no fact that speaks of the whole host; descent and descriptors are read of its own children."""
    nested = ["unshare", "--pid", "--fork", "--mount-proc"]
    if not IS_ROOT:
        nested[1:1] = ["--user", "--map-root-user"]
    bench.expect_runs(wall="process", prefix=nested)
