import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  compareSegments,
  compareVersions,
  parseVersion,
  haveEqualSegments,
  type Version,
} from '@reeve/kit/version.ts'

/**
 * Version syntax of a constraint. `loose` accepts the output of package managers (`v1.2`,
 * `5.10.0-28-amd64`, `1.2rc1`); `strict` is Semantic Versioning.
 */
export type VersionKind = 'loose' | 'strict'

const SYNTAX = { loose: 'loose', strict: 'short' } as const

export type VersionTest = (version: Version) => boolean

export function parseConstraintVersion(text: string, kind: VersionKind): Version | undefined {
  return parseVersion(text, SYNTAX[kind])
}

/** Parses a version constraint. Every comma-separated part must be satisfied. */
export function parseVersionConstraint(
  text: string,
  kind: VersionKind,
): Result<VersionTest, string> {
  const tests: VersionTest[] = []
  for (const part of text.split(',')) {
    const test = parseComparison(part.trim(), kind)
    if (test === undefined) return err(`malformed constraint: ${part.trim()}`)
    tests.push(test)
  }
  return ok((version) => tests.every((test) => test(version)))
}

function parseComparison(part: string, kind: VersionKind): VersionTest | undefined {
  const operator = /^(?:~>|!=|>=|<=|=|>|<)/.exec(part)?.[0] ?? ''
  const bound = parseConstraintVersion(part.slice(operator.length).trim(), kind)
  if (bound === undefined || (operator === '~>' && kind === 'strict')) return undefined
  const compare = kind === 'strict' ? strictTests[operator] : looseTests[operator]
  return compare === undefined ? undefined : (version) => compare(version, bound)
}

type Comparison = (version: Version, bound: Version) => boolean

const strictTests: Readonly<Record<string, Comparison>> = {
  '': (version, bound) => compareVersions(version, bound) === 0,
  '=': (version, bound) => compareVersions(version, bound) === 0,
  '!=': (version, bound) => compareVersions(version, bound) !== 0,
  '>': (version, bound) => compareVersions(version, bound) > 0,
  '<': (version, bound) => compareVersions(version, bound) < 0,
  '>=': (version, bound) => compareVersions(version, bound) >= 0,
  '<=': (version, bound) => compareVersions(version, bound) <= 0,
}

const looseTests: Readonly<Record<string, Comparison>> = {
  ...strictTests,
  '>': (version, bound) => acceptsPrerelease(bound, version) && compareVersions(version, bound) > 0,
  '<': (version, bound) => acceptsPrerelease(bound, version) && compareVersions(version, bound) < 0,
  '>=': (version, bound) =>
    acceptsPrerelease(bound, version) && compareVersions(version, bound) >= 0,
  '<=': (version, bound) =>
    acceptsPrerelease(bound, version) && compareVersions(version, bound) <= 0,
  '~>': isPessimisticMatch,
}

/** A pre-release satisfies only bounds that are pre-releases of the same version. */
function acceptsPrerelease(bound: Version, version: Version): boolean {
  if (version.prerelease.length === 0) return true
  return bound.prerelease.length > 0 && compareSegments(version, bound) === 0
}

/** Implements `~> 1.2.3`: at least this version, and equal in all but the last given segment. */
function isPessimisticMatch(version: Version, bound: Version): boolean {
  if (!acceptsPrerelease(bound, version)) return false
  if (bound.prerelease.length > 0 && version.prerelease.length === 0) return false
  if (compareVersions(version, bound) < 0) return false
  return haveEqualSegments(version, bound, bound.segmentsGiven - 1)
}
