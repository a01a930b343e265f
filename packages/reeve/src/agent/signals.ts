import { constants } from 'node:os'
import { Fault } from '@reeve/kit/fault.ts'
import { canonicalSignalName, REAL_TIME_SIGNALS, realTimeSignalNumber } from '@reeve/kit/signal.ts'

/** A signal that this platform supports. */
interface Signal {
  /** Canonical name: `SIGTERM`, `SIGRTMIN+3`. */
  readonly name: string
  readonly number: number
}

/** Canonical names of all signals that can be sent to tasks of this node. */
export const SIGNAL_NAMES: readonly string[] = [
  ...Object.keys(constants.signals),
  ...REAL_TIME_SIGNALS,
].toSorted()

const SIGNAL_NUMBERS: ReadonlyMap<string, number> = new Map(Object.entries(constants.signals))

/** Finds a signal by any spelling of its name; undefined if the platform has none. */
export function findSignal(spelling: string): Signal | undefined {
  const name = canonicalSignalName(spelling)
  const number = SIGNAL_NUMBERS.get(name) ?? realTimeSignalNumber(name)
  return number === undefined ? undefined : { name, number }
}

/** Like `findSignal`, with a Fault `task-signal` if the platform has none. */
export function getSignal(spelling: string): Signal {
  const signal = findSignal(spelling)
  if (signal !== undefined) return signal
  throw new Fault('task-signal', `there is no signal ${JSON.stringify(spelling)}`)
}
