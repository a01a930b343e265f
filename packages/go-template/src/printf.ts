import { formatArgument, type Argument, type Flags } from './fmt/format-verb.ts'
import { tooLong } from './budget.ts'
import { isList, isMap, printValue, StructValue, typeNameOf, type Value } from './value.ts'

const DIRECTIVE = /%([+\-# 0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(.)?/gsu

/** Go's `fmt.Sprintf` over the values of templates; what does not fit is said inside the text. */
export function printf(format: string, args: readonly Value[]): string {
  let used = 0
  let chars = 0
  const take = (): Value => args[used++]
  const count = (part: string): string => {
    chars += part.length
    tooLong(chars)
    return part
  }
  const text = format.replace(DIRECTIVE, (...match: readonly unknown[]) => {
    const [whole = '', marks = '', width, precision, verb] = match.map((part) => {
      return typeof part === 'string' ? part : undefined
    })
    const flags: Flags = {
      plus: marks.includes('+'),
      minus: marks.includes('-'),
      sharp: marks.includes('#'),
      space: marks.includes(' '),
      zero: marks.includes('0'),
    }
    const wide = sizeOf(width, take)
    if (wide !== undefined) flags.width = wide
    const exact = sizeOf(precision, take) ?? (whole.includes('.') ? 0 : undefined)
    if (exact !== undefined) flags.precision = exact
    if (verb === undefined) return '%!(NOVERB)'
    if (verb === '%') return '%'
    return used >= args.length ? `%!${verb}(MISSING)` : formatValue(flags, verb, take(), count)
  })
  if (used >= args.length) return text
  const extra = args.slice(used).map((value) => `${typeNameOf(value)}=${printValue(value, true)}`)
  return `${text}%!(EXTRA ${extra.join(', ')})`
}

/** More than this is never meant. */
const SIZE_MAX = 10_000

function sizeOf(text: unknown, take: () => Value): number | undefined {
  if (typeof text !== 'string') return undefined
  const size = text === '*' ? Number(take()) : Number(text)
  return Number.isInteger(size) && size >= 0 ? Math.min(size, SIZE_MAX) : undefined
}

/** `count` bounds the parts together: a width makes many characters of each element of a list. */
function formatValue(
  flags: Flags,
  verb: string,
  value: Value,
  count: (part: string) => string,
): string {
  if (verb === 'T') return typeNameOf(value)
  if (value === undefined || value === null) return verb === 'v' ? '<nil>' : `%!${verb}(<nil>)`
  if (typeof value === 'boolean') {
    if (verb !== 'v' && verb !== 't') return `%!${verb}(bool=${value})`
    const padded = String(value).padStart(flags.minus ? 0 : (flags.width ?? 0))
    return count(padded.padEnd(flags.width ?? 0))
  }
  if (isList(value)) {
    return `[${value.map((item) => formatValue(flags, verb, item, count)).join(' ')}]`
  }
  if (isMap(value) || value instanceof StructValue) return printValue(value)
  return count(formatArgument(flags, verb, argumentOf(value)))
}

function argumentOf(value: string | bigint | number): Argument {
  if (typeof value === 'string') return { type: 'string', value }
  if (typeof value === 'bigint') return { type: 'int64', value }
  return { type: 'float64', value }
}
