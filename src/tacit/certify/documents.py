"""The form of printed documents: one HTML page without scripts, and its parts.

Every text is escaped here, so that a name from a project file or an analyst is shown as text.
The page loads nothing. A browser shows it offline, and prints it on A4 or Letter paper.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
:root{color-scheme:light dark;--page:#fff;--ink:#1d2b33;--soft:#5b6b74;--line:#d9e0e3;
--back:#f4f7f8;--main:#0b6b62;--cap:#a8322a;--good:#1d7a4c;--open:#a35a00;--bad:#a8322a}
@media screen and (prefers-color-scheme:dark){:root{--page:#12191d;--ink:#e4ebee;--soft:#9fb0b9;
--line:#33424a;--back:#1b252b;--main:#4fc3b4;--cap:#ef8a80;--good:#6fd19c;--open:#f0b060;
--bad:#ef8a80}}
*{box-sizing:border-box}
body{font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
color:var(--ink);background:var(--page);max-width:54rem;margin:0 auto;
padding:2.2rem 1.4rem 3rem}
header{border-bottom:3px solid var(--main);padding-bottom:1rem;margin-bottom:1.4rem}
header p{margin:.2rem 0 0;color:var(--soft)}
h1{font-size:1.75rem;line-height:1.2;margin:0}
h2{font-size:1.2rem;margin:2.2rem 0 .5rem;padding-top:.3rem;color:var(--main)}
h3{font-size:1rem;margin:1.3rem 0 .3rem}
p{margin:.5rem 0}
p,li,td{overflow-wrap:anywhere}
ul{margin:.4rem 0;padding-left:1.2rem}
li{margin:.15rem 0}
table{border-collapse:collapse;width:100%;font-size:.88rem;margin:.6rem 0}
th,td{text-align:left;vertical-align:top;padding:.32rem .7rem .32rem 0;border-bottom:1px solid
var(--line)} th{font-weight:600;color:var(--soft)}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}
dl{display:grid;grid-template-columns:minmax(9rem,15rem) 1fr;gap:.28rem 1.2rem;margin:.6rem 0}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
code{font:.86em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
figure{margin:1rem 0}
figcaption{color:var(--soft);font-size:.85rem}
svg{max-width:100%;height:auto;display:block}
svg.narrow{display:none}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.8rem;margin:1rem
0} .figure{background:var(--back);border-radius:.5rem;padding:.7rem .9rem}
.figure b{display:block;white-space:nowrap;font-size:1.2rem;
line-height:1.25;font-variant-numeric:tabular-nums}
.figure span{color:var(--soft);font-size:.85rem}
.box{background:var(--back);border-left:4px solid var(--main);padding:.7rem 1rem;margin:1rem 0}
.box p:first-child{margin-top:0}.box p:last-child{margin-bottom:0}
.warn{border-left-color:var(--open)}
.mark{font-weight:600;white-space:nowrap}
.kept{color:var(--good)}.open{color:var(--open)}.broken{color:var(--bad)}
footer{margin-top:2.5rem;border-top:1px solid
var(--line);padding-top:.7rem;color:var(--soft);font-size:.82rem;overflow-wrap:anywhere}
@media screen and (max-width:36rem){body{padding:1.4rem 1rem 2rem}
dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}
.figures{grid-template-columns:1fr 1fr}.figure b{white-space:normal}
svg.wide{display:none}svg.narrow{display:block}
table,tbody,tr,td{display:block;width:100%}thead,col{display:none}
tr{border-bottom:1px solid var(--line);padding:.4rem 0}
td,td.number{border:0;padding:.05rem 0;text-align:left}td:empty{display:none}
td[data-head]:not([data-head=""])::before{content:attr(data-head) ": ";color:var(--soft)}
td:first-child:not(.number){font-weight:600}td:first-child::before{content:none!important}}
@page{size:A4;margin:14mm 15mm}
@media print{:root{color-scheme:light;font-size:12px}
body{font-size:9pt;line-height:1.4;max-width:none;padding:0}
.figures{grid-template-columns:repeat(4,1fr)}
h1{font-size:1.5rem}h2{margin:1.1rem 0 .3rem}h3{margin:.8rem 0 .2rem}
header{padding-bottom:.5rem;margin-bottom:.8rem}footer{margin-top:1rem}
.box{margin:.6rem 0}.figures{gap:.5rem;margin:.6rem 0}figure{margin:.6rem 0}
th,td{padding-top:.18rem;padding-bottom:.18rem}
ul.many{columns:2;column-gap:2rem}li{break-inside:avoid}
h2,h3{break-after:avoid}
tr,figure,.figure,.box,dl>*{break-inside:avoid}.page{break-before:page}
.figure,.box,svg *{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
"""

MANY = 12
"""Number of points from which on a list is printed in two columns."""


def page(kind: str, title: str, body: str) -> str:
    """Return a whole page of the ``kind`` of a signed document; ``body`` is HTML.

    Example:
        >>> page("certificate", "One & two", "<p>Hello</p>").startswith("<!doctype html>")
        True
    """
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="tacit" content="{kind}"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def heading(title: str, *lines: str) -> str:
    """Return the head of a document: its title, and lines of text below it."""
    below = "".join(f"<p>{escape(line)}</p>" for line in lines if line)
    return f"<header><h1>{escape(title)}</h1>{below}</header>"


def section(title: str, *parts: str, new_page: bool = False) -> str:
    """Return a section; its ``parts`` are HTML."""
    mark = ' class="page"' if new_page else ""
    return f"<section{mark}><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def part(title: str, *parts: str) -> str:
    """Return a part of a section with its own heading."""
    return f"<h3>{escape(title)}</h3>{''.join(parts)}"


def text(*lines: str) -> str:
    """Return each line as a paragraph of plain text."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines if line)


def box(*parts: str, warn: bool = False) -> str:
    """Return a box that stands out; its ``parts`` are HTML."""
    mark = "box warn" if warn else "box"
    return f'<div class="{mark}">{"".join(parts)}</div>'


def points(lines: Iterable[str]) -> str:
    """Return a list with a point for each line of plain text; a long one prints in columns."""
    listed = [f"<li>{escape(line)}</li>" for line in lines]
    many = ' class="many"' if len(listed) > MANY else ""
    return f"<ul{many}>{''.join(listed)}</ul>" if listed else ""


def facts(held: Mapping[str, object]) -> str:
    """Return names with their values; a value of None is left out.

    Example:
        >>> facts({"unit": "person", "rows": None})
        '<dl><dt>unit</dt><dd>person</dd></dl>'
    """
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>"
        for name, value in held.items()
        if value is not None
    )
    return f"<dl>{listed}</dl>"


def figures(held: Iterable[tuple[str, str]]) -> str:
    """Return large figures in a row, each with a line that says what it is."""
    cells = "".join(
        f'<div class="figure"><b>{escape(value)}</b><span>{escape(said)}</span></div>'
        for value, said in held
    )
    return f'<div class="figures">{cells}</div>'


@dataclass(frozen=True, slots=True)
class Mark:
    """A cell that is shown as a sign and words: kept, open or broken."""

    word: str
    said: str = ""


SIGNS = {"kept": "\u2713", "open": "\u25cb", "broken": "\u2717"}
"""The sign of each mark: a tick, an empty circle and a cross."""

Cell = str | Mark


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    numbers: Iterable[int] = (),
    widths: Sequence[str] = (),
) -> str:
    """Return a table of plain text and marks; the columns in ``numbers`` are right-aligned.

    ``widths`` are the widths of the columns, as in CSS; an empty one is the rest. On a narrow
    screen each row is a block, whose cells begin with the heading of their column.
    """
    right = frozenset(numbers)

    def one(tag: str, at: int, said: Cell) -> str:
        mark = ' class="number"' if at in right else ""
        named = f' data-head="{escape(headings[at])}"' if tag == "td" else ""
        return f"<{tag}{mark}{named}>{_cell(said)}</{tag}>"

    head = "".join(one("th", at, said) for at, said in enumerate(headings))
    body = "".join(
        f"<tr>{''.join(one('td', at, said) for at, said in enumerate(row))}</tr>"
        for row in rows
    )
    columns = "".join(f'<col style="width:{each}">' if each else "<col>" for each in widths)
    rest = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<table class="wide">{columns}{rest}</table>'


def _cell(said: Cell) -> str:
    if isinstance(said, str):
        return escape(said)
    shown = escape(said.said or said.word)
    return f'<span class="mark {said.word}">{SIGNS[said.word]} {shown}</span>'


def footer(*lines: str) -> str:
    """Return the foot of a document."""
    return f"<footer>{text(*lines)}</footer>"
