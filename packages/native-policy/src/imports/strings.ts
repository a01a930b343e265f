import { CHARACTERS_PER_STEP, STRING_LENGTH_MAX } from '../limits.ts'
import {
  type CallContext,
  Float,
  isInt,
  ListValue,
  type MapValue,
  typeOf,
  type Value,
} from '../value/value.ts'
import { createMap } from '../value/map.ts'
import { textArgument, typed, defineVariadic } from './define.ts'

/** The import `strings`. */
export function stringsImport(): MapValue {
  return createMap({
    has_prefix: typed('has_prefix', ['string', 'string'], ([text, part]) => text.startsWith(part)),
    has_suffix: typed('has_suffix', ['string', 'string'], ([text, part]) => text.endsWith(part)),
    join: typed('join', ['list', 'string'], ([list, separator], context) =>
      long(flatTexts(list, context).join(separator), context),
    ),
    replace: defineVariadic('replace', [3, 4], replace),
    split: typed('split', ['any', 'string'], split),
    to_lower: typed('to_lower', ['string'], ([text], context) => long(text.toLowerCase(), context)),
    to_upper: typed('to_upper', ['string'], ([text], context) => long(text.toUpperCase(), context)),
    trim: typed('trim', ['string', 'string'], ([text, set]) => trimRight(trimLeft(text, set), set)),
    trim_left: typed('trim_left', ['string', 'string'], ([text, set]) => trimLeft(text, set)),
    trim_right: typed('trim_right', ['string', 'string'], ([text, set]) => trimRight(text, set)),
    trim_prefix: typed('trim_prefix', ['string', 'string'], ([text, part]) =>
      text.startsWith(part) ? text.slice(part.length) : text,
    ),
    trim_suffix: typed('trim_suffix', ['string', 'string'], ([text, part]) =>
      part !== '' && text.endsWith(part) ? text.slice(0, -part.length) : text,
    ),
    trim_space: typed('trim_space', ['string'], ([text]) => text.trim()),
  })
}

/** Flattens nested lists and converts scalars to strings. */
function flatTexts(list: ListValue, context: CallContext): readonly string[] {
  context.charge(list.items.length)
  return list.items.flatMap((item) => {
    if (item instanceof ListValue) return flatTexts(item, context)
    const text = scalarText(item)
    return text === undefined ? context.fail(`join cannot make text of ${typeOf(item)}`) : [text]
  })
}

function scalarText(value: Value): string | undefined {
  if (typeof value === 'string') return value
  if (value instanceof Float) return String(value.value)
  return typeof value === 'boolean' || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : undefined
}

function replace(args: readonly Value[], context: CallContext): Value {
  const [text, old, fresh] = [0, 1, 2].map((index) =>
    textArgument(args, { name: 'replace', index }, context),
  )
  const count = args[3] ?? -1
  if (!isInt(count)) return context.fail(`argument 4 of replace must be int, not ${typeOf(count)}`)
  return long(
    replaceTimes(text ?? '', { old: old ?? '', fresh: fresh ?? '', count: Number(count) }),
    context,
  )
}

interface Replacement {
  readonly old: string
  readonly fresh: string
  /** Negative: all occurrences. */
  readonly count: number
}

function replaceTimes(text: string, { old, fresh, count }: Replacement): string {
  const parts = old === '' ? ['', ...Array.from(text), ''] : text.split(old)
  const times = count < 0 ? parts.length - 1 : Math.min(count, parts.length - 1)
  const replaced = parts.slice(0, times + 1).join(fresh)
  const rest = parts.slice(times + 1)
  return rest.length === 0 ? replaced : [replaced, ...rest].join(old)
}

/** `split` of a list returns it unchanged. */
function split([text, separator]: readonly [Value, string], context: CallContext): Value {
  if (text instanceof ListValue) return text
  if (typeof text !== 'string')
    return context.fail(`argument 1 of split must be string, not ${typeOf(text)}`)
  const parts = separator === '' ? Array.from(text) : text.split(separator)
  context.allocate(parts.length)
  return new ListValue(parts)
}

function trimLeft(text: string, set: string): string {
  const characters = Array.from(text)
  const unwanted = new Set(set)
  const from = characters.findIndex((character) => !unwanted.has(character))
  return from === -1 ? '' : characters.slice(from).join('')
}

function trimRight(text: string, set: string): string {
  const characters = Array.from(text)
  const unwanted = new Set(set)
  const to = characters.findLastIndex((character) => !unwanted.has(character))
  return characters.slice(0, to + 1).join('')
}

function long(text: string, context: CallContext): string {
  if (text.length > STRING_LENGTH_MAX)
    context.fail(`a string is longer than ${STRING_LENGTH_MAX} characters`)
  context.allocate(Math.ceil(text.length / CHARACTERS_PER_STEP))
  return text
}
