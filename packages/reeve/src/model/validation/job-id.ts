/**
 * What every job's ID must keep to, also one that a dispatch makes. Beyond what peers refuse: a job
 * is read and stopped by a URL with its ID in it, so an ID that no URL can hold would be a job that
 * nobody gets rid of. How long it may be is said by the limit on paths.
 */
export function jobIdProblems(id: string): readonly string[] {
  const problems: string[] = []
  if (id.includes(' ')) problems.push('Job ID contains a space')
  if (id.includes('\0')) problems.push('Job ID contains a null character')
  // Clients resolve them before they send the request, percent-encoded ones too.
  if (id === '.' || id === '..') problems.push(`Job cannot have the ID "${id}"`)
  if (!id.isWellFormed()) problems.push('Job ID contains half of a surrogate pair')
  return problems
}
