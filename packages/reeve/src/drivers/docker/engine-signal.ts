import { findSignal } from '../../agent/index.ts'
import { realTimeSignalNumber } from '@reeve/kit/signal.ts'

const ENGINE_SIGNAL_MAX = 64

/**
 * A signal in the form that every engine accepts: its full name, or a number. Real-time signals are
 * sent as numbers, because engines know only some of their names. Undefined for an unknown name.
 */
export function toEngineSignal(name: string): string | undefined {
  if (/^\d{1,2}$/.test(name)) {
    const number = Number(name)
    return number > 0 && number <= ENGINE_SIGNAL_MAX ? String(number) : undefined
  }
  const signal = name === '' ? undefined : findSignal(name)
  if (signal === undefined) return undefined
  return realTimeSignalNumber(signal.name) === undefined ? signal.name : String(signal.number)
}
