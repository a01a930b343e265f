/**
 * Templates that are nearly right. Each must be rendered or refused with its line, in time, and
 * nothing else may be thrown.
 * `npm run fuzz -w packages/go-template -- [--seconds N] [--seed S]`.
 */
import { mutate, type RandomSource } from '@reeve/kit/fuzz/mutate.ts'
import { runFuzzTargets } from '@reeve/kit/fuzz/rounds.ts'
import {
  fromPlain,
  GO_FUNCTIONS,
  HELPER_FUNCTIONS,
  parseTemplate,
  renderTemplate,
  TemplateError,
  timeFunctions,
} from '../src/index.ts'

const LENGTH_MAX = 16 * 1024

const SAMPLES = [
  'a {{- .name | printf "%-10s|%08.3f" 1.5 }} b',
  '{{range $i, $x := .list}}{{if gt $i 1}}{{break}}{{else}}{{$x}},{{end}}{{else}}none{{end}}',
  '{{define "t"}}<{{.}}>{{end}}{{template "t" .name}}{{block "u" .inner}}{{.deep}}{{end}}',
  '{{with $v := index .maps 0}}{{$v.a}}{{end}}{{len .list}}{{slice .name 1 2}}{{not .zero}}',
  '{{and .name (or .empty "x")}}{{eq .zero 0 1}}{{html "<a>"}}{{js "\'"}}{{urlquery "a b"}}',
  "{{/* why */ -}} {{`raw`}} {{'a'}} {{0x1F}} {{1_000}} {{-1e3}} {{nil}}",
  '{{ .name | toUpper | split "B" | join "," }} {{ regexMatch "^a.c$" .name }} {{ add 1 2 }}',
  '{{ base64Encode "x" | base64Decode }} {{ toJSON .inner }} {{ timestamp "2006-01-02" }}',
]
const DATA = fromPlain({
  name: 'abc',
  empty: '',
  zero: 0,
  inner: { deep: 'd' },
  list: ['a', 'b', 'c'],
  maps: [{ a: 'ma' }],
})
const functions = new Map([...GO_FUNCTIONS, ...HELPER_FUNCTIONS, ...timeFunctions(0)])

function read(text: string): string {
  try {
    const tree = parseTemplate(text, { left: '{{', right: '}}', functions })
    renderTemplate(tree, { data: DATA, functions })
    return 'rendered'
  } catch (thrown) {
    if (!(thrown instanceof TemplateError)) throw thrown
    if (!/^line \d+: ./.test(thrown.message))
      throw new Error('a problem has no line', { cause: thrown })
    return 'refused'
  }
}

runFuzzTargets('template', [
  {
    name: 'templates',
    generate: (draw: RandomSource) => mutate(SAMPLES, draw, LENGTH_MAX),
    run: read,
  },
])
