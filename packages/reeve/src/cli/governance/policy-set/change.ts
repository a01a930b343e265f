import { v2 } from '@reeve/contract'
import { resource, toMany } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { findPolicySet } from '../find.ts'
import { organizationOf } from '../organization.ts'
import { given, switchOf } from '../texts.ts'
import { memberIds, type MemberIds } from './members.ts'
import { showPolicySet } from './policy-set.ts'

export async function runPolicySetCreate(invocation: Invocation): Promise<number> {
  const { args, client, flags } = invocation
  const attributes = {
    name: args[0] ?? '',
    kind: flags.oneOf('kind', v2.POLICY_KINDS) ?? 'native',
    ...settingsOf(invocation),
  }
  const { data } = await client.v2.createPolicySet({
    params: await organizationOf(invocation),
    body: resource('policy-sets', attributes, relationshipsOf(await memberIds(invocation))),
  })
  return await showPolicySet(invocation, data.data.id)
}

/** A global set refuses attachments, so only what was named is sent. */
function relationshipsOf(members: MemberIds) {
  const some = <T extends string>(type: T, ids: readonly string[]) =>
    ids.length === 0 ? undefined : toMany(type, ids)
  return given({
    policies: some('policies', members.policies),
    projects: some('projects', members.projects),
    workspaces: some('workspaces', members.workspaces),
    namespaces: some('namespaces', members.namespaces),
    'project-exclusions': some('projects', members['project-exclusions']),
    'workspace-exclusions': some('workspaces', members['workspace-exclusions']),
  })
}

export async function runPolicySetUpdate(invocation: Invocation): Promise<number> {
  const { args, client, flags } = invocation
  const { id } = await findPolicySet(invocation, args[0] ?? '')
  const attributes = given({ name: flags.text('name'), ...settingsOf(invocation) })
  await client.v2.updatePolicySet({
    params: { policy_set_id: id },
    body: resource('policy-sets', attributes),
  })
  return await showPolicySet(invocation, id)
}

function settingsOf(invocation: Invocation) {
  return given({
    description: invocation.flags.text('description'),
    global: switchOf(invocation, 'global'),
    overridable: switchOf(invocation, 'overridable'),
  })
}

export async function runPolicySetDelete(invocation: Invocation): Promise<number> {
  const { id, attributes } = await findPolicySet(invocation, invocation.args[0] ?? '')
  await confirm(invocation, `Delete policy set "${attributes.name}"?`)
  await invocation.client.v2.deletePolicySet({ params: { policy_set_id: id } })
  invocation.output.say(`Policy set "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}
