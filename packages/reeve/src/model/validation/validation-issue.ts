import { formatMultiError } from '@reeve/kit/multi-error.ts'

/** A problem of a job, or a part of it that has problems. */
export interface ValidationIssue {
  /** Path in wire names: `TaskGroups[0].Tasks[1].Driver`; empty for the job itself. */
  readonly path: string
  readonly message: string
  /** Problems within the part; the message then introduces them. */
  readonly within?: readonly ValidationIssue[]
}

export function issue(path: string, message: string): ValidationIssue {
  return { path, message }
}

const NO_ISSUES: readonly ValidationIssue[] = []

/**
 * Supports `when(condition && finding(…))`: the rules of a shape read as a list, and texts are
 * created only for problems, which are rare.
 */
export function issueIf(result: ValidationIssue | false): readonly ValidationIssue[] {
  return result === false ? NO_ISSUES : [result]
}

/**
 * Concatenates the findings of several rules. A job has hundreds of rules and mostly no finding: a
 * list literal of spreads would allocate two objects for each of them.
 */
export function concatIssues(
  ...parts: readonly (readonly ValidationIssue[])[]
): readonly ValidationIssue[] {
  let all: ValidationIssue[] | undefined
  for (const part of parts) for (const entry of part) (all ??= []).push(entry)
  return all ?? NO_ISSUES
}

/** Returns the findings of a part under its own heading; none if it has none. */
export function nestIssues(
  path: string,
  message: string,
  within: readonly ValidationIssue[],
): readonly ValidationIssue[] {
  return within.length === 0 ? NO_ISSUES : [{ path, message, within }]
}

/** Returns the findings of each entry of a nullable list, with its path and position. */
export function forEachEntry<T>(
  list: readonly T[] | null,
  path: string,
  check: (entry: T, path: string, index: number) => readonly ValidationIssue[],
): readonly ValidationIssue[] {
  if (list === null) return NO_ISSUES
  const all: ValidationIssue[] = []
  list.forEach((entry, index) => {
    for (const result of check(entry, `${path}[${index}]`, index)) all.push(result)
  })
  return all
}

/** Formats findings. Parts are nested multi-errors, inserted unchanged. */
export function issuesText(findings: readonly ValidationIssue[]): string {
  return formatMultiError(findings.map(issueText))
}

function issueText({ message, within }: ValidationIssue): string {
  return within === undefined ? message : `${message}: ${issuesText(within)}`
}

/** Returns the findings without parts, in order: the positions that an editor marks. */
export function leafIssues(findings: readonly ValidationIssue[]): readonly ValidationIssue[] {
  return findings.flatMap((found) =>
    found.within === undefined ? [found] : leafIssues(found.within),
  )
}

/**
 * Truncates findings to a number of leaves, and adds the number of omitted ones: a text of
 * megabytes is of no use.
 */
export function limitIssues(
  findings: readonly ValidationIssue[],
  max: number,
): readonly ValidationIssue[] {
  if (findings.length === 0) return findings
  const count = leafIssues(findings).length
  if (count <= max) return findings
  let remaining = max
  const keep = (list: readonly ValidationIssue[]): readonly ValidationIssue[] =>
    list.flatMap((found) => {
      if (remaining === 0) return []
      if (found.within !== undefined) return [{ ...found, within: keep(found.within) }]
      remaining--
      return [found]
    })
  return [...keep(findings), issue('', `${count - max} more violations are not listed`)]
}

export function quote(text: string): string {
  return JSON.stringify(text)
}
