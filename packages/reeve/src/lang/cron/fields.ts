/** The syntax of one field of a cron expression. */
export interface FieldSyntax {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Names of numbers, from `min` upward: in full or abbreviated to three letters. */
  readonly names?: readonly string[]
  /** Forms other than numbers, ranges and steps, such as `L` or `15W`. */
  readonly special?: RegExp
}

const MONTHS =
  'JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER'.split(' ')
const DAYS = 'SUNDAY MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY'.split(' ')

export const SECOND: FieldSyntax = { name: 'second', min: 0, max: 59 }
export const MINUTE: FieldSyntax = { name: 'minute', min: 0, max: 59 }
export const HOUR: FieldSyntax = { name: 'hour', min: 0, max: 23 }
export const DAY_OF_MONTH: FieldSyntax = {
  name: 'day of month',
  min: 1,
  max: 31,
  special: /^(?:L|LW|(?:[1-9]|[12]\d|3[01])W)$/i,
}
export const MONTH: FieldSyntax = { name: 'month', min: 1, max: 12, names: MONTHS }
export const DAY_OF_WEEK: FieldSyntax = {
  name: 'day of week',
  min: 0,
  max: 7,
  names: DAYS,
  special: /^(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(?:L|#[1-5])$/i,
}
/** The maximum guarantees that every search terminates. */
export const YEAR: FieldSyntax = { name: 'year', min: 1970, max: 2099 }

/** A parsed field: ascending numbers and special entries as written. */
export interface FieldValue {
  /** False for `*`. */
  readonly isRestricted: boolean
  readonly numbers: readonly number[]
  /** In upper case. */
  readonly specials: readonly string[]
}

/** Parses a list of entries: `*`, a value or a range with an optional step, or a special entry. */
export function readField(text: string, kind: FieldSyntax): FieldValue | undefined {
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

/** Shared, because most fields are `*` and these lists are the longest. */
function everyValue({ min, max }: FieldSyntax): FieldValue {
  const numbers = Array.from({ length: max - min + 1 }, (_, i) => min + i)
  return { isRestricted: false, numbers, specials: [] }
}

interface EntryRange {
  readonly first: number
  readonly last: number
  readonly step: number
}

function readEntry(entry: string, kind: FieldSyntax): EntryRange | undefined {
  const [range = '', stepText, ...more] = entry.split('/')
  const step = stepText === undefined ? 1 : readStep(stepText, kind)
  if (more.length > 0 || step === undefined) return undefined
  if (isStar(range)) return { first: kind.min, last: kind.max, step }
  const [from = '', to, ...rest] = range.split('-')
  const first = readValue(from, kind)
  if (first === undefined || rest.length > 0) return undefined
  // `5/15` means from 5 to the maximum; a value without a step means itself.
  if (to === undefined) return { first, last: stepText === undefined ? first : kind.max, step }
  const last = readValue(to, kind)
  return last === undefined || last < first ? undefined : { first, last, step }
}

function isStar(text: string): boolean {
  return text === '*' || text === '?'
}

function readStep(text: string, kind: FieldSyntax): number | undefined {
  const step = /^\d{1,4}$/.test(text) ? Number(text) : 0
  return step >= 1 && step <= kind.max ? step : undefined
}

/** Parses a number or name; undefined if the field does not allow it. */
export function readValue(text: string, kind: FieldSyntax): number | undefined {
  const name = text.toUpperCase()
  const named = kind.names?.findIndex((one) => name === one || name === one.slice(0, 3)) ?? -1
  if (named >= 0) return kind.min + named
  if (!/^\d{1,4}$/.test(text)) return undefined
  const value = Number(text)
  return value >= kind.min && value <= kind.max ? value : undefined
}
