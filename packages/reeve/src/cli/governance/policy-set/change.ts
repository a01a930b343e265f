import { v2 } from '@reeve/contract'
import { resource, toMany } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { findPolicySet } from '../find.ts'
import { resolveOrganization } from '../organization.ts'
import { omitUndefined, booleanFlag } from '../texts.ts'
import { resolveMemberIds, type MemberIds } from './members.ts'
import { printPolicySet } from './policy-set.ts'

export async function runPolicySetCreate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const attributes = {
    name: args[0] ?? '',
    kind: flags.oneOf('kind', v2.POLICY_KINDS) ?? 'native',
    ...settingsOf(invocation),
  }
  const { data } = await client.v2.createPolicySet({
    params: await resolveOrganization(invocation),
    body: resource(
      'policy-sets',
      attributes,
      memberRelationships(await resolveMemberIds(invocation)),
    ),
  })
  return await printPolicySet(invocation, data.data.id)
}

/** Returns only the relationships that flags name, because global sets reject attachments. */
function memberRelationships(members: MemberIds) {
  const some = <T extends string>(type: T, ids: readonly string[]) =>
    ids.length === 0 ? undefined : toMany(type, ids)
  return omitUndefined({
    policies: some('policies', members.policies),
    projects: some('projects', members.projects),
    workspaces: some('workspaces', members.workspaces),
    namespaces: some('namespaces', members.namespaces),
    'project-exclusions': some('projects', members['project-exclusions']),
    'workspace-exclusions': some('workspaces', members['workspace-exclusions']),
  })
}

export async function runPolicySetUpdate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const { id } = await findPolicySet(invocation, args[0] ?? '')
  const attributes = omitUndefined({ name: flags.string('name'), ...settingsOf(invocation) })
  await client.v2.updatePolicySet({
    params: { policy_set_id: id },
    body: resource('policy-sets', attributes),
  })
  return await printPolicySet(invocation, id)
}

function settingsOf(invocation: CommandContext) {
  return omitUndefined({
    description: invocation.flags.string('description'),
    global: booleanFlag(invocation, 'global'),
    overridable: booleanFlag(invocation, 'overridable'),
  })
}

export async function runPolicySetDelete(invocation: CommandContext): Promise<number> {
  const { id, attributes } = await findPolicySet(invocation, invocation.args[0] ?? '')
  await confirm(invocation, `Delete policy set "${attributes.name}"?`)
  await invocation.client.v2.deletePolicySet({ params: { policy_set_id: id } })
  invocation.output.printLine(`Policy set "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}
