import { constants } from 'node:os'
import { Fault } from '@reeve/kit/fault.ts'
import { canonicalSignalName, REAL_TIME_SIGNALS, realTimeSignalNumber } from '@reeve/kit/signal.ts'

/** A signal of this machine. */
export interface Signal {
  /** Its one spelling: `SIGTERM`, `SIGRTMIN+3`. */
  readonly name: string
  readonly number: number
}

/** Every signal that tasks of this node can be sent, by its one spelling. */
export const SIGNAL_NAMES: readonly string[] = [
  ...Object.keys(constants.signals),
  ...REAL_TIME_SIGNALS,
].toSorted()

const SIGNAL_NUMBERS: ReadonlyMap<string, number> = new Map(Object.entries(constants.signals))

/** The signal of this name, however it is spelled; undefined where this machine has none. */
export function findSignal(spelling: string): Signal | undefined {
  const name = canonicalSignalName(spelling)
  const number = SIGNAL_NUMBERS.get(name) ?? realTimeSignalNumber(name)
  return number === undefined ? undefined : { name, number }
}

/** Fault `task-signal` when this machine has no such signal. */
export function getSignal(spelling: string): Signal {
  const signal = findSignal(spelling)
  if (signal !== undefined) return signal
  throw new Fault('task-signal', `there is no signal ${JSON.stringify(spelling)}`)
}
