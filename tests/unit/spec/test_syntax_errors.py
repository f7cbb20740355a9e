import pytest

from isonomia.errors import SpecError
from isonomia.spec.parser import parse_formula

# The text with the stretch that the carets point at between « and »; then what the message says.
MALFORMED = [
    ("«»", "the property is empty"),
    ("«»  \n # only a comment", "the property is empty"),
    ("P[a]«»", "not yet a claim: compare it"),
    ("P[a] >=«»  ", "ends too early: expected `P[...]`, `E[...]` or a number"),
    ("P[a >= 0.8«»", "`[` (line 1, column 2) is still open: expected `]`"),
    ("(P[a] > 1«»", "`(` (line 1, column 1) is still open: expected `)`"),
    ("P«(»a) >= 1", "write square brackets, `P[...]`"),
    ("P[a]«)» > 1", "unexpected `)`: expected a comparison such as `>=` or an operator such as `+`"),
    ("P[«]» > 1", "unexpected `]`: expected a column or a value"),
    ("P[a] > «]»", "unexpected `]`: expected `P[...]`, `E[...]` or a number"),
    ("P[a and «]» > 1", "unexpected `]`: expected a column or a value"),
    ("«sex» == 'F'", "`sex` is a column: wrap it in P[...] or E[...]"),
    ("P[a] > 1 and «`b c`» > 1", "`b c` is a column: wrap it"),
    ("«prediction» >= 0.5", "`prediction` is about one person: wrap it"),
    ("P[a] >= «'x'»", "'x' can only be compared inside P[...] or E[...]"),
    ("for g in age: P[a] >= «g»", "`g` is a variable: it can only stand inside"),
    ("«mean»(x) > 1", "`mean` is an unknown function: expected `P[...]`, `E[...]`, `abs(...)`"),
    ("P[a] «==» 0.5", "write a tolerance, such as"),
    ("P[a] «!=» 0.5", "cannot compare quantities"),
    ("P[a] / «0» > 1", "divides by zero"),
    ("P[a] / («1 - 1») > 1", "divides by zero"),
    ("P[a / «0» > 1] > 1", "divides by zero"),
    ("P[a] ** «0.5» > 1", "the exponent 0.5 is not whole"),
    ("P[a] ** «P[b]» > 1", "an exponent must be a constant number"),
    ("«(-1) ** 0.5» > 1", "-1 to the power 0.5 is not a real number"),
    ("«10 ** 400» > 1", "too large"),
    ("«1e999» > P[a]", "too large"),
    ("P[a | b «|» c] > 1", "only one `|` can stand inside the brackets"),
    ("P[a «=» 1] > 1", "write `==` to compare"),
    ("P[a «&»& b] > 1", "write `and`"),
    ("P[a «AND» b] > 1", "write it in small letters, `and`"),
    ("P[a == «'»x] > 1", "this quotation mark is never closed"),
    ("P[«`»a] > 1", "this backtick is never closed"),
    (r"P[a == «'\q'»] > 1", "\\q has no meaning in text"),
    ("P[a in «[»'x']] > 1", "unexpected `[`: expected `{`"),
    ("P[a in {«}»] > 1", "expected a name or a value"),
    ("P[a in {«b»}] > 1", "`b` is neither a value nor a variable of an enclosing `for`; text needs quotes: 'b'"),
    ("P[a is «b»] > 1", "expected `missing`"),
    ("P[«P»[a]] > 1", "`P` cannot stand inside P[...] or E[...]"),
    ("P[a < «80%»] > 1", "`80%` can only stand outside P[...] and E[...]"),
    ("P[x«.»y] > 1", "a column whose name has a dot is written in backticks"),
    ("P[«3x»] > 1", "`3x` is neither a number nor a name"),
    ("P[a == «missing»] > 1", "`missing` is a reserved word"),
    ("for «to» in race: P[a] > 1", "`to` is a reserved word: expected a name"),
    ("for g in «:» P[a] > 1", "expected a name or `{`"),
    ("for g «of» race: P[a] > 1", "unexpected `of`: expected `in`"),
    ("P[`a b` «(»1)] > 1", "unexpected `(`: expected a comparison such as `>=`"),
    ("for g in race «P»[a] > 1", "expected `:` or `except`"),
    ("for «race» in race: P[a] > 1", "the variable has the name of the column it runs over"),
    ("for g in race: for «g» in sex: P[a] > 1", "`g` is already the variable of an enclosing `for`"),
    ("for g in race: for h in «g»: P[a] > 1", "this is the variable of an enclosing `for`"),
    ("for g in race except «h»: P[a] > 1", "`h` is neither a value nor a variable"),
    ("«abs(P[a], P[b])» > 1", "abs takes one argument; here are 2"),
    ("«min(P[a])» > 1", "min takes two arguments or more; here is 1"),
    ("«E[x from 3 to 1]» > 1", "here it goes from 3 to 1"),
    ("P[a] > 1\nand P[b] «P»[c] > 1", "line 2, column 10: unexpected `P`"),
    ("P[do(sex «==» 'M').x] > 1", "write one `=` in `do(...)`"),
    ("P[do(e as if sex «!=» 'M').x] > 1", "write one `=` in `do(...)`"),
    ("P[do(«)».x] > 1", "`do(...)` sets nothing here: say what, as in `do(sex = 'M').prediction`"),
    ("P[do(e as if («)»).x] > 1", "`do(...)` sets nothing here"),
    ("P[do(sex = 'M')«]» > 1", "expected `.` and what is meant of that person, such as `do(...).age`"),
    ("P[do(sex = 'M')«»", "ends too early: expected `.`"),
    ("P[do(sex«)».x] > 1", "unexpected `)`: expected `=` or `as if`"),
    ("P[do(sex«»", "ends too early: expected `=` or `as if`"),
    ("P[do(sex = 'M'«»", "`(` (line 1, column 5) is still open: expected `)`"),
    ("P[do(sex = «M»).x] > 1", "text needs quotes: 'M'"),
    ("P[do(sex = «)».x] > 1", "expected a name or a value"),
    ("P[do(«=» 1).x] > 1", "unexpected `=`: expected a name"),
    ("P[do(«prediction» = 1).x] > 1", "`prediction` is a reserved word: expected a name"),
    ("P[do(sex = 'M', «sex = 'F'»).x] > 1", "`sex` occurs twice in do(...): it can take only one value"),
    ("P[do(sex = 'M', «sex as if race = 'A'»).x] > 1", "`sex` occurs twice in do(...)"),
    ("P[do(e as if (s = 1, «s = 2»)).x] > 1", "`s` occurs twice in `e as if (...)`"),
    ("P[do(e as if «e = 1»).x] > 1", "write `e = ...`"),
    ("P[do(s = 1).«other».x] > 1", "a version has no versions"),
    ("P[other.«for»] > 1", "`for` is a reserved word: expected a name; a column of that name needs backticks"),
    ("P[other.«]» > 1", "unexpected `]`: expected a name"),
    ("P[other.«»", "ends too early: expected a name"),
    ("P[«other»(age)] > 1", "a column of the second person is written with a dot, such as `other.age`"),
    ("«other».age > 1", "`other` is about one person: wrap it"),
    ("«do»(sex = 'M').age > 1", "`do` is about one person: wrap it"),
    ("for g in «other».race: P[a] > 1", "a `for` runs over a column of the population as it is"),
    ("P[other.«new».prediction] > 1", "a version has no versions"),
    ("«new».prediction > 1", "`new` is about one person: wrap it"),
    ("P[new«.»answer] > 1", "only `other` and `do(...)` have parts"),
    ("P[other.x«.»y] > 1", "only `other` and `do(...)` have parts"),
    ("P[(«apart»(a, b) < 1)] > 1", "`apart` is an unknown function: expected a column, a value, `abs(...)`"),
    ("P[«apart» # of whom?\n (a, b) < 1] > 1", "a Python function can only be used from Python"),
    ("«apart»(a, b) > 1", "a distance given as a Python function can only be used from Python"),
]


@pytest.mark.parametrize(("marked", "message"), MALFORMED, ids=[marked for marked, _ in MALFORMED])
def test_a_malformed_text_is_pointed_at_and_explained(marked, message):
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(SpecError) as caught:
        parse_formula(text)
    place = caught.value.place
    assert message in str(caught.value)
    assert place is not None
    assert (place.start, place.end) == (marked.index("«"), marked.index("»") - 1)


@pytest.mark.parametrize(("marked", "message"), MALFORMED, ids=[marked for marked, _ in MALFORMED])
def test_no_message_shows_a_name_of_the_machinery(marked, message):
    with pytest.raises(SpecError) as caught:
        parse_formula(marked.replace("«", "").replace("»", ""))
    text = str(caught.value)
    assert not any(
        name in text for name in ("LPAR", "RSQB", "ANON", "$END", "backticked", "RELATION", "_power", "as_if")
    )
    assert message
