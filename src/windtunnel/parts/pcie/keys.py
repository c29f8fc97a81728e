"""The key of an endpoint: its NIC in estimates."""

from typing import Literal

from pydantic import Field

NicProfile = Literal["generic", "bnxt", "e1000", "ena", "i40e", "ice", "igb", "ixgbe", "mlx5", "virtio"]
"""The names of nics/*.toml."""
ENDPOINT = {
    "nic_profile": (
        NicProfile | None,
        Field(
            None,
            description='NIC for which PCIe traffic is estimated (page "PCIe equations"); default: on pci the NIC of the driver, else generic',
        ),
    )
}
