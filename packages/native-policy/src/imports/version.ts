import {
  compareSegments,
  compareVersions,
  parseVersion,
  haveEqualSegments,
  type Version,
} from '@reeve/kit/version.ts'
import { createMap } from '../value/map.ts'
import { isMap, type CallContext, type MapValue, type Value } from '../value/value.ts'
import { typed } from './define.ts'

const SYNTAX = 'lenient'
const CONSTRAINT = /^\s*(=|!=|>=|<=|>|<|~>)?\s*(\S+)\s*$/

/** The import `version`. */
export function versionImport(): MapValue {
  return createMap({
    new: typed('new', ['string'], ([text], context) =>
      versionValue(text, loadVersionArchive(text, context)),
    ),
  })
}

function loadVersionArchive(text: string, context: CallContext): Version {
  return parseVersion(text, SYNTAX) ?? context.fail(`${JSON.stringify(text)} is no version`)
}

/** Each comparison with its long and short name. */
const TESTS: readonly (readonly [string, string, (order: number) => boolean])[] = [
  ['greater_than', 'gt', (order) => order > 0],
  ['greater_than_or_equals', 'gte', (order) => order >= 0],
  ['less_than', 'lt', (order) => order < 0],
  ['less_than_or_equals', 'lte', (order) => order <= 0],
  ['equals', 'eq', (order) => order === 0],
]

function versionValue(text: string, version: Version): MapValue {
  const { segments, prerelease, metadata } = version
  const [major = 0, minor = 0, patch = 0] = segments
  const entries: Record<string, Value> = {
    major,
    minor,
    patch,
    prerelease: prerelease.join('.'),
    metadata,
    version: text,
  }
  for (const [long, short, accepts] of TESTS)
    for (const name of [long, short])
      entries[name] = typed(name, ['any'], ([other], context) =>
        accepts(compareVersions(version, otherVersion(other, context))),
      )
  for (const name of ['compare', 'cmp'])
    entries[name] = typed(name, ['any'], ([other], context) =>
      compareVersions(version, otherVersion(other, context)),
    )
  for (const name of ['satisfies', 'sat'])
    entries[name] = typed(name, ['string'], ([constraint], context) =>
      constraint.split(',').every((part) => satisfies(version, part, context)),
    )
  return createMap(entries)
}

/** Accepts a version or its text. */
function otherVersion(value: Value, context: CallContext): Version {
  if (typeof value === 'string') return loadVersionArchive(value, context)
  const text = isMap(value) ? value.get('version') : undefined
  return typeof text === 'string'
    ? loadVersionArchive(text, context)
    : context.fail('a version is needed')
}

function satisfies(version: Version, constraint: string, context: CallContext): boolean {
  const [, operator = '=', text = ''] = CONSTRAINT.exec(constraint) ?? []
  const bound = parseVersion(text, SYNTAX)
  if (bound === undefined)
    return context.fail(`${JSON.stringify(constraint)} is no constraint of versions`)
  const order = compareVersions(version, bound)
  if (operator === '=') return order === 0
  if (operator === '!=') return order !== 0
  return matchesPrerelease(version, bound) && matchesOrder(version, bound, { operator, order })
}

/**
 * A bound with a pre-release matches only pre-releases of the same version; one without matches
 * only releases.
 */
function matchesPrerelease(version: Version, bound: Version): boolean {
  if (version.prerelease.length === 0) return true
  return bound.prerelease.length > 0 && compareSegments(version, bound) === 0
}

function matchesOrder(
  version: Version,
  bound: Version,
  { operator, order }: { readonly operator: string; readonly order: number },
): boolean {
  switch (operator) {
    case '>':
      return order > 0
    case '>=':
      return order >= 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    default:
      // All given segments except the last must be equal; `~> 1` keeps the first.
      return order >= 0 && haveEqualSegments(version, bound, Math.max(1, bound.segmentsGiven - 1))
  }
}
