import { define, type Builtin, type CallContext } from './builtin.ts'
import { chargeForString, smallWholeOf } from './operands.ts'

export const STRING_PART_BUILTINS: readonly Builtin[] = [
  search('contains', (text, part) => text.includes(part)),
  search('startswith', (text, part) => text.startsWith(part)),
  search('endswith', (text, part) => text.endsWith(part)),
  define(
    { name: 'strings.count', operands: ['string', 'string'], result: 'number' },
    (context, text, part) => {
      chargeForString(context, text.length)
      // An empty text is between all characters and at both ends.
      return part === '' ? Array.from(text).length + 1 : text.split(part).length - 1
    },
  ),
  define(
    { name: 'indexof', operands: ['string', 'string'], result: 'number' },
    (context, text, part) => {
      if (part === '') return context.fail('empty search character')
      chargeForString(context, text.length)
      const at = text.indexOf(part)
      return at < 0 ? -1 : Array.from(text.slice(0, at)).length
    },
  ),
  define(
    { name: 'indexof_n', operands: ['string', 'string'], result: 'array' },
    (context, text, part) => {
      if (part === '') return context.fail('empty search character')
      chargeForString(context, text.length)
      return positionsOf(context, text, part)
    },
  ),
  define(
    { name: 'substring', operands: ['string', 'number', 'number'], result: 'string' },
    (context, ...[text, offset, length]) => {
      const from = smallWholeOf(context, offset, 2)
      if (from === undefined) return undefined
      const count = smallWholeOf(context, length, 3)
      if (count === undefined) return undefined
      if (from < 0) return context.fail('negative offset')
      chargeForString(context, text.length)
      const to = count < 0 ? undefined : from + count
      if (!/[\ud800-\udfff]/.test(text)) return text.slice(from, to)
      return Array.from(text).slice(from, to).join('')
    },
  ),
  trim('trim', (text, set) => trimRight(trimLeft(text, set), set)),
  trim('trim_left', trimLeft),
  trim('trim_right', trimRight),
  define(
    { name: 'trim_prefix', operands: ['string', 'string'], result: 'string' },
    (_, text, part) => (text.startsWith(part) ? text.slice(part.length) : text),
  ),
  define(
    { name: 'trim_suffix', operands: ['string', 'string'], result: 'string' },
    (_, text, part) => (part !== '' && text.endsWith(part) ? text.slice(0, -part.length) : text),
  ),
  define({ name: 'trim_space', operands: ['string'], result: 'string' }, (context, text) => {
    chargeForString(context, text.length)
    return trimRight(trimLeft(text, SPACES), SPACES)
  }),
]

/** White space as Unicode has it: with U+0085, without the byte order mark. */
const SPACES: ReadonlySet<string> = new Set(
  '\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000',
)

function search(name: string, test: (text: string, part: string) => boolean): Builtin {
  return define(
    { name, operands: ['string', 'string'], result: 'boolean' },
    (context, text, part) => {
      chargeForString(context, Math.min(text.length, text.length + part.length))
      return test(text, part)
    },
  )
}

/** Returns the positions of a substring in characters; occurrences may overlap. */
function positionsOf(context: CallContext, text: string, part: string): readonly number[] {
  const found: number[] = []
  let pairs = 0
  let counted = 0
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    for (; counted < at; counted++) if (isLowSurrogate(text, counted)) pairs++
    if (isLowSurrogate(text, at)) continue
    context.charge(1 + Math.floor(part.length / 64))
    found.push(at - pairs)
  }
  return found
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}

function trim(name: string, cut: (text: string, set: ReadonlySet<string>) => string): Builtin {
  return define(
    { name, operands: ['string', 'string'], result: 'string' },
    (context, text, set) => {
      chargeForString(context, text.length + set.length)
      return cut(text, new Set(set))
    },
  )
}

function trimLeft(text: string, set: ReadonlySet<string>): string {
  let at = 0
  for (const character of text) {
    if (!set.has(character)) break
    at += character.length
  }
  return text.slice(at)
}

function trimRight(text: string, set: ReadonlySet<string>): string {
  let end = text.length
  while (end > 0) {
    const size = isLowSurrogate(text, end - 1) ? 2 : 1
    if (!set.has(text.slice(Math.max(end - size, 0), end))) break
    end -= size
  }
  return text.slice(0, Math.max(end, 0))
}
