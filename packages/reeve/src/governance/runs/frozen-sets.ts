import type { PolicyCodeRow } from '../../model/index.ts'
import { policyCodeKey, put, type Change } from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { hasPolicies, setsForWorkspace, type AppliedSet } from '../policy-sets/applying-sets.ts'

/** A policy set as it was at one moment, with what decides where it is asked. */
export interface FrozenSet extends AppliedSet {
  readonly toolVersion: string | null
  /** Evaluated in the stage after the plan; otherwise checked. */
  readonly isInStage: boolean
}

/** The sets that apply to a workspace now, by name. */
export function freezeSets(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  workspaceId: string,
): readonly FrozenSet[] {
  if (!hasPolicies(context.store.tables)) return []
  return setsForWorkspace(context, workspaceId).map((set) => frozenSet(context, set))
}

export function frozenSet({ store }: Pick<GovernanceContext, 'store'>, set: AppliedSet): FrozenSet {
  const { agentEnabled, policyToolVersion } = store.tables.policy_sets.get(set.id)
  const isInStage = set.kind === 'opa' || agentEnabled
  return {
    ...set,
    toolVersion: policyToolVersion,
    isInStage,
    // In an evaluation native policies know two levels.
    policies: isInStage ? set.policies.map(inEvaluation) : set.policies,
  }
}

function inEvaluation(policy: AppliedSet['policies'][number]): typeof policy {
  return policy.level === 'advisory' ? policy : { ...policy, level: 'mandatory' }
}

/** Parameters may be secret: they are stored sealed, like everywhere. */
export function sealSets({ sealer }: GovernanceContext, sets: readonly FrozenSet[]): string {
  return sealer.seal(JSON.stringify(sets))
}

export function openSets(
  { sealer }: Pick<GovernanceContext, 'sealer'>,
  sealed: string,
): readonly FrozenSet[] {
  const sets: readonly FrozenSet[] = JSON.parse(sealer.open(sealed))
  // A server of an earlier version froze them without.
  return sets.map((set) => ({ ...set, secrets: set.secrets ?? [] }))
}

/**
 * Keeps the code of frozen sets until it was asked, whatever becomes of the policies meanwhile: the
 * plan holds it like an upload of its own (snapshot).
 */
export function pinCode(
  { store, ids, clock }: GovernanceContext,
  sets: readonly FrozenSet[],
  plan: { readonly id: string; readonly organizationId: string },
): readonly Change[] {
  const hashes = new Set(sets.flatMap((set) => set.policies.map(({ codeHash }) => codeHash)))
  return [...hashes].flatMap((sha256) => {
    const [known] = store.tables.policy_codes.rowsIn('blob', policyCodeKey(sha256))
    if (known === undefined) return []
    const row: PolicyCodeRow = {
      ...known,
      id: newId(ids, 'policy-versions'),
      organizationId: plan.organizationId,
      ownerId: plan.id,
      createdMs: clock.nowMs(),
    }
    return [put('policy_codes', row)]
  })
}
