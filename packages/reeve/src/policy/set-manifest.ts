import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { errorAt, formatDiagnostic, type Diagnostic } from '@reeve/hcl'
import type { JsonValue } from '@reeve/native-policy'
import { readManifest, type Manifest, type ManifestPolicy } from './manifest.ts'
import type { JsonObject } from './subject.ts'

/** Validated manifest of a policy set. */
export interface PolicySetManifest {
  /** Sorted by name. */
  readonly policies: readonly ManifestEntry[]
  /** Parameters of all policies of the set. */
  readonly params: JsonObject
  /** Paths of modules by name, as written, relative to the manifest. */
  readonly modules: ReadonlyMap<string, string>
  readonly statics: ReadonlyMap<string, string>
}

export interface ManifestEntry {
  readonly name: string
  readonly description: string | null
  readonly query: string | null
  readonly level: v2.EnforcementLevel
  /** Path of the code as written; undefined means the file with the name of the policy. */
  readonly source: string | undefined
  readonly params: JsonObject
}

/** File names of manifests. */
export const MANIFEST_FILES = {
  native: 'native.hcl',
  opa: 'policies.hcl',
} as const satisfies Record<v2.PolicyKind, string>

/** Reads and validates the manifest of a set. The error lists all problems, one per line. */
export function readSetManifest(
  kind: v2.PolicyKind,
  text: string,
  file: string = MANIFEST_FILES[kind],
): Result<PolicySetManifest, string> {
  const manifest = readManifest(file, text)
  if (!manifest.ok) return err(formatProblems(manifest.error))
  const { policies, params, modules, statics } = manifest.value
  if (policies.length > v2.POLICY_SET_VERSION_POLICIES_MAX)
    return err(
      `The manifest lists ${policies.length} policies; a version has at most ${v2.POLICY_SET_VERSION_POLICIES_MAX} policies`,
    )
  const problems = [
    ...testBlockProblems(manifest.value),
    ...policies.flatMap((policy) => policyProblems(kind, policy)),
  ]
  if (problems.length > 0) return err(formatProblems(problems))
  return ok({
    policies: policies
      .map((policy) => toManifestEntry(kind, policy))
      .toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)),
    params: toJsonObject(params),
    modules,
    statics,
  })
}

function testBlockProblems({ testBlocks }: Manifest): readonly Diagnostic[] {
  return testBlocks.map(({ type, span }) =>
    errorAt(span, 'Unsuitable block', `A set has no ${type}: it belongs to a test.`),
  )
}

const NAME_PATTERN = new RegExp(v2.POLICY_NAME_PATTERN)

function policyProblems(
  kind: v2.PolicyKind,
  { name, enforcementLevel, query, span }: ManifestPolicy,
): readonly Diagnostic[] {
  const levels: readonly string[] = v2.ENFORCEMENT_LEVELS[kind]
  const found: string[] = []
  if (!NAME_PATTERN.test(name) || name.length > v2.NAME_LENGTH_MAX)
    found.push(`"${name}" is no name: letters, numbers, - and _, at most ${v2.NAME_LENGTH_MAX}.`)
  if (!levels.includes(enforcementLevel))
    found.push(`enforcement_level must be one of ${levels.join(', ')}.`)
  if (kind === 'opa' && query === undefined) found.push('An opa policy needs a query.')
  if (kind === 'native' && query !== undefined) found.push('A native policy has no query.')
  return found.map((detail) => errorAt(span, 'Unsuitable policy', detail))
}

function toManifestEntry(kind: v2.PolicyKind, policy: ManifestPolicy): ManifestEntry {
  const { name, description, query, source, params, enforcementLevel } = policy
  const levels: readonly v2.EnforcementLevel[] = v2.ENFORCEMENT_LEVELS[kind]
  return {
    name,
    description: description ?? null,
    query: query ?? null,
    // Invalid levels were rejected before. The default level exists for both kinds.
    level: levels.find((level) => level === enforcementLevel) ?? 'advisory',
    source,
    params: toJsonObject(params),
  }
}

function toJsonObject(members: ReadonlyMap<string, JsonValue>): JsonObject {
  return Object.fromEntries([...members].map(([name, value]) => [name, toStorableJson(value)]))
}

/** Rows are stored as JSON, so integers beyond the range of doubles are converted. */
function toStorableJson(value: JsonValue): JsonValue {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) return value.map(toStorableJson)
  return toJsonObject(new Map(Object.entries(value)))
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

function formatProblems(diagnostics: readonly Diagnostic[]): string {
  return diagnostics.map(formatDiagnostic).join('\n')
}
