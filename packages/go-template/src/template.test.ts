import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { GO_FUNCTIONS } from './go-functions.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import { parseTemplate } from './parse.ts'
import { HELPER_FUNCTIONS, timeFunctions } from './library-functions.ts'
import { renderTemplate } from './render.ts'
import { TemplateError } from './template-error.ts'
import { fromPlain, StructValue, type Value } from './value.ts'

const functions = new Map([
  ...GO_FUNCTIONS,
  ...HELPER_FUNCTIONS,
  ...timeFunctions(Date.parse('2026-01-02T03:04:05.678Z')),
])

const DATA = fromPlain({
  name: 'abc',
  empty: '',
  zero: 0,
  inner: { deep: 'd', also: 1 },
  list: ['a', 'b', 'c', 'd', 'e'],
  none: [],
  maps: [{ a: 'ma' }],
  nested: [['n1'], ['n2', 'n3']],
  float: 2.5,
  big: 123456789,
})

interface Settings {
  readonly data?: Value
  readonly left?: string
  readonly right?: string
  readonly failsOnMissingKey?: boolean
}

function render(source: string, settings: Settings = {}): string {
  const { data = DATA, left = '{{', right = '}}', failsOnMissingKey = false } = settings
  const tree = parseTemplate(source, { left, right, functions })
  return renderTemplate(tree, { data, functions, failsOnMissingKey })
}

// Output of the Go implementation for the same data.
const rendered = [
  { name: 'plain text', source: 'hello', wanted: 'hello' },
  {
    name: 'an action prints its value',
    source: 'a{{ 1 }}b{{ "x" }}{{ true }}{{ 1.5 }}{{ 1000000.0 }}{{ \'a\' }}',
    wanted: 'a1bxtrue1.51e+0697',
  },
  { name: 'trim markers swallow blanks', source: 'a \n {{- " b " -}} \n c', wanted: 'a b c' },
  { name: 'a minus without a blank is a number', source: '{{ -3 }}{{-3}}', wanted: '-3-3' },
  { name: 'comments vanish', source: 'a{{/* no */}}b {{- /* no */ -}} c', wanted: 'abc' },
  {
    name: 'fields of maps',
    source: '{{ .name }} {{ .inner.deep }} {{ .list }} {{ .inner }}',
    wanted: 'abc d [a b c d e] map[also:1 deep:d]',
  },
  {
    name: 'a missing key',
    source: '{{ .nothing }} {{ .nothing.more }}',
    wanted: '<no value> <no value>',
  },
  {
    name: 'if and else',
    source:
      '{{ if .name }}yes{{ else }}no{{ end }}{{ if .empty }}yes{{ else if .zero }}zero{{ else }}no{{ end }}',
    wanted: 'yesno',
  },
  {
    name: 'with moves the dot',
    source:
      '{{ with .inner }}{{ .deep }}{{ $.name }}{{ end }}{{ with .empty }}x{{ else }}none{{ end }}',
    wanted: 'dabcnone',
  },
  {
    name: 'range over a list',
    source:
      '{{ range .list }}<{{ . }}>{{ end }}{{ range $i, $e := .list }}{{ $i }}={{ $e }};{{ end }}',
    wanted: '<a><b><c><d><e>0=a;1=b;2=c;3=d;4=e;',
  },
  {
    name: 'range over a map is in order',
    source: '{{ range $k, $v := .inner }}{{ $k }}:{{ $v }} {{ end }}',
    wanted: 'also:1 deep:d ',
  },
  {
    name: 'range over nothing',
    source: '{{ range .none }}x{{ else }}empty{{ end }}',
    wanted: 'empty',
  },
  {
    name: 'break and continue',
    source:
      '{{ range .list }}{{ if eq . "b" }}{{ continue }}{{ end }}{{ if eq . "d" }}{{ break }}{{ end }}{{ . }}{{ end }}',
    wanted: 'ac',
  },
  { name: 'range over a number', source: '{{ range 3 }}{{ . }}{{ end }}', wanted: '012' },
  {
    name: 'variables are scoped and can be changed',
    source: '{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $y := 3 }}{{ $y }}{{ end }}{{ $x }}',
    wanted: '32',
  },
  {
    name: 'pipelines hand on the last argument',
    source: '{{ "abc" | printf "%s-%s" "x" }}{{ .list | len }}',
    wanted: 'x-abc5',
  },
  {
    name: 'brackets',
    source: '{{ (index .list 1) }}{{ len (slice .name 1 3) }}{{ (index .maps 0).a }}',
    wanted: 'b2ma',
  },
  {
    name: 'define and template',
    source: '{{ define "u" }}[{{ . }}]{{ end }}{{ template "u" .name }}{{ template "u" }}',
    wanted: '[abc][<no value>]',
  },
  {
    name: 'block shows itself',
    source: '{{ block "b" .name }}({{ . }}){{ end }}',
    wanted: '(abc)',
  },
  {
    name: 'and, or, not',
    source: '{{ and 1 0 }}{{ or 0 "x" }}{{ not 1 }}{{ and true "last" }}{{ or "" 0 }}',
    wanted: '0xfalselast0',
  },
  {
    name: 'and leaves out what is not needed',
    source: '{{ and false (index .list 99) }}',
    wanted: 'false',
  },
  {
    name: 'comparisons',
    source:
      '{{ eq 1 1 }}{{ eq "a" "b" "a" }}{{ ne 1 2 }}{{ lt 1 2 }}{{ le 2 2 }}{{ gt 1.5 1.0 }}{{ ge "b" "a" }}',
    wanted: 'truetruetruetruetruetruetrue',
  },
  {
    name: 'printf',
    source:
      '{{ printf "%05d|%-5s|%5.2f|%q|%x|%v|%t|%%|%d" 42 "ab" 3.14159 "hi" 255 .list true "no" }}',
    wanted: '00042|ab   | 3.14|"hi"|ff|[a b c d e]|true|%|%!d(string=no)',
  },
  {
    name: 'printf with too few and too many',
    source: '{{ printf "%s %s" "a" }}{{ printf "%s" "a" 1 }}',
    wanted: 'a %!s(MISSING)a%!(EXTRA int=1)',
  },
  {
    name: 'print puts blanks between what is no text',
    source: '{{ print 1 2 "a" "b" 3 }}{{ println 1 "a" }}',
    wanted: '1 2ab31 a\n',
  },
  {
    name: 'html and urlquery',
    source: '{{ html "<a href=\'x\'>&" }}{{ urlquery "a b&c" }}',
    wanted: '&lt;a href=&#39;x&#39;&gt;&amp;a+b%26c',
  },
  {
    name: 'index',
    source: '{{ index .inner "deep" }}{{ index .list 0 }}{{ index .nested 1 0 }}',
    wanted: 'dan2',
  },
  {
    name: 'strings',
    source: '{{ "tab\\t\\u00e9\\x41" }}{{ `raw \\n` }}',
    wanted: 'tab\téAraw \\n',
  },
  {
    name: 'numbers',
    source:
      '{{ 0x10 }} {{ 1e3 }} {{ 1_000 }} {{ 0b11 }} {{ .float }} {{ .big }} {{ 1e21 }} {{ 0.00001 }}',
    wanted: '16 1000 1000 3 2.5 1.23456789e+08 1e+21 1e-05',
  },
  {
    name: 'a variable of if is seen in else',
    source: '{{ if $x := .empty }}a{{ else }}[{{ $x }}]{{ end }}',
    wanted: '[]',
  },
  { name: 'len counts bytes', source: '{{ len "é" }}', wanted: '2' },
  {
    name: 'nested ranges keep their dots',
    source: '{{ range .nested }}{{ range . }}{{ . }}{{ end }};{{ end }}',
    wanted: 'n1;n2n3;',
  },
  {
    name: 'else with',
    source: '{{ with .empty }}a{{ else with .name }}{{ . }}{{ end }}',
    wanted: 'abc',
  },
]
for (const { name, source, wanted } of rendered) {
  test(`template: ${name}`, () => assert.equal(render(source), wanted))
}

const refused = [
  {
    name: 'undefined function',
    source: '{{ nope 1 }}',
    message: 'line 1: function "nope" not defined',
  },
  { name: 'undefined variable', source: '{{ $x }}', message: 'line 1: undefined variable "$x"' },
  { name: 'unclosed action', source: '{{ 1 ', message: 'line 1: unclosed action' },
  { name: 'if without end', source: '{{ if 1 }}', message: 'line 1: {{if}} without {{end}}' },
  { name: 'end alone', source: '{{ end }}', message: 'line 1: unexpected {{end}}' },
  {
    name: 'index out of range',
    source: '{{ index .list 9 }}',
    message: 'line 1: error calling index: index out of range: 9',
  },
  {
    name: 'argument to no function',
    source: '{{ .name 1 }}',
    message: "line 1: can't give argument to non-function",
  },
  {
    name: 'compare int and string',
    source: '{{ eq 1 "1" }}',
    message: 'line 1: error calling eq: incompatible types for comparison',
  },
  {
    name: 'unknown template',
    source: '{{ template "x" }}',
    message: 'line 1: template "x" not defined',
  },
  { name: 'break outside', source: '{{ break }}', message: 'line 1: {{break}} outside {{range}}' },
  {
    name: 'unterminated string',
    source: '{{ "abc }}',
    message: 'line 1: unterminated quoted string',
  },
  {
    name: 'field of a string',
    source: '{{ .name.x }}',
    message: "line 1: can't evaluate field x in type string",
  },
  { name: 'empty command', source: '{{ }}', message: 'line 1: missing value for command' },
  {
    name: 'recursion',
    source: '{{ define "r" }}{{ template "r" }}{{ end }}{{ template "r" }}',
    message: 'line 1: templates call each other too deeply',
  },
  {
    name: 'two declarations',
    source: '{{ $a, $b := 1 }}',
    message: 'line 1: too many declarations',
  },
  { name: 'unclosed comment', source: '{{/* x }}', message: 'line 1: unclosed comment' },
]
for (const { name, source, message } of refused) {
  test(`template refuses: ${name}`, () => {
    assert.throws(() => render(source), { name: 'TemplateError', message })
  })
}

test('the line of an error is reported', () => {
  assert.throws(() => render('a\nb\n{{ index .list 9 }}'), /^TemplateError: line 3: /)
  assert.throws(() => render('a\n\n\n{{ nope }}'), /^TemplateError: line 4: /)
})

test('other delimiters leave the usual ones alone', () => {
  assert.equal(render('{{ x }}[[ .name ]]', { left: '[[', right: ']]' }), '{{ x }}abc')
})

test('a missing key can be made an error', () => {
  for (const source of ['{{ .nothing }}', '{{ .nothing.more }}']) {
    assert.throws(() => render(source, { failsOnMissingKey: true }), /entry for key "nothing"/)
  }
})

test('a struct has its fields and no others', () => {
  const data = new StructValue({ Name: 'web', Port: 80n })
  assert.equal(render('{{ .Name }}:{{ .Port }}', { data }), 'web:80')
  assert.throws(() => render('{{ .Nmae }}', { data }), /can't evaluate field Nmae/)
})

const calls = [
  ['{{ "a,b" | split "," | join "-" }}', 'a-b'],
  ['{{ "a.b.c" | replaceAll "." "/" }}', 'a/b/c'],
  ['{{ if .list | contains "b" }}yes{{ end }}{{ in "abc" "b" }}', 'yestrue'],
  [
    '{{ "foo.bar" | regexMatch "foo[.]b" }}{{ "foobar" | regexReplaceAll "(o+)b" "<$1>" }}',
    'truef<oo>ar',
  ],
  ['{{ "aBc" | toUpper }}{{ "aBc" | toLower }}{{ "one two" | toTitle }}', 'ABCabcOne Two'],
  [
    '{{ " x " | trimSpace }}{{ "v1.2" | trimPrefix "v" }}{{ "a.txt" | trimSuffix ".txt" }}',
    'x1.2a',
  ],
  [
    '{{ 3 | add 4 }} {{ 10 | subtract 3 }} {{ 2 | multiply 2.5 }} {{ 7 | divide 2 }} {{ 7 | modulo 4 }}',
    '7 7 5 3 3',
  ],
  ['{{ "12" | parseInt | add 1 }}{{ "true" | parseBool }}{{ "1.5" | parseFloat }}', '13true1.5'],
  ['{{ with "{\\"a\\":[1,2]}" | parseJSON }}{{ index .a 1 }}{{ end }}', '2'],
  ['{{ with "a: 1\\nb: x" | parseYAML }}{{ .a }}{{ .b }}{{ end }}', '1x'],
  ['{{ .inner | toJSON }}{{ "<" | toJSON }}', '{"also":1,"deep":"d"}"\\u003c"'],
  ['{{ .inner | toJSONPretty }}', '{\n  "also": 1,\n  "deep": "d"\n}'],
  ['{{ .inner | toYAML }}', '"also": 1\n"deep": "d"'],
  ['{{ "hi" | base64Encode }}{{ "aGk=" | base64Decode }}', 'aGk=hi'],
  [
    '{{ "abc" | sha256Hex | printf "%.8s" }}{{ "abc" | md5sum | printf "%.8s" }}',
    'ba7816bf90015098',
  ],
  ['{{ "key" | hmacSHA256Hex "message" | printf "%.16s" }}', '6e9ef29b75fffc5b'],
  [
    '{{ timestamp }} {{ timestamp "2006-01-02 15:04" }} {{ timestamp "unix" }}',
    '2026-01-02T03:04:05Z 2026-01-02 03:04 1767323045',
  ],
  ['{{ range loop 3 }}{{ . }}{{ end }}{{ range loop 2 4 }}{{ . }}{{ end }}', '01223'],
  ['{{ sprig_default "d" .empty }}{{ "x" | sprig_quote }}{{ sprig_ternary 1 2 true }}', 'd"x"1'],
  ['{{ "a\\nb" | indent 2 }}', '  a\n  b'],
] as const
for (const [source, wanted] of calls) {
  test(`template function: ${source}`, () => assert.equal(render(source), wanted))
}

const costly = [
  { name: 'a loop without end', source: '{{ range 1000000000 }}{{ end }}' },
  {
    name: 'loops in loops',
    source: '{{ range loop 9999 }}{{ range loop 9999 }}{{ end }}{{ end }}',
  },
  {
    name: 'JSON of many objects',
    source: `{{ sprig_repeat 300000 "{}," | printf "[%s0]" | parseJSON | len }}`,
  },
  { name: 'a long text', source: '{{ sprig_repeat 99999999 "x" }}' },
  { name: 'a wide number', source: `{{ range loop 2000 }}{{ printf "%10000d" 1 }}{{ end }}` },
  { name: 'deep brackets', source: `{{ ${'('.repeat(500)}1${')'.repeat(500)} }}` },
  { name: 'deep blocks', source: '{{ if 1 }}'.repeat(500) + '{{ end }}'.repeat(500) },
  { name: 'a long template', source: 'x'.repeat(TEMPLATE_LIMITS.sourceCharsMax + 1) },
]
for (const { name, source } of costly) {
  test(`template is bounded: ${name}`, () => assert.throws(() => render(source), TemplateError))
}

test('whatever the text, a template is rendered or refused', () => {
  const part = fc.oneof(
    fc.constantFrom(
      '{{',
      '}}',
      '{{- ',
      ' -}}',
      'if',
      'end',
      'range',
      '.',
      '$x',
      ':=',
      '|',
      '(',
      ')',
      '"',
      '`',
      'define',
      'else',
      'constructor',
      '__proto__',
    ),
    fc.string({ maxLength: 5 }),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
      try {
        render(parts.join(' '))
      } catch (thrown) {
        assert.ok(thrown instanceof TemplateError, String(thrown))
      }
    }),
  )
})
