import { useRef } from 'react'
import { addSample, type Columns } from './samples.ts'

/** The values of the last minutes, column by column, the times (in seconds) first. */
export function useSamples(time: number, values: readonly number[]): Columns {
  const kept = useRef<Columns>([])
  kept.current = addSample(kept.current, [time, ...values])
  return kept.current
}
