/** The result of a check. */
export interface Finding {
  readonly state: 'ok' | 'warning' | 'bad'
  readonly what: string
  /** What to do about it. */
  readonly next: string | undefined
}
