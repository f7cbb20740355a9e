"""Inputs for the fuzz harness: grammars that mostly write what is right, a small corpus, and mutations of both.

A grammar is a mapping from a name to its choices; ``<name>`` in a choice is replaced by one of the choices of that
name. What is written is about the same few columns, so that much of it reaches behind the parsers.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

__all__ = [
    "AUDIT",
    "CORPUS",
    "CSV",
    "FR",
    "INTERVENTIONS",
    "NOMOS",
    "PEOPLE",
    "PROPERTY",
    "evidence_texts",
    "mutated",
    "mutated_tree",
    "service",
    "streams",
    "write_people",
    "written",
]

PEOPLE = {
    "sex": ["F", "M"] * 20,
    "age": [20 + 3 * (k % 20) for k in range(40)],
    "income": [float(k % 13) * 7.5 for k in range(40)],
    "priors": [k % 4 for k in range(40)],
    "passed": [k % 3 % 2 for k in range(40)],
    "prediction": [int(k % 5 > 1) for k in range(40)],
}

Grammar = Mapping[str, Sequence[str]]
DEEPEST = 12
"""Beyond this depth the first choice is taken, which ends."""


def written(grammar: Grammar, start: str, draw: random.Random, depth: int = 0) -> str:
    """A text of a grammar."""
    choices = grammar[start]
    choice = choices[0] if depth > DEEPEST else draw.choice(choices)
    return re.sub(r"<([a-z_]+)>", lambda name: written(grammar, name[1], draw, depth + 1), choice)


_COMMON: Grammar = {
    "number": ("0.5", "0", "1", "0.8", "3", "0.01", "1e-3", "100", "-2", "0.25"),
    "odd_number": ("1e308", "5e-324", "9007199254740993", "0.1" + "0" * 60, "1" * 40, "-0.0"),
    "count": ("1", "2", "3", "5"),
    "column": ("age", "income", "priors"),
    "text": ("'F'", "'M'", "'x'"),
    "relation": (">=", "<=", "<", ">"),
    "same": ("==", "!="),
}

PROPERTY: Grammar = {
    **_COMMON,
    "property": (
        "<quantity> <relation> <number>",
        "<quantity> <relation> <number>",
        "<property> and <property>",
        "<property> or not (<property>)",
        "<property> ==> <property>",
        "(<property>) or (<constants>)",
        "(<constants>) and (<property>)",
        "not (<property>)",
        "for g in sex: P[<event> | sex == g] <relation> <number>",
        "for g in sex, h in sex except g: P[<event> | sex == g] - P[<event> | sex == h] <= <number>",
        "<number> <= <quantity> <= <number>",
        "<quantity> <relation> <odd_number>",
    ),
    "constants": (
        "<number> <relation> <number>",
        "<number> <= <number> <= <number>",
        "not (<constants>)",
        "min(<number>, <number>) / 2 <relation> <number> - <number>",
        "(<constants>) or (<constants>)",
    ),
    "quantity": (
        "P[<event>]",
        "P[<event> | <event>]",
        "P[<event> | <event>]",
        "E[<term> from 0 to 100]",
        "E[<column> | <event>]",
        "(<quantity> - <quantity>)",
        "<quantity> / <quantity>",
        "abs(<quantity>)",
        "max(<quantity>, <quantity>)",
        "<quantity> * <number>",
        "<quantity>^2",
        "-<quantity>",
    ),
    "event": (
        "prediction == 1",
        "<column> <relation> <number>",
        "sex <same> <text>",
        "(<event> and <event>)",
        "not (<event>)",
        "sex in {<text>, <text>}",
        "<column> is not missing",
        "<term> > other.<column>",
    ),
    "term": (
        "<column>",
        "<column>",
        "<column> + <number>",
        "abs(<column>)",
        "min(<column>, <number>)",
        "<column> * <column>",
    ),
}

CSV: Grammar = {
    "table": ("a,b<end><rows>", "a,b<end><rows>", '"a","b"<end><rows>', "\ufeffa,b<end><rows>", "a<end><ones>"),
    "rows": ("<row>", "<row><rows>", "<row><rows>", "<row><row><rows>"),
    "row": ("<cell>,<cell><end>", "<cell>,<cell><end>", "<cell>,<cell><end>", "<cell>,<cell>", "<end>"),
    "ones": ("<cell><end>", "<cell><end><ones>", "<cell><end><ones>"),
    "end": ("\n", "\n", "\n", "\r\n", "\r"),
    "cell": ("<plain>", "<plain>", '"<inner>"', '"<inner>"', '"<inner>', '<plain>"<plain>', '"<inner>"<plain>', ""),
    "plain": ("1", "2.5", "007", "x", "NA", "true", "-1e3", "5 ", " 5", "+7", "é", "18446744073709551616"),
    "inner": ("<plain>", "<plain>", "<plain>,<inner>", '<plain>""<inner>', "<plain>\n<inner>", "\r\n", '""', ""),
}

FR: Grammar = {
    **_COMMON,
    "program": (
        "def popModel():\n    sex = step([(0, 1, 0.4), (1, 2, 0.6)])\n<lines>    sensitiveAttribute(sex < 1)\n<fair>\n"
        "def F():\n<body>    fairnessTarget(<condition>)\n",
    ),
    "lines": (
        "    age = gaussian(40, 100)\n    income = <expression>\n",
        "    age = <draw>\n    income = age + <number>\n",
    ),
    "fair": ("", "    qualified(age > <number>)\n"),
    "body": (
        "    score = <expression>\n",
        "    if <condition>:\n        score = <number>\n    else:\n        score = <expression>\n",
    ),
    "draw": ("gaussian(<number>, 4)", "step([(0, 1, 0.5), (1, 3, 0.5)])"),
    "expression": (
        "age",
        "<number>",
        "age * <number> + <number>",
        "(<expression> - <expression>)",
        "-<expression>",
        "<draw>",
    ),
    "condition": (
        "age > <number>",
        "sex < 1",
        "<condition> and <condition>",
        "not (<condition>)",
        "age + sex < <odd_number>",
    ),
}

NOMOS: Grammar = {
    **_COMMON,
    "spec": (
        "input x1;\n<variables>output d1;\noutput d2;\n{\n    d1 = predict(x1)\n    d2 = predict(x2)\n}\n"
        "ensures <ensured>;\n",
    ),
    "variables": (
        'var x2 := setFeat(x1, "<column>", x1.<column> + randInt(1, <count>));\n<requires>',
        'var v := randFeat(x1, "<column>");\nvar x2 := setFeat(x1, "<column>", v);\n<requires>',
        'var w := getFeat(x1, "<column>") <sign> <number>;\nvar x2 := setFeat(x1, "<column>", w);\n<requires>',
    ),
    "requires": ("", "requires x1.<column> <relation> <number>;\n"),
    "sign": ("+", "-", "*"),
    "ensured": (
        "d1 <= d2",
        "d2 == d1",
        "d1 == d2 in 90% of cases",
        "d1 >= d2 || x1.age > <number>",
        "d1 <relation> d2 && d1 >= 0",
    ),
}

INTERVENTIONS: Grammar = {
    **_COMMON,
    "changes": ("<features>", "<features><constraint>", "<features><constraint><constraint>"),
    "features": (
        '[features.age]\nkind = "integer"\nlow = 18\nhigh = 90\n<more>\n'
        '[features.income]\nkind = "real"\nlow = 0.0\nhigh = 100.0\n<more>\n'
        '[features.priors]\nkind = "integer"\nlow = 0\nhigh = <count>\n<more>\n',
    ),
    "more": ("", 'direction = "up"', 'direction = "down"', "rise = <count>", "actionable = false", "fall = <count>"),
    "sense": ('"<="', '">="', '"=="'),
    "constraint": (
        '[[constraints]]\nkind = "linear"\nnames = ["age", "priors"]\ncoefficients = [1, <number>]\nsense = <sense>\n'
        "bound = <number>\n",
        '[[constraints]]\nkind = "linear"\nnames = ["income"]\ncoefficients = [<odd_number>]\nsense = ">="\n'
        "bound = 0\n",
        '[[constraints]]\nkind = "thermometer"\nnames = ["priors"]\n',
        '[[constraints]]\nkind = "reachability"\nnames = ["priors"]\n',
    ),
}

AUDIT: Grammar = {
    **PROPERTY,
    "audit": ('title = "Fuzz"\nseed = <count>\n<top>\n[population]\n<people>\n<interventions>\n<properties>',),
    "top": ("budget = 200", "budget = 200\ndelta = 0.1", "budget = '1e2, 1s'\nworkers = 1", "budget = 300\njobs = 2"),
    "people": (
        'census = "people.csv"',
        'sample = "people.csv"',
        'census = "people.csv"\nexact = false',
        'sample = "people.csv"\norder = "file"',
    ),
    "interventions": ("", '[interventions]\nchanges = "changes.toml"\n'),
    "properties": ("<one>", "<one><one>", "<one><one><one>"),
    "one": (
        '\n[[property]]\ncheck = """<property>"""\n<extra>\n',
        '\n[[property]]\ncheck = """<property>"""\n<extra>\n',
        '\n[[property]]\nfairness = "demographic_parity"\n'
        'with = {attribute = "sex", minority = "F", majority = "M", <tolerance>}\n',
        '\n[[property]]\nprincipal = true\nwith = {attribute = "sex", outcome = "passed", within = <number>}\n',
    ),
    "tolerance": ("difference = 0.1", "ratio = 0.8", "difference = <number>"),
    "extra": (
        "<ranges>",
        "<ranges>",
        '<ranges>\nwhy = "because"',
        "<ranges>\ndelta = 0.01",
        'method = "bets"\n<ranges>',
    ),
    "ranges": ("ranges = {income = [0, 200], age = [0, 120], priors = [0, 9]}",),
}

CORPUS: Mapping[str, Sequence[str]] = {
    "property": (
        "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8",
        "for g in sex: abs(P[prediction == 1 | sex == g] - P[prediction == 1]) <= 0.1",
        "E[income from 0 to 100 | age >= 30] <= 55 and not (P[priors > 2] > 0.5)",
        "P[do(sex = 'M').prediction == 1] >= 0.1",
        "P[age > other.age] <= 0.6",
        "(P[sex == 'F'] >= 0.8) or (0.5 <= 0.5)",
    ),
    "csv": ('a,b\n1,"x"\n', 'a,b\n1,"5 inch\n2,x\n', 'a,b\n"x\ny",2.5\n'),
    "fr": (
        "def popModel():\n    a = gaussian(0, 1)\n    sensitiveAttribute(a < 0)\n\n"
        "def F():\n    fairnessTarget(a > 1)\n",
    ),
    "nomos": (
        "import people;\ninput x1;\noutput d1;\n{\n    for k in range(3):\n        d1 = predict(x1)\n}\n"
        "ensures d1 >= 0;\n",
    ),
    "interventions": ('[features.age]\nkind = "integer"\nlow = 0\nhigh = 3\n',),
    "audit": ('[population]\ncensus = "people.csv"\n\n[[property]]\ncheck = "P[age > 30] >= 0.1"\n',),
}

_PIECES = (
    *"[](){}|^-=;#.\"'\x00\ufeff\u202eé\ud800\n\t", "1e999", "NaN", "nan", "inf", "9" * 30, "0x1", "1_000", "==", ":=",
    "//", "for", "in", "not", "and", "P[", "E[", "def", "[[property]]", "with = {}", "\\u0000", "-" * 30, "(" * 30,
    "[" * 200,
    "true", "null", "1e-400", "..", "sex", "prediction", "missing",
)  # fmt: skip


def mutated(text: str, draw: random.Random) -> str:
    """The text with one to three changes: a piece more or less, another one, twice, or cut off."""
    for _ in range(draw.randint(1, 3)):
        start = draw.randrange(len(text) + 1)
        stop = min(len(text), start + draw.choice((0, 1, 1, 2, 8, 40)))
        way = draw.randrange(5)
        if way == 0:
            text = text[:start] + text[stop:]
        elif way == 1:
            text = text[:start] + draw.choice(_PIECES) + text[stop:]
        elif way == 2:
            text = text[:stop] + text[start:stop] * draw.choice((1, 1, 3, 30)) + text[stop:]
        elif way == 3:
            text = text[:start] + chr(draw.choice((draw.randrange(32, 127), draw.randrange(0xD800)))) + text[stop:]
        else:
            text = text[:start] if draw.random() < 0.2 else text[start:] + text[:start] if draw.random() < 0.2 else text
    return text[:20_000]


_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**53 + 1, 10**40, 0.5, 1.5, -0.0, 1e308, 5e-324, "", "x", "1", "é", [], {},
    [[]], [None], {"": 0}, "0x1p-3", "1/2", "1/0", "9" * 50, [1, 2, 3], "latest", "P[age > 1] >= 0",
)  # fmt: skip


def mutated_tree(tree: Any, draw: random.Random) -> Any:
    """Plain values with one to three changes, somewhere in the tree."""
    tree = deepcopy(tree)
    for _ in range(draw.randint(1, 3)):
        places = [(tree, key) for key in _keys(tree)]
        for parent, key in places:  # grows as it goes
            places += [(parent[key], inner) for inner in _keys(parent[key])]
        if not places:
            return deepcopy(draw.choice(_VALUES))
        parent, key = draw.choice(places)
        way = draw.randrange(6)
        if way == 0:
            del parent[key]
        elif way == 1 and isinstance(parent, list):
            parent.insert(key, deepcopy(parent[draw.randrange(len(parent))]))
        elif way == 2 and isinstance(parent[key], (int, float)):
            parent[key] = parent[key] + draw.choice((-1, 1, 0.5, 1000))
        elif way == 3:
            other, place = draw.choice(places)
            if place in _keys(other):
                parent[key] = deepcopy(other[place])
        elif way == 4 and isinstance(parent[key], str):
            parent[key] = mutated(parent[key], draw)
        else:
            parent[key] = deepcopy(draw.choice(_VALUES))
    return tree


def nudged_tree(tree: Any, draw: random.Random) -> Any:
    """Plain values of the same shape: one to three numbers, or texts, are others of their kind.

    What is no longer of the right shape is refused at once; this gets further in.
    """
    tree = deepcopy(tree)
    places = [(tree, key) for key in _keys(tree)]
    for parent, key in places:  # grows as it goes
        places += [(parent[key], inner) for inner in _keys(parent[key])]
    numbers = [(parent, key) for parent, key in places if type(parent[key]) in {int, float}]
    texts = [(parent, key) for parent, key in places if type(parent[key]) is str]
    for _ in range(draw.randint(1, 3)):
        parent, key = draw.choice(numbers if draw.random() < 0.8 else texts)
        if isinstance(parent[key], str):
            other, place = draw.choice([each for each in texts if each[1] == key] or texts)
            parent[key] = other[place]
        else:
            number = parent[key]
            parent[key] = draw.choice((number + 1, number - 1, 2 * number, -number, 0, type(number)(1e9)))
    return tree


def _keys(value: Any) -> list[Any]:
    return list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []


def service(draw: random.Random, rows: int) -> tuple[dict[str, Any], str]:
    """How a service is described, and what it answers about so many rows."""
    labels = [draw.choice(("yes", "no")) for _ in range(rows)]
    shares = [round(draw.random(), 3) for _ in range(rows)]
    pairs = [[round(1 - share, 3), share] for share in shares]
    described, answer = draw.choice(
        (
            ({"prediction": "predictions"}, {"predictions": labels}),
            ({"prediction": "predictions", "classes": ("no", "yes")}, {"predictions": labels}),
            ({"prediction": "out[*].label"}, {"out": [{"label": label} for label in labels]}),
            ({"prediction": None, "score": "scores"}, {"scores": shares}),
            ({"prediction": "p", "score": "s", "classes": ("no", "yes")}, {"p": labels, "s": pairs}),
            (
                {"prediction": "p", "score": "r[*].s", "score_range": (0, 1)},
                {"p": labels, "r": [{"s": share} for share in shares]},
            ),
        )
    )
    if draw.random() < 0.3:
        answer = mutated_tree(answer, draw)
    text = json.dumps(answer)
    return described, mutated(text, draw) if draw.random() < 0.15 else text


def streams() -> Callable[[random.Random], str]:
    """Decisions and outcomes as JSON lines, in any order: late, early, missing, repeated, contradictory, and odd."""
    odd = (
        '"x"', "007", '"007"', "7.0", "null", "true", "1e22", "[1]", "-0", '"\\ud800"', "{}", str(2**60), "0.5", '""',
    )  # fmt: skip

    def make(draw: random.Random) -> str:
        rows, strange = draw.randint(1, 40), draw.random() < 0.5
        lines = []
        for number in range(rows):
            key = draw.choice(odd) if strange and draw.random() < 0.02 else draw.choice((f"{number}", f'"{number}"'))
            outcome = draw.choice(odd) if strange and draw.random() < 0.02 else draw.choice("01")
            lines.append((float(number), f'{{"id": {key}, "sex": "{draw.choice("FM")}"}}'))
            times = draw.choice((0, 1, 1, 1, 1, 1, 1, 2))
            lines.extend((number + draw.uniform(-3, 20), f'{{"id": {key}, "y": {outcome}}}') for _ in range(times))
        text = "\n".join(line for _, line in sorted(lines)) + "\n"
        return mutated(text, draw) if draw.random() < 0.3 else text

    return make


def evidence_texts() -> Callable[[random.Random], str]:
    """Mutations of the evidence of an audit or a watch; most are sealed again, and half keep its shape."""
    from isonomia.records.evidence import sealed

    both = _small_evidence(), _watch_evidence()

    def make(draw: random.Random) -> str:
        whole = both[draw.random() < 0.3]
        if draw.random() < 0.1:
            return mutated(json.dumps(whole), draw)
        change = nudged_tree if draw.random() < 0.6 else mutated_tree
        tree = change({key: value for key, value in whole.items() if key != "seal"}, draw)
        again = isinstance(tree, dict) and draw.random() < 0.9
        return json.dumps(sealed(tree) if again else tree)

    return make


def _small_evidence() -> dict[str, Any]:
    """The content of an evidence file about a small audit."""
    from isonomia.audits.audit_file.planner import plan_audit
    from isonomia.audits.audit_file.reader import read_audit_file
    from isonomia.audits.audit_file.runner import begin_run, run_checks
    from isonomia.audits.protocol import Permissions
    from isonomia.engine.parameters import NullObserver
    from isonomia.records.evidence import evidence_of, evidence_text
    from isonomia.records.store import Store

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_people(folder)
        text = CORPUS["audit"][0] + (
            '\n[[property]]\ncheck = "E[income from 0 to 100] <= 60"\n'
            '\n[[property]]\nprincipal = true\nwith = {attribute = "sex", outcome = "passed", within = 0.5}\n'
        )
        (folder / "audit.toml").write_text(text)
        file, store = read_audit_file(folder / "audit.toml"), Store(folder / "records")
        planned = plan_audit(file, 1, Permissions())
        run_checks(store, begin_run(store, file, planned, 1), planned, lambda _: NullObserver(), lambda *_: None)
        content: dict[str, Any] = json.loads(evidence_text(evidence_of(store)))
        return content


def _watch_evidence() -> dict[str, Any]:
    """The content of an evidence file about a small watch, with an alert that was acknowledged and one that is open."""
    import isonomia as iso

    properties = ["for g in sex: P[prediction == 1 | sex == g] >= 0.9", "E[income] >= 40"]
    watch = iso.Watch(properties, alpha=0.05, window=20, ranges={"income": (0, 100)}, values={"sex": ["F", "M"]})
    watch.update({name: 3 * values for name, values in PEOPLE.items()})
    watch.acknowledge()
    watch.update({name: 3 * values for name, values in PEOPLE.items()})
    content: dict[str, Any] = json.loads(watch.evidence())
    return content


def write_people(folder: Path) -> None:
    rows = zip(*PEOPLE.values(), strict=True)
    (folder / "people.csv").write_text("\n".join([",".join(PEOPLE), *(",".join(map(str, row)) for row in rows)]) + "\n")
    (folder / "changes.toml").write_text(CORPUS["interventions"][0])
