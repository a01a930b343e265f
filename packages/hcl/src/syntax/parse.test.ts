import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatRange } from '../text/format.ts'
import { rangeOf, textOf } from '../text/source.ts'
import { parseHcl, parseExpression, parseTemplate } from './parse.ts'
import type { Body, Expression } from './ast.ts'

/** Summarizes the structure of a body, with expressions as source text. */
function outline(body: Body): unknown {
  return {
    ...Object.fromEntries(body.attributes.map((one) => [one.name, textOf(one.expression.span)])),
    blocks: body.blocks.map((block) => [
      block.type,
      ...block.labels.map((label) => label.text),
      outline(block.body),
    ]),
  }
}

const bodies = [
  { name: 'an empty file', text: '', outline: { blocks: [] } },
  { name: 'only comments', text: '# a\n/* b */ // c', outline: { blocks: [] } },
  { name: 'arguments', text: 'a = 1\n\nb = "x"\n', outline: { a: '1', b: '"x"', blocks: [] } },
  { name: 'no line end at the end', text: 'a = 1', outline: { a: '1', blocks: [] } },
  {
    name: 'CRLF',
    text: 'a = 1\r\nb {\r\n}\r\n',
    outline: { a: '1', blocks: [['b', { blocks: [] }]] },
  },
  {
    name: 'an empty block on one line',
    text: 'a {}\n',
    outline: { blocks: [['a', { blocks: [] }]] },
  },
  {
    name: 'a block on one line',
    text: 'a { b = {c = 1} }\n',
    outline: { blocks: [['a', { b: '{c = 1}', blocks: [] }]] },
  },
  {
    name: 'labels in quotes and without',
    text: 'a "b c" d "e\\"\\u0041" {\n}\n',
    outline: { blocks: [['a', 'b c', 'd', 'e"A', { blocks: [] }]] },
  },
  {
    name: 'a label of nothing',
    text: 'a "" {\n}\n',
    outline: { blocks: [['a', '', { blocks: [] }]] },
  },
  {
    name: 'blocks in blocks',
    text: 'a {\n b "x" {\n c = 1\n }\n d = 2\n}\n',
    outline: { blocks: [['a', { d: '2', blocks: [['b', 'x', { c: '1', blocks: [] }]] }]] },
  },
  {
    name: 'blocks may repeat',
    text: 'a {\n}\na {\n}\n',
    outline: {
      blocks: [
        ['a', { blocks: [] }],
        ['a', { blocks: [] }],
      ],
    },
  },
  {
    name: 'a comment behind a brace',
    text: 'a { # x\n} // y\n',
    outline: { blocks: [['a', { blocks: [] }]] },
  },
  {
    name: 'keywords are names',
    text: 'for = 1\nif = 2\ntrue = 3\nnull {\n}\n',
    outline: { for: '1', if: '2', true: '3', blocks: [['null', { blocks: [] }]] },
  },
  {
    name: 'an expression over several lines between brackets',
    text: 'a = f(\n 1,\n 2\n)\nb = (1 +\n 2)\n',
    outline: { a: 'f(\n 1,\n 2\n)', b: '(1 +\n 2)', blocks: [] },
  },
  {
    name: 'an argument after a heredoc',
    text: 'a = <<E\nx\nE\nb = 1\n',
    outline: { a: '<<E\nx\nE', b: '1', blocks: [] },
  },
]

for (const c of bodies)
  test(`parse: ${c.name}`, () => {
    const parsed = parseHcl(c.text, 'f')
    assert.ok(parsed.ok, parsed.ok ? '' : JSON.stringify(parsed.error))
    assert.deepEqual(outline(parsed.value), c.outline)
  })

/** The expression with all implied parentheses. */
function grouped(node: Expression): string {
  switch (node.kind) {
    case 'binary':
      return `(${grouped(node.left)} ${node.operator} ${grouped(node.right)})`
    case 'unary':
      return `(${node.operator}${grouped(node.operand)})`
    case 'conditional':
      return `(${grouped(node.condition)} ? ${grouped(node.whenTrue)} : ${grouped(node.whenFalse)})`
    case 'access':
      return `<${grouped(node.base)}|${node.steps.map((step) => `${step.kind}:${textOf(step.span)}`).join('|')}>`
    case 'call':
      return `${node.name}(${node.arguments.map(grouped).join('; ')}${node.expandsLast ? '...' : ''})`
    default:
      return textOf(node.span)
  }
}

const groupings = [
  ['a + b * c', '(a + (b * c))'],
  ['a * b + c', '((a * b) + c)'],
  ['a - b - c', '((a - b) - c)'],
  ['a < b == c > d', '((a < b) == (c > d))'],
  ['a == b && c != d || e', '(((a == b) && (c != d)) || e)'],
  ['a || b && c', '(a || (b && c))'],
  ['!a && b', '((!a) && b)'],
  ['-a * b', '((-a) * b)'],
  ['-a.b', '(-<a|attribute:.b>)'],
  ['a ? b : c ? d : e', '(a ? b : (c ? d : e))'],
  ['a || b ? c + d : e', '((a || b) ? (c + d) : e)'],
  ['a ? b ? c : d : e', '(a ? (b ? c : d) : e)'],
  ['a.b[c].0.d', '<a|attribute:.b|index:[c]|index:.0|attribute:.d>'],
  ['a.*.b.c[0]', '<a|splat:.*.b.c|index:[0]>'],
  ['a[*].b[0]', '<a|splat:[*].b[0]>'],
  ['f(a, b...)', 'f(a; b...)'],
  ['f()', 'f()'],
  ['f(a,)', 'f(a)'],
  ['a::b::c(1)', 'a::b::c(1)'],
  ['f(a).b', '<f(a)|attribute:.b>'],
] as const

for (const [text, wanted] of groupings)
  test(`parseExpression groups ${text}`, () => {
    const parsed = parseExpression(text, 'f')
    assert.ok(parsed.ok)
    assert.equal(grouped(parsed.value), wanted)
  })

test('every node knows its source text', () => {
  const parsed = parseExpression(' [a.b, "x${ c }" ] ', 'f')
  assert.ok(parsed.ok && parsed.value.kind === 'tuple')
  assert.equal(textOf(parsed.value.span), '[a.b, "x${ c }" ]')
  assert.deepEqual(
    parsed.value.elements.map((one) => textOf(one.span)),
    ['a.b', '"x${ c }"'],
  )
})

test('names, labels and headers of blocks have places', () => {
  const parsed = parseHcl('x = 1\n  job "é😀" b {\n  y = 2\n  }\n', 'j.hcl')
  assert.ok(parsed.ok)
  const [block] = parsed.value.blocks
  assert.ok(block)
  assert.equal(formatRange(rangeOf(block.headerSpan)), 'j.hcl:2,3-13')
  assert.deepEqual(
    block.labels.map((label) => formatRange(rangeOf(label.span))),
    ['j.hcl:2,7-11', 'j.hcl:2,12-13'],
  )
  const [attribute] = block.body.attributes
  assert.ok(attribute)
  assert.equal(formatRange(rangeOf(attribute.span)), 'j.hcl:3,3-8')
})

test('a template is parsed without quotes and escapes', () => {
  const parsed = parseTemplate('a "\\n" ${b}\n', 'f')
  assert.ok(parsed.ok && parsed.value.kind === 'template')
  assert.deepEqual(
    parsed.value.parts.map((part) => textOf(part.span)),
    ['a "\\n" ', '${b}', '\n'],
  )
})

test('nothing may follow an expression', () => {
  const parsed = parseExpression('1 2', 'f')
  assert.ok(!parsed.ok)
  assert.deepEqual(
    parsed.error.map((one) => one.summary),
    ['Extra characters after expression'],
  )
})
