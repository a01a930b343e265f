/**
 * Returns the position of the first invalid character of a JSON text, or the text's length if it
 * ends too early. JSON.parse reports a position for some errors only. Not recursive: deeply nested
 * brackets must not overflow the stack.
 */
export function findJsonProblem(text: string): number {
  const open: ('{' | '[')[] = []
  let wanted: Wanted = 'value'
  let at = skipSpace(text, 0)
  while (at < text.length) {
    const step: Step = STEPS[wanted](text, at, open)
    if (step.problemAt !== undefined) return step.problemAt
    wanted = open.length === 0 && step.wanted === 'more' ? 'end' : step.wanted
    at = skipSpace(text, step.end)
  }
  return at
}

type Wanted = 'value' | 'first-item' | 'name' | 'first-name' | 'colon' | 'more' | 'end'

interface Step {
  readonly end: number
  readonly wanted: Wanted
  readonly problemAt?: number
}

type Read = (text: string, at: number, open: ('{' | '[')[]) => Step

const STEPS: Readonly<Record<Wanted, Read>> = {
  value: readValue,
  'first-item': (text, at, open) =>
    text[at] === ']' ? close(at, open) : readValue(text, at, open),
  name: readName,
  'first-name': (text, at, open) => (text[at] === '}' ? close(at, open) : readName(text, at)),
  colon: (text, at) => (text[at] === ':' ? { end: at + 1, wanted: 'value' } : wrong(at)),
  more: (text, at, open) => {
    const inner = open.at(-1)
    if (text[at] === ',') return { end: at + 1, wanted: inner === '{' ? 'name' : 'value' }
    return text[at] === (inner === '{' ? '}' : ']') ? close(at, open) : wrong(at)
  },
  end: (_text, at) => wrong(at),
}

function readValue(text: string, at: number, open: ('{' | '[')[]): Step {
  const first = text[at]
  if (first === '{' || first === '[') {
    open.push(first)
    return { end: at + 1, wanted: first === '{' ? 'first-name' : 'first-item' }
  }
  if (first === '"') return readString(text, at, 'more')
  SCALAR.lastIndex = at
  const scalar = SCALAR.exec(text)?.[0]
  return scalar === undefined ? wrong(at) : { end: at + scalar.length, wanted: 'more' }
}

const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

function readName(text: string, at: number): Step {
  return text[at] === '"' ? readString(text, at, 'colon') : wrong(at)
}

function readString(text: string, start: number, wanted: Wanted): Step {
  let at = start + 1
  for (; at < text.length; at++) {
    const one = text.charAt(at)
    if (one === '"') return { end: at + 1, wanted }
    if (one < ' ') return wrong(at)
    if (one !== '\\') continue
    ESCAPE.lastIndex = at
    const escape = ESCAPE.exec(text)?.[0]
    if (escape === undefined) return wrong(at)
    at += escape.length - 1
  }
  return wrong(at)
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y

function close(at: number, open: ('{' | '[')[]): Step {
  open.pop()
  return { end: at + 1, wanted: 'more' }
}

function wrong(problemAt: number): Step {
  return { end: problemAt, wanted: 'end', problemAt }
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && SPACE.has(text.charAt(at))) at++
  return at
}

/** RFC 8259 §2. */
const SPACE: ReadonlySet<string> = new Set([' ', '\t', '\n', '\r'])
