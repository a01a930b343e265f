import { randomInt } from 'node:crypto'
import { LIMITS } from '../model/index.ts'

/**
 * Texts up to this length are parsed without a scan: that takes less than ten milliseconds whatever
 * they contain, and scanning would add a third to the parsing time of a typical body.
 */
const UNSCANNED_CHARS_MAX = 64 * 1024

/** A JSON text that would block the event loop while it is parsed (decision 0007). */
export class JsonLimitError extends Error {}

/**
 * Parses the first JSON value of a body and ignores trailing bytes: a text that does not parse as a
 * whole is cut after its first value and parsed again.
 */
export function parseJsonPrefix(text: string): unknown {
  if (text.length > UNSCANNED_CHARS_MAX) return JSON.parse(text.slice(0, scanFirstValue(text)))
  try {
    return JSON.parse(text)
  } catch (thrown) {
    const end = scanFirstValue(text)
    if (end === text.length) throw thrown
    return JSON.parse(text.slice(0, end))
  }
}

/** Parses a body that must be one JSON value. A long text is scanned before it is parsed. */
export function parseJsonStrict(text: string): unknown {
  if (text.length > UNSCANNED_CHARS_MAX) scanFirstValue(text)
  return JSON.parse(text)
}

const TOO_DEEP = `the JSON is nested more than ${LIMITS.jsonBodyDepthMax} levels deep`
const TOO_WIDE = `the JSON has more than ${LIMITS.jsonContainersMax} objects and lists`
const TOO_VARIED = `the JSON has more than ${LIMITS.jsonShapesMax} different names`

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const SPACE = 0x20
/** The only bit in which `[` and `{` differ, and `]` and `}`. */
const BRACE_BIT = 0x20
const OPEN = 0x7b
const CLOSE = 0x7d

/**
 * Returns the position after the first object, list or string, or the end of the text if it starts
 * with anything else or is incomplete. Scans the text once without allocating; throws if it is
 * nested too deeply or has too many shapes. Invalid JSON is left to the parser.
 */
function scanFirstValue(text: string): number {
  const start = text.search(/\S/)
  if (start < 0 || !'{["'.includes(text.charAt(start))) return text.length
  const shapes = new ShapeCounter()
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

/** Reports whether the string that ends here is a field name. */
function isName(text: string, end: number): boolean {
  let at = end + 1
  while (text.charCodeAt(at) <= SPACE) at += 1
  return text.charCodeAt(at) === COLON
}

/**
 * Counts the distinct object shapes, as prefixes of field names. The parser keeps a hidden class
 * for each, and at more than a microsecond each they are the most expensive part of parsing; a map
 * with many names has as many shapes, a list of uniform records hardly any.
 */
class ShapeCounter {
  /** Bitmap of the hashes seen; large enough that collisions hardly matter. */
  readonly #seenHashes = new Int32Array(SHAPE_BITS / 32)
  /** Hash of the field names so far, for each open object. */
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
    const [index, bit] = [(hash >>> 5) % this.#seenHashes.length, 1 << (hash & 31)]
    const bits = this.#seenHashes[index] ?? 0
    if ((bits & bit) !== 0) return
    this.#seenHashes[index] = bits | bit
    this.#count += 1
    if (this.#count > LIMITS.jsonShapesMax) throw new JsonLimitError(TOO_VARIED)
  }
}

const SHAPE_BITS = 2 ** 20
const HASH_FACTOR = 0x01000193
/** Random per process, so that clients cannot construct names whose hashes collide. */
const HASH_SEED = randomInt(2 ** 31)

/**
 * Returns the position of the first invalid character of a JSON text, or the text's length if it
 * ends too early. JSON.parse reports a position for some errors only. Not recursive: deeply nested
 * brackets must not overflow the stack.
 */
export function findJsonErrorPosition(text: string): number {
  const open: ('{' | '[')[] = []
  let expected: Expected = 'value'
  let position = skipSpace(text, 0)
  while (position < text.length) {
    const step: Step = STEPS[expected](text, position, open)
    if (step.errorPosition !== undefined) return step.errorPosition
    expected = open.length === 0 && step.expected === 'more' ? 'end' : step.expected
    position = skipSpace(text, step.end)
  }
  return position
}

type Expected = 'value' | 'first-item' | 'name' | 'first-name' | 'colon' | 'more' | 'end'

interface Step {
  readonly end: number
  readonly expected: Expected
  readonly errorPosition?: number
}

type ReadStep = (text: string, at: number, open: ('{' | '[')[]) => Step

const STEPS: Readonly<Record<Expected, ReadStep>> = {
  value: readValue,
  'first-item': (text, at, open) =>
    text[at] === ']' ? close(at, open) : readValue(text, at, open),
  name: readName,
  'first-name': (text, at, open) => (text[at] === '}' ? close(at, open) : readName(text, at)),
  colon: (text, at) => (text[at] === ':' ? { end: at + 1, expected: 'value' } : errorStep(at)),
  more: (text, at, open) => {
    const inner = open.at(-1)
    if (text[at] === ',') return { end: at + 1, expected: inner === '{' ? 'name' : 'value' }
    return text[at] === (inner === '{' ? '}' : ']') ? close(at, open) : errorStep(at)
  },
  end: (_text, at) => errorStep(at),
}

function readValue(text: string, at: number, open: ('{' | '[')[]): Step {
  const first = text[at]
  if (first === '{' || first === '[') {
    open.push(first)
    return { end: at + 1, expected: first === '{' ? 'first-name' : 'first-item' }
  }
  if (first === '"') return readString(text, at, 'more')
  SCALAR.lastIndex = at
  const scalar = SCALAR.exec(text)?.[0]
  return scalar === undefined ? errorStep(at) : { end: at + scalar.length, expected: 'more' }
}

const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

function readName(text: string, at: number): Step {
  return text[at] === '"' ? readString(text, at, 'colon') : errorStep(at)
}

function readString(text: string, start: number, expected: Expected): Step {
  let at = start + 1
  for (; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '"') return { end: at + 1, expected }
    if (character < ' ') return errorStep(at)
    if (character !== '\\') continue
    ESCAPE.lastIndex = at
    const escape = ESCAPE.exec(text)?.[0]
    if (escape === undefined) return errorStep(at)
    at += escape.length - 1
  }
  return errorStep(at)
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y

function close(at: number, open: ('{' | '[')[]): Step {
  open.pop()
  return { end: at + 1, expected: 'more' }
}

function errorStep(position: number): Step {
  return { end: position, expected: 'end', errorPosition: position }
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && JSON_WHITESPACE.has(text.charAt(at))) at++
  return at
}

/** RFC 8259 §2. */
const JSON_WHITESPACE: ReadonlySet<string> = new Set([' ', '\t', '\n', '\r'])

/** Returns a field of untrusted input; undefined if the input has none. */
export function getField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined
}

/** Returns the string; empty for any other value. */
export function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
