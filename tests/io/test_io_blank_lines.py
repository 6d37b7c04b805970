"""XML with blank lines before its declaration, as generators write it, is read; lines are counted as they are."""

import pytest

from zveno.errors import ModelError
from zveno.io._xml import parse_xml
from zveno.io.urdf import parse_urdf

ARM = '<?xml version="1.0" encoding="utf-8"?>\n<robot name="a">\n<link name="x"/>\n</robot>\n'


@pytest.mark.parametrize("blank", ["\n", " \n\t\r\n\n", "", "\ufeff", "\ufeff\n\n"])
@pytest.mark.parametrize("coded", [str, str.encode])
def test_blank_first_lines_are_passed_over(blank, coded):
    root = parse_xml(coded(blank + ARM))
    assert (root.tag, root.line, root.children[0].line) == ("robot", 2 + blank.count("\n"), 3 + blank.count("\n"))
    assert parse_urdf(blank + ARM).name == "a"


def test_errors_behind_blank_lines_have_their_line():
    with pytest.raises(ModelError, match="line 5"):
        parse_xml(
            "\n\n" + ARM.replace("/>", ">").replace("</robot>", "</link></robots>").replace("\n</link>", "</link>")
        )
    with pytest.raises(ModelError, match="malformed"):
        parse_xml("\n<?xml version='1.0'")
