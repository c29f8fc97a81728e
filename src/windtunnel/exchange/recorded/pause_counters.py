"""Names of pause frames (802.3x, PFC) in `ethtool -S`, which each driver chooses: the counters of frames that stop a port, and their direction.

A frame that ends a pause (xon), the length of pauses, and alarms about them are other counts.
"""

import re

NAMES = (
    # form of the name; drivers, with the files in drivers/net/ethernet/ of Linux that have it
    (r"[rt]x_flow_control_xoff", "e1000, e1000e, igb, igc, ixgbe (intel/*/*_ethtool.c)"),
    (r"[rt]x_pb_\d+_pxoff", "ixgbe (intel/ixgbe/ixgbe_ethtool.c)"),
    (r"(port\.)?link_xoff_[rt]x(\.nic)?", "i40e (intel/i40e/i40e_ethtool.c), ice (intel/ice/ice_ethtool.c)"),
    (r"port\.[rt]x_priority_\d+_xoff_[rt]x", "i40e (intel/i40e/i40e_ethtool.c)"),
    (r"[rt]x_priority_\d+_xoff\.nic", "ice (intel/ice/ice_ethtool.c)"),
    (r"[rt]x_(global|prio\d+)_pause|[rt]x_pause_ctrl_phy", "mlx5 (mellanox/mlx5/core/en_stats.c)"),
    (r"[rt]x_pause(_prio_\d+)?", "mlx4 (mellanox/mlx4/en_ethtool.c), genet, bna, forcedeth, atl1, emac"),
    (r"[rt]x_(pause|pfc)_frames|[rt]x_pfc_ena_frames_pri\d+", "bnxt (broadcom/bnxt/bnxt_ethtool.c), qede, macb"),
    (r"[rt]x_pause_frames|pfc_frames_(received|sent)", "bnx2x (broadcom/bnx2x/bnx2x_ethtool.c)"),
    (r"[rt]x_xoff_frames", "bnx2 (broadcom/bnx2.c)"),
    (r"rx_xoff_pause_rcvd|tx_xoff_sent", "tg3 (broadcom/tg3.c)"),
    (r"[rt]x_pause_pkts", "b44, bgmac (broadcom)"),
    (r"rx_(priority_)?pause_frames|tx_(priority_)?pauseframes", "be2net (emulex/benet/be_ethtool.c)"),
    (r"(port_)?[rt]x_pause", "sfc (sfc/ef10.c, sfc/ef100_nic.c, sfc/siena)"),
    (r"[rt]x_(pause|ppp\d)_frames|[RT]x(Pause|PPP\d)Frames", "cxgb4 (chelsio/cxgb4/cxgb4_ethtool.c), cxgb3"),
    (r"mac_[rt]x_mac_pause_num|mac_[rt]x_pfc_pri\d+_pause_num", "hns3 (hisilicon/hns3/hns3pf/hclge_main.c)"),
    (r"mac\.[rt]x_pause_mac_ctrl_frames|mac\.[rt]x_pause_frames_class\d", "nfp (netronome/nfp/nfp_net_ethtool.c)"),
    (r"frames_[rt]x_(pri)?pause(_\d)?", "ionic (pensando/ionic/ionic_stats.c)"),
    (r"hc_tc\d_[rt]x_pause_phy", "mana (microsoft/mana/mana_ethtool.c)"),
    (r"mmc_rx_pause_frames|mmc_tx_pause_frame", "stmmac (stmicro/stmmac/stmmac_ethtool.c)"),
    (r"fc_sent|good_fc_received|fc_received", "mvneta, mvpp2, mv643xx_eth (marvell)"),
    (r"cgx_rxstat2|cgx_txstat17", "octeontx2 (marvell/octeontx2/nic/otx2_ethtool.c; CGX_STAT in af/rvu_debugfs.c)"),
    (r"mac_[rt]x_pause_cnt", "qlcnic (qlogic/qlcnic/qlcnic_ethtool.c)"),
    (r"[rt]mac_pause_ctrl_frms", "s2io (neterion/s2io.c)"),
    (r"MAC [rt]x valid pause frames", "enetc (freescale/enetc/enetc_ethtool.c)"),
    (r"IEEE_[rt]x_fdxfc", "fec (freescale/fec_main.c)"),
    (r"rx_flow_control_packets", "mtk_eth_soc (mediatek/mtk_eth_soc.c)"),
    (r"Pause [RT]x Frames|[RT][Xx] Pause Frames", "cpsw (ti/cpsw_ethtool.c), lan743x (microchip)"),
    (r"[rt]x_pause_mac_ctrl_frames", "altera_tse, funeth"),
    (r"[rt]x_mac_pause|[rt]x_xoff", "sky2, skge (marvell)"),
)
"""virtio_net, vmxnet3, ena, gve, enic, hv_netvsc, r8169, atlantic, fm10k and virtual functions count none."""
_KNOWN = re.compile("|".join(f"(?:{form})" for form, _ in NAMES))
_READS_SO = re.compile(r"pause|xoff|pfc|ppp_?\d", re.IGNORECASE)
_NO_FRAMES = re.compile(
    r"xon|durations?|transitions?|storm|enter|time|usecs?|_us\b|1us|quanta|cycles|bytes|octets|watchdog|constant|enabled?|events?|err|drop|discard",
    re.IGNORECASE,
)
"""Matches names of other counters about pauses."""
_WAY = re.compile(r"(?:^|[^a-z])([rt])(?:x|mac)|([rt])x(?=[A-Z]|stat)|(received|rcvd)|(sent)", re.IGNORECASE)


def is_received(name: str) -> bool | None:
    """Whether the counter counts pause frames that the port received; False: that it sent; None: it counts something else, or the direction is
    not known. A name of a driver that is not in the table counts if it looks like one of pause frames."""
    if not _KNOWN.fullmatch(name) and (not _READS_SO.search(name) or _NO_FRAMES.search(name)):
        return None
    way = _WAY.search(name)
    if way is None:
        return None
    letter = way[1] or way[2]
    return letter.lower() == "r" if letter else way[3] is not None
