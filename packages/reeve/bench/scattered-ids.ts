/** Unordered ids like those of allocations: a checkpoint touches the whole key range. */
export function scatteredId(at: number): string {
  const word = (salt: number): string =>
    (Math.imul(at + salt, 2_654_435_761) >>> 0).toString(16).padStart(8, '0')
  return `${word(1)}-${word(77)}-${word(4_099)}-${at}`
}
