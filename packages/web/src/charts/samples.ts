/** Columns of equal length; the first one is time. */
export type Columns = readonly (readonly number[])[]

/** Ten minutes at one every two seconds. */
export const SAMPLES_MAX = 300

/** The columns with one more sample. One that is not newer than the last is left out. */
export function addSample(columns: Columns, sample: readonly number[]): Columns {
  const last = columns[0]?.at(-1) ?? -Infinity
  const [time = -Infinity] = sample
  if (time <= last) return columns
  return sample.map((value, index) => [...(columns[index] ?? []), value].slice(-SAMPLES_MAX))
}
