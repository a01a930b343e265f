import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { compilePolicy } from '../evaluate/policy.ts'
import { STANDARD_IMPORTS, standardImport } from './standard.ts'

const SETTINGS = {
  version: '1.2.3',
  time: {
    nowNs: 1_700_000_000_123_456_789n, // 2023-11-14T22:13:20Z, a Tuesday
    zone: 'UTC',
    offsetSeconds: () => 0,
  },
}

function check(imports: string, condition: string): void {
  const text = `${imports}\nmain = ${condition}`
  const compiled = compilePolicy(
    { file: 'p.native', text },
    { isImport: (path) => STANDARD_IMPORTS.has(path) },
  )
  assert.ok(compiled.ok, compiled.ok ? '' : JSON.stringify(compiled.error))
  const evaluation = compiled.value.evaluate({
    importValue: (path) => standardImport(path, SETTINGS),
  })
  assert.equal(evaluation.result, 'pass', evaluation.error?.message)
}

const CASES: Readonly<Record<string, readonly string[]>> = {
  'import "base64"': [
    'base64.encode("hi?") is "aGk/"',
    'base64.decode("aGk/") is "hi?"',
    'base64.urlencode("hi?") is "aGk_"',
    'base64.urldecode("aGk_") is "hi?"',
    'base64.decode(base64.encode("\\xff\\x00")) is "\\xff\\x00"',
  ],
  'import "json"': [
    'json.marshal({"b": [1, 2.5, null], "a": "x"}) is `{"a":"x","b":[1,2.5,null]}`',
    'json.unmarshal(`{"a": [1, {"b": true}]}`).a[1].b',
    'json.marshal({"a": undefined}) is "{}"',
    'json.marshal(undefined) is not defined',
    'json.valid("[1]") and not json.valid("[")',
  ],
  'import "runtime"': ['runtime.version is "1.2.3"'],
  'import "sockaddr"': [
    'sockaddr.is_contained("10.0.0.0/8", "10.1.2.3")',
    'not sockaddr.is_contained("10.1.0.0/16", "10.0.0.0/8")',
    'sockaddr.is_equal("10.0.0.1", "10.0.0.1/32")',
    'sockaddr.is_ipv4("1.2.3.4") and not sockaddr.is_ipv4("::1")',
    'sockaddr.is_ipv6("fe80::1/64") and not sockaddr.is_ipv6("x")',
  ],
  'import "strings"': [
    'strings.has_prefix("abc", "ab") and strings.has_suffix("abc", "bc")',
    'strings.join(["a", ["b", 1], true], "-") is "a-b-1-true"',
    'strings.join([2.0, 1.5, float(3)], " ") is "2 1.5 3"',
    'strings.replace("aaa", "a", "b", 2) is "bba" and strings.replace("aaa", "a", "b") is "bbb"',
    'strings.split("a,b", ",") is ["a", "b"] and strings.split("añ", "") is ["a", "ñ"]',
    'strings.split(["x"], ",") is ["x"]',
    'strings.to_upper("ab") is "AB" and strings.to_lower("AB") is "ab"',
    'strings.trim("xxaxx", "x") is "a" and strings.trim_left("xa", "x") is "a"',
    'strings.trim_right("ax", "x") is "a" and strings.trim_space(" a ") is "a"',
    'strings.trim_prefix("abc", "a") is "bc" and strings.trim_suffix("abc", "c") is "ab"',
    'strings.has_prefix(undefined, "a") is not defined',
  ],
  'import "types"': [
    'types.type_of(1) is "int" and types.type_of(1.0) is "float" and types.type_of("") is "string"',
    'types.type_of(null) is "null" and types.type_of(undefined) is "undefined"',
    'types.type_of([]) is "list" and types.type_of({}) is "map" and types.type_of(true) is "bool"',
    'types.type_of(func() { return 1 }) is "func"',
  ],
  'import "units"': ['units.kilobyte is 1024 and units.petabyte is 1125899906842624'],
  'import "version"': [
    'version.new("1.2.3").minor is 2 and version.new("1.2.3-rc1+b").prerelease is "rc1"',
    'version.new("1.10.0").greater_than("1.9.9") and version.new("1.0.0").lt("1.0.1")',
    'version.new("1.0.0").compare("2.0.0") is -1 and version.new("1.0").eq("1.0.0")',
    'version.new("1.2.9").satisfies("~> 1.2.3") and not version.new("1.3.0").satisfies("~> 1.2.3")',
    'version.new("1.9.0").satisfies("~> 1.2, != 1.8.0") and not version.new("2.0").sat("~> 1.2")',
    'not version.new("1.3.0-beta").satisfies(">= 1.2.0")',
    'version.new("1.3.0-beta").satisfies(">= 1.3.0-alpha")',
  ],
  'import "collection"': [
    'collection.filter([1, 2, 3], func(v) { return v > 1 }) is [2, 3]',
    'collection.filter({"a": 1, "b": 2}, func(v, k) { return k is "b" }) is [2]',
    'collection.reject([1, 2, 3], func(v) { return v > 1 }) is [1]',
    'collection.find([1, 2], func(v) { return v is 2 }) is 2',
    'collection.find([], func(v) { return true }) is not defined',
    'collection.matches([{"a": 1, "b": 2}, {"a": 2}], {"a": 1}) is [{"a": 1, "b": 2}]',
    'collection.reduce([1, 2, 3], func(sum, v) { return sum + v }) is 6',
    'collection.reduce([1, 2], func(sum, v) { return sum + v }, 10) is 13',
  ],
  'import "collection/lists" as lists': [
    'lists.concat([1], [2], [1]) is [1, 2, 1]',
    'lists.difference([1, 2, 2, 3], [3]) is [1, 2]',
    'lists.intersection([1, 2, 3], [2, 3], [3, 4]) is [3]',
    'lists.union([1, 2], [2, [3]], [[3]]) is [1, 2, [3]]',
    'lists.sort([3, 1, 2], func(a, b) { return compare(a, b) }) is [1, 2, 3]',
    'lists.sum([1, 2.5]) is 3.5',
  ],
  'import "collection/maps" as maps': [
    'maps.get({"a": [{"b": 1}, {"b": 2}]}, "a.*.b") is [1, 2]',
    'maps.get({"a": [{"b": 1}]}, "a.0.b") is 1 and maps.get({}, "x", 5) is 5',
    'maps.get({}, "x") is not defined and maps.has({"a": {"b": 1}}, "a.b")',
    'maps.set({"a": 1}, "b.c", 2) is {"a": 1, "b": {"c": 2}}',
    'maps.unset({"a": 1, "b": 2}, "a") is {"b": 2}',
    'maps.omit({"a": 1, "b": {"c": 2, "d": 3}}, ["a", "b.c"]) is {"b": {"d": 3}}',
    'maps.pick({"a": 1, "b": {"c": 2, "d": 3}}, ["b.c"]) is {"b": {"c": 2}}',
  ],
  'import "decimal"': [
    'decimal.new("0.1").add("0.2").is("0.3")',
    'decimal.new(10).divide(4).string is "2.5" and decimal.new(7).mod(3).int is 1',
    'decimal.new("1.5").coefficient is "15" and decimal.new("1.5").exponent is -1',
    'decimal.new(2).power(10).int is 1024 and decimal.new(2).sqrt().greater_than("1.41")',
    'decimal.new(-3).abs().is(3) and decimal.new("2.7").floor().is(2)',
    'decimal.is_nan(decimal.nan) and decimal.is_inf(decimal.inf(-1))',
    'decimal.new("1.9").int is 1 and decimal.new(-1).sign is -1',
    'decimal.new("9223372036854775807").int is 9223372036854775807',
    '(decimal.new("9223372036854775808").int else "none") is "none"',
    '(decimal.inf(1).int else decimal.new("-1e30").int else "none") is "none"',
  ],
  'import "time"': [
    'time.now.year is 2023 and time.now.month is 11 and time.now.day is 14',
    'time.now.hour is 22 and time.now.minute is 13 and time.now.second is 20',
    'time.now.weekday is 2 and time.now.weekday_name is "Tuesday"',
    'time.now.month_name is "November" and time.now.unix is 1700000000',
    'time.now.unix_nano is 1700000000123456789',
    'time.load("2020-01-02T03:04:05+01:00").unix is 1577930645',
    'time.load(0).year is 1970 and time.load(0).before(time.now) and time.now.after(0)',
    'time.load(0).add(time.hour).hour is 1 and time.load(60).sub(0) is time.minute',
    'time.load("2020-01-01T00:00:00Z").equal("2020-01-01T01:00:00+01:00")',
  ],
}

for (const [imports, conditions] of Object.entries(CASES))
  describe(imports, () => {
    for (const condition of conditions) it(condition, () => check(imports, condition))
  })

test('import json: a text of too many objects is rejected before it is parsed', () => {
  const text = `import "json"
many = func() {
  s = "{},"
  for [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19] as i { s = s + s }
  return json.unmarshal("[" + s + "0]")
}
main = rule { length(many()) > 0 }`
  const compiled = compilePolicy(
    { file: 'p.native', text },
    { isImport: (path) => STANDARD_IMPORTS.has(path) },
  )
  assert.ok(compiled.ok, compiled.ok ? '' : JSON.stringify(compiled.error))
  const evaluation = compiled.value.evaluate({
    importValue: (path) => standardImport(path, SETTINGS),
  })
  assert.match(evaluation.error?.message ?? '', /the JSON has too many values/)
})
