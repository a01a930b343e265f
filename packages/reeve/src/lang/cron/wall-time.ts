import { daysInMonth, dayStartMs, toWallTime } from '@reeve/kit/calendar.ts'
import { nthKey, type CronExpression, type DayRule } from './expression.ts'

/**
 * The first local time from `wallMs` on that matches the expression; undefined if there is none.
 * Local times are written as if they were UTC. Visits at most 130 years of days, each once.
 */
export function nextWallTime(expression: CronExpression, wallMs: number): number | undefined {
  const start = toWallTime(wallMs)
  for (const year of expression.years) {
    if (year < start.year) continue
    for (const month of expression.months) {
      if (year === start.year && month < start.month) continue
      const found = nextInMonth(expression, { year, month }, wallMs)
      if (found !== undefined) return found
    }
  }
  return undefined
}

interface Month {
  readonly year: number
  readonly month: number
}

const DAY_MS = 86_400_000

function nextInMonth(expression: CronExpression, month: Month, wallMs: number): number | undefined {
  const dayCount = daysInMonth(month.year, month.month)
  const firstMs = dayStartMs(month.year, month.month, 1)
  const info = { dayCount, firstWeekday: toWallTime(firstMs).weekday }
  for (let day = 1; day <= dayCount; day++) {
    const dayMs = firstMs + (day - 1) * DAY_MS
    if (dayMs + DAY_MS <= wallMs || !matchesDay(expression.days, day, info)) continue
    const time = nextTimeOfDay(expression, Math.max(0, wallMs - dayMs) / 1_000)
    if (time !== undefined) return dayMs + time * 1_000
  }
  return undefined
}

interface MonthInfo {
  readonly dayCount: number
  /** Day of the week of the first of the month. */
  readonly firstWeekday: number
}

/** If both fields restrict the day, either one matches. */
function matchesDay(rule: DayRule, day: number, month: MonthInfo): boolean {
  if (!rule.restrictsMonth && !rule.restrictsWeek) return true
  return (
    (rule.restrictsMonth && matchesDayOfMonth(rule, day, month)) ||
    (rule.restrictsWeek && matchesDayOfWeek(rule, day, month))
  )
}

function matchesDayOfMonth(rule: DayRule, day: number, month: MonthInfo): boolean {
  if (rule.ofMonth.has(day)) return true
  if (rule.lastDay && day === month.dayCount) return true
  if (rule.lastWeekday && day === nearestWeekday(month.dayCount, month)) return true
  if (rule.nearestWeekdayTo.size === 0) return false
  // The nearest weekday is at most two days away.
  for (let near = Math.max(1, day - 2); near <= Math.min(month.dayCount, day + 2); near++)
    if (rule.nearestWeekdayTo.has(near) && nearestWeekday(near, month) === day) return true
  return false
}

/** Saturday becomes Friday and Sunday becomes Monday, or the reverse at the ends of the month. */
function nearestWeekday(day: number, month: MonthInfo): number {
  const weekday = weekdayOf(day, month)
  if (weekday === 6) return day === 1 ? 3 : day - 1
  if (weekday === 0) return day === month.dayCount ? day - 2 : day + 1
  return day
}

function matchesDayOfWeek(rule: DayRule, day: number, month: MonthInfo): boolean {
  const weekday = weekdayOf(day, month)
  return (
    rule.ofWeek.has(weekday) ||
    (rule.lastOfWeek.has(weekday) && day + 7 > month.dayCount) ||
    rule.nthOfWeek.has(nthKey(weekday, Math.ceil(day / 7)))
  )
}

function weekdayOf(day: number, { firstWeekday }: MonthInfo): number {
  return (firstWeekday + day - 1) % 7
}

/** The first matching second of the day from `from` on. */
function nextTimeOfDay(
  { hours, minutes, seconds }: CronExpression,
  from: number,
): number | undefined {
  for (const hour of hours) {
    if ((hour + 1) * 3_600 <= from) continue
    for (const minute of minutes) {
      const minuteStart = hour * 3_600 + minute * 60
      if (minuteStart + 60 <= from) continue
      const second = seconds.find((one) => minuteStart + one >= from)
      if (second !== undefined) return minuteStart + second
    }
  }
  return undefined
}
