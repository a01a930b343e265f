import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRego, toJson, type JsonValue } from '../index.ts'
import { BUILTINS } from './registry.ts'

const ZONES: Readonly<Record<string, number>> = {
  'Asia/Kolkata': 5.5,
  'America/Los_Angeles': -8,
}

function offsetAt(zone: string): number {
  const hours = ZONES[zone]
  if (hours === undefined) throw new RangeError(zone)
  return hours * 3_600_000
}

/** The value of an expression, `undefined`, or the message of the builtin that failed. */
function evaluate(expression: string): JsonValue | { readonly fails: string } {
  const compiled = compileRego({ modules: [], version: 1 })
  assert.ok(compiled.ok)
  const query = compiled.value.prepareQuery(`x = ${expression}`)
  assert.ok(query.ok, query.ok ? '' : query.error.message)
  const result = query.value.evaluate({
    strictBuiltinErrors: true,
    nowNs: 1_700_000_000_000_000_000n,
    random: () => 0.5,
    zoneOffset: offsetAt,
  })
  if (!result.ok) return { fails: result.error.message }
  const value = result.value[0]?.get('x')
  return value === undefined ? undefined : toJson(value)
}

function table(name: string, rows: readonly (readonly [expression: string, wanted: unknown])[]) {
  for (const [expression, wanted] of rows)
    test(`${name}: ${expression}`, () => assert.deepEqual(evaluate(expression), wanted))
}

function failing(rows: readonly (readonly [expression: string, message: string])[]) {
  for (const [expression, message] of rows)
    test(`fails: ${expression}`, () => {
      const result = evaluate(expression)
      assert.ok(typeof result === 'object' && result !== null && 'fails' in result)
      const text = typeof result.fails === 'string' ? result.fails : ''
      assert.ok(text.includes(message), text)
    })
}

test('every builtin has a name of its own', () => {
  for (const [name, builtin] of BUILTINS) assert.equal(builtin.name, name)
  assert.ok(BUILTINS.size > 180)
})

table('numbers', [
  ['numbers.range(3, 1)', [3, 2, 1]],
  ['numbers.range_step(0, 10, 5)', [0, 5, 10]],
  ['rand.intn("a", 10)', 5],
  ['product([0.1, 0.1]) == 0.01', true],
  ['product({0.5, 9007199254740993})', 4503599627370496],
  ['product([1.1, 1.1, 1.1])', 1.3310000000000002],
  ['product([9007199254740993, 3])', 27021597764222979n],
  ['product([])', 1],
  ['bits.and(12, 10)', 8],
  ['bits.lsh(1, 70)', 2n ** 70n],
  ['bits.negate(0)', -1],
  ['bits.rsh(-8, 1)', -4],
  ['format_int(-15.9, 16)', '-f'],
  ['to_number("1e3")', 1000],
  ['to_number(null)', 0],
])

table('collections', [
  ['array.concat([1], [2])', [1, 2]],
  ['array.slice([0, 1, 2, 3], -5, 2)', [0, 1]],
  ['array.slice([0, 1], 2, 1)', []],
  ['array.flatten([[1], 2, [[3]]])', [1, 2, [3]]],
  ['object.get({"a": [{"b": 1}]}, ["a", 0, "b"], 9)', 1],
  ['object.get({"a": 1}, ["a", "b"], 9)', 9],
  ['object.union({"a": {"b": 1}}, {"a": {"c": 2}})', { a: { b: 1, c: 2 } }],
  ['object.union_n([{"a": {"b": 1}}, {"a": 4}, {"a": {"c": 3}}])', { a: { c: 3 } }],
  ['object.subset({"a": [1, 2, 3]}, {"a": [2, 3]})', true],
  ['object.subset([1, 1, 1, 2], [1, 1, 2])', true],
  ['object.subset([1, 2], {2})', true],
  ['object.filter({"a": 1, "b": 2}, {"b"})', { b: 2 }],
  ['json.filter({"a": {"b": 1, "c": 2}}, ["a/b"])', { a: { b: 1 } }],
  ['json.remove({"a": [0, 1, 2]}, ["a/0", "a/2"])', { a: [1] }],
  ['json.patch({"a": [1]}, [{"op": "add", "path": "a/-", "value": 2}])', { a: [1, 2] }],
  ['json.patch({"a": {1, 2}}, [{"op": "remove", "path": ["a", 1]}])', { a: [2] }],
  ['json.patch({"a": 1}, [{"op": "move", "from": "a", "path": "b"}])', { b: 1 }],
  ['graph.reachable({"a": ["b"], "b": ["a"], "c": []}, ["a"])', ['a', 'b']],
  [
    'graph.reachable_paths({"a": ["b"], "b": ["a", "c"], "c": []}, ["a"])',
    [
      ['a', 'b'],
      ['a', 'b', 'c'],
    ],
  ],
])

table('strings', [
  ['concat(",", {"b", "a"})', 'a,b'],
  ['indexof("héllo", "l")', 2],
  ['indexof_n("aaa", "aa")', [0, 1]],
  ['substring("😀bc", 1, 5)', 'bc'],
  ['substring("abc", 1, -1)', 'bc'],
  ['split("a😀", "")', ['a', '😀']],
  ['strings.split_n("a,b,c", ",", -2)', ['b', 'c']],
  ['strings.reverse("a😀")', '😀a'],
  ['strings.count("aaa", "aa")', 1],
  ['strings.replace_n({"a": "b", "b": "a"}, "ab")', 'ba'],
  ['replace("aXbX", "X", "")', 'ab'],
  ['replace("ab", "", "-")', '-a-b-'],
  ['trim("¡¡a¡", "¡")', 'a'],
  ['trim_space("\\t a\\u0085")', 'a'],
  ['trim_suffix("abab", "ab")', 'ab'],
  ['upper("straße")', 'STRAßE'],
  ['lower("İI")', 'ii'],
  ['strings.any_prefix_match(["ab", "cd"], {"c", "x"})', true],
  ['strings.any_suffix_match("abc", ["b", "bc"])', true],
  [
    'strings.render_template("{{range $i, $x := .a}}{{if $i}}, {{end}}{{$x}}{{end}}", {"a": [1, 2]})',
    '1, 2',
  ],
  [
    'strings.render_template("{{ .a.b }} {{- /* c */}}{{if and .x (eq .y `1`)}}y{{else if .z}}z{{else}}n{{end}}", {"z": 1})',
    '<undefined>z',
  ],
  ['strings.render_template("{{len .a | printf `%03d`}}", {"a": [1]})', '001'],
  [
    'strings.render_template("{{define `t`}}<{{.}}>{{end}}{{template `t` .a}}", {"a": {2, 1}})',
    '<[1 2]>',
  ],
  [
    'strings.render_template("{{.a}} {{.b}} {{.c}}", {"a": 1e30, "b": 1.50, "c": {"x": null}})',
    '1000000000000000000000000000000 1.5 map[x:<nil>]',
  ],
])

table('encoding', [
  ['json.marshal({"b": {1, 2}, "a": "<"})', '{"a":"\\u003c","b":[1,2]}'],
  ['json.marshal({{"a"}: 1, [{2, 1}]: 2})', '{"[\\"a\\"]":1,"[[1,2]]":2}'],
  ['json.marshal_with_options([1], {"indent": " "})', '[\n 1\n]'],
  ['json.unmarshal(`"\\ud800x\\ud83d\\ude00\\\\ud800"`)', '\ufffdx😀\\ud800'],
  ['json.unmarshal(`{"\\udc00\\ud800": 1}`)', { '\ufffd\ufffd': 1 }],
  ['json.unmarshal("[1e400, 12345678901234567890]")[1]', 12345678901234567890n],
  ['json.is_valid("{")', false],
  ['yaml.unmarshal("a: [1, {b: c}]")', { a: [1, { b: 'c' }] }],
  ['yaml.unmarshal(yaml.marshal({"a": ["b"]}))', { a: ['b'] }],
  ['base64.decode("aMOp")', 'hé'],
  ['base64url.decode("_-8")', '\ufffd\ufffd'],
  ['base64url.encode_no_pad("a?~")', 'YT9-'],
  ['hex.decode("68c3a9")', 'hé'],
  ['urlquery.encode_object({"a": ["b c", "&"]})', 'a=b+c&a=%26'],
  ['urlquery.decode_object("a=1&a=2&b")', { a: ['1', '2'], b: [''] }],
  [
    'uri.parse("https://u:p@h.example:80/a%2Fb?q=1#f")',
    {
      scheme: 'https',
      hostname: 'h.example',
      port: '80',
      path: '/a/b',
      raw_path: '/a%2Fb',
      raw_query: 'q=1',
      fragment: 'f',
    },
  ],
  ['uri.parse("//[::1]:8/")', { hostname: '::1', port: '8', path: '/', raw_path: '/' }],
])

table('patterns', [
  ['regex.find_n("a*", "baaab", -1)', ['', 'aaa', '']],
  ['regex.split("-", "-a-b-")', ['', 'a', 'b', '']],
  ['regex.replace("John Smith", `(?P<f>\\w+) (\\w+)`, "$2 ${f}!")', 'Smith John!'],
  [
    'regex.find_all_string_submatch_n("a(x*)b", "-axxb-ab-", -1)',
    [
      ['axxb', 'xx'],
      ['ab', ''],
    ],
  ],
  ['regex.is_valid("(?=a)")', false],
  ['regex.template_match("urn:{.*}:b", "urn:x:b", "{", "}")', true],
  ['regex.globs_match("a.a.[0-9]+z", ".b.b2359825792*594823z")', true],
  ['regex.globs_match("a*", "b*")', false],
  ['regex.globs_match("a*", "b*a*")', true],
  ['regex.globs_match("a*", "")', false],
  ['regex.globs_match("", "")', true],
  ['glob.match("*.{a,b}.[!c]", [], "x.b.d")', true],
  ['glob.match("}{a}}", [], "}a}")', true],
  ['glob.match("*", [], "a.b")', false],
  ['glob.match("**", [], "a.b")', true],
  ['glob.match("*", null, "a.b")', true],
  ['glob.match("a:?", [":"], "a::")', false],
  ['glob.quote_meta("*.{a}")', '\\*.\\{a\\}'],
])

table('time', [
  [
    'time.format([1670006453141828752, "Asia/Kolkata", "RFC1123Z"])',
    'Sat, 03 Dec 2022 00:10:53 +0530',
  ],
  ['time.format(0)', '1970-01-01T00:00:00Z'],
  ['time.format([1, "UTC", "Jan _2 3:04PM .000000000 MST"])', 'Jan  1 12:00AM .000000001 UTC'],
  ['time.parse_ns("2006-01-02 15:04", "2020-02-29 13:05")', 1582981500000000000n],
  ['time.parse_rfc3339_ns("2020-01-01T00:00:00.5+01:00")', 1577833200500000000n],
  ['time.parse_duration_ns("1d2h3.5ms")', 93600003500000],
  ['time.date([1517814000000000000, "America/Los_Angeles"])', [2018, 2, 4]],
  ['time.weekday(0)', 'Thursday'],
  ['time.add_date(1582977600000000000, 1, 0, 0)', 1614600000000000000n],
  ['time.diff(1582977600000000000, 0)', [50, 1, 28, 12, 0, 0]],
])

table('network and versions', [
  ['net.cidr_contains("10.0.0.0/8", "10.1.0.0/16")', true],
  ['net.cidr_contains("::/0", "10.0.0.1")', false],
  ['net.cidr_contains("::ffff:10.0.0.0/104", "10.1.1.1")', true],
  ['net.cidr_contains("10.0.0.0/8", "::ffff:10.1.0.0/112")', true],
  ['net.cidr_contains("::/0", "::ffff:10.1.1.1")', false],
  ['net.cidr_intersects("10.1.0.0/16", "::ffff:10.0.0.0/104")', true],
  ['net.cidr_expand("::ffff:10.0.0.0/127")', ['10.0.0.0', '10.0.0.1']],
  ['net.cidr_merge(["::ffff:10.0.0.1"])', ['10.0.0.1/8']],
  ['net.cidr_is_valid("10.0.0.0/0008")', true],
  ['net.cidr_is_valid("10.0.0.0/033")', false],
  ['net.cidr_intersects("10.0.0.0/8", "10.1.2.0/24")', true],
  ['net.cidr_expand("10.0.0.0/30")', ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3']],
  ['net.cidr_merge(["10.0.0.0/25", "10.0.0.128/25", "10.0.1.0/24"])', ['10.0.0.0/23']],
  ['net.cidr_is_valid("10.00.0.0/8")', false],
  ['net.cidr_contains_matches({"a": "10.0.0.0/8"}, ["10.1.1.1"])', [['a', 0]]],
  ['semver.compare("1.0.0-rc.1", "1.0.0")', -1],
  ['semver.compare("1.0.0-rc.10", "v1.0.0-rc.9")', 1],
  ['units.parse("1.5Ki")', 1536],
  ['units.parse("100m")', 0.1],
  ['units.parse_bytes("1GiB")', 1073741824],
  ['uuid.parse("{00000000-0000-4000-8000-000000000000}").version', 4],
])

failing([
  ['numbers.range(1, 1.5)', 'operand 2 must be integer number but got floating-point number'],
  ['numbers.range_step(1, 2, 0)', 'step must be a positive integer'],
  ['format_int(1, 3)', 'operand 2 must be one of {2, 8, 10, 16}'],
  ['substring("a", -1, 1)', 'negative offset'],
  ['concat(",", [1])', 'operand 2 must be array of strings but got array containing number'],
  [
    'strings.any_prefix_match([json.unmarshal("1")], "a")',
    'operand 1 must be array of strings but got array containing number',
  ],
  ['json.unmarshal("{")', 'json.unmarshal'],
  ['json.patch([], [{"op": "remove", "path": "3"}])', 'json.patch'],
  ['hex.decode("6g")', "invalid byte: U+0067 'g'"],
  ['base64.decode("a*")', 'illegal base64 data at input byte 1'],
  ['regex.match("(", "a")', 'regex.match'],
  ['glob.match("{a", [], "a")', 'glob.match'],
  ['time.format([0, "Mars/Base"])', 'unknown time zone Mars/Base'],
  ['time.format(9223372036854775808)', 'timestamp too big'],
  ['time.parse_ns("2006-01-02", "2021-02-29")', 'time.parse_ns'],
  ['net.cidr_expand("10.0.0.0/33")', 'invalid CIDR address: 10.0.0.0/33'],
  ['units.parse("a")', 'no amount provided'],
  ['http.send({"method": "get", "url": "http://127.0.0.1"})', 'policies have no network'],
  ['http.send({"method": "get"})', 'missing required request parameters(s): {"url"}'],
  ['strings.render_template("{{if}}", {})', 'template: line 1: missing value for command'],
])

table('what needs the network and can do without', [
  ['net.lookup_ip_addr("127.0.0.1")', ['127.0.0.1']],
  [
    'http.send({"method": "get", "url": "http://127.0.0.1", "raise_error": false})',
    {
      status_code: 0,
      error: { code: 'eval_http_send_network_error', message: 'policies have no network' },
    },
  ],
])

test('what needs the network ends with an error also where builtins are not strict', () => {
  const calls = ['http.send({"method": "get", "url": "http://a"})', 'net.lookup_ip_addr("a")']
  for (const call of calls) {
    const compiled = compileRego({
      modules: [{ file: 'p.rego', text: `package p\n\ndeny contains "x" if ${call}.a == 1\n` }],
      version: 1,
    })
    assert.ok(compiled.ok)
    const query = compiled.value.prepareQuery('x = data.p.deny')
    assert.ok(query.ok)
    const asked = query.value.evaluate({})
    assert.ok(!asked.ok)
    const { code, message, location } = asked.error
    assert.equal(code, 'eval_builtin_error')
    assert.match(message, /^(http\.send|net\.lookup_ip_addr): policies have no network$/)
    assert.equal(location?.row, 3)
  }
})

// Each would take years or all memory if it were not paid for beforehand.
const HOSTILE = [
  'numbers.range(0, 1000000000000000)',
  'net.cidr_expand("::/0")',
  'count([x | some i in numbers.range(1, 9000); x := sprintf("%1000000d", [i])])',
  'json.unmarshal(concat("", [x | some i in numbers.range(1, 200000); x := "["]))',
  'regex.match(concat("", [x | some i in numbers.range(1, 9000); x := "(a|"]), "a")',
  'count([x | some i in numbers.range(1, 100000); x := regex.match("(a*)*b", concat("", [y | some j in numbers.range(1, 1000); y := "a"]))])',
  'bits.lsh(1, 1000000000000)',
  'json.unmarshal(sprintf("[%s0]", [concat("", [y | some j in numbers.range(1, 300000); y := "{},"])]))',
  'graph.reachable_paths({x: ys | some x in numbers.range(1, 40); ys := numbers.range(1, 40)}, [1])',
]

for (const expression of HOSTILE)
  test(`stops: ${expression}`, () => {
    const result = evaluate(expression)
    assert.ok(typeof result === 'object' && result !== null && 'fails' in result)
  })

table('schemas', [
  [
    'json.match_schema({"a": 1}, {"required": ["b"], "additionalProperties": false})',
    [
      false,
      [
        {
          field: '(Root)',
          type: 'required',
          desc: 'b is required',
          error: '(Root): b is required',
        },
        {
          field: '(Root)',
          type: 'additional_property_not_allowed',
          desc: 'Additional property a is not allowed',
          error: '(Root): Additional property a is not allowed',
        },
      ],
    ],
  ],
  [
    'json.match_schema({"a": [1, "x"]}, {"properties": {"a": {"items": {"$ref": "#/definitions/n"}}}, "definitions": {"n": {"type": "number", "minimum": 2}}})[1][_].field',
    'a.0',
  ],
  [
    'json.match_schema({"a": "ab"}, {"properties": {"a": {"pattern": "^a", "maxLength": 1}}})[1][0].type',
    'string_lte',
  ],
  [
    'json.match_schema({"a": 3}, {"properties": {"a": {"oneOf": [{"multipleOf": 3}, {"minimum": 1}]}}})[1][0].type',
    'number_one_of',
  ],
  [
    'json.match_schema({"a": 3}, {"if": {"required": ["a"]}, "then": {"required": ["b"]}})[0]',
    false,
  ],
  ['json.match_schema({"a": 1}, {"not": {"required": ["a"]}})[1][0].type', 'number_not'],
  [
    'json.match_schema({"a": "2020-02-30"}, {"properties": {"a": {"format": "date"}}})[1][0].type',
    'format',
  ],
  ['json.verify_schema({"minLength": -1})[0]', false],
  ['json.verify_schema({"properties": {"a": {"$ref": "#/nowhere"}}})[0]', false],
])

table('modules', [
  [
    'rego.parse_module("x.rego", "package a.b\\np if { some x in input; not q[x] with data.c as 1 }").package.path[2].value',
    'b',
  ],
  ['rego.parse_module("x.rego", "package a\\np if { not q[1] }").rules[0].body[0].negated', true],
  ['rego.parse_module("x.rego", "package a\\np contains 1").rules[0].head.name', 'p'],
  [
    'rego.parse_module("x.rego", "package a\\np.q := 1").rules[0].head.ref',
    [
      { type: 'var', value: 'p' },
      { type: 'string', value: 'q' },
    ],
  ],
  [
    'rego.parse_module("x.rego", "package a\\np[x] { x := 1 }").rules[0].body[0].terms[0].value[0].value',
    'assign',
  ],
])
failing([['rego.parse_module("x.rego", "package")', 'x.rego:1: rego_parse_error']])
