/** Range of the real-time signals that a program may use on Linux. */
const REAL_TIME_MIN = 34
const REAL_TIME_MAX = 64

/** The standard signals in the order of their Linux numbers, from 1. */
const STANDARD_SIGNALS = (
  'HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP ' +
  'TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS'
).split(' ')

/**
 * Canonical name of a signal: `term`, `sigterm`, `15` and `SIGTERM` become `SIGTERM`, and `RTMAX-1`
 * becomes `SIGRTMIN+29`. An unknown name only gets the `SIG` prefix.
 */
export function canonicalSignalName(name: string): string {
  if (name === '') return ''
  const upper = name.trim().toUpperCase()
  if (/^\d{1,2}$/.test(upper)) return numberedName(Number(upper))
  const full = upper.startsWith('SIG') ? upper : `SIG${upper}`
  const number = realTimeSignalNumber(full)
  return number === undefined ? full : realTimeName(number)
}

function numberedName(number: number): string {
  if (number >= REAL_TIME_MIN && number <= REAL_TIME_MAX) return realTimeName(number)
  return `SIG${STANDARD_SIGNALS[number - 1] ?? number}`
}

/** The number in a canonical name that is no valid signal, such as `SIG99`. */
export function unknownSignalNumber(fullName: string): string | undefined {
  return /^SIG(\d+)$/.exec(fullName)?.[1]
}

/** The number of a real-time signal such as `SIGRTMIN+3`; undefined for every other name. */
export function realTimeSignalNumber(fullName: string): number | undefined {
  const [, end, sign, digits = '0'] = /^SIGRT(MIN|MAX)(?:([+-])(\d{1,2}))?$/.exec(fullName) ?? []
  if (end === undefined || sign === (end === 'MIN' ? '-' : '+')) return undefined
  const number = end === 'MIN' ? REAL_TIME_MIN + Number(digits) : REAL_TIME_MAX - Number(digits)
  return number >= REAL_TIME_MIN && number <= REAL_TIME_MAX ? number : undefined
}

/** Canonical names of all real-time signals: `SIGRTMIN`, `SIGRTMIN+1` and so on. */
export const REAL_TIME_SIGNALS: readonly string[] = Array.from(
  { length: REAL_TIME_MAX - REAL_TIME_MIN + 1 },
  (_, i) => realTimeName(REAL_TIME_MIN + i),
)

function realTimeName(number: number): string {
  return number === REAL_TIME_MIN ? 'SIGRTMIN' : `SIGRTMIN+${number - REAL_TIME_MIN}`
}
