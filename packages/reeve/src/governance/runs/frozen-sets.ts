import type { PolicyCodeRow } from '../../model/index.ts'
import { policyCodeBlobKey, put, type Change } from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import {
  hasPolicySets,
  setsForWorkspace,
  type ApplicablePolicySet,
} from '../policy-sets/applying-sets.ts'

/** Snapshot of a policy set, including how it is evaluated. */
export interface PolicySetSnapshot extends ApplicablePolicySet {
  readonly toolVersion: string | null
  /** Evaluated in the task stage after the plan; otherwise in the policy check. */
  readonly usesTaskStage: boolean
}

/** Returns snapshots of the sets that apply to a workspace, sorted by name. */
export function snapshotPolicySets(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  workspaceId: string,
): readonly PolicySetSnapshot[] {
  if (!hasPolicySets(context.store.tables)) return []
  return setsForWorkspace(context, workspaceId).map((set) => toSnapshot(context, set))
}

export function toSnapshot(
  { store }: Pick<GovernanceContext, 'store'>,
  set: ApplicablePolicySet,
): PolicySetSnapshot {
  const { agentEnabled, policyToolVersion } = store.tables.policy_sets.get(set.id)
  const isInStage = set.kind === 'opa' || agentEnabled
  return {
    ...set,
    toolVersion: policyToolVersion,
    usesTaskStage: isInStage,
    // In a task stage, native policies have only two levels.
    policies: isInStage ? set.policies.map(withStageLevel) : set.policies,
  }
}

function withStageLevel(policy: ApplicablePolicySet['policies'][number]): typeof policy {
  return policy.level === 'advisory' ? policy : { ...policy, level: 'mandatory' }
}

/** Serializes and encrypts snapshots, because parameters may be secret. */
export function sealSnapshots(
  { sealer }: GovernanceContext,
  sets: readonly PolicySetSnapshot[],
): string {
  return sealer.seal(JSON.stringify(sets))
}

export function unsealSnapshots(
  { sealer }: Pick<GovernanceContext, 'sealer'>,
  sealed: string,
): readonly PolicySetSnapshot[] {
  const sets: readonly PolicySetSnapshot[] = JSON.parse(sealer.open(sealed))
  // Snapshots of earlier server versions have no `secrets`.
  return sets.map((set) => ({ ...set, secrets: set.secrets ?? [] }))
}

/**
 * Keeps the code of snapshots until it is evaluated, even if the policies change: the plan
 * references the code as an owner.
 */
export function pinCodeChanges(
  { store, ids, clock }: GovernanceContext,
  sets: readonly PolicySetSnapshot[],
  plan: { readonly id: string; readonly organizationId: string },
): readonly Change[] {
  const hashes = new Set(sets.flatMap((set) => set.policies.map(({ codeHash }) => codeHash)))
  return [...hashes].flatMap((sha256) => {
    const [stored] = store.tables.policy_codes.rowsByIndex('blob', policyCodeBlobKey(sha256))
    if (stored === undefined) return []
    const row: PolicyCodeRow = {
      ...stored,
      id: newId(ids, 'policy-versions'),
      organizationId: plan.organizationId,
      ownerId: plan.id,
      createdMs: clock.nowMs(),
    }
    return [put('policy_codes', row)]
  })
}
