import { useRef } from 'react'
import { addSample, type Columns } from './samples.ts'

/** Returns the values of the last minutes as columns; the first column is time in seconds. */
export function useSamples(time: number, values: readonly number[]): Columns {
  const samples = useRef<Columns>([])
  samples.current = addSample(samples.current, [time, ...values])
  return samples.current
}
