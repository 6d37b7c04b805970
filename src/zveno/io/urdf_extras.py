"""Parts of a URDF without effect on computations, kept as parsed: shapes, materials, transmissions."""

from __future__ import annotations

from xml.etree import ElementTree

from ..errors import ModelError
from ..mechanism import Extra
from .xml import Element, parse_xml

_READ = {
    "robot": {"link", "joint", "gravity"},
    "link": {"inertial"},
    "joint": {"parent", "child", "origin", "axis", "axis2", "limit", "dynamics", "mimic"},
}


def extras_of(root: Element) -> list[Extra]:
    """Return the unread parts of links, joints and robot; a transmission belongs to its joint."""
    extras = []
    for owner in (root, *root.all("link"), *root.all("joint")):
        for child in owner.children:
            if child.tag in _READ[owner.tag]:
                continue
            belongs = {owner.tag: owner.attributes.get("name", "")} if owner is not root else {}
            joints = child.all("joint")
            if child.tag == "transmission" and len(joints) == 1:
                belongs = {"joint": joints[0].attributes.get("name", "")}
            extras.append(Extra(ElementTree.tostring(_tree(child), encoding="unicode"), **belongs))
    return extras


def element_of(extra: Extra) -> ElementTree.Element:
    """Return the XML element of an extra; refuse other text, which a saved result may hold."""
    try:
        return _tree(parse_xml(extra.text))
    except ModelError as error:
        raise error.located(element=f"extra of {extra.link or extra.joint or 'the robot'}") from None


def _tree(element: Element) -> ElementTree.Element:
    made = ElementTree.Element(element.tag, element.attributes)
    made.text = element.text or None
    made.extend([_tree(child) for child in element.children])
    return made
