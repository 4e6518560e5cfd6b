"""Make a chart part of a page: one SVG element, slim, with words for whoever cannot see it."""

import re
import xml.etree.ElementTree as ET

from memoprobe.report.charts import Panel, svg

_DROPPED = frozenset(
    {
        *("aria-hidden", "aria-label", "aria-roledescription", "class", "pointer-events", "role"),
        *("font-family", "version"),  # the page's style has the font
    }
)
_LONG = re.compile(r"(\.\d\d)\d+")


def inline(drawn: Panel) -> str:
    """Return a panel as an SVG element for HTML, escaped, without identifiers or namespaces.

    The words of a mark become its ``title``, which browsers show beside the pointer
    without any script. Colours stay as they are in the file: the page's style turns
    them for a dark background.
    """
    root = ET.fromstring(svg(drawn))
    for element in list(root.iter()):
        _slim(element)
    root.set("role", "img")
    root.set("aria-label", drawn.description)
    return ET.tostring(root, encoding="unicode")


def _slim(element: ET.Element) -> None:
    element.tag = element.tag.rpartition("}")[2]
    told = element.get("aria-label") if not len(element) else None
    for child in list(element):
        if child.get("class") in {"background", "foreground"}:
            element.remove(child)  # a frame, never visible in the report's style
    kept = {key: value for key, value in element.attrib.items() if key not in _DROPPED}
    element.attrib.clear()
    for key, value in kept.items():
        if (key, value) != ("opacity", "1"):
            element.set(key, _LONG.sub(r"\1", value))
    if told:
        ET.SubElement(element, "title").text = told
