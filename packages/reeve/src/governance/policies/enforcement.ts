import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { AttributeProblem } from '../../model/index.ts'

/** Enforcement level in a request; `enforce` is the deprecated form. */
export interface EnforcementInput {
  readonly name: string
  readonly kind: v2.PolicyKind
  /** As given; the valid levels depend on the kind. */
  readonly level: string | undefined
  readonly enforce: readonly EnforceEntry[] | undefined
}

export interface EnforceEntry {
  readonly path?: string | null
  readonly mode: string
}

/** Level for `enforce` entries whose path is not the policy's file. */
const OTHER_FILE_LEVELS = {
  native: 'hard-mandatory',
  opa: 'advisory',
} as const satisfies Record<v2.PolicyKind, v2.EnforcementLevel>

export function policyFileName({ name, kind }: Pick<EnforcementInput, 'name' | 'kind'>): string {
  return `${name}${v2.POLICY_FILE_SUFFIXES[kind]}`
}

/** Returns the requested enforcement level; undefined if the request has none. */
export function resolveEnforcementLevel(
  request: EnforcementInput,
): Result<v2.EnforcementLevel | undefined, AttributeProblem> {
  const { kind, level } = request
  const pointer = '/data/attributes/enforcement-level'
  if (level !== undefined && !isAllowedLevel(kind, level))
    return err({ pointer, detail: `Enforcement level must be one of ${allowedLevelsText(kind)}` })
  const fromEnforce = levelFromEnforce(request)
  if (!fromEnforce.ok || fromEnforce.value === undefined)
    return fromEnforce.ok ? ok(level) : fromEnforce
  if (level === undefined || level === fromEnforce.value) return fromEnforce
  return err({ pointer, detail: `Enforcement level is ${level}, but enforce says otherwise` })
}

/** Returns the first entry; additional entries are tolerated, and an empty list means none. */
function levelFromEnforce({
  name,
  kind,
  enforce = [],
}: EnforcementInput): Result<v2.EnforcementLevel | undefined, AttributeProblem> {
  if (enforce.length === 0) return ok(undefined)
  const file = policyFileName({ name, kind })
  const at = enforce.findIndex(({ path }) => path === file)
  const mode = enforce[at]?.mode
  // The mode is ignored because it applies to another file.
  if (mode === undefined) return ok(OTHER_FILE_LEVELS[kind])
  if (isAllowedLevel(kind, mode)) return ok(mode)
  const pointer = `/data/attributes/enforce/${at}/mode`
  return err({ pointer, detail: `Mode must be one of ${allowedLevelsText(kind)}` })
}

function isAllowedLevel(kind: v2.PolicyKind, level: string): level is v2.EnforcementLevel {
  const levels: readonly string[] = v2.ENFORCEMENT_LEVELS[kind]
  return levels.includes(level)
}

function allowedLevelsText(kind: v2.PolicyKind): string {
  return v2.ENFORCEMENT_LEVELS[kind].join(', ')
}
