#include <gtest/gtest.h>

#include <string>

#include "text/chat_template.h"
#include "text/jinja/interp.h"
#include "text/jinja/parser.h"

namespace hearth::jinja {
namespace {

std::string render(const std::string& source) {
  try {
    const Template t = parse(source);
    Interp in(Budget(1'000'000, 1 << 24));
    return in.render(t).text;
  } catch (const Error& e) {
    return e.kind + ": " + e.message + " @" + std::to_string(e.line);
  }
}

struct Case {
  const char* source;
  const char* expected;
};

void expect_all(std::initializer_list<Case> cases) {
  for (const Case& c : cases) EXPECT_EQ(render(c.source), c.expected) << c.source;
}

TEST(Jinja, white_space_control) {
  expect_all({
      {"a\n{% if true %}\nb\n{% endif %}\nc\n", "a\nb\nc"},
      {"a\n  {% if true %}b{% endif %}  \nc", "a\nb  \nc"},
      {"a\n  {%+ if true %}b{% endif %}", "a\n  b"},
      {"a \n {%- if true -%} \n b {%- endif -%} \n c", "abc"},
      {"a {{- 1 -}} b", "a1b"},
      {"  {{ 1 }}", "  1"},
      {"a\n  {# note #}\nb", "a\nb"},
      {"a {#- note -#} b", "ab"},
      {"{% if true %}x{% endif +%}\ny", "x\ny"},
      {"{% raw %}{{ x }} {% if %}{% endraw %}!", "{{ x }} {% if %}!"},
      {"a\r\nb\r\n", "a\nb"},
      {"{{ '}}' }}{{ {'a': {'b': 1}}['a']['b'] }}", "}}1"},
  });
}

TEST(Jinja, literals_and_printing) {
  expect_all({
      {"{{ [1, 2.0, 'x', true, none, (1,), {'a': \"it's\"}] }}", "[1, 2.0, 'x', True, None, (1,), {'a': \"it's\"}]"},
      {"{{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1.5e300 }} {{ 0.1 + 0.2 }}",
       "1e+16 1000000000000000.0 0.0001 1e-05 1.5e+300 0.30000000000000004"},
      {"{{ 'a\\tb\\x41\\u00e9\\'' }}", "a\tbA\u00e9'"},
      {"{{ ['a\\n', '\\x00', '\\u200b', 'é', \"'\", '\"'] }}", "['a\\n', '\\x00', '\\u200b', 'é', \"'\", '\"']"},
      {"{{ 'a' 'b' \"c\" }}", "abc"},
      {"{{ 0x1F }} {{ 0b101 }} {{ 1_000 }} {{ 0o17 }}", "31 5 1000 15"},
      {"{{ missing }}|{{ none }}|{{ true }}|{{ () }}|{{ {} }}", "|None|True|()|{}"},
      {"{{ {'a': 1}.items() }} {{ range(3) }} {{ range(0, 9, 4)|list }}",
       "dict_items([('a', 1)]) range(0, 3) [0, 4, 8]"},
  });
}

TEST(Jinja, operators) {
  expect_all({
      {"{{ 1 + 2 * 3 ** 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** -1 }}", "19 3 -4 2 3.5 0.5"},
      {"{{ 2 ** 3 ** 2 }} {{ -2 ** 2 }}", "64 4"},
      {"{{ 'a' ~ 1 ~ none }} {{ 1 ~ 2 + 3 ~ 4 }}", "a1None 1234"},
      {"{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ 'a' != 'b' }} {{ [1, 2] < [1, 3] }}",
       "True False True True True"},
      {"{{ not 1 in [1] }} {{ 2 not in [1] }} {{ 'b' in 'abc' }} {{ 'k' in {'k': 1} }}", "False True True True"},
      {"{{ 0 or 'x' }} {{ 1 and '' }}| {{ not '' }}", "x | True"},
      {"{{ 'a' if false else 'b' }} {{ 'a' if false }}|{{ 1 if 0 else 2 if 0 else 3 }}", "b |3"},
      {"{{ [1] + [2] }} {{ 'ab' * 3 }} {{ 2 * [0] }} {{ (1, 2) + (3,) }}", "[1, 2] ababab [0, 0] (1, 2, 3)"},
      {"{{ '%s has %d of %5.2f%% %x %-4s| %05d %r' % ('a', 3, 1.5, 255, 'z', -42, 'q') }}",
       "a has 3 of  1.50% ff z   | -0042 'q'"},
      {"{{ '%(a)s-%(b)s' % {'a': 1, 'b': 2} }}", "1-2"},
      {"{{ -3 | abs }} {{ (-3) | abs }} {{ 3 - -2 }} {{ +4 }}", "3 3 5 4"},
  });
}

TEST(Jinja, access_and_slices) {
  expect_all({
      {"{{ 'hello'[1] }}{{ 'hello'[-1] }}{{ 'hello'[9] }} {{ 'hello'[1:3] }} {{ 'hello'[::-1] }} {{ 'hello'[::2] }} {{ "
       "'hello'[-3:] }}",
       "eo el olleh hlo llo"},
      {"{{ 'héllo'[1:3] }} {{ 'héllo'[::-1] }} {{ 'héllo'|length }}", "él olléh 5"},
      {"{{ [0,1,2,3,4][1:-1] }} {{ [0,1,2,3,4][3:0:-2] }} {{ [0,1,2][5:] }} {{ (1,2,3)[:2] }}",
       "[1, 2, 3] [3, 1] [] (1, 2)"},
      {"{% set d = {'a': 1, 'items': 2, 3: 'x'} %}{{ d.a }} {{ d['items'] }} {{ d.items()|length }} {{ d[3] }} {{ d.b "
       "is defined }} {{ d.get('z', 9) }}",
       "1 2 3 x False 9"},
      {"{{ [[1, 2], [3]].0.1 }} {{ {'a': {'b': [7]}}.a.b[0] }}", "2 7"},
      {"{{ {1: 'one', true: 'yes'} }} {{ {'a': 1, 'b': 2, 'a': 3} }}", "{1: 'yes'} {'a': 3, 'b': 2}"},
      {"{{ none[0:1] }}{{ {'a': 1}['a':] }}{{ [1]['x':] }}|{{ none[0] }}{{ [1][5] }}", "|"},
  });
}

TEST(Jinja, loops) {
  expect_all({
      {"{% for x in [1, 2, 3] %}{{ loop.index }}/{{ loop.length }}{{ loop.first }}{{ loop.last }}{{ loop.revindex0 }} "
       "{% endfor %}",
       "1/3TrueFalse2 2/3FalseFalse1 3/3FalseTrue0 "},
      {"{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}", "a=1;b=2;"},
      {"{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "123"},
      {"{% for x in range(6) if x % 2 %}{{ x }}:{{ loop.index }} {% else %}none{% endfor %}", "1:1 3:2 5:3 "},
      {"{% for x in [] %}a{% else %}empty{% endfor %}", "empty"},
      {"{% for x in range(9) %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif %}{{ x }}{% "
       "endfor %}",
       "023"},
      {"{% for x in 'ab' %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}", "<a>b a<b> "},
      {"{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{{ loop.cycle('a', 'b') }} {% endfor %}", "Truea Falseb Truea "},
      {"{% for n in [{'v': 1, 'c': [{'v': 2, 'c': []}]}] recursive %}{{ loop.depth }}:{{ n.v }}({{ loop(n.c) }}){% "
       "endfor %}",
       "1:1(2:2())"},
      {"{% set x = 0 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "120"},
      {"{% set n = namespace(x=0) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}", "3"},
      {"{% for x in missing %}a{% endfor %}|{% for x in {'k': 1} %}{{ x }}{% endfor %}", "|k"},
  });
}

TEST(Jinja, set_with_filter_and_call_blocks) {
  expect_all({
      {"{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set t = 1, 2 %}{{ t }}", "12(1, 2)"},
      {"{% set x %} {{ 1 + 1 }} {% endset %}[{{ x }}]{% set y | trim | upper %} ab {% endset %}[{{ y }}]", "[ 2 ][AB]"},
      {"{% if true %}{% set z = 5 %}{% endif %}{{ z }}", "5"},
      {"{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}", "3False"},
      {"{% filter upper | replace('A', 'x') %}abc{% endfilter %}", "xBC"},
      {"{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }} {% endmacro %}{{ m(1) }}{{ m(1, c=3) }}{{ m('x', 'y', 'z') }}",
       "121 123 xyz "},
      {"{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, k=2) }}", "(1,){'k': 2}"},
      {"{% macro m(t) %}<{{ caller(t) }}>{% endmacro %}{% call(x) m('q') %}in {{ x }}{% endcall %}", "<in q>"},
      {"{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "3210"},
      {"{% set v = 1 %}{% macro m() %}{{ v }}{% endmacro %}{% set v = 2 %}{{ m() }}", "2"},
      {"{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }} {{ m.name }} {{ m.arguments }}", "False m ('a',)"},
      {"{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1], **{'b': 2}) }}", "12"},
  });
}

TEST(Jinja, generation_and_block_tags_are_transparent) {
  expect_all({{"a{% generation %}b{{ 1 }}{% endgeneration %}c", "ab1c"}, {"a{% block x %}b{% endblock x %}c", "abc"}});
}

TEST(Jinja, tests) {
  expect_all({
      {"{{ 1 is number }}{{ true is number }}{{ true is integer }}{{ 1.0 is float }}{{ 'a' is string }}{{ none is none "
       "}}",
       "TrueTrueFalseTrueTrueTrue"},
      {"{{ {} is mapping }}{{ [] is mapping }}{{ [] is sequence }}{{ 'a' is sequence }}{{ {} is sequence }}{{ 1 is "
       "iterable }}{{ {}.items() is sequence }}",
       "TrueFalseTrueTrueTrueFalseFalse"},
      {"{{ x is defined }}{{ x is not defined }}{{ x is undefined }}{{ 1 is true }}{{ true is true }}{{ false is false "
       "}}",
       "FalseTrueTrueFalseTrueTrue"},
      {"{{ 3 is odd }}{{ 4 is even }}{{ 9 is divisibleby 3 }}{{ 2 is in [1, 2] }}{{ 1 is eq 1 }}{{ 2 is gt(1) }}{{ 'a' "
       "is sameas 'b' }}",
       "TrueTrueTrueTrueTrueTrueFalse"},
      {"{{ 'ab' is lower }}{{ 'AB' is upper }}{{ range is callable }}{{ 'x' is boolean }}", "TrueTrueTrueFalse"},
      {"{{ 1 is defined and 2 is odd or 'z' }}", "z"},
  });
}

TEST(Jinja, text_filters) {
  expect_all({
      {"{{ '  a b '|trim }}|{{ 'xxaxx'|trim('x') }}|{{ 'aBc'|upper }}|{{ 'aBc'|lower }}|{{ 'hELLO wORLD'|capitalize "
       "}}|{{ \"it's a-b\"|title }}",
       "a b|a|ABC|abc|Hello world|It's A-B"},
      {"{{ 'aaa'|replace('a', 'b', 2) }} {{ 5|string + '!' }} {{ '%s-%s'|format(1, 'x') }}", "bba 5! 1-x"},
      {"{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb'|indent(2, true) }}|{{ 'a\n\nb'|indent('> ', blank=true) }}",
       "a\n    b\n\n    c|  a\n  b|a\n> \n> b"},
      {"{{ '<a href=\"x\">'|e }} {{ 'a b/c?é'|urlencode }} {{ 'one two  three'|wordcount }}",
       "&lt;a href=&#34;x&#34;&gt; a%20b/c%3F%C3%A9 3"},
      {"{{ {'a b': 1, 'c': 'd/&'}|urlencode }}", "a+b=1&c=d%2F%26"},
      {"{{ 'a long sentence here'|truncate(10) }} {{ 'abcdefghijklmnop'|truncate(8, true, '..') }} [{{ 'ab'|center(7) "
       "}}]",
       "a long... abcdef.. [   ab  ]"},
      {"{{ '42'|int }} {{ '4.7'|int }} {{ 'x'|int(7) }} {{ '0x1f'|int(0, 16) }} {{ 3.9|int }} {{ '2.5'|float }} {{ "
       "'q'|float }}",
       "42 4 7 31 3 2.5 0.0"},
      {"{{ 2.5|round }} {{ 2.675|round(2) }} {{ 42.55|round(1, 'floor') }} {{ 7|round }} {{ 1234567|filesizeformat }}",
       "2.0 2.67 42.5 7 1.2 MB"},
  });
}

TEST(Jinja, numbers_beyond_their_types_are_errors_or_exact) {
  expect_all({
      {"{% set most = '-170141183460469231731687303715884105727'|int %}{{ most }} {{ '{:x}'.format(most) }} {{ "
       "most.bit_length() }}",
       "-170141183460469231731687303715884105727 -7fffffffffffffffffffffffffffffff 127"},
      {"{{ -1e30|filesizeformat }} {{ -0.5|filesizeformat }} {{ 999.9|filesizeformat }}",
       "-1000000000000000019884624838656 Bytes 0 Bytes 999 Bytes"},
      {"{{ 1250|round(-2) }} {{ -15|round(-1) }}", "1200 -20"},
  });
  for (const char* source :
       {"{{ '-170141183460469231731687303715884105727'|int - 1 }}", "{{ (-2) ** 127 }}",
        "{{ '170141183460469231731687303715884105727'|int|round(-38) }}", "{{ (-1e308 * 10)|filesizeformat }}"})
    EXPECT_TRUE(render(source).starts_with("OverflowError: ")) << source;
}

TEST(Jinja, tojson_is_python_json_dumps) {
  expect_all({
      {"{{ {'a': [1, 2.0, true, none, 'é\"\\\\\\n<&>'], 'b': {}}|tojson }}",
       "{\"a\": [1, 2.0, true, null, \"é\\\"\\\\\\n<&>\"], \"b\": {}}"},
      {"{{ {'b': [1], 'a': {}, 'c': []}|tojson(indent=2) }}",
       "{\n  \"b\": [\n    1\n  ],\n  \"a\": {},\n  \"c\": []\n}"},
      {"{{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }} {{ 'é🎉'|tojson(true) }}",
       "{\"a\": 2, \"b\": 1} \"\\u00e9\\ud83c\\udf89\""},
      {"{{ {1: 2, true: 3, none: 4, 1.5: 5}|tojson(separators=(',', ':')) }}", "{\"1\":3,\"null\":4,\"1.5\":5}"},
      {"{{ [18446744073709551615, 1e100, 1e-7, '\\x7f\\x1f']|tojson }}",
       "[18446744073709551615, 1e+100, 1e-07, \"\x7f\\u001f\"]"},
  });
}

TEST(Jinja, sequence_filters) {
  expect_all({
      {"{{ [3, 1, 2]|sort }} {{ ['b', 'A', 'c']|sort }} {{ ['b', 'A']|sort(case_sensitive=true, reverse=true) }}",
       "[1, 2, 3] ['A', 'b', 'c'] ['b', 'A']"},
      {"{{ [{'n': 2}, {'n': 1}]|sort(attribute='n')|map(attribute='n')|list }} {{ {'b': 1, 'a': 2}|dictsort }} {{ "
       "{'b': 1, 'a': 2}|dictsort(by='value') }}",
       "[1, 2] [('a', 2), ('b', 1)] [('b', 1), ('a', 2)]"},
      {"{{ [1, 2, 3]|first }}{{ [1, 2, 3]|last }}{{ 'abc'|first }}{{ [1, 2]|sum }}{{ [1, 5, 2]|max }}{{ [4, 3]|min }}",
       "13a353"},
      {"{{ [1, 'a', none]|join('-') }} {{ [{'a': 1}, {'a': 2}]|join(',', attribute='a') }} {{ 'abc'|join('.') }}",
       "1-a-None 1,2 a.b.c"},
      {"{{ [{'r': 'u', 'x': 1}, {'r': 'a'}]|selectattr('r', 'equalto', 'u')|list }} {{ [{'x': 1}, "
       "{}]|selectattr('x')|list }}",
       "[{'r': 'u', 'x': 1}] [{'x': 1}]"},
      {"{{ [1, 2, 3, 4]|select('even')|list }} {{ [1, 2, 3]|reject('odd')|list }} {{ [{'x': 1}, {'y': "
       "2}]|rejectattr('x', 'defined')|list }}",
       "[2, 4] [2] [{'y': 2}]"},
      {"{{ ['a', 'b']|map('upper')|list }} {{ [{'a': {'b': 1}}, {}]|map(attribute='a.b', default=0)|list if false else "
       "'x' }}",
       "['A', 'B'] x"},
      {"{{ [1, 2, 1, 'a', 'A']|unique|list }} {{ [1, 2, 3]|reverse|list }} {{ 'abc'|reverse }}",
       "[1, 2, 'a'] [3, 2, 1] cba"},
      {"{{ [1, 2, 3]|batch(2, 0)|list }} {{ [1, 2, 3]|slice(2)|list }}", "[[1, 2], [3, 0]] [[1, 2], [3]]"},
      {"{% for g in [{'k': 'b', 'v': 1}, {'k': 'a', 'v': 2}, {'k': 'b', 'v': 3}]|groupby('k') %}{{ g.grouper }}:{{ "
       "g.list|map(attribute='v')|join('+') }} {% endfor %}",
       "a:2 b:1+3 "},
      {"{{ missing|default('d') }} {{ ''|default('d', true) }} {{ ''|d('d') }}| {{ none|default('x') }}", "d d | None"},
      {"{% for k, v in {'a': 1}|items %}{{ k }}{{ v }}{% endfor %}{{ missing|items|list }} {{ {'a': 1}|list }} {{ "
       "'ab'|list }} {{ {'a': 1}|length }}",
       "a1[] ['a'] ['a', 'b'] 1"},
      {"{{ none|selectattr('x')|list }} {{ ([]|map('upper')) is iterable }} {{ 'yes' if []|map('upper') else 'no' }}",
       "[] True yes"},
  });
}

TEST(Jinja, string_methods) {
  expect_all({
      {"{{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ 'a\nb\r\nc'.splitlines() }} "
       "{{ ' x y  z '.split(none, 1) }}",
       "['a', 'b'] ['a', 'b,c'] ['a,b', 'c'] ['a', 'b', 'c'] ['x', 'y  z ']"},
      {"[{{ '  a '.strip() }}][{{ 'xxa'.lstrip('x') }}][{{ 'a\n\n'.rstrip('\n') }}][{{ "
       "'\u00a0\x1c\u3000a\u200b'.strip() }}]",
       "[a][a][a][a\u200b]"},
      {"{{ 'abc'.startswith('a') }}{{ 'abc'.endswith(('x', 'c')) }}{{ 'abcabc'.find('c', 3) }}{{ 'abc'.find('z') }}{{ "
       "'abab'.count('ab') }}{{ 'abc'.index('b') }}",
       "TrueTrue5-121"},
      {"{{ 'aXb'.replace('X', '--') }} {{ 'aaa'.replace('a', 'b', 1) }} {{ 'ab'.replace('', '.') }} {{ '-'.join(['a', "
       "'b']) }}",
       "a--b baa .a.b. a-b"},
      {"{{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'prefix-x'.removeprefix('prefix-') }} {{ "
       "'x.py'.removesuffix('.py') }}",
       "('a', '=', 'b=c') ('a=b', '=', 'c') x x"},
      {"{{ '5'.zfill(3) }} {{ '-5'.zfill(4) }} {{ 'a'.ljust(3, '.') }} {{ 'a'.rjust(3) }} {{ 'ab'.center(5, '*') }}",
       "005 -005 a..   a **ab*"},
      {"{{ 'Ab'.upper() }}{{ 'Ab'.lower() }}{{ 'aB c'.title() }}{{ 'aB'.swapcase() }}{{ 'straße'.upper() }}",
       "ABabAb CAbSTRASSE"},
      {"{{ 'ΟΔΟΣ'.lower() }} {{ 'ﬁn'.upper() }} {{ 'ﬁn'.title() }} {{ 'ß a'|title }}", "οδος FIN Fin SS A"},
      {"{{ '12'.isdigit() }}{{ 'a1'.isalnum() }}{{ 'ab'.isalpha() }}{{ ' '.isspace() }}{{ ''.isdigit() }}{{ "
       "'aB'.islower() }}",
       "TrueTrueTrueTrueFalseFalse"},
      {"{{ '{} {1} {a} {b[k]} {c.d}'.format('x', 'y', a=1, b={'k': 2}, c={'d': 3}) if false else "
       "'{0}-{0}-{a!r}'.format('x', a='q') }}",
       "x-x-'q'"},
      {"{{ '{:>5}|{:<5}|{:^5}|{:05d}|{:.2f}|{:,}|{:x}'.format('a', 'b', 'c', 42, 1.005, 1234567, 255) }}",
       "    a|b    |  c  |00042|1.00|1,234,567|ff"},
  });
}

TEST(Jinja, globals) {
  expect_all({
      {"{{ dict(a=1, b=2) }} {{ dict({'x': 1}, y=2) }} {{ namespace(a=1).a }}", "{'a': 1, 'b': 2} {'x': 1, 'y': 2} 1"},
      {"{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner('|') %}{{ j() }}{{ "
       "j() }}",
       "aba|"},
      {"{{ range(5, 0, -2)|list }} {{ range(2, 5)[1] }} {{ 3 in range(5) }}", "[5, 3, 1] 3 True"},
  });
  EXPECT_EQ(render("{{ strftime_now('%Y')|length }}"), "4");
}

TEST(Jinja, errors_carry_their_line) {
  expect_all({
      {"a\n{{ x.y }}", "UndefinedError: 'x' is undefined @2"},
      {"\n\n{{ {}.a.b }}", "UndefinedError: 'dict object' has no attribute 'a' @3"},
      {"{% if true %}\n{{ raise_exception('no ' ~ 1) }}{% endif %}", "raise_exception: no 1 @2"},
      {"{{ 1 + 'a' }}", "TypeError: unsupported operand type(s) for +: 'int' and 'str' @1"},
      {"{{ 'a' + 1 }}", "TypeError: can only concatenate str (not \"int\") to str @1"},
      {"{{ 1 / 0 }}", "ZeroDivisionError: division by zero @1"},
      {"{% for a, b in [1] %}{% endfor %}", "TypeError: cannot unpack non-iterable int object @1"},
      {"{{ none.x.y }}", "UndefinedError: 'None' has no attribute 'x' @1"},
      {"{{ [].append(1) }}", "SecurityError: access to attribute 'append' of 'list' object is unsafe. @1"},
      {"{{ 'a'|items }}", "TypeError: Can only get item pairs from a mapping. @1"},
      {"{{ missing|tojson }}", "TypeError: Object of type Undefined is not JSON serializable @1"},
  });
}

TEST(Jinja, syntax_errors_name_the_line) {
  expect_all({
      {"a\n{{ 1|nosuch }}", "TemplateSyntaxError: no filter named 'nosuch' @2"},
      {"\n\n{{ 1 is nosuch }}", "TemplateSyntaxError: no test named 'nosuch' @3"},
      {"{% nosuch %}", "TemplateSyntaxError: unknown tag 'nosuch' @1"},
      {"{% include 'x' %}",
       "TemplateSyntaxError: tag 'include' reads another template; a chat template is one file @1"},
      {"{% if x %}\n", "TemplateSyntaxError: the template ends where a 'endif' was expected @1"},
      {"\n{{ (1 }}", "TemplateSyntaxError: unexpected '}', expected ')' @2"},
      {"{{ 'abc }}", "TemplateSyntaxError: string never ends @1"},
      {"{# x", "TemplateSyntaxError: missing end of comment tag '#}' @1"},
      {"{% break %}", "TemplateSyntaxError: 'break' outside a loop @1"},
      {"{{ a b }}", "TemplateSyntaxError: found 'b', expected '}}' @1"},
      {"{% set 1 = 2 %}", "TemplateSyntaxError: found '1', expected a name to assign to @1"},
  });
  // As in Jinja, what an "if" protects is looked up only when it is reached.
  EXPECT_EQ(render("{% if false %}{{ 1|nosuch }}{% endif %}ok"), "ok");
  EXPECT_EQ(render("{% if true %}{{ 1|nosuch }}{% endif %}"),
            "TemplateRuntimeError: No filter named 'nosuch' found. @1");
}

// ---- limits --------------------------------------------------------------------------------------------------------
bool limited(const std::string& source) {
  const std::string out = render(source);
  return out.starts_with("LimitError: ") || out.starts_with("RecursionError: ") || out.starts_with("OverflowError: ");
}

TEST(Jinja, hostile_templates_end_in_an_error) {
  EXPECT_TRUE(limited("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"));
  EXPECT_TRUE(limited("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"));
  EXPECT_TRUE(limited("{{ 'x' * 99999999999 }}"));
  EXPECT_TRUE(limited("{% set n = namespace(s='x') %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}"));
  EXPECT_TRUE(limited("{% set n = namespace(l=[]) %}{% for i in range(9999) %}{% set n.l = [n.l] %}{% endfor %}"));
  EXPECT_TRUE(
      limited("{% set n = namespace(l=[1]) %}{% for i in range(99) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l }}"));
  EXPECT_TRUE(limited("{{ range(100001) }}"));
  EXPECT_TRUE(limited("{{ '%999999999d' % 1 }}"));
  EXPECT_TRUE(limited("{{ 'a'.center(9999999999) }}"));
  EXPECT_TRUE(limited("{{ 9 ** 99 ** 9 }}"));
  EXPECT_TRUE(limited("{{ ('a' * 9999)|replace('a', 'b' * 99999) }}"));
}

TEST(Jinja, searching_is_linear_and_counted) {
  // A needle that almost matches everywhere.
  EXPECT_TRUE(
      limited("{% set h = 'a' * 200000 %}{% set n = 'a' * 99999 + 'b' %}{% for i in range(99999) %}{{ n in h }}{{ "
              "h.rfind(n) }}{% endfor %}"));
}

TEST(Jinja, deep_syntax_is_refused) {
  const auto refused = [](const std::string& source) { return render(source).starts_with("TemplateSyntaxError: "); };
  const std::string deep(100000, '(');
  EXPECT_TRUE(refused("{{ " + deep));
  std::string sum = "{{ 1", nested, nots = "{{ ";
  for (int i = 0; i < 5000; ++i) sum += " + 1", nested += "{% if 1 %}", nots += "not ";
  EXPECT_TRUE(refused(sum + " }}"));
  EXPECT_TRUE(refused(nested));
  EXPECT_TRUE(refused(nots + "1 }}"));
}

TEST(Jinja, what_refers_to_itself_is_freed) {
  EXPECT_EQ(render("{% set n = namespace(a=1) %}{% set n.me = [n] %}{{ n.a }}"), "1");
  EXPECT_EQ(render("{% for x in [1] %}{{ loop.changed(loop.changed) }}{% endfor %}"), "True");
  EXPECT_EQ(
      render("{% set n = namespace() %}{% for x in [1, 2] %}{% set n.c = loop.cycle %}{% endfor %}{{ n.c('a', 'b') }}"),
      "b");
}

}  // namespace
}  // namespace hearth::jinja
