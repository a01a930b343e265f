import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bodyToValue } from './decode/decode.ts'
import { evaluate } from './evaluate/evaluate.ts'
import { createScope } from './evaluate/scope.ts'
import { parseHclJson } from './syntax/json.ts'
import { parseHcl1 } from './syntax/hcl1.ts'
import { parseHcl, parseExpression } from './syntax/parse.ts'
import { textOf } from './text/source.ts'
import { fromBigInt, numberToText } from '@reeve/kit/number.ts'
import { isList, isNumber, isObject, sameValue, toJson, type Value } from './value/value.ts'

const { value: anyValue } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    fc.maxSafeInteger(),
    fc.bigInt({ min: -(2n ** 100n), max: 2n ** 100n }).map((number) => fromBigInt(number) ?? 0),
    fc
      .double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 })
      .map((number) => number + 0),
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('${x}', '%{ if y }', '$${', '\\', '"', '\n', '~}', '# c', '<<E'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string({ unit: 'grapheme' }), tie('value'), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  ),
}))

/** Writes a value in native syntax, with optional whitespace and separators. */
function write(value: Value, separator: string): string {
  if (isNumber(value)) return numberToText(value)
  if (typeof value === 'string') return quote(value)
  if (isList(value)) return `[${value.map((one) => `${write(one, separator)},`).join('\n')}]`
  if (!isObject(value)) return String(value)
  const members = Object.entries(value).map(
    ([name, one]) => `(${quote(name)}) = ${write(one, separator)}`,
  )
  return `{ ${members.join(separator)} }`
}

function quote(text: string): string {
  return JSON.stringify(text)
    .replaceAll(/\\(.)/g, (escape, selector) =>
      selector === 'b' ? '\\u0008' : selector === 'f' ? '\\u000c' : escape,
    )
    .replaceAll(/\$\{|%\{/g, (sign) => `${sign[0] ?? ''}${sign}`)
}

test('evaluating what a value is written as gives the value', () => {
  fc.assert(
    fc.property(anyValue, fc.constantFrom(', ', '\n', ',\n\n  # c\n'), (value, separator) => {
      const parsed = parseExpression(write(value, separator), 'f')
      assert.ok(parsed.ok, parsed.ok ? '' : JSON.stringify(parsed.error))
      const result = evaluate(parsed.value, createScope())
      assert.ok(result.ok)
      assert.ok(sameValue(result.value, value), toJson(result.value))
    }),
  )
})

test('a value means the same in a body, in parentheses, in an interpolation, and in JSON', () => {
  fc.assert(
    fc.property(anyValue, (value) => {
      const text = write(value, ', ')
      const native = parseHcl(`a = ${text}\nb = (${text})\nc = "\${${text}}"\n`, 'f')
      const json = parseHclJson(`{"a": ${toJson(value)}}`, 'f', { hasTemplates: false })
      assert.ok(native.ok && json.ok)
      const one = bodyToValue(native.value, { scope: createScope() })
      const other = bodyToValue(json.value, { scope: createScope() })
      assert.ok(one.ok && other.ok)
      for (const name of ['a', 'b', 'c']) assert.ok(sameValue(one.value[name] ?? null, value))
      assert.ok(sameValue(other.value['a'] ?? null, value))
    }),
  )
})

const operators = ['+', '-', '*', '<', '>', '<=', '>=', '==', '!='] as const

test('blanks, line ends and comments between brackets do not change an expression', () => {
  const blank = fc.constantFrom(' ', '\n', ' /* c */ ', ' # c\n', '\t', '\r\n')
  const terms = fc.array(fc.tuple(fc.constantFrom(...operators), fc.nat(99), blank), {
    maxLength: 5,
  })
  fc.assert(
    fc.property(terms, (list) => {
      const plain = list.map(([operator, number]) => ` ${operator} ${number}`).join('')
      const spread = list
        .map(([operator, number, gap]) => `${gap}${operator}${gap}${number}`)
        .join('')
      const results = [`(1${plain})`, `(1${spread}\n)`].map((text) => {
        const parsed = parseExpression(text, 'f')
        assert.ok(parsed.ok)
        const result = evaluate(parsed.value, createScope())
        return result.ok ? toJson(result.value) : result.error.map((one) => one.summary)
      })
      assert.deepEqual(results[0], results[1])
    }),
  )
})

test('the source text of an expression parses to the same value', () => {
  fc.assert(
    fc.property(anyValue, (value) => {
      const parsed = parseHcl(`x {\n  a = ${write(value, ', ')}   # c\n}\n`, 'f')
      assert.ok(parsed.ok)
      const expression = parsed.value.blocks[0]?.body.attributes[0]?.expression
      assert.ok(expression)
      const again = parseExpression(textOf(expression.span), 'f')
      assert.ok(again.ok)
      const result = evaluate(again.value, createScope())
      assert.ok(result.ok && sameValue(result.value, value))
    }),
  )
})

test('numbers, bools and plain strings mean the same in the legacy syntax', () => {
  const plain = fc.oneof(
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.string({ unit: 'grapheme-ascii' }).filter((text) => !text.includes('${')),
  )
  fc.assert(
    fc.property(fc.array(plain, { maxLength: 5 }), (list) => {
      const parsed = parseHcl1(`a = ${JSON.stringify(list)}`, 'f')
      assert.ok(parsed.ok)
      const value = bodyToValue(parsed.value, { scope: createScope() })
      assert.ok(value.ok)
      assert.deepEqual(value.value['a'], list)
    }),
  )
})
