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
export function nthKey(dayOfWeek: number, nth: number): number {
  return dayOfWeek * 10 + nth
}
