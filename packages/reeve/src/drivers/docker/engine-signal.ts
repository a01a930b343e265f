import { constants } from 'node:os'

const SIGNAL_MAX = 64

/** Signals above the named ones, by their distance from the first or the last. */
const REAL_TIME = /^SIG(RTMIN(?:\+([1-9]|1[0-5]))?|RTMAX(?:-([1-9]|1[0-4]))?)$/

/**
 * How engines are told a signal: `SIGINT` for `SIGINT`, `INT` and `int`, a number as it is,
 * `SIGRTMIN+3` for `RTMIN+3`. Undefined when no signal is called that.
 */
export function engineSignal(name: string): string | undefined {
  if (/^\d{1,2}$/.test(name)) {
    const number = Number(name)
    return number > 0 && number <= SIGNAL_MAX ? String(number) : undefined
  }
  const upper = name.toUpperCase()
  const full = upper.startsWith('SIG') ? upper : `SIG${upper}`
  return Object.hasOwn(constants.signals, full) || REAL_TIME.test(full) ? full : undefined
}
