import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExpression } from './parse.ts'
import { asKeyword, asTraversal, findReferences } from './references.ts'

const cases = [
  { text: '1 + 2', references: [] },
  { text: 'var.a', references: ['var.a'] },
  { text: 'var.a.b[0]["c"].d', references: ['var.a.b.0.c.d'] },
  { text: 'var[local.k].x', references: ['var', 'local.k'] },
  { text: 'a.b + -c * (d ? e : f)', references: ['a.b', 'c', 'd', 'e', 'f'] },
  { text: 'f(a, [b, {(c) = d, e = g}], h[*].i)', references: ['a', 'b', 'c', 'd', 'g', 'h'] },
  { text: '"x${a} %{ if b }${c}%{ else }${d}%{ endif }"', references: ['a', 'b', 'c', 'd'] },
  { text: '"%{ for k, v in a }${k}${v}${w}%{ endfor }"', references: ['a', 'w'] },
  { text: '[for v in v : v + w if x]', references: ['v', 'w', 'x'] },
  { text: '{for k, v in a : k => [for k in b : v]}', references: ['a', 'b'] },
  { text: '[for v in a : v.x][0] + v', references: ['a', 'v'] },
]

for (const c of cases)
  test(`findReferences of ${c.text}`, () => {
    const parsed = parseExpression(c.text, 'f')
    assert.ok(parsed.ok)
    const found = findReferences(parsed.value).map(({ root, path }) => [root, ...path].join('.'))
    assert.deepEqual(found, c.references)
  })

const shapes = [
  { text: 'string', keyword: 'string', traversal: ['string'] },
  { text: '"word"', keyword: 'word', traversal: undefined },
  { text: '"two words"', keyword: undefined, traversal: undefined },
  { text: 'a.b[0]', keyword: undefined, traversal: ['a', 'b', 0] },
  { text: 'a[b]', keyword: undefined, traversal: undefined },
  { text: 'a[*]', keyword: undefined, traversal: undefined },
  { text: 'f(a)', keyword: undefined, traversal: undefined },
]

for (const c of shapes)
  test(`${c.text} as keyword and as traversal`, () => {
    const parsed = parseExpression(c.text, 'f')
    assert.ok(parsed.ok)
    assert.equal(asKeyword(parsed.value), c.keyword)
    const traversal = asTraversal(parsed.value)
    assert.deepEqual(traversal && [traversal.root, ...traversal.path], c.traversal)
  })
