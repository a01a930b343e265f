import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { errorAt, formatDiagnostic, type Diagnostic } from '@reeve/hcl'
import type { JsonValue } from '@reeve/native-policy'
import { readManifest, type Manifest, type ManifestPolicy } from './manifest.ts'
import type { PlainObject } from './subject.ts'

/** What the archive of a policy set says of itself: which files are policies, at which level. */
export interface SetManifest {
  /** By name. */
  readonly policies: readonly SetPolicy[]
  /** For all of them. */
  readonly params: PlainObject
  /** Files, as written: relative to the manifest. */
  readonly modules: ReadonlyMap<string, string>
  readonly statics: ReadonlyMap<string, string>
}

export interface SetPolicy {
  readonly name: string
  readonly description: string | null
  readonly query: string | null
  readonly level: v2.EnforcementLevel
  /** The file, as written; undefined: the one that is called like the policy. */
  readonly source: string | undefined
  readonly params: PlainObject
}

/** How the file is called. */
export const MANIFEST_FILES = {
  native: 'native.hcl',
  opa: 'policies.hcl',
} as const satisfies Record<v2.PolicyKind, string>

/**
 * Reads the manifest of a set of one kind; fails with everything that is wrong in it, a line each.
 */
export function readSetManifest(
  kind: v2.PolicyKind,
  text: string,
  file: string = MANIFEST_FILES[kind],
): Result<SetManifest, string> {
  const manifest = readManifest(file, text)
  if (!manifest.ok) return err(textOf(manifest.error))
  const { policies, params, modules, statics } = manifest.value
  if (policies.length > v2.POLICY_SET_VERSION_POLICIES_MAX)
    return err(
      `The manifest lists ${policies.length} policies; a version has at most ${v2.POLICY_SET_VERSION_POLICIES_MAX} policies`,
    )
  const problems = [
    ...testProblems(manifest.value),
    ...policies.flatMap((policy) => policyProblems(kind, policy)),
  ]
  if (problems.length > 0) return err(textOf(problems))
  return ok({
    policies: policies
      .map((policy) => setPolicy(kind, policy))
      .toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)),
    params: plainObject(params),
    modules,
    statics,
  })
}

function testProblems({ testOnly }: Manifest): readonly Diagnostic[] {
  return testOnly.map(({ type, span }) =>
    errorAt(span, 'Unsuitable block', `A set has no ${type}: it belongs to a test.`),
  )
}

const NAME = new RegExp(v2.POLICY_NAME_PATTERN)

function policyProblems(
  kind: v2.PolicyKind,
  { name, enforcementLevel, query, span }: ManifestPolicy,
): readonly Diagnostic[] {
  const levels: readonly string[] = v2.ENFORCEMENT_LEVELS[kind]
  const found: string[] = []
  if (!NAME.test(name) || name.length > v2.NAME_LENGTH_MAX)
    found.push(`"${name}" is no name: letters, numbers, - and _, at most ${v2.NAME_LENGTH_MAX}.`)
  if (!levels.includes(enforcementLevel))
    found.push(`enforcement_level must be one of ${levels.join(', ')}.`)
  if (kind === 'opa' && query === undefined) found.push('An opa policy needs a query.')
  if (kind === 'native' && query !== undefined) found.push('A native policy has no query.')
  return found.map((detail) => errorAt(span, 'Unsuitable policy', detail))
}

function setPolicy(kind: v2.PolicyKind, policy: ManifestPolicy): SetPolicy {
  const { name, description, query, source, params, enforcementLevel } = policy
  const levels: readonly v2.EnforcementLevel[] = v2.ENFORCEMENT_LEVELS[kind]
  return {
    name,
    description: description ?? null,
    query: query ?? null,
    // Others were refused; what names no level has the lightest, which every kind knows.
    level: levels.find((level) => level === enforcementLevel) ?? 'advisory',
    source,
    params: plainObject(params),
  }
}

function plainObject(members: ReadonlyMap<string, JsonValue>): PlainObject {
  return Object.fromEntries([...members].map(([name, value]) => [name, storable(value)]))
}

/** Rows are stored as JSON, which has no whole numbers of any length. */
function storable(value: JsonValue): JsonValue {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) return value.map(storable)
  return plainObject(new Map(Object.entries(value)))
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

function textOf(diagnostics: readonly Diagnostic[]): string {
  return diagnostics.map(formatDiagnostic).join('\n')
}
