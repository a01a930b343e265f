import { toMany } from '@reeve/sdk'
import type { Api } from '../../session/api.ts'

/** What is in a policy set, and where it applies. */
export const MEMBER_KINDS = [
  'policies',
  'projects',
  'workspaces',
  'namespaces',
  'project-exclusions',
  'workspace-exclusions',
] as const
export type MemberKind = (typeof MEMBER_KINDS)[number]

interface Change {
  /** Its id. */
  readonly set: string
  readonly kind: MemberKind
  readonly verb: 'add' | 'remove'
  readonly member: string
}

export function changeMembers({ v2 }: Api, { set, kind, verb, member }: Change): Promise<unknown> {
  const params = { policy_set_id: set }
  const isAdded = verb === 'add'
  switch (kind) {
    case 'policies': {
      const call = isAdded ? v2.addPolicySetPolicies : v2.removePolicySetPolicies
      return call({ params, body: toMany('policies', [member]) })
    }
    case 'projects': {
      const call = isAdded ? v2.addPolicySetProjects : v2.removePolicySetProjects
      return call({ params, body: toMany('projects', [member]) })
    }
    case 'workspaces': {
      const call = isAdded ? v2.addPolicySetWorkspaces : v2.removePolicySetWorkspaces
      return call({ params, body: toMany('workspaces', [member]) })
    }
    case 'namespaces': {
      const call = isAdded ? v2.addPolicySetNamespaces : v2.removePolicySetNamespaces
      return call({ params, body: toMany('namespaces', [member]) })
    }
    case 'project-exclusions': {
      const call = isAdded ? v2.addPolicySetProjectExclusions : v2.removePolicySetProjectExclusions
      return call({ params, body: toMany('projects', [member]) })
    }
    case 'workspace-exclusions': {
      const call = isAdded
        ? v2.addPolicySetWorkspaceExclusions
        : v2.removePolicySetWorkspaceExclusions
      return call({ params, body: toMany('workspaces', [member]) })
    }
  }
}
