/**
 * About how many instructions a regular expression is compiled to, told from its text. Compiling
 * takes some microseconds for each, and a short text can stand for very many: `a{1000}` five
 * hundred times takes two seconds. So this is asked before anything is compiled. It goes over the
 * text once, and is never far below the truth; what is no regular expression has a size too.
 */
export function patternSize(text: string): number {
  const folds = FOLDS.test(text)
  const groups: Sum[] = []
  let sum: Sum = { all: 0, last: 0 }
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '(') {
      groups.push(sum)
      sum = { all: 0, last: 0 }
      // Flags and names are not matched: `(?i)`, `(?:`, `(?P<name>`.
      at += (HEAD.exec(text.slice(at, at + HEAD_CHARS_MAX))?.[0].length ?? 1) - 1
    } else if (char === ')') sum = withPart(groups.pop() ?? { all: 0, last: 0 }, sum.all + GROUP)
    else if (char === '*' || char === '+' || char === '?') sum = withPart(before(sum), sum.last + 1)
    else if (char === '{') {
      const repeat = REPEAT.exec(text.slice(at, at + REPEAT_CHARS_MAX))
      sum = repeat === null ? withPart(sum, 1) : repeated(sum, repeat)
      at += (repeat?.[0].length ?? 1) - 1
    } else {
      const part = partAt(text, at, folds)
      sum = withPart(sum, part.size)
      at = part.end - 1
    }
  }
  // A group that is not closed is refused later; what is in it was read.
  return groups.reduce((size, { all }) => size + all, sum.all)
}

/** The size so far, and how much of it is the last part: what a quantifier repeats. */
interface Sum {
  readonly all: number
  readonly last: number
}

/** Two instructions remember where a group began and ended; making them is as dear as eight. */
const GROUP = 8
/** The letters of a script are hundreds of ranges; digits, words and spaces are few. */
const PROPERTY = 30
const PERL_CLASS = 4
/** Where case does not matter, each character of a range outside ASCII is looked up. */
const FOLDED_RANGE = 2_000
const FOLDS = /\(\?[A-Za-z]*i/
const HEAD = /^\(\?(?:P?<[^>]*>|[A-Za-z-]*:?)/
const HEAD_CHARS_MAX = 64
const REPEAT = /^\{(\d{1,9})(?:,(\d{0,9}))?\}/
const REPEAT_CHARS_MAX = 24

function withPart({ all }: Sum, size: number): Sum {
  return { all: all + size, last: size }
}

function before({ all, last }: Sum): Sum {
  return { all: all - last, last: 0 }
}

function repeated(sum: Sum, [, from = '0', to = '']: readonly string[]): Sum {
  const times = Math.max(Number(from), Number(to), 1)
  return withPart(before(sum), (sum.last + 1) * times)
}

interface Part {
  readonly size: number
  readonly end: number
}

/** An escape, a class, or any other character. */
function partAt(text: string, at: number, folds: boolean): Part {
  const char = text.charAt(at)
  if (char === '[') return classAt(text, at, folds)
  if (char !== '\\') return { size: 1, end: at + 1 }
  const kind = text.charAt(at + 1)
  if (/[dwsDWS]/.test(kind)) return { size: PERL_CLASS, end: at + 2 }
  if (kind !== 'p' && kind !== 'P') return { size: 1, end: at + 2 }
  const size = propertySize(folds)
  return { size, end: text.charAt(at + 2) === '{' ? endOf(text, '}', at + 2) : at + 3 }
}

function propertySize(folds: boolean): number {
  return folds ? 4 * PROPERTY : PROPERTY
}

function classAt(text: string, start: number, folds: boolean): Part {
  // A bracket that comes first is one of the characters.
  let at = start + (text.charAt(start + 1) === '^' ? 2 : 1)
  if (text.charAt(at) === ']') at += 1
  while (at < text.length && text.charAt(at) !== ']')
    if (text.startsWith('[:', at)) at = endOf(text, ':]', at)
    else at += text.charAt(at) === '\\' ? 2 : 1
  return { size: classSize(text.slice(start + 1, at), folds), end: at + 1 }
}

function classSize(members: string, folds: boolean): number {
  const properties = members.match(/\\[pP]/g)?.length ?? 0
  const isWide = folds && /\\x|[^ -~]/.test(members)
  const ranges = isWide ? (members.match(/-/g)?.length ?? 0) : 0
  return 1 + (members.length >> 3) + properties * propertySize(folds) + ranges * FOLDED_RANGE
}

/** Behind the mark, or behind the next character where there is none: it means itself then. */
function endOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from)
  return found < 0 ? from + 1 : found + mark.length
}
