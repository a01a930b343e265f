import { formatMultiError } from '@reeve/kit/multi-error.ts'

/** A problem of a job, or a part of it that has problems. */
export interface Finding {
  /** Path in wire names: `TaskGroups[0].Tasks[1].Driver`; empty for the job itself. */
  readonly path: string
  readonly message: string
  /** Problems within the part; the message then introduces them. */
  readonly within?: readonly Finding[]
}

export function finding(path: string, message: string): Finding {
  return { path, message }
}

const NONE: readonly Finding[] = []

/**
 * Supports `when(condition && finding(…))`: the rules of a shape read as a list, and texts are
 * created only for problems, which are rare.
 */
export function when(found: Finding | false): readonly Finding[] {
  return found === false ? NONE : [found]
}

/**
 * Concatenates the findings of several rules. A job has hundreds of rules and mostly no finding: a
 * list literal of spreads would allocate two objects for each of them.
 */
export function allOf(...parts: readonly (readonly Finding[])[]): readonly Finding[] {
  let all: Finding[] | undefined
  for (const part of parts) for (const found of part) (all ??= []).push(found)
  return all ?? NONE
}

/** Returns the findings of a part under its own heading; none if it has none. */
export function nest(
  path: string,
  message: string,
  within: readonly Finding[],
): readonly Finding[] {
  return within.length === 0 ? NONE : [{ path, message, within }]
}

/** Returns the findings of each entry of a nullable list, with its path and position. */
export function each<T>(
  list: readonly T[] | null,
  path: string,
  check: (entry: T, path: string, index: number) => readonly Finding[],
): readonly Finding[] {
  if (list === null) return NONE
  const all: Finding[] = []
  list.forEach((entry, index) => {
    for (const found of check(entry, `${path}[${index}]`, index)) all.push(found)
  })
  return all
}

/** Formats findings. Parts are nested multi-errors, inserted unchanged. */
export function findingsText(findings: readonly Finding[]): string {
  return formatMultiError(findings.map(findingText))
}

function findingText({ message, within }: Finding): string {
  return within === undefined ? message : `${message}: ${findingsText(within)}`
}

/** Returns the findings without parts, in order: the positions that an editor marks. */
export function leavesOf(findings: readonly Finding[]): readonly Finding[] {
  return findings.flatMap((found) =>
    found.within === undefined ? [found] : leavesOf(found.within),
  )
}

/**
 * Truncates findings to a number of leaves, and adds the number of omitted ones: a text of
 * megabytes is of no use.
 */
export function atMost(findings: readonly Finding[], max: number): readonly Finding[] {
  if (findings.length === 0) return findings
  const count = leavesOf(findings).length
  if (count <= max) return findings
  let left = max
  const keep = (list: readonly Finding[]): readonly Finding[] =>
    list.flatMap((found) => {
      if (left === 0) return []
      if (found.within !== undefined) return [{ ...found, within: keep(found.within) }]
      left--
      return [found]
    })
  return [...keep(findings), finding('', `${count - max} more violations are not listed`)]
}

export function quote(text: string): string {
  return JSON.stringify(text)
}
