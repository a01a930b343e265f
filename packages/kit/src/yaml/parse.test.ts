import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseYaml } from './parse.ts'

interface Case {
  readonly name: string
  readonly source: string
  readonly json: string
}

const cases: readonly Case[] = [
  { name: 'nothing is null', source: '', json: 'null' },
  { name: 'a comment alone is null', source: '# only this\n', json: 'null' },
  { name: 'null', source: '[~, null, Null, NULL, ]', json: '[null,null,null,null]' },
  { name: 'bools', source: '[true, False, TRUE]', json: '[true,false,true]' },
  { name: 'words of YAML 1.1 are text', source: '[yes, No, on, y]', json: '["yes","No","on","y"]' },
  { name: 'whole numbers', source: '[0, -1, +2, 007, 0o17, 0xFF]', json: '[0,-1,2,7,15,255]' },
  { name: 'fractions', source: '[1.5, .5, 5., -1e3, 1E-2]', json: '[1.5,0.5,5,-1000,0.01]' },
  {
    name: 'what only looks like a number is text',
    source: '[1_000, 1.2.3, 0b1, 12:30, +, -a]',
    json: '["1_000","1.2.3","0b1","12:30","+","-a"]',
  },
  { name: 'dates are text', source: '2020-01-02', json: '"2020-01-02"' },
  { name: 'quoted is text', source: `["1", 'true', "~"]`, json: '["1","true","~"]' },
  {
    name: 'a block mapping',
    source: 'a: 1\nb: two words\nc:\nd: "x"',
    json: '{"a":1,"b":"two words","c":null,"d":"x"}',
  },
  {
    name: 'nested blocks',
    source: 'a:\n  b:\n    - c\n    - d: 1\n      e: 2\n  f: g\n',
    json: '{"a":{"b":["c",{"d":1,"e":2}],"f":"g"}}',
  },
  {
    name: 'a sequence below a key need not be indented',
    source: 'a:\n- 1\n- 2\nb: 3',
    json: '{"a":[1,2],"b":3}',
  },
  { name: 'sequences on one line', source: '- - a\n  - b\n- - c', json: '[["a","b"],["c"]]' },
  { name: 'empty elements', source: '-\n- a\n-', json: '[null,"a",null]' },
  { name: 'an element below its dash', source: '-\n  a: 1\n-\n  - b', json: '[{"a":1},["b"]]' },
  {
    name: 'flow collections',
    source: '{a: [1, 2, ], b: {c: d}, e: , f}',
    json: '{"a":[1,2],"b":{"c":"d"},"e":null,"f":null}',
  },
  {
    name: 'flow collections over several lines with comments',
    source: 'a: [ # first\n  1,\n  2 # last\n]\nb: 3',
    json: '{"a":[1,2],"b":3}',
  },
  {
    name: 'JSON',
    source: '{"a":1,"b":[true,null],"c":{"d":"e\\n"}}',
    json: '{"a":1,"b":[true,null],"c":{"d":"e\\n"}}',
  },
  { name: 'JSON with a key and its colon on two lines', source: '{"a"\n: 1}', json: '{"a":1}' },
  { name: 'pairs in a sequence', source: '[a: 1, b]', json: '[{"a":1},"b"]' },
  { name: 'addresses are one text', source: 'a: http://x/y?z#w', json: '{"a":"http://x/y?z#w"}' },
  { name: 'a comment needs a blank before', source: 'a: b#c #d', json: '{"a":"b#c"}' },
  {
    name: 'keys are texts as written',
    source: '1: a\ntrue: b\n"x y": c',
    json: '{"1":"a","true":"b","x y":"c"}',
  },
  { name: 'explicit keys', source: '? a\n: 1\n? b\n', json: '{"a":1,"b":null}' },
  { name: 'an empty key', source: ': a', json: '{"":"a"}' },
  {
    name: 'plain text over several lines is folded',
    source: 'a: one\n  two\n\n  three\nb: 1',
    json: '{"a":"one two\\nthree","b":1}',
  },
  { name: 'single quotes', source: `'it''s "x" \\n'`, json: '"it\'s \\"x\\" \\\\n"' },
  { name: 'single quotes are folded', source: "'a  \n  b\n\n  c'", json: '"a b\\nc"' },
  {
    name: 'double quotes with escapes',
    source: String.raw`"\t\"\\\/\x41\u00e9\U0001F600\e\_\N"`,
    json: '"\\t\\"\\\\/Aé😀\\u001b\u00a0\u0085"',
  },
  {
    name: 'double quotes are folded, and joined by a backslash',
    source: '"a \n  b\\\n  c \\\n  \\ d\n\n e"',
    json: '"a bc  d\\ne"',
  },
  {
    name: 'a literal keeps its lines',
    source: 'a: |\n  x\n   y\n\n  z\n',
    json: '{"a":"x\\n y\\n\\nz\\n"}',
  },
  {
    name: 'a literal without its last line end',
    source: 'a: |-\n  x\n\nb: 1',
    json: '{"a":"x","b":1}',
  },
  {
    name: 'a literal with all of its line ends',
    source: 'a: |+\n  x\n\nb: 1',
    json: '{"a":"x\\n\\n","b":1}',
  },
  {
    name: 'a literal at the end of a text without line end',
    source: 'a: |\n  x',
    json: '{"a":"x"}',
  },
  {
    name: 'a literal with stated indentation',
    source: 'a: |2\n    x\n  y\n',
    json: '{"a":"  x\\ny\\n"}',
  },
  { name: 'an empty literal', source: 'a: |\nb: >-\n', json: '{"a":"","b":""}' },
  { name: 'a literal in a sequence', source: '- |\n x\n- >\n y\n z\n', json: '["x\\n","y z\\n"]' },
  {
    name: 'a literal with a comment on its first line',
    source: 'a: | # why\n  # text\n',
    json: '{"a":"# text\\n"}',
  },
  {
    name: 'a folded text joins lines, except around those further in',
    source: 'a: >\n  one\n  two\n\n  three\n    list\n  four\n\n\n',
    json: '{"a":"one two\\nthree\\n  list\\nfour\\n"}',
  },
  {
    name: 'anchors and aliases',
    source: 'a: &x [1]\nb: *x\nc: &y 2\nd: *y',
    json: '{"a":[1],"b":[1],"c":2,"d":2}',
  },
  { name: 'an anchor may be used again', source: '[&a 1, *a, &a 2, *a]', json: '[1,1,2,2]' },
  { name: 'an alias as a key', source: 'a: &x k\n*x : 1', json: '{"a":"k","k":1}' },
  {
    name: 'merge keys',
    source:
      'base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\na:\n  <<: *b\n  x: 0\nb:\n  <<: [*b, *m]\n',
    json: '{"base":{"x":1,"y":2},"more":{"y":3,"z":4},"a":{"x":0,"y":2},"b":{"x":1,"y":2,"z":4}}',
  },
  { name: 'a quoted merge key is a key', source: '"<<": 1', json: '{"<<":1}' },
  {
    name: 'tags',
    source: '[!!str 1, !!int "2", !!float 3, !!bool "true", !!null "", ! 5, !!seq [], !!map {}]',
    json: '["1",2,3,true,null,"5",[],{}]',
  },
  {
    name: 'a tag of binary data keeps its text',
    source: '!!binary |\n  SGk=\n  IQ==\n',
    json: '"SGk=IQ=="',
  },
  { name: 'a tag by its full name', source: '!<tag:yaml.org,2002:str> 1', json: '"1"' },
  { name: 'a tag by a handle', source: '%TAG !y! tag:yaml.org,2002:\n---\n!y!str 1', json: '"1"' },
  { name: 'a marked document', source: '%YAML 1.2\n---\na: 1\n...\n', json: '{"a":1}' },
  { name: 'text after the mark', source: '--- a\n', json: '"a"' },
  {
    name: 'other line ends',
    source: 'a: 1\r\nb: |\r\n  x\r\n  y\r\nc: 2\r',
    json: '{"a":1,"b":"x\\ny\\n","c":2}',
  },
  { name: 'a byte order mark', source: '\uFEFFa: 1', json: '{"a":1}' },
  { name: 'tabs separate', source: 'a:\t1\nb: [\t2,\t3]', json: '{"a":1,"b":[2,3]}' },
  { name: 'every name is an own property', source: '__proto__: 1', json: '{"__proto__":1}' },
  {
    name: 'signs inside a plain text',
    source: 'a: b - c ? d, [e] {f}',
    json: '{"a":"b - c ? d, [e] {f}"}',
  },
  {
    name: 'a dash is text inside a flow collection',
    source: '[-1, -a, a-b]',
    json: '[-1,"-a","a-b"]',
  },
]

for (const { name, source, json } of cases)
  test(`parseYaml: ${name}`, () => {
    const result = parseYaml(source)
    assert.ok(result.ok, result.ok ? '' : result.error)
    assert.equal(JSON.stringify(result.value), json)
  })

test('parseYaml: integers beyond doubles are exact', () => {
  assert.deepEqual(parseYaml('12345678901234567890'), { ok: true, value: 12345678901234567890n })
})

const refused: readonly (readonly [source: string, problem: string])[] = [
  ['a: b: c', 'line 1, column 4: Nested mappings are not allowed in compact mappings'],
  ['a: 1\n b: 2', 'line 1, column 4: Nested mappings are not allowed in compact mappings'],
  ['a:\n  - 1\n b: 2', 'line 3'],
  ['a: 1\nb', 'line 2, column 1: Implicit map keys need to be followed by map values'],
  ['a: 1\na: 2', 'line 2, column 1: the key "a" is there twice'],
  ['{a: 1, a: 2}', 'the key "a" is there twice'],
  ['[1, 2', 'line 1, column 6: Flow sequence must end with a ]'],
  ['{a: 1', 'line 1, column 6: Flow map must end with a }'],
  ['[1}', 'line 1, column 3: Flow sequence must end with a ]'],
  ['[1 2: 3, , 4]', 'line 1, column 10: Unexpected , in flow'],
  ['[{a: 1} b]', 'line 1, column 9: Unexpected scalar at node end'],
  ['{a: 1 [b]}', 'line 1, column 10: Unexpected flow-map-end token in YAML stream'],
  ['"abc', 'line 1, column 5: Missing closing "quote'],
  ["a: 'b\n---\n", "line 3, column 1: Missing closing 'quote"],
  ['"\\q"', 'line 1, column 2: Invalid escape sequence \\q'],
  ['"\\x4"', 'line 1, column 2: Invalid escape sequence \\x4"'],
  ['"\\U00110000"', 'line 1, column 2: Invalid escape sequence \\U00110000'],
  ['- a\n b: 1', 'line 1, column 3: Implicit keys need to be on a single line'],
  ['a: - b', 'line 1, column 4: Unexpected block-seq-ind on same line with key'],
  ['[- a]', 'line 1, column 2: Implicit keys of flow sequence pairs need to be on a single line'],
  ['\ta: 1', 'line 1, column 1: Tabs are not allowed as indentation'],
  ['a:\n\tb: 1', 'line 2, column 1: Tabs are not allowed as indentation'],
  ['a: |\n\tx', 'line 2, column 1: Block scalar values in collections must be indented'],
  ['a: |x\n  b', 'line 1, column 5: Block scalar header includes extra characters: |x'],
  ['a: |0\n  b', 'line 1, column 5: Block scalar header includes extra characters: |0'],
  [
    'a: |\n    \n  b',
    'line 3, column 3: Block scalars with more-indented leading empty lines must use an explicit indentation indicator',
  ],
  ['*x', 'there is no anchor named "x"'],
  ['&x [*x]', 'a value cannot contain itself'],
  ['&x &y a', 'line 1, column 4: A node can have at most one anchor'],
  ['!!str !!int 1', 'line 1, column 7: A node can have at most one tag'],
  ['& a', 'line 1, column 1: Anchor cannot be an empty string'],
  ['a: &x *x', 'line 1, column 7: An alias node must not specify any properties'],
  ['!!int x', '"x" is not a value of "!!int"'],
  ['!custom x', 'the tag "!custom" is not known'],
  ['!!set {a}', 'a mapping cannot be "!!set"'],
  ['!h!x a', 'line 1, column 1: Could not resolve tag: !h!x'],
  ['%YAML 2.0\n---\na', 'line 1, column 7: Unsupported YAML version 2.0'],
  ['%YAML\n---\na', 'line 1, column 1: %YAML directive should contain exactly one part'],
  ['[1]: a', 'a key must be text, not a collection'],
  ['? [1]\n: a', 'a key must be text, not a collection'],
  ['<<: 1', '"<<" needs a mapping or a sequence of mappings'],
  ['a\n---\nb', 'there is more than one document'],
  ['a: 1\n...\nb: 2', 'line 3, column 1: there is more than one document'],
  ['.inf', '.inf is not a finite number'],
  ['a: .NaN', 'line 1, column 4: .NaN is not a finite number'],
  ['1e999', 'is out of range'],
  ['@a', 'line 1, column 1: Plain value cannot start with reserved character @'],
  ['`a', 'line 1, column 1: Plain value cannot start with reserved character `'],
  ['a: %b', 'line 1, column 4: Plain value cannot start with directive indicator character %'],
  ['a\0b', 'line 1, column 2: a control character must be escaped'],
  [
    '"a"# no comment',
    'line 1, column 4: Comments must be separated from other tokens by white space characters',
  ],
]

for (const [source, problem] of refused)
  test(`parseYaml rejects ${JSON.stringify(source)}`, () => {
    const result = parseYaml(source)
    assert.ok(!result.ok, JSON.stringify(result))
    assert.ok(result.error.includes(problem), result.error)
  })
