import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  pointerText,
  type Binding,
  type Expression,
  type Match,
  type Quantifier,
  type Selector,
  type ValueMatch,
} from './ast.ts'
import { MAX_DEPTH, MAX_NODES, MAX_TEXT_LENGTH } from './limits.ts'
import { parseFilter } from './parse.ts'

const dotted = (...path: string[]): Selector => ({ form: 'dotted', path })
const pointer = (...path: string[]): Selector => ({ form: 'pointer', path })
const match = (
  selector: Selector,
  operator: ValueMatch['operator'],
  value: string,
): ValueMatch => ({ kind: 'match', operator, negated: false, selector, value })
const without = (positive: Match): Match => ({ ...positive, negated: true })
const unary = (selector: Selector, operator: 'empty' | 'nil'): Match => ({
  kind: 'match',
  operator,
  negated: false,
  selector,
})
const equal = (name: string, value: string) => match(dotted(name), 'equal', value)
const single = (name: string): Binding => ({ form: 'single', name })
const and = (left: Expression, right: Expression): Expression => ({ kind: 'and', left, right })
const or = (left: Expression, right: Expression): Expression => ({ kind: 'or', left, right })
const not = (operand: Expression): Expression => ({ kind: 'not', operand })

const accepted: readonly { name: string; text: string; tree: Expression }[] = [
  { name: 'equality', text: 'A == 3', tree: equal('A', '3') },
  { name: 'equality without blanks', text: 'A=="b"', tree: equal('A', 'b') },
  { name: 'inequality', text: 'A != b', tree: without(equal('A', 'b')) },
  { name: 'in', text: 'b in A', tree: match(dotted('A'), 'in', 'b') },
  { name: 'not in', text: '"b" not in A', tree: without(match(dotted('A'), 'in', 'b')) },
  { name: 'contains', text: 'A contains b', tree: match(dotted('A'), 'in', 'b') },
  { name: 'not contains', text: 'A not contains b', tree: without(match(dotted('A'), 'in', 'b')) },
  { name: 'matches', text: 'A matches `^b$`', tree: match(dotted('A'), 'matches', '^b$') },
  {
    name: 'not matches',
    text: 'A not matches b',
    tree: without(match(dotted('A'), 'matches', 'b')),
  },
  { name: 'is empty', text: 'A is empty', tree: unary(dotted('A'), 'empty') },
  { name: 'is not empty', text: 'A is not empty', tree: without(unary(dotted('A'), 'empty')) },
  { name: 'is nil', text: 'A is nil', tree: unary(dotted('A'), 'nil') },
  { name: 'is not nil', text: 'A is not nil', tree: without(unary(dotted('A'), 'nil')) },
  {
    name: 'blanks of every kind',
    text: '\t\r\n A \t\r\n is \n not \r empty\n',
    tree: without(unary(dotted('A'), 'empty')),
  },
  { name: 'an underscore and a slash in a name', text: 'a_b/c9 == 1', tree: equal('a_b/c9', '1') },
  {
    name: 'members, positions and keys',
    text: 'A.b.0["c d"][ `é"` ].e == 1',
    tree: match(dotted('A', 'b', '0', 'c d', 'é"', 'e'), 'equal', '1'),
  },
  {
    name: 'a JSON pointer',
    text: '"/a-b/c.d/e~1f/g~0h/i:j|k/é" == 1',
    tree: match(pointer('a-b', 'c.d', 'e/f', 'g~h', 'i:j|k', 'é'), 'equal', '1'),
  },
  { name: 'the empty pointer', text: '"" is nil', tree: unary(pointer(), 'nil') },
  { name: 'a pointer-like value is text', text: 'A == "/b/c"', tree: equal('A', '/b/c') },
  { name: 'an empty value', text: 'A == ""', tree: equal('A', '') },
  { name: 'dotted words as a value', text: 'A == b.c.1', tree: equal('A', 'b.c.1') },
  { name: 'a negative number', text: 'A == -12', tree: equal('A', '-12') },
  { name: 'a fraction before a parenthesis', text: '(A == 0.25)', tree: equal('A', '0.25') },
  {
    name: 'Go escapes',
    text: String.raw`A == "\a\b\f\n\r\t\v\\\x41\101\u00e9\U0001F600"`,
    tree: equal('A', '\x07\b\f\n\r\t\v\\AAé😀'),
  },
  {
    name: 'byte escapes that spell one character',
    text: String.raw`A == "\xc3\xa9\303\251"`,
    tree: equal('A', 'éé'),
  },
  { name: 'a raw string', text: 'A == `a\\n"\r\n`', tree: equal('A', 'a\\n"\n') },
  {
    name: 'not before and before or',
    text: 'not A == 1 and B == 2 or C == 3',
    tree: or(and(not(equal('A', '1')), equal('B', '2')), equal('C', '3')),
  },
  {
    name: 'chains lean to the right',
    text: 'A == 1 and B == 2 and C == 3 or D == 4 or E == 5',
    tree: or(
      and(equal('A', '1'), and(equal('B', '2'), equal('C', '3'))),
      or(equal('D', '4'), equal('E', '5')),
    ),
  },
  {
    name: 'parentheses',
    text: '( (A == 1 or B == 2) and not (C == 3) )',
    tree: and(or(equal('A', '1'), equal('B', '2')), not(equal('C', '3'))),
  },
  { name: 'not twice', text: 'not not A == 1', tree: not(not(equal('A', '1'))) },
  { name: 'not as a word', text: 'not in A', tree: match(dotted('A'), 'in', 'not') },
  { name: 'not as a selector', text: 'not == in', tree: equal('not', 'in') },
  { name: 'any as a selector', text: 'any contains all', tree: match(dotted('any'), 'in', 'all') },
  {
    name: 'keywords only in lower case',
    text: 'AND == OR',
    tree: equal('AND', 'OR'),
  },
  {
    name: 'any with one name',
    text: 'any A as x { x == 1 }',
    tree: { kind: 'any', selector: dotted('A'), binding: single('x'), body: equal('x', '1') },
  },
  {
    name: 'all with two names and no blanks',
    text: 'all "/A" as k,v{v is empty}',
    tree: {
      kind: 'all',
      selector: pointer('A'),
      binding: { form: 'pair', key: 'k', value: 'v' },
      body: unary(dotted('v'), 'empty'),
    },
  },
  {
    name: 'any without the value',
    text: 'any A as k , _ { k == 1 }',
    tree: {
      kind: 'any',
      selector: dotted('A'),
      binding: { form: 'pair', key: 'k', value: undefined },
      body: equal('k', '1'),
    },
  },
  {
    name: 'any without the key',
    text: 'any A as _, v { v == 1 }',
    tree: {
      kind: 'any',
      selector: dotted('A'),
      binding: { form: 'pair', key: undefined, value: 'v' },
      body: equal('v', '1'),
    },
  },
  {
    name: 'a quantifier at the end of an or chain',
    text: 'A == 1 or any B as x { all x.C as y { y == 2 } }',
    tree: or(equal('A', '1'), {
      kind: 'any',
      selector: dotted('B'),
      binding: single('x'),
      body: {
        kind: 'all',
        selector: dotted('x', 'C'),
        binding: single('y'),
        body: equal('y', '2'),
      },
    }),
  },
  {
    name: 'a quantifier in parentheses anywhere',
    text: 'not (any A as x { x == 1 }) and B == 2',
    tree: and(
      not({ kind: 'any', selector: dotted('A'), binding: single('x'), body: equal('x', '1') }),
      equal('B', '2'),
    ),
  },
]
for (const c of accepted)
  test(`filter grammar: takes ${c.name}`, () => {
    assert.deepEqual(parseFilter(c.text), { ok: true, value: c.tree })
  })

const refused: readonly { text: string; message: string | RegExp }[] = [
  { text: '', message: /^1:1 \(0\): no match found, expected: / },
  { text: 'A', message: /^1:2 \(1\): no match found, expected: .*"=="/ },
  { text: 'A =', message: /^1:3 \(2\): no match found, expected: / },
  { text: 'A = 1', message: /^1:3 \(2\): no match found, expected: / },
  { text: 'A > 1', message: /^1:3 \(2\): no match found, expected: / },
  { text: 'A == 1 extra', message: '1:8 (7): no match found, expected: "and", "or" or EOF' },
  { text: 'A == 1 and ', message: /^1:12 \(11\): no match found, expected: / },
  { text: 'A == 1 or(B == 2)', message: /^1:10 \(9\): no match found, expected: \[ \\t\\r\\n\]$/ },
  { text: 'A == 1 AND B == 2', message: /^1:8 \(7\): no match found/ },
  { text: 'not(A == 1)', message: /^1:4 \(3\): no match found/ },
  { text: '(A == 1', message: /^1:8 \(7\): no match found, expected: .*"\)"/ },
  { text: 'A == 1)', message: /^1:7 \(6\): no match found/ },
  { text: 'A Is empty', message: /^1:3 \(2\): no match found/ },
  { text: 'A is Empty', message: /^1:6 \(5\): no match found/ },
  { text: 'A contains"b"', message: /^1:11 \(10\): no match found/ },
  { text: 'A == 3x', message: '1:7 (6): rule "number": Invalid number literal' },
  { text: 'A == 012', message: '1:7 (6): rule "number": Invalid number literal' },
  { text: 'A == 1.', message: '1:7 (6): rule "number": Invalid number literal' },
  { text: 'any A as x {x == 1}', message: '1:19 (18): rule "number": Invalid number literal' },
  { text: 'A == "b', message: '1:8 (7): rule "string": Unterminated string literal' },
  { text: 'A == `b', message: '1:8 (7): rule "string": Unterminated string literal' },
  { text: String.raw`A == "\q"`, message: /rule "string": invalid syntax$/ },
  { text: String.raw`A == "\N"`, message: /rule "string": invalid syntax$/ },
  { text: String.raw`A == "\X41"`, message: /rule "string": invalid syntax$/ },
  { text: String.raw`A == "\U00e9"`, message: /rule "string": invalid syntax$/ },
  { text: String.raw`A == "\'"`, message: /rule "string": invalid syntax$/ },
  { text: String.raw`A == "\xff"`, message: /rule "string": invalid syntax$/ },
  { text: String.raw`A == "\400"`, message: /rule "string": invalid syntax$/ },
  { text: String.raw`A == "\ud800"`, message: /rule "string": invalid syntax$/ },
  { text: String.raw`A == "\U00110000"`, message: /rule "string": invalid syntax$/ },
  { text: String.raw`A == "b\"c"`, message: /rule "string": / },
  { text: 'A == "b\nc"', message: /rule "string": invalid syntax$/ },
  { text: 'A[3] == b', message: '1:3 (2): rule "index": Invalid index' },
  { text: 'A["b" == c', message: '1:7 (6): rule "index": Unclosed index expression' },
  { text: 'x in 32', message: '1:6 (5): rule "match": Invalid selector' },
  { text: '32 == 32', message: '1:4 (3): no match found, expected: "in" or "not"' },
  { text: '"/a/" == 1', message: '1:7 (6): no match found, expected: "in" or "not"' },
  { text: '_A == 1', message: /^1:1 \(0\): no match found/ },
  { text: 'é == 1', message: /^1:1 \(0\): no match found/ },
  { text: 'A == `é`\n  or', message: /^2:5 \(14\): no match found/ },
  { text: 'any A as x { x == 1 } and B == 2', message: /^1:23 \(22\): no match found/ },
  { text: 'not any A as x { x == 1 }', message: /no match found/ },
  { text: 'any A as _ { x == 1 }', message: /no match found/ },
  { text: 'any A as _, _ { x == 1 }', message: /no match found/ },
  { text: 'all A as k, k { k == 1 }', message: /no match found/ },
  { text: 'any A { x == 1 }', message: /no match found/ },
]
for (const c of refused)
  test(`filter grammar: refuses ${JSON.stringify(c.text)}`, () => {
    const result = parseFilter(c.text)
    assert.ok(!result.ok)
    assert.equal(result.error.code, 'filter-invalid')
    if (typeof c.message === 'string') assert.equal(result.error.message, c.message)
    else assert.match(result.error.message, c.message)
  })

const hostile: readonly { name: string; text: string; message: string | undefined }[] = [
  {
    name: 'a text over the limit',
    text: 'A == `' + 'x'.repeat(MAX_TEXT_LENGTH) + '`',
    message: `1:1 (0): the expression is longer than ${MAX_TEXT_LENGTH} characters`,
  },
  {
    name: 'parentheses over the limit',
    text: '('.repeat(5000) + 'A == 1' + ')'.repeat(5000),
    message: `1:102 (101): the expression nests deeper than ${MAX_DEPTH} levels`,
  },
  {
    name: 'parentheses at the limit',
    text: '('.repeat(MAX_DEPTH) + 'A == 1' + ')'.repeat(MAX_DEPTH),
    message: undefined,
  },
  {
    name: 'negations over the limit',
    text: 'not '.repeat(4000) + 'A == 1',
    message: `1:405 (404): the expression nests deeper than ${MAX_DEPTH} levels`,
  },
  {
    name: 'quantifiers over the limit',
    text: 'any A as x {'.repeat(1300),
    message: `1:1213 (1212): the expression nests deeper than ${MAX_DEPTH} levels`,
  },
  {
    name: 'a chain over the limit',
    text: Array.from({ length: MAX_NODES }, () => 'A == 1').join(' or '),
    message: `the expression has more than ${MAX_NODES} parts`,
  },
  {
    name: 'a chain at the limit',
    text: Array.from({ length: MAX_NODES / 2 }, () => 'A == 1').join(' or '),
    message: undefined,
  },
]
for (const c of hostile)
  test(`filter grammar: is not upset by ${c.name}`, () => {
    const result = parseFilter(c.text)
    assert.equal(result.ok, c.message === undefined)
    if (!result.ok) assert.ok(result.error.message.endsWith(c.message ?? ''), result.error.message)
  })

const words = [
  'and',
  'or',
  'not',
  'in',
  'is',
  'any',
  'all',
  'as',
  'empty',
  'nil',
  '==',
  '!=',
  '"/a"',
]
const pieces = fc.constantFrom(
  ...words,
  'A',
  'B.0',
  '(',
  ')',
  '{',
  '}',
  ' ',
  '\n',
  '"',
  '`',
  '3',
  ',',
  '_',
)

test('filter grammar: any text parses or is refused, never throws', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(pieces).map((some) => some.join(' ')),
  )
  fc.assert(
    fc.property(text, (some) => {
      const result = parseFilter(some)
      if (!result.ok) assert.match(result.error.message, /^\d+:\d+ \(\d+\): /)
    }),
  )
})

/** Records with the default prototype, as the parser creates them. */
const plain = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record<T>(fields, { noNullPrototype: true })
const identifier = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9_/]{0,6}$/)
const anySelector: fc.Arbitrary<Selector> = fc.oneof(
  plain({
    form: fc.constant('dotted' as const),
    path: fc
      .tuple(
        identifier,
        fc.array(fc.oneof(identifier, fc.string({ unit: 'grapheme' })), { maxLength: 3 }),
      )
      .map(([first, rest]) => [first, ...rest]),
  }),
  plain({
    form: fc.constant('pointer' as const),
    path: fc.array(fc.stringMatching(/^[a-z0-9\-_.~:|/]+$/), { maxLength: 3 }),
  }),
)
const anyMatch: fc.Arbitrary<Match> = fc.oneof(
  plain({
    kind: fc.constant('match' as const),
    operator: fc.constantFrom('equal' as const, 'in' as const, 'matches' as const),
    negated: fc.boolean(),
    selector: anySelector,
    value: fc.string({ unit: 'grapheme' }),
  }),
  plain({
    kind: fc.constant('match' as const),
    operator: fc.constantFrom('empty' as const, 'nil' as const),
    negated: fc.boolean(),
    selector: anySelector,
  }),
)
const anyBinding: fc.Arbitrary<Binding> = fc.oneof(
  identifier.map(single),
  fc
    .tuple(identifier, fc.option(identifier, { nil: undefined }))
    .map(([key, value]): Binding => ({ form: 'pair', key, value })),
  identifier.map((value): Binding => ({ form: 'pair', key: undefined, value })),
)
const anyExpression = fc.letrec<{ tree: Expression }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    anyMatch,
    plain({ kind: fc.constant('not' as const), operand: tie('tree') }),
    plain({
      kind: fc.constantFrom('and' as const, 'or' as const),
      left: tie('tree'),
      right: tie('tree'),
    }),
    plain({
      kind: fc.constantFrom('any' as const, 'all' as const),
      selector: anySelector,
      binding: anyBinding,
      body: tie('tree'),
    }),
  ),
})).tree

test('filter grammar: what is printed parses to the same tree', () => {
  fc.assert(
    fc.property(anyExpression, (tree) => {
      assert.deepEqual(parseFilter(print(tree)), { ok: true, value: tree })
    }),
  )
})

const OPERATORS = {
  equal: ['==', '!='],
  in: ['contains', 'not contains'],
  matches: ['matches', 'not matches'],
}

function print(tree: Expression): string {
  switch (tree.kind) {
    case 'and':
    case 'or':
      return `${printOperand(tree.left)} ${tree.kind} ${printRight(tree)}`
    case 'not':
      return `not ${printOperand(tree.operand)}`
    case 'any':
    case 'all':
      return `${tree.kind} ${printCollection(tree)} { ${print(tree.body)} }`
    case 'match':
      if (!('value' in tree))
        return `${printSelector(tree.selector)} is ${tree.negated ? 'not ' : ''}${tree.operator}`
      return [
        printSelector(tree.selector),
        OPERATORS[tree.operator][tree.negated ? 1 : 0],
        printText(tree.value),
      ].join(' ')
  }
}

/**
 * A right operand of the same connective needs no parentheses, because chains are
 * right-associative.
 */
function printRight(tree: { kind: 'and' | 'or'; right: Expression }): string {
  const isBare = tree.right.kind === tree.kind || (tree.kind === 'or' && tree.right.kind === 'any')
  return isBare ? print(tree.right) : printOperand(tree.right)
}

function printOperand(tree: Expression): string {
  return tree.kind === 'match' ? print(tree) : `(${print(tree)})`
}

function printCollection({ selector, binding }: Quantifier): string {
  const names =
    binding.form === 'single' ? binding.name : `${binding.key ?? '_'}, ${binding.value ?? '_'}`
  return `${printSelector(selector)} as ${names}`
}

function printSelector({ form, path }: Selector): string {
  if (form === 'pointer') return `"${pointerText(path)}"`
  const [first, ...rest] = path
  return `${first}${rest.map((part) => `[${printText(part)}]`).join('')}`
}

/** Quotes cannot be escaped, so every character is written by its code. */
function printText(text: string): string {
  const codes = Array.from(text, (character) => (character.codePointAt(0) ?? 0).toString(16))
  return `"${codes.map((code) => `\\U${code.padStart(8, '0')}`).join('')}"`
}
