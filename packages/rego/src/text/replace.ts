import type { CallContext } from '../builtins/builtin.ts'
import { addLength, chargeForString } from '../builtins/operands.ts'

/** Replacement pairs; if several match at a position, the first one wins. */
export interface Replacer {
  readonly pairs: readonly (readonly [old: string, by: string])[]
  /** Pairs by their first UTF-16 unit, in source order. */
  readonly byFirst: ReadonlyMap<string, readonly (readonly [old: string, by: string])[]>
  /** The pair with an empty pattern, which matches wherever no earlier pair does. */
  readonly empty: readonly [old: string, by: string] | undefined
}

export function replacerOf(pairs: readonly (readonly [string, string])[]): Replacer {
  const byFirst = new Map<string, (readonly [string, string])[]>()
  let empty: readonly [string, string] | undefined
  for (const pair of pairs) {
    const first = pair[0][0]
    if (first === undefined) empty ??= pair
    else {
      const others = byFirst.get(first)
      if (others === undefined) byFirst.set(first, [pair])
      else others.push(pair)
    }
  }
  return { pairs, byFirst, empty }
}

/** Replaces from left to right; replacements are not scanned again. */
export function replaceAll(context: CallContext, text: string, replacer: Replacer): string {
  const [only] = replacer.pairs
  if (only !== undefined && replacer.pairs.length === 1 && only[0] !== '')
    return replaceOne(context, text, only)
  const pieces: string[] = []
  let length = 0
  const put = (piece: string) => {
    pieces.push(piece)
    length = addLength(context, length, piece.length)
  }
  let copied = 0
  let at = 0
  while (at <= text.length) {
    const candidates = replacer.byFirst.get(text[at] ?? '') ?? []
    context.charge(1 + candidates.length)
    const found = candidates.find(([old]) => text.startsWith(old, at))
    if (found !== undefined) {
      put(text.slice(copied, at) + found[1])
      at += found[0].length
      copied = at
      continue
    }
    if (replacer.empty !== undefined) {
      put(text.slice(copied, at) + replacer.empty[1])
      copied = at
    }
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  }
  put(text.slice(copied))
  return pieces.join('')
}

function replaceOne(
  context: CallContext,
  text: string,
  [old, by]: readonly [string, string],
): string {
  const parts = text.split(old)
  chargeForString(context, text.length + (parts.length - 1) * by.length)
  return parts.join(by)
}
