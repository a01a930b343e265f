import type { CallContext } from '../builtins/builtin.ts'
import { sprintf } from '../text/sprintf.ts'
import { escapeQuery } from '@reeve/go-template/url'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compare, equal, isArray, ObjectValue, SetValue, type Value } from '../value/value.ts'
import { isTrue, printText } from './print.ts'

type Values = readonly (Value | undefined)[]
type TemplateFunction = (values: Values, context: CallContext) => Result<Value | undefined, string>

/** What a template may call. */
export const FUNCTIONS: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  ['and', (values) => ok(values.find((value) => !isTrue(value)) ?? values.at(-1))],
  ['or', (values) => ok(values.find(isTrue) ?? values.at(-1))],
  ['not', ([value]) => ok(!isTrue(value))],
  ['eq', ([first, ...others]) => ok(others.some((other) => isSame(first, other)))],
  ['ne', ([first, other]) => ok(!isSame(first, other))],
  ['lt', ordered((order) => order < 0)],
  ['le', ordered((order) => order <= 0)],
  ['gt', ordered((order) => order > 0)],
  ['ge', ordered((order) => order >= 0)],
  ['len', ([value]) => lengthOf(value)],
  ['index', ([value, ...keys]) => indexInto(value, keys)],
  ['slice', ([value, from, to]) => sliceOf(value, from, to)],
  ['print', (values) => ok(printAll(values))],
  ['println', (values) => ok(`${values.map(printText).join(' ')}\n`)],
  [
    'printf',
    ([format, ...values], context) =>
      ok(
        sprintf(
          context,
          printText(format),
          values.map((value) => value ?? null),
        ),
      ),
  ],
  ['html', (values) => ok(escapeHtml(printAll(values)))],
  ['js', (values) => ok(escapeScript(printAll(values)))],
  ['urlquery', (values) => ok(escapeQuery(printAll(values)))],
])

function isSame(a: Value | undefined, b: Value | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equal(a, b)
}

function ordered(holds: (order: number) => boolean): TemplateFunction {
  return ([a, b]) =>
    a === undefined || b === undefined
      ? err('incompatible types for comparison')
      : ok(holds(compare(a, b)))
}

function lengthOf(value: Value | undefined): Result<Value, string> {
  if (typeof value === 'string' || isArray(value)) return ok(value.length)
  if (value instanceof ObjectValue || value instanceof SetValue) return ok(value.size)
  return err(`len of ${printText(value)}`)
}

function indexInto(value: Value | undefined, keys: Values): Result<Value | undefined, string> {
  let current = value
  for (const key of keys) {
    if (key === undefined) return err('index of nothing')
    if (isArray(current)) {
      const item = typeof key === 'number' ? current[key] : undefined
      if (item === undefined) return err(`index out of range: ${printText(key)}`)
      current = item
    } else if (current instanceof ObjectValue) current = current.get(key)
    else return err(`can't index ${printText(current)}`)
  }
  return ok(current)
}

function sliceOf(
  value: Value | undefined,
  from: Value | undefined,
  to: Value | undefined,
): Result<Value, string> {
  if (typeof value !== 'string' && !isArray(value)) return err(`can't slice ${printText(value)}`)
  const start = typeof from === 'number' ? from : 0
  const end = typeof to === 'number' ? to : value.length
  return start < 0 || end > value.length || start > end
    ? err('slice index out of range')
    : ok(value.slice(start, end))
}

/** With a space between two of which neither is a text. */
function printAll(values: Values): string {
  return values.reduce<string>((text, value, at) => {
    const isApart = at > 0 && typeof value !== 'string' && typeof values[at - 1] !== 'string'
    return `${text}${isApart ? ' ' : ''}${printText(value)}`
  }, '')
}

const HTML: Readonly<Record<string, string>> = {
  '<': '&lt;',
  '>': '&gt;',
  '&': '&amp;',
  '"': '&#34;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[<>&"']/g, (sign) => HTML[sign] ?? sign)
}

function escapeScript(text: string): string {
  return text.replace(/[\\'"<>&=\p{Cc}]/gu, (sign) =>
    /[\\'"]/.test(sign)
      ? `\\${sign}`
      : `\\u${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`,
  )
}
