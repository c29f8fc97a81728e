"""The room of mbufs: what a NIC makes of it must hold a whole frame."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.scenario.memory import HEADROOM_BYTES, data_room_bytes

ETHERNET, CHECK_SEQUENCE, VLAN_TAG = 14, 4, 4


@pytest.mark.parametrize("step", [128, 1024])
@given(mtu=st.integers(68, 65535 - 2048))
def test_a_frame_with_two_vlan_tags_fits_what_a_nic_leaves_of_an_mbuf(step, mtu):
    buffer = (data_room_bytes(mtu) - HEADROOM_BYTES) // step * step
    assert buffer >= mtu + ETHERNET + CHECK_SEQUENCE + 2 * VLAN_TAG


def test_mbufs_for_the_usual_mtu_are_those_of_dpdk():
    assert data_room_bytes(1500) == HEADROOM_BYTES + 2048
