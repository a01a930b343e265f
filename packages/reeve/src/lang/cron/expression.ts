/** A cron expression, read. Lists hold each value once, ascending. */
export interface CronExpression {
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly days: DayRule
  /** 1 to 12. */
  readonly months: readonly number[]
  readonly years: readonly number[]
}

/** Which days of a month. */
export interface DayRule {
  /** False when the field is a star: it then asks for nothing. */
  readonly restrictsMonth: boolean
  readonly restrictsWeek: boolean
  readonly ofMonth: ReadonlySet<number>
  /** `L`: the last day of the month. */
  readonly last: boolean
  /** `LW`: its last weekday, Monday to Friday. */
  readonly lastWeekday: boolean
  /** `15W`: the weekday nearest to each of these days, within the month. */
  readonly nearWeekday: ReadonlySet<number>
  /** 0 is Sunday. */
  readonly ofWeek: ReadonlySet<number>
  /** `5L`: the last of these in the month. */
  readonly lastOfWeek: ReadonlySet<number>
  /** `5#2`: day of the week and which of them, as `nthKey` writes it. */
  readonly nthOfWeek: ReadonlySet<number>
}

/** The second Friday as one number, so that a set can hold it. */
export function nthKey(dayOfWeek: number, nth: number): number {
  return dayOfWeek * 10 + nth
}
