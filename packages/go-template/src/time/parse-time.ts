import { daysInMonth, dayStartMs, MONTHS, WEEKDAYS } from '@reeve/kit/calendar.ts'
import { parseLayout, type LayoutPiece, type PieceName } from './time-layout.ts'

/** Values parsed so far. */
interface Found {
  year: number
  month: number
  day: number
  yearDay: number | undefined
  hour: number
  minute: number
  second: number
  nanosecond: number
  isAfternoon: boolean | undefined
  offset: number
}

/** Parses a text in the layout into nanoseconds since 1970; undefined if it does not match. */
export function parseTime(layout: string, text: string): bigint | undefined {
  const found: Found = {
    year: 0,
    month: 1,
    day: 1,
    yearDay: undefined,
    hour: 0,
    minute: 0,
    second: 0,
    nanosecond: 0,
    isAfternoon: undefined,
    offset: 0,
  }
  const pieces = parseLayout(layout)
  let rest = text
  for (const [at, piece] of pieces.entries()) {
    const next = takePiece(found, piece, rest)
    if (next === undefined) return undefined
    rest = next
    // A fraction after the seconds is accepted even if the layout has none.
    const isSeconds = piece.type === 'piece' && (piece.name === '05' || piece.name === '5')
    if (isSeconds && pieces[at + 1]?.type !== 'fraction') rest = takeFraction(found, rest)
  }
  return rest === '' ? toNs(found) : undefined
}

function takeFraction(found: Found, text: string): string {
  const match = /^[.,]([0-9]+)/.exec(text)
  if (match === null) return text
  found.nanosecond = nanoseconds(match[1] ?? '')
  return text.slice(match[0].length)
}

function nanoseconds(digits: string): number {
  return Number(digits.slice(0, 9).padEnd(9, '0'))
}

/** Returns the rest of the text after the piece. */
function takePiece(found: Found, piece: LayoutPiece, text: string): string | undefined {
  if (piece.type === 'text') return takeText(piece.text, text)
  if (piece.type === 'piece') return takeNamed(found, piece.name, text)
  const pattern = piece.isTrimmed ? /^[.,]([0-9]+)/ : new RegExp(`^[.,]([0-9]{${piece.digits}})`)
  const match = pattern.exec(text)
  if (match === null) return piece.isTrimmed ? text : undefined
  found.nanosecond = nanoseconds(match[1] ?? '')
  return text.slice(match[0].length)
}

/** The number of spaces may differ from the layout. */
function takeText(wanted: string, text: string): string | undefined {
  let rest = text
  for (const sign of wanted) {
    if (sign === ' ') {
      if (rest !== '' && !rest.startsWith(' ')) return undefined
      rest = rest.replace(/^ +/, '')
    } else if (rest.startsWith(sign)) rest = rest.slice(sign.length)
    else return undefined
  }
  return rest
}

interface NumberField {
  readonly pattern: RegExp
  readonly set: (found: Found, value: number) => void
}

const TWO = /^[0-9]{2}/
const ONE_OR_TWO = /^[0-9]{1,2}/

const NUMBERS: ReadonlyMap<PieceName, NumberField> = new Map<PieceName, NumberField>([
  ['2006', { pattern: /^[0-9]{4}/, set: (found, value) => (found.year = value) }],
  [
    '06',
    { pattern: TWO, set: (found, value) => (found.year = value + (value >= 69 ? 1900 : 2000)) },
  ],
  ['01', { pattern: TWO, set: (found, value) => (found.month = value) }],
  ['1', { pattern: ONE_OR_TWO, set: (found, value) => (found.month = value) }],
  ['02', { pattern: TWO, set: (found, value) => (found.day = value) }],
  ['2', { pattern: ONE_OR_TWO, set: (found, value) => (found.day = value) }],
  ['_2', { pattern: /^ ?[0-9]{1,2}/, set: (found, value) => (found.day = value) }],
  ['002', { pattern: /^[0-9]{3}/, set: (found, value) => (found.yearDay = value) }],
  ['__2', { pattern: /^ {0,2}[0-9]{1,3}/, set: (found, value) => (found.yearDay = value) }],
  ['15', { pattern: ONE_OR_TWO, set: (found, value) => (found.hour = value) }],
  ['03', { pattern: TWO, set: (found, value) => (found.hour = value > 12 ? 24 : value) }],
  ['3', { pattern: ONE_OR_TWO, set: (found, value) => (found.hour = value > 12 ? 24 : value) }],
  ['04', { pattern: TWO, set: (found, value) => (found.minute = value) }],
  ['4', { pattern: ONE_OR_TWO, set: (found, value) => (found.minute = value) }],
  ['05', { pattern: TWO, set: (found, value) => (found.second = value) }],
  ['5', { pattern: ONE_OR_TWO, set: (found, value) => (found.second = value) }],
])

function takeNamed(found: Found, name: PieceName, text: string): string | undefined {
  const field = NUMBERS.get(name)
  if (field !== undefined) {
    const digits = field.pattern.exec(text)?.[0]
    if (digits === undefined) return undefined
    field.set(found, Number(digits))
    return text.slice(digits.length)
  }
  switch (name) {
    case 'January':
    case 'Jan':
      return takeWord(MONTHS, text, {
        isShort: name === 'Jan',
        set: (at) => (found.month = at + 1),
      })
    case 'Monday':
    case 'Mon':
      return takeWord(WEEKDAYS, text, { isShort: name === 'Mon', set: () => undefined })
    case 'PM':
    case 'pm': {
      const word = text.slice(0, 2)
      const [before, after] = name === 'PM' ? ['AM', 'PM'] : ['am', 'pm']
      if (word !== before && word !== after) return undefined
      found.isAfternoon = word === after
      return text.slice(2)
    }
    case 'MST':
      return takeZoneName(text)
    default:
      return takeOffset(found, name, text)
  }
}

function takeWord(
  words: readonly string[],
  text: string,
  { isShort, set }: { readonly isShort: boolean; readonly set: (at: number) => void },
): string | undefined {
  for (const [at, full] of words.entries()) {
    const word = isShort ? full.slice(0, 3) : full
    if (text.slice(0, word.length).toLowerCase() !== word.toLowerCase()) continue
    set(at)
    return text.slice(word.length)
  }
  return undefined
}

/**
 * Parses a zone abbreviation. It is ignored, because an abbreviation alone does not define an
 * offset.
 */
function takeZoneName(text: string): string | undefined {
  const match = /^(?:UTC|GMT[+-][0-9]{1,2}|[+-][0-9]{2}(?:[0-9]{2})?|[A-Z]{3,5})/.exec(text)
  return match === null ? undefined : text.slice(match[0].length)
}

function takeOffset(found: Found, form: string, text: string): string | undefined {
  if (form.startsWith('Z') && text.startsWith('Z')) return text.slice(1)
  const digits = form.replace(/[^0-9]/g, '').length
  const colon = form.includes(':') ? ':' : ''
  const pairs = Array.from({ length: digits / 2 }, () => '([0-9]{2})').join(colon)
  const match = new RegExp(`^([+-])${pairs}`).exec(text)
  if (match === null) return undefined
  const [whole, sign, hours = '0', minutes = '0', seconds = '0'] = match
  if (Number(hours) > 24 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  found.offset = sign === '-' ? -size : size
  return text.slice(whole.length)
}

function toNs(found: Found): bigint | undefined {
  const { year, month, yearDay, minute, second, nanosecond, offset } = found
  const hour = clockHour(found)
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const days = dayOf(found)
  if (days === undefined) return undefined
  if (month < 1 || month > 12 || (yearDay !== undefined && yearDay < 1)) return undefined
  const time = hour * 3600 + minute * 60 + second - offset
  const seconds = dayStartMs(year, ...days) / 1000 + time
  return BigInt(seconds) * 1_000_000_000n + BigInt(nanosecond)
}

/** Returns month and day, computed from the day of the year if that was given. */
function dayOf({ year, month, day, yearDay }: Found): readonly [number, number] | undefined {
  if (yearDay === undefined)
    return day < 1 || day > daysInMonth(year, month) ? undefined : [month, day]
  const length = daysInMonth(year, 2) === 29 ? 366 : 365
  return yearDay < 1 || yearDay > length ? undefined : [1, yearDay]
}

function clockHour({ hour, isAfternoon }: Found): number {
  if (isAfternoon === true && hour < 12) return hour + 12
  return isAfternoon === false && hour === 12 ? 0 : hour
}
