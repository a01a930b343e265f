/**
 * Returns the problems of a job ID, including that of a dispatched job. Stricter than peers: a job
 * is read and stopped by a URL that contains its ID, so an ID that is impossible in a URL would
 * make the job unmanageable. The length is checked against the limit of path segments.
 */
export function jobIdProblems(id: string): readonly string[] {
  const problems: string[] = []
  if (id.includes(' ')) problems.push('Job ID contains a space')
  if (id.includes('\0')) problems.push('Job ID contains a null character')
  // Clients resolve them before they send the request, even when percent-encoded.
  if (id === '.' || id === '..') problems.push(`Job cannot have the ID "${id}"`)
  if (!id.isWellFormed()) problems.push('Job ID contains half of a surrogate pair')
  return problems
}
