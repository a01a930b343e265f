import { toMany } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { UsageError } from '../../failure.ts'
import { findPolicy, findPolicySet, findProject, findWorkspace } from '../find.ts'
import { showPolicySet } from './policy-set.ts'

/** The ids of everything that the flags name. */
export interface MemberIds {
  readonly policies: readonly string[]
  readonly projects: readonly string[]
  readonly workspaces: readonly string[]
  readonly namespaces: readonly string[]
  readonly 'project-exclusions': readonly string[]
  readonly 'workspace-exclusions': readonly string[]
}

export async function memberIds(invocation: Invocation): Promise<MemberIds> {
  const { flags } = invocation
  const idsOf = async (
    flag: string,
    find: (invocation: Invocation, given: string) => Promise<{ readonly id: string }>,
  ): Promise<readonly string[]> => {
    const found = flags.texts(flag).map((given) => find(invocation, given))
    return (await Promise.all(found)).map(({ id }) => id)
  }
  return {
    policies: await idsOf('policy', findPolicy),
    projects: await idsOf('project', findProject),
    workspaces: await idsOf('workspace', findWorkspace),
    namespaces: flags.texts('jobs-of'),
    'project-exclusions': await idsOf('except-project', findProject),
    'workspace-exclusions': await idsOf('except-workspace', findWorkspace),
  }
}

type Change = 'add' | 'remove'

export async function runPolicySetAdd(invocation: Invocation): Promise<number> {
  return await change(invocation, 'add')
}

export async function runPolicySetRemove(invocation: Invocation): Promise<number> {
  return await change(invocation, 'remove')
}

async function change(invocation: Invocation, how: Change): Promise<number> {
  const { id } = await findPolicySet(invocation, invocation.args[0] ?? '')
  const members = await memberIds(invocation)
  const isNothing = Object.values(members).every((ids) => ids.length === 0)
  if (isNothing) throw new UsageError('Name what is meant: --policy, --project, --jobs-of …')
  for (const send of callsOf(invocation, { members, how, setId: id })) await send()
  return await showPolicySet(invocation, id)
}

interface Wish {
  readonly members: MemberIds
  readonly how: Change
  readonly setId: string
}

/** One call for each kind of member that was named. */
function callsOf({ client }: Invocation, { members, how, setId }: Wish) {
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
