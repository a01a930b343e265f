import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyToValue } from '../decode/decode.ts'
import { createScope } from '../evaluate/scope.ts'
import { formatRange } from '../text/format.ts'
import { toJson } from '../value/value.ts'
import { parseHcl1 } from './hcl1.ts'

function run(text: string) {
  const parsed = parseHcl1(text, 'f')
  return parsed.ok ? bodyToValue(parsed.value, { scope: createScope() }) : parsed
}

const values = [
  { name: 'nothing', text: '# only a comment', json: '{}' },
  {
    name: 'several items on a line',
    text: 'a = 1 b = "x" c { d = true }',
    json: '{"a":1,"b":"x","c":[{"d":true}]}',
  },
  {
    name: 'quoted and dotted keys',
    text: '"a b" = 1\nc.d = 2\n"e" "f" { g-h = 3 }',
    json: '{"a b":1,"c.d":2,"e":[{"f":{"g-h":3}}]}',
  },
  {
    name: 'numbers',
    text: 'a = [1, -2, 0x1F, 010, 1.5, -1e3, .5, 12345678901234567890]',
    json: '{"a":[1,-2,31,8,1.5,-1000,0.5,12345678901234567890]}',
  },
  {
    name: 'lists',
    text: 'a = [1, "b", [true,], { c = 1 },\n <<E\nx\nE\n]',
    json: '{"a":[1,"b",[true],{"c":1},"x\\n"]}',
  },
  {
    name: 'objects',
    text: 'a = { b = 1, c = { d = 2 } e "f" { g = 3 } }',
    json: '{"a":{"b":1,"c":{"d":2},"e":{"f":{"g":3}}}}',
  },
  {
    name: 'interpolations stay text',
    text: 'a = "${x["y"]} ${f(\\"z\\")} $${q}"',
    json: '{"a":"${x[\\"y\\"]} ${f(\\\\\\"z\\\\\\")} $${q}"}',
  },
  { name: 'a line end inside an interpolation', text: 'a = "${\n}"', json: '{"a":"${\\n}"}' },
  {
    name: 'escapes',
    text: String.raw`a = "\n\t\"\\\u00e9\x41\101"`,
    json: '{"a":"\\n\\t\\"\\\\éAA"}',
  },
  { name: 'heredoc', text: 'a = <<EOT\n  x ${y}\n  EOT\nb = 1', json: '{"a":"  x ${y}\\n","b":1}' },
  {
    name: 'an indented heredoc loses the indentation of its end',
    text: 'a = <<-EOT\n    x\n      y\n    EOT\n',
    json: '{"a":"x\\n  y\\n"}',
  },
  {
    name: 'unless a line has less',
    text: 'a = <<-EOT\n  x\n    y\n    EOT\n',
    json: '{"a":"  x\\n    y\\n"}',
  },
  { name: 'comments', text: '// a\na = 1 /* b\n*/ # c\nb = 2', json: '{"a":1,"b":2}' },
  {
    name: 'objects with one key merge, other values replace',
    text: 'a = {x = 1}\na = {y = 2}\nb = 1\nb = 2\n',
    json: '{"a":{"x":1,"y":2},"b":2}',
  },
  {
    name: 'an access policy on one line',
    text: 'namespace "web-*" { policy = "write"  capabilities = ["exec"]\n variables { path "p/*" { capabilities = ["read"] } } }',
    json: '{"namespace":[{"web-*":{"policy":"write","capabilities":["exec"],"variables":[{"path":[{"p/*":{"capabilities":["read"]}}]}]}}]}',
  },
]

for (const c of values)
  test(`parseHcl1: ${c.name}`, () => {
    const result = run(c.text)
    assert.ok(result.ok, result.ok ? '' : JSON.stringify(result.error))
    assert.equal(toJson(result.value), c.json)
  })

test('parseHcl1 keeps repeated keys in order', () => {
  const parsed = parseHcl1('a = 1\nb {}\na = 2\nb "x" {}\n', 'f')
  assert.ok(parsed.ok)
  assert.deepEqual(
    parsed.value.attributes.map((one) => one.name),
    ['a', 'a'],
  )
  assert.deepEqual(
    parsed.value.blocks.map((one) => one.labels.length),
    [0, 1],
  )
})

const errors = [
  { text: 'a', error: '1,2-2 Invalid key' },
  { text: '= 1', error: '1,1-2 Invalid key' },
  { text: 'a = ', error: '1,5-5 Invalid value' },
  { text: 'a = b', error: '1,5-6 Invalid value' },
  { text: 'a = truest', error: '1,5-6 Invalid value' },
  { text: 'a = 1x', error: '1,5-6 Invalid value' },
  { text: 'a = 09', error: '1,5-7 Invalid number' },
  { text: 'a "b" = 1', error: '1,8-9 Invalid key' },
  { text: 'a {\n b = 1\n', error: '3,1-1 Unclosed block' },
  { text: 'a = 1 }', error: '1,7-8 Unexpected brace' },
  { text: 'a = [1 2]', error: '1,8-9 Missing separator' },
  { text: 'a = "b\n"', error: '1,5-6 Unterminated string' },
  { text: 'a = "${b', error: '1,5-6 Unterminated string' },
  { text: 'a = "\\q"', error: '1,6-7 Invalid escape sequence' },
  { text: 'a = <<E x\n', error: '1,5-6 Invalid heredoc' },
  { text: 'a = <<E\nx', error: '1,5-7 Unterminated heredoc' },
  { text: 'a = 1 /*', error: '1,7-8 Unterminated comment' },
]

for (const c of errors)
  test(`parseHcl1 refuses ${JSON.stringify(c.text)}`, () => {
    const result = run(c.text)
    assert.ok(!result.ok)
    const found = result.error.map((one) => `${formatRange(one.range).slice(2)} ${one.summary}`)
    assert.deepEqual(found, [c.error])
  })
