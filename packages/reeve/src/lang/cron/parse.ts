import { err, ok, type Result } from '@reeve/kit/result.ts'

/** Longer expressions are rejected; no real schedule needs them. */
const SPEC_CHARS_MAX = 1_024

const MACROS: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
])

/**
 * Parses a cron expression with five fields, with six (year last) or with seven (seconds first). An
 * error describes the invalid field.
 */
export function parseCron(spec: string): Result<CronExpression, string> {
  const text = spec.trim()
  if (text.length > SPEC_CHARS_MAX) return err(`it is longer than ${SPEC_CHARS_MAX} characters`)
  if (!text.startsWith('@')) return parseFields(text)
  const macro = MACROS.get(text)
  return macro === undefined
    ? err(`unrecognized macro ${JSON.stringify(text)}`)
    : parseFields(macro)
}

const MONTHS =
  'JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER'.split(' ')

const DAYS = 'SUNDAY MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY'.split(' ')
const MINUTE: FieldSyntax = { name: 'minute', min: 0, max: 59 }
const HOUR: FieldSyntax = { name: 'hour', min: 0, max: 23 }

const DAY_OF_MONTH: FieldSyntax = {
  name: 'day of month',
  min: 1,
  max: 31,
  special: /^(?:L|LW|(?:[1-9]|[12]\d|3[01])W)$/i,
}

const MONTH: FieldSyntax = { name: 'month', min: 1, max: 12, names: MONTHS }

const DAY_OF_WEEK: FieldSyntax = {
  name: 'day of week',
  min: 0,
  max: 7,
  names: DAYS,
  special: /^(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(?:L|#[1-5])$/i,
}

const FIVE_FIELDS = [MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK]

function parseFields(text: string): Result<CronExpression, string> {
  const given = text === '' ? [] : text.split(/\s+/)
  if (given.length < 5 || given.length > 7)
    return err(`expected 5, 6 or 7 fields, found ${given.length}`)
  const fields = addDefaultFields(given)
  const values: FieldValue[] = []
  for (const [i, kind] of [SECOND, ...FIVE_FIELDS, YEAR].entries()) {
    const field = fields[i] ?? ''
    const value = readField(field, kind)
    if (value === undefined)
      return err(`syntax error in ${kind.name} field: ${JSON.stringify(field)}`)
    values.push(value)
  }
  return ok(toExpression(values))
}

/** Adds default fields: second 0 and every year. */
function addDefaultFields(fields: readonly string[]): readonly string[] {
  if (fields.length === 7) return fields
  return fields.length === 6 ? ['0', ...fields] : ['0', ...fields, '*']
}

const EMPTY: FieldValue = { isRestricted: false, numbers: [], specials: [] }

function toExpression(values: readonly FieldValue[]): CronExpression {
  const [second = EMPTY, minute = EMPTY, hour = EMPTY] = values
  const [, , , ofMonth = EMPTY, month = EMPTY, ofWeek = EMPTY, year = EMPTY] = values
  return {
    seconds: second.numbers,
    minutes: minute.numbers,
    hours: hour.numbers,
    days: toDayRule(ofMonth, ofWeek),
    months: month.numbers,
    years: year.numbers,
  }
}

function toDayRule(ofMonth: FieldValue, ofWeek: FieldValue): DayRule {
  const near = ofMonth.specials.filter((text) => /^\d/.test(text)).map((text) => parseInt(text, 10))
  const nth = ofWeek.specials.filter((text) => text.includes('#')).map((text) => text.split('#'))
  const lasts = ofWeek.specials.filter((text) => !text.includes('#'))
  return {
    restrictsMonth: ofMonth.isRestricted,
    restrictsWeek: ofWeek.isRestricted,
    ofMonth: new Set(ofMonth.numbers),
    lastDay: ofMonth.specials.includes('L'),
    lastWeekday: ofMonth.specials.includes('LW'),
    nearestWeekdayTo: new Set(near),
    ofWeek: new Set(ofWeek.numbers.map(dayOfWeek)),
    lastOfWeek: new Set(lasts.map((text) => readDayOfWeek(text.slice(0, -1)))),
    nthOfWeek: new Set(nth.map(([day = '', which]) => nthKey(readDayOfWeek(day), Number(which)))),
  }
}

function readDayOfWeek(text: string): number {
  return dayOfWeek(readValue(text, DAY_OF_WEEK) ?? 0)
}

/** 7 is Sunday too. */
function dayOfWeek(value: number): number {
  return value % 7
}

/** The syntax of one field of a cron expression. */
interface FieldSyntax {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Names of numbers, from `min` upward: in full or abbreviated to three letters. */
  readonly names?: readonly string[]
  /** Forms other than numbers, ranges and steps, such as `L` or `15W`. */
  readonly special?: RegExp
}

const SECOND: FieldSyntax = { name: 'second', min: 0, max: 59 }
/** The maximum guarantees that every search terminates. */
const YEAR: FieldSyntax = { name: 'year', min: 1970, max: 2099 }

/** A parsed field: ascending numbers and special entries as written. */
interface FieldValue {
  /** False for `*`. */
  readonly isRestricted: boolean
  readonly numbers: readonly number[]
  /** In upper case. */
  readonly specials: readonly string[]
}

/** Parses a list of entries: `*`, a value or a range with an optional step, or a special entry. */
function readField(text: string, kind: FieldSyntax): FieldValue | undefined {
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
function readValue(text: string, kind: FieldSyntax): number | undefined {
  const name = text.toUpperCase()
  const named = kind.names?.findIndex((one) => name === one || name === one.slice(0, 3)) ?? -1
  if (named >= 0) return kind.min + named
  if (!/^\d{1,4}$/.test(text)) return undefined
  const value = Number(text)
  return value >= kind.min && value <= kind.max ? value : undefined
}

/** A parsed cron expression. Lists hold each value once, ascending. */
export interface CronExpression {
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly days: DayRule
  /** Months 1 to 12. */
  readonly months: readonly number[]
  readonly years: readonly number[]
}

/** The days of a month. */
export interface DayRule {
  /** False if the field is `*`. */
  readonly restrictsMonth: boolean
  readonly restrictsWeek: boolean
  readonly ofMonth: ReadonlySet<number>
  /** `L`: the last day of the month. */
  readonly lastDay: boolean
  /** `LW`: the last weekday of the month, Monday to Friday. */
  readonly lastWeekday: boolean
  /** `15W`: the weekday nearest to each of these days, within the month. */
  readonly nearestWeekdayTo: ReadonlySet<number>
  /** 0 is Sunday. */
  readonly ofWeek: ReadonlySet<number>
  /** `5L`: the last of these days of the week in the month. */
  readonly lastOfWeek: ReadonlySet<number>
  /** `5#2`: day of the week and occurrence, encoded by `nthKey`. */
  readonly nthOfWeek: ReadonlySet<number>
}

/** Encodes for example the second Friday as one number, so that a set can hold it. */
export function nthKey(day: number, nth: number): number {
  return day * 10 + nth
}
