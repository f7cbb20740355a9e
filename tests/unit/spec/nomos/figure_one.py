"""The four specifications of Fig. 1 of the Nomos paper, as it prints them."""

FELONIES = """input x1;
var v1 := getFeat(x1, 1);
var v2 := v1 + randInt(1, 10);
var x2 := setFeat(x1, 1, v2);
requires v2 <= 20;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
# 0-low, 1-medium, 2-high risk
ensures d1 <= d2;
"""
BLUR = """input x1;
var x2 := blur(x1);
var v1 := label(x1);
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d2==v1 ==> d1==v1;
"""
REVIEWS = """input x1;
input x2;
var v1 := getFeat(x1, 1);
var v2 := getFeat(x2, 1);
var v3 := strConcat(v1, v2);
var x3 := setFeat(x1, 1, v3);
output d1;
output d3;
{
  d1 = predict(x1)
  d3 = predict(x3)
}
# 0-pos, 1-neg
ensures d1 <= d3;
"""
LANDER = """input s1;
var s2 := relax(s1);
output o1;
output o2;
{
  o1, o2 = 0, 0
  for _ in range(10):
    rs = randInt(0, MAX_INT)
    o1 += play(s1, rs)
    o2 += play(s2, rs)
}
# 0-lose, 1-win
ensures o1 <= o2;
"""
