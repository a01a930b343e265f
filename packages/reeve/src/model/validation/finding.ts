import { formatMultiError } from '@reeve/kit/multi-error.ts'

/** Something wrong in a job, or a part of it in which things are wrong. */
export interface Finding {
  /** Where, in wire names: `TaskGroups[0].Tasks[1].Driver`; empty for the job itself. */
  readonly path: string
  readonly message: string
  /** What is wrong inside the part; the message then introduces it. */
  readonly within?: readonly Finding[]
}

export function finding(path: string, message: string): Finding {
  return { path, message }
}

const NONE: readonly Finding[] = []

/**
 * `when(condition && finding(…))`: the rules of a shape read as a list, and what is in order costs
 * no texts. Nearly everything is.
 */
export function when(found: Finding | false): readonly Finding[] {
  return found === false ? NONE : [found]
}

/**
 * The findings of several rules, in order. A job has hundreds of rules and mostly no finding: a
 * list literal of spreads would make two objects for each of them.
 */
export function allOf(...parts: readonly (readonly Finding[])[]): readonly Finding[] {
  let all: Finding[] | undefined
  for (const part of parts) for (const found of part) (all ??= []).push(found)
  return all ?? NONE
}

/** Findings of a part under its own heading; none when the part is in order. */
export function nest(
  path: string,
  message: string,
  within: readonly Finding[],
): readonly Finding[] {
  return within.length === 0 ? NONE : [{ path, message, within }]
}

/** Findings of each entry of a list that may be null, with its path and position. */
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

/** Parts are nested multi-errors, inserted as they are. */
export function findingsText(findings: readonly Finding[]): string {
  return formatMultiError(findings.map(findingText))
}

function findingText({ message, within }: Finding): string {
  return within === undefined ? message : `${message}: ${findingsText(within)}`
}

/** The findings that have no parts, in order: what an editor marks in the text of the job. */
export function leavesOf(findings: readonly Finding[]): readonly Finding[] {
  return findings.flatMap((found) =>
    found.within === undefined ? [found] : leavesOf(found.within),
  )
}

/**
 * The same findings with at most so many leaves, and what was left out told as a number: a text of
 * megabytes helps nobody.
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
