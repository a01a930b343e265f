/** One field of a cron expression: which numbers it may hold, and what else. */
export interface FieldKind {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Names that stand for numbers, from `min` upward: whole, or their first three letters. */
  readonly names?: readonly string[]
  /** Forms beyond numbers, ranges and steps, such as `L` or `15W`. */
  readonly special?: RegExp
}

const MONTHS =
  'JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER'.split(' ')
const DAYS = 'SUNDAY MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY'.split(' ')

export const SECOND: FieldKind = { name: 'second', min: 0, max: 59 }
export const MINUTE: FieldKind = { name: 'minute', min: 0, max: 59 }
export const HOUR: FieldKind = { name: 'hour', min: 0, max: 23 }
export const DAY_OF_MONTH: FieldKind = {
  name: 'day of month',
  min: 1,
  max: 31,
  special: /^(?:L|LW|(?:[1-9]|[12]\d|3[01])W)$/i,
}
export const MONTH: FieldKind = { name: 'month', min: 1, max: 12, names: MONTHS }
export const DAY_OF_WEEK: FieldKind = {
  name: 'day of week',
  min: 0,
  max: 7,
  names: DAYS,
  special: /^(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(?:L|#[1-5])$/i,
}
/** Nothing is due after the last of these: a search always ends. */
export const YEAR: FieldKind = { name: 'year', min: 1970, max: 2099 }

/** What a field holds: numbers ascending, and its special entries as they are written. */
export interface FieldValue {
  /** False for a star: the field asks for nothing. */
  readonly isRestricted: boolean
  readonly numbers: readonly number[]
  /** In capitals. */
  readonly specials: readonly string[]
}

/** Reads a list of entries, each `*`, a value or a range with or without a step, or special. */
export function readField(text: string, kind: FieldKind): FieldValue | undefined {
  if (isStar(text)) return everyValue(kind)
  const numbers = new Set<number>()
  const specials: string[] = []
  let isRestricted = true
  for (const entry of text.split(',')) {
    if (kind.special?.test(entry) === true) {
      specials.push(entry.toUpperCase())
      continue
    }
    const range = readEntry(entry, kind)
    if (range === undefined) return undefined
    if (isStar(entry)) isRestricted = false
    for (let value = range.first; value <= range.last; value += range.step) numbers.add(value)
  }
  return { isRestricted, numbers: [...numbers].toSorted((a, b) => a - b), specials }
}

/** What most fields say, and the longest of all lists. */
function everyValue({ min, max }: FieldKind): FieldValue {
  const numbers = Array.from({ length: max - min + 1 }, (_, i) => min + i)
  return { isRestricted: false, numbers, specials: [] }
}

interface EntryRange {
  readonly first: number
  readonly last: number
  readonly step: number
}

function readEntry(entry: string, kind: FieldKind): EntryRange | undefined {
  const [range = '', stepText, ...more] = entry.split('/')
  const step = stepText === undefined ? 1 : readStep(stepText, kind)
  if (more.length > 0 || step === undefined) return undefined
  if (isStar(range)) return { first: kind.min, last: kind.max, step }
  const [from = '', to, ...rest] = range.split('-')
  const first = readValue(from, kind)
  if (first === undefined || rest.length > 0) return undefined
  // `5/15` means from 5 on; a value without a step means itself.
  if (to === undefined) return { first, last: stepText === undefined ? first : kind.max, step }
  const last = readValue(to, kind)
  return last === undefined || last < first ? undefined : { first, last, step }
}

function isStar(text: string): boolean {
  return text === '*' || text === '?'
}

function readStep(text: string, kind: FieldKind): number | undefined {
  const step = /^\d{1,4}$/.test(text) ? Number(text) : 0
  return step >= 1 && step <= kind.max ? step : undefined
}

/** The number of a value or name; undefined when the field cannot hold it. */
export function readValue(text: string, kind: FieldKind): number | undefined {
  const name = text.toUpperCase()
  const named = kind.names?.findIndex((one) => name === one || name === one.slice(0, 3)) ?? -1
  if (named >= 0) return kind.min + named
  if (!/^\d{1,4}$/.test(text)) return undefined
  const value = Number(text)
  return value >= kind.min && value <= kind.max ? value : undefined
}
