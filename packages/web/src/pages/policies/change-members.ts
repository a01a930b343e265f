import { toMany } from '@reeve/sdk'
import type { Api } from '../../session/api.ts'

/** Members of a policy set: its policies and its scope. */
export const MEMBER_KINDS = [
  'policies',
  'projects',
  'workspaces',
  'namespaces',
  'project-exclusions',
  'workspace-exclusions',
] as const
export type MemberKind = (typeof MEMBER_KINDS)[number]

interface MemberChange {
  /** ID of the policy set. */
  readonly policySetId: string
  readonly kind: MemberKind
  readonly operation: 'add' | 'remove'
  readonly memberId: string
}

export function changeMembers(
  { v2 }: Api,
  { policySetId, kind, operation, memberId }: MemberChange,
): Promise<unknown> {
  const params = { policy_set_id: policySetId }
  const isAdded = operation === 'add'
  switch (kind) {
    case 'policies': {
      const call = isAdded ? v2.addPolicySetPolicies : v2.removePolicySetPolicies
      return call({ params, body: toMany('policies', [memberId]) })
    }
    case 'projects': {
      const call = isAdded ? v2.addPolicySetProjects : v2.removePolicySetProjects
      return call({ params, body: toMany('projects', [memberId]) })
    }
    case 'workspaces': {
      const call = isAdded ? v2.addPolicySetWorkspaces : v2.removePolicySetWorkspaces
      return call({ params, body: toMany('workspaces', [memberId]) })
    }
    case 'namespaces': {
      const call = isAdded ? v2.addPolicySetNamespaces : v2.removePolicySetNamespaces
      return call({ params, body: toMany('namespaces', [memberId]) })
    }
    case 'project-exclusions': {
      const call = isAdded ? v2.addPolicySetProjectExclusions : v2.removePolicySetProjectExclusions
      return call({ params, body: toMany('projects', [memberId]) })
    }
    case 'workspace-exclusions': {
      const call = isAdded
        ? v2.addPolicySetWorkspaceExclusions
        : v2.removePolicySetWorkspaceExclusions
      return call({ params, body: toMany('workspaces', [memberId]) })
    }
  }
}
