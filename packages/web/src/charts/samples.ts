import { useRef } from 'react'

/** Columns of equal length; the first one is time. */
export type Columns = readonly (readonly number[])[]

/** Ten minutes of one sample every two seconds. */
export const SAMPLES_MAX = 300

/** Appends a sample to the columns, unless it is not newer than the last one. */
export function addSample(columns: Columns, sample: readonly number[]): Columns {
  const last = columns[0]?.at(-1) ?? -Infinity
  const [time = -Infinity] = sample
  if (time <= last) return columns
  return sample.map((value, index) => [...(columns[index] ?? []), value].slice(-SAMPLES_MAX))
}

/** Returns the values of the last minutes as columns; the first column is time in seconds. */
export function useSamples(time: number, values: readonly number[]): Columns {
  const samples = useRef<Columns>([])
  samples.current = addSample(samples.current, [time, ...values])
  return samples.current
}
