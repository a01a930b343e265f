import { kindOf, type Kind } from '../value/value.ts'
import { parseNumber } from '../value/number.ts'
import { define, type Builtin } from './builtin.ts'

const KINDS: readonly Kind[] = ['array', 'boolean', 'null', 'number', 'object', 'set', 'string']

export const TYPE_BUILTINS: readonly Builtin[] = [
  ...KINDS.map((kind) =>
    define(
      { name: `is_${kind}`, operands: ['any'], result: 'boolean' },
      (_context, value) => kindOf(value) === kind,
    ),
  ),
  define({ name: 'type_name', operands: ['any'], result: 'string' }, (_context, value) =>
    kindOf(value),
  ),
  define(
    { name: 'to_number', operands: [['null', 'boolean', 'number', 'string']], result: 'number' },
    (context, value) => {
      if (value === null || typeof value === 'boolean') return value === true ? 1 : 0
      if (typeof value !== 'string') return value
      if (/^[+-]*(?:inf|infinity|nan)$/i.test(value))
        return context.failType('operand 1 must be valid number string but got string')
      return (
        parseNumber(value) ??
        context.fail(`strconv.ParseFloat: parsing ${JSON.stringify(value)}: invalid syntax`)
      )
    },
  ),
]
