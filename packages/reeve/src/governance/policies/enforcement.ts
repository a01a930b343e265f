import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { AttributeProblem } from '../../model/index.ts'

/** Enforcement level in a request; `enforce` is the deprecated form. */
export interface LevelWish {
  readonly name: string
  readonly kind: v2.PolicyKind
  /** As given; the valid levels depend on the kind. */
  readonly level: string | undefined
  readonly enforce: readonly GivenEnforce[] | undefined
}

export interface GivenEnforce {
  readonly path?: string | null
  readonly mode: string
}

/** Level for `enforce` entries whose path is not the policy's file. */
const MISMATCH_LEVELS = {
  native: 'hard-mandatory',
  opa: 'advisory',
} as const satisfies Record<v2.PolicyKind, v2.EnforcementLevel>

export function policyFile({ name, kind }: Pick<LevelWish, 'name' | 'kind'>): string {
  return `${name}${v2.POLICY_FILE_SUFFIXES[kind]}`
}

/** Returns the requested enforcement level; undefined if the request has none. */
export function decideLevel(
  wish: LevelWish,
): Result<v2.EnforcementLevel | undefined, AttributeProblem> {
  const { kind, level } = wish
  const pointer = '/data/attributes/enforcement-level'
  if (level !== undefined && !isAllowed(kind, level))
    return err({ pointer, detail: `Enforcement level must be one of ${allowedText(kind)}` })
  const enforced = enforcedLevel(wish)
  if (!enforced.ok || enforced.value === undefined) return enforced.ok ? ok(level) : enforced
  if (level === undefined || level === enforced.value) return enforced
  return err({ pointer, detail: `Enforcement level is ${level}, but enforce says otherwise` })
}

/** Returns the first entry; additional entries are tolerated, and an empty list means none. */
function enforcedLevel({
  name,
  kind,
  enforce = [],
}: LevelWish): Result<v2.EnforcementLevel | undefined, AttributeProblem> {
  if (enforce.length === 0) return ok(undefined)
  const file = policyFile({ name, kind })
  const at = enforce.findIndex(({ path }) => path === file)
  const mode = enforce[at]?.mode
  // The mode is ignored because it applies to another file.
  if (mode === undefined) return ok(MISMATCH_LEVELS[kind])
  if (isAllowed(kind, mode)) return ok(mode)
  const pointer = `/data/attributes/enforce/${at}/mode`
  return err({ pointer, detail: `Mode must be one of ${allowedText(kind)}` })
}

function isAllowed(kind: v2.PolicyKind, level: string): level is v2.EnforcementLevel {
  const levels: readonly string[] = v2.ENFORCEMENT_LEVELS[kind]
  return levels.includes(level)
}

function allowedText(kind: v2.PolicyKind): string {
  return v2.ENFORCEMENT_LEVELS[kind].join(', ')
}
