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
