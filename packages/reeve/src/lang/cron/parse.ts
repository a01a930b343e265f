import { err, ok, type Result } from '@reeve/kit/result.ts'
import { nthKey, type CronExpression, type DayRule } from './expression.ts'
import {
  DAY_OF_MONTH,
  DAY_OF_WEEK,
  HOUR,
  MINUTE,
  MONTH,
  readField,
  readValue,
  SECOND,
  YEAR,
  type FieldValue,
} from './fields.ts'

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
