import { randomInt } from 'node:crypto'
import { LIMITS } from '../model/index.ts'

/**
 * Shorter texts are parsed without being measured: however they are made, that takes less than ten
 * milliseconds, and measuring would cost the usual body a third of its parsing.
 */
const UNMEASURED_CHARS_MAX = 64 * 1024

/** A text that is JSON, but would hold up everybody else while it is parsed. Decision 0007. */
export class JsonLimitError extends Error {}

/**
 * The first JSON value of a body. Trailing bytes are ignored, so a text that does not parse whole
 * is cut after its first value and parsed again.
 */
export function parseFirstJson(text: string): unknown {
  if (text.length > UNMEASURED_CHARS_MAX) return JSON.parse(text.slice(0, measureFirst(text)))
  try {
    return JSON.parse(text)
  } catch (thrown) {
    const end = measureFirst(text)
    if (end === text.length) throw thrown
    return JSON.parse(text.slice(0, end))
  }
}

/** A body that is one JSON value and nothing else. A long text is measured before it is parsed. */
export function parseWholeJson(text: string): unknown {
  if (text.length > UNMEASURED_CHARS_MAX) measureFirst(text)
  return JSON.parse(text)
}

const TOO_DEEP = `the JSON is nested more than ${LIMITS.jsonBodyDepthMax} levels deep`
const TOO_WIDE = `the JSON has more than ${LIMITS.jsonContainersMax} objects and lists`
const TOO_VARIED = `the JSON has more than ${LIMITS.jsonShapesMax} different names`

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const SPACE = 0x20
/** `[` and `{` differ in this bit only, and so do `]` and `}`. */
const BRACE_BIT = 0x20
const OPEN = 0x7b
const CLOSE = 0x7d

/**
 * The position after the first object, list or string, or the end of the text when it begins with
 * anything else or does not end. Goes over the text once and makes nothing of it; throws when it is
 * too deep or has too many parts. What is no JSON is left to the parser.
 */
function measureFirst(text: string): number {
  const start = text.search(/\S/)
  if (start < 0 || !'{["'.includes(text.charAt(start))) return text.length
  const shapes = new ShapeCount()
  let depth = 0
  let containers = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const end = endOfString(text, at)
      if (depth === 0) return Math.min(end + 1, text.length)
      if (isName(text, end)) shapes.add(depth, text, { start: at, end })
      at = end
    } else if ((code | BRACE_BIT) === OPEN) {
      depth += 1
      containers += 1
      if (depth > LIMITS.jsonBodyDepthMax) throw new JsonLimitError(TOO_DEEP)
      if (containers > LIMITS.jsonContainersMax) throw new JsonLimitError(TOO_WIDE)
      shapes.open(depth)
    } else if ((code | BRACE_BIT) === CLOSE) {
      depth -= 1
      if (depth <= 0) return at + 1
    }
  }
  return text.length
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) at += 1
    else if (code === QUOTE) return at
  }
  return text.length
}

/** Whether the string that ends here names a field. */
function isName(text: string, end: number): boolean {
  let at = end + 1
  while (text.charCodeAt(at) <= SPACE) at += 1
  return text.charCodeAt(at) === COLON
}

/**
 * How many different beginnings objects have: a name counts anew after other names. That is what
 * the parser keeps for each object, and at more than a microsecond each it is the dearest part of
 * parsing; a map of many names has as many of them, a list of equal records hardly any.
 */
class ShapeCount {
  /** One bit for each hash that was met: few enough beginnings share one. */
  readonly #met = new Int32Array(SHAPE_BITS / 32)
  /** The hash of the names so far, of each object that is open. */
  readonly #hashes = new Int32Array(LIMITS.jsonBodyDepthMax + 1)
  #count = 0

  open(depth: number): void {
    this.#hashes[depth] = HASH_SEED
  }

  add(
    depth: number,
    text: string,
    { start, end }: { readonly start: number; readonly end: number },
  ): void {
    let hash = this.#hashes[depth] ?? 0
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), HASH_FACTOR)
    hash ^= hash >>> 15
    this.#hashes[depth] = hash
    const [word, bit] = [(hash >>> 5) % this.#met.length, 1 << (hash & 31)]
    const known = this.#met[word] ?? 0
    if ((known & bit) !== 0) return
    this.#met[word] = known | bit
    this.#count += 1
    if (this.#count > LIMITS.jsonShapesMax) throw new JsonLimitError(TOO_VARIED)
  }
}

const SHAPE_BITS = 2 ** 20
const HASH_FACTOR = 0x01000193
/** Another one in each process: nobody can write names that all look the same. */
const HASH_SEED = randomInt(2 ** 31)
