import { toMany } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { UsageError } from '../../failure.ts'
import { findPolicy, findPolicySet, findProject, findWorkspace } from '../find.ts'
import { printPolicySet } from './policy-set.ts'

/** IDs of the policies and scope members named by flags. */
export interface MemberIds {
  readonly policies: readonly string[]
  readonly projects: readonly string[]
  readonly workspaces: readonly string[]
  readonly namespaces: readonly string[]
  readonly 'project-exclusions': readonly string[]
  readonly 'workspace-exclusions': readonly string[]
}

export async function resolveMemberIds(invocation: CommandContext): Promise<MemberIds> {
  const { flags } = invocation
  const idsOf = async (
    flag: string,
    find: (invocation: CommandContext, given: string) => Promise<{ readonly id: string }>,
  ): Promise<readonly string[]> => {
    const found = flags.strings(flag).map((given) => find(invocation, given))
    return (await Promise.all(found)).map(({ id }) => id)
  }
  return {
    policies: await idsOf('policy', findPolicy),
    projects: await idsOf('project', findProject),
    workspaces: await idsOf('workspace', findWorkspace),
    namespaces: flags.strings('jobs-of'),
    'project-exclusions': await idsOf('except-project', findProject),
    'workspace-exclusions': await idsOf('except-workspace', findWorkspace),
  }
}

type ChangeKind = 'add' | 'remove'

export async function runPolicySetAdd(invocation: CommandContext): Promise<number> {
  return await changeMembers(invocation, 'add')
}

export async function runPolicySetRemove(invocation: CommandContext): Promise<number> {
  return await changeMembers(invocation, 'remove')
}

async function changeMembers(invocation: CommandContext, how: ChangeKind): Promise<number> {
  const { id } = await findPolicySet(invocation, invocation.args[0] ?? '')
  const members = await resolveMemberIds(invocation)
  const isNothing = Object.values(members).every((ids) => ids.length === 0)
  if (isNothing) throw new UsageError('Name what is meant: --policy, --project, --jobs-of …')
  for (const send of membershipCalls(invocation, { members, how, setId: id })) await send()
  return await printPolicySet(invocation, id)
}

interface MembershipChange {
  readonly members: MemberIds
  readonly how: ChangeKind
  readonly setId: string
}

/** Returns one request per kind of member named by flags. */
function membershipCalls({ client }: CommandContext, { members, how, setId }: MembershipChange) {
  const { v2: api } = client
  const params = { policy_set_id: setId }
  const isAdd = how === 'add'
  const calls = [
    {
      ids: members.policies,
      send: () =>
        (isAdd ? api.addPolicySetPolicies : api.removePolicySetPolicies)({
          params,
          body: toMany('policies', members.policies),
        }),
    },
    {
      ids: members.projects,
      send: () =>
        (isAdd ? api.addPolicySetProjects : api.removePolicySetProjects)({
          params,
          body: toMany('projects', members.projects),
        }),
    },
    {
      ids: members.workspaces,
      send: () =>
        (isAdd ? api.addPolicySetWorkspaces : api.removePolicySetWorkspaces)({
          params,
          body: toMany('workspaces', members.workspaces),
        }),
    },
    {
      ids: members.namespaces,
      send: () =>
        (isAdd ? api.addPolicySetNamespaces : api.removePolicySetNamespaces)({
          params,
          body: toMany('namespaces', members.namespaces),
        }),
    },
    {
      ids: members['project-exclusions'],
      send: () =>
        (isAdd ? api.addPolicySetProjectExclusions : api.removePolicySetProjectExclusions)({
          params,
          body: toMany('projects', members['project-exclusions']),
        }),
    },
    {
      ids: members['workspace-exclusions'],
      send: () =>
        (isAdd ? api.addPolicySetWorkspaceExclusions : api.removePolicySetWorkspaceExclusions)({
          params,
          body: toMany('workspaces', members['workspace-exclusions']),
        }),
    },
  ]
  return calls.filter(({ ids }) => ids.length > 0).map(({ send }) => send)
}
