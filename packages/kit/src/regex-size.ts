/**
 * Estimates from its source how many instructions a regular expression compiles to. Compilation
 * takes some microseconds per instruction, and a short pattern can expand a lot: 500 times
 * `a{1000}` takes two seconds. So the size is checked before compilation. One pass over the text;
 * never far below the real size. Invalid patterns have a size too.
 */
export function estimateRegexSize(text: string): number {
  const folds = FOLDS.test(text)
  const groups: Sum[] = []
  let sum: Sum = { all: 0, last: 0 }
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '(') {
      groups.push(sum)
      sum = { all: 0, last: 0 }
      // Flags and group names match nothing: `(?i)`, `(?:`, `(?P<name>`.
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
  // The compiler rejects an unclosed group; its content counts here.
  return groups.reduce((size, { all }) => size + all, sum.all)
}

/** The total size, and the size of the last element, which a quantifier repeats. */
interface Sum {
  readonly all: number
  readonly last: number
}

/** A group needs two instructions for its bounds; creating them costs as much as eight. */
const GROUP = 8
/** A script such as `\p{Greek}` has hundreds of ranges; digits, words and spaces have few. */
const PROPERTY = 30
const PERL_CLASS = 4
/** Case-insensitive ranges outside ASCII look up every character. */
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

/** Reads an escape, a class or a single character. */
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
  // A closing bracket in first position is a member of the class.
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

/**
 * Index after the mark or, if the mark is missing, after the next character, which is then literal.
 */
function endOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from)
  return found < 0 ? from + 1 : found + mark.length
}
