import { STRING_LENGTH_MAX, VALUE_DEPTH_MAX } from '../limits.ts'
import { LimitExceeded } from './fuel.ts'
import { numberText } from './number.ts'
import { quote } from '@reeve/go-template/fmt'
import { isArray, isNumber, type Value } from './value.ts'

/** The value as it would be written in a policy: `{"a": [1, true], "b": {2, 3}}`, `set()`. */
export function formatValue(value: Value): string {
  return write(value, { depth: 0, left: STRING_LENGTH_MAX })
}

interface Budget {
  depth: number
  left: number
}

function write(value: Value, budget: Budget): string {
  const text = isComposite(value) ? writeComposite(value, budget) : scalarText(value)
  // Shared parts are written out at every use, so the text may be far larger than the value.
  budget.left -= 2
  if (!isComposite(value)) budget.left -= text.length
  if (budget.left < 0) throw new LimitExceeded('a text is too long')
  return text
}

type Composite = Exclude<Value, null | boolean | string | number | { readonly digits: bigint }>

function isComposite(value: Value): value is Composite {
  return typeof value === 'object' && value !== null && !isNumber(value)
}

function scalarText(value: Value): string {
  if (typeof value === 'string') return quote(value)
  if (isNumber(value)) return numberText(value)
  return value === true ? 'true' : value === false ? 'false' : 'null'
}

function writeComposite(value: Composite, budget: Budget): string {
  if (++budget.depth > VALUE_DEPTH_MAX) throw new LimitExceeded('a value is nested too deeply')
  const text = isArray(value)
    ? `[${value.map((item) => write(item, budget)).join(', ')}]`
    : value.kind === 'set'
      ? writeSet(value.sorted(), budget)
      : `{${value
          .entries()
          .map(([key, item]) => `${write(key, budget)}: ${write(item, budget)}`)
          .join(', ')}}`
  budget.depth--
  return text
}

function writeSet(members: readonly Value[], budget: Budget): string {
  return members.length === 0
    ? 'set()'
    : `{${members.map((item) => write(item, budget)).join(', ')}}`
}

/** The same, but a string is itself. */
export function formatText(value: Value): string {
  return typeof value === 'string' ? value : formatValue(value)
}
